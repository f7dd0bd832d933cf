//! The links of a transport, as its sender knows them: which one is written to, and what went over each.

use std::sync::Arc;

use weft_transport::TxStats;
use weft_wire::CloseReason;

use super::{Sender, State};
use crate::cell::LinkCell;
use crate::runtime::LinkTraffic;

/// Links that a transport has lost of which it is known what went over them, at most.
pub(super) const GONE_LINKS_MAX: usize = 16;

impl State {
    /// The link that was written to is gone; no other one is.
    fn has_lost_first(&self) -> bool {
        self.gone.iter().any(|(_, was_written)| *was_written)
    }
}

impl Sender {
    /// The transport's links, the one that is written to first.
    pub(crate) fn links(&self) -> Vec<Arc<LinkCell>> {
        self.lock().links.clone()
    }

    /// What went over its links: those that it has, and the last that it has lost.
    pub(crate) fn link_traffic(&self) -> Vec<LinkTraffic> {
        let state = self.lock();
        let TxStats { batches, bytes, .. } = state.half.stats();
        let lost_first = state.has_lost_first();
        let open = state.links.iter().enumerate();
        let open =
            open.map(|(index, cell)| (LinkTraffic::new(cell, true), index == 0 && !lost_first));
        let all = open.chain(state.gone.iter().cloned()).map(|(link, is_written)| LinkTraffic {
            sent: if is_written { (batches, bytes) } else { (0, 0) },
            ..link
        });
        all.collect()
    }

    pub(crate) fn writes_to(&self, link: &LinkCell) -> bool {
        self.lock().links.first().is_some_and(|first| first.id == link.id)
    }

    pub(crate) fn add_link(&self, link: Arc<LinkCell>) {
        self.lock().links.push(link);
    }

    /// A link is gone. With the first one, what it had taken is lost: what is queued does not go on
    /// over the next, where it would arrive with a gap before it, and only CLOSE follows.
    pub(crate) fn remove_link(&self, link: &LinkCell) {
        let mut state = self.lock();
        let index = state.links.iter().position(|other| other.id == link.id);
        let was_first = index == Some(0);
        if let Some(index) = index {
            state.links.remove(index);
            if state.gone.len() == GONE_LINKS_MAX {
                state.gone.remove(0);
            }
            let was_written = was_first && !state.has_lost_first();
            state.gone.push((LinkTraffic::new(link, false), was_written));
        }
        if was_first {
            state.half.clear();
            state.half.close(CloseReason::GENERIC);
            state.partial = None;
            state.blocked = false;
            self.room.notify_all();
        }
    }
}
