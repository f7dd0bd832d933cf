//! Hosts without a node: a test speaks for them, byte by byte.

use weft_node::LinkOrigin;

use crate::network::{End, Site};
use crate::pipe::Arrival;
use crate::sim::{Due, NodeRef, Sim};

/// A connection that a test opened to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Knock(End);

impl Sim {
    /// Opens a connection to a node, from a host that runs no node.
    ///
    /// # Panics
    /// If the node is down.
    pub fn knock(&mut self, to: NodeRef) -> Knock {
        assert!(self.hosts[to.0].running.is_some(), "{} is down", self.hosts[to.0].name);
        let nowhere = Site { host: usize::MAX, life: 0 };
        let connection = self.network.connect(nowhere, self.site(to.0));
        let end = End { connection, side: 0 };
        self.link_up(to.0, end.other(), LinkOrigin::Accepted);
        Knock(end)
    }

    /// Writes to such a connection.
    pub fn knock_write(&mut self, knock: Knock, bytes: &[u8]) {
        let (_, arrives_us) = self.network.write(self.now_us, knock.0, bytes, true, &mut self.rng);
        if let Some(at_us) = arrives_us {
            self.agenda.plan(at_us, Due::Read(knock.0.other()));
        }
    }

    /// What the node has written so far and was not read before; `None` once it has closed.
    pub fn knock_read(&mut self, knock: Knock) -> Option<Vec<u8>> {
        let mut read = Vec::new();
        loop {
            let connection = self.network.connections.get_mut(&knock.0.connection)?;
            match connection.pipes[1].read(self.now_us) {
                Some(Arrival::Bytes(bytes)) => read.extend(bytes),
                Some(Arrival::End) => {
                    self.knock_close(knock);
                    return if read.is_empty() { None } else { Some(read) };
                }
                None => return Some(read),
            }
        }
    }

    /// Closes such a connection.
    pub fn knock_close(&mut self, knock: Knock) {
        self.close_end(knock.0);
    }
}
