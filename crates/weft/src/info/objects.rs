//! What a session tells of a neighbour and of a link.
//!
//! What the protocol has a name for and Weft does not do is here, too, with the value that says so.

use weft_wire::{Priority, Reliability, WhatAmI, ZenohId};

/// A connected neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportInfo {
    pub(crate) zid: ZenohId,
    pub(crate) whatami: WhatAmI,
    pub(crate) is_qos: bool,
}

impl TransportInfo {
    /// Its identity.
    pub const fn zid(&self) -> ZenohId {
        self.zid
    }

    /// Its mode.
    pub const fn whatami(&self) -> WhatAmI {
        self.whatami
    }

    /// Whether every priority has channels of its own.
    pub const fn is_qos(&self) -> bool {
        self.is_qos
    }

    /// Whether payloads may go through shared memory: no, Weft does not offer that.
    pub const fn is_shm(&self) -> bool {
        false
    }

    /// Whether it is a multicast group and not one neighbour: no, Weft does not offer that.
    pub const fn is_multicast(&self) -> bool {
        false
    }
}

/// A link to a connected neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkInfo {
    zid: ZenohId,
    link: weft_runtime::LinkInfo,
}

impl LinkInfo {
    pub(crate) const fn new(zid: ZenohId, link: weft_runtime::LinkInfo) -> Self {
        Self { zid, link }
    }

    /// The identity of the neighbour it leads to.
    pub const fn zid(&self) -> ZenohId {
        self.zid
    }

    /// This end, as a locator.
    pub fn src(&self) -> &str {
        &self.link.src
    }

    /// The neighbour's end, as a locator.
    pub fn dst(&self) -> &str {
        &self.link.dst
    }

    /// The group of a multicast link, as a locator: none, Weft has no such links.
    pub const fn group(&self) -> Option<&str> {
        None
    }

    /// Bytes of a batch at most.
    pub const fn mtu(&self) -> u16 {
        self.link.mtu
    }

    /// Whether it is a byte stream.
    pub const fn is_streamed(&self) -> bool {
        self.link.streamed
    }

    /// Whether nothing is lost on it, whatever it is used for.
    pub const fn is_reliable(&self) -> bool {
        self.link.reliable
    }

    /// Names of the network interfaces that carry it.
    pub fn interfaces(&self) -> &[String] {
        &self.link.interfaces
    }

    /// Who the neighbour has proved to be: nobody, Weft's links do not authenticate.
    pub const fn auth_identifier(&self) -> Option<&str> {
        None
    }

    /// The highest and the lowest of the priorities that it is reserved for: none, every link of
    /// Weft carries all of them.
    pub const fn priorities(&self) -> Option<(Priority, Priority)> {
        None
    }

    /// The reliability that it is reserved for: none, every link of Weft carries both.
    pub const fn reliability(&self) -> Option<Reliability> {
        None
    }
}

/// A connected neighbour with links and counters.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// Who it is.
    pub transport: TransportInfo,
    /// Its links.
    pub links: Vec<LinkInfo>,
    /// Messages dropped for lack of room on the way to it.
    pub dropped: u64,
    /// Messages, batches and bytes sent to it.
    pub sent: (u64, u64, u64),
}

impl Neighbour {
    pub(crate) fn new(it: weft_runtime::Neighbour) -> Self {
        let links = it.links.into_iter().map(|link| LinkInfo::new(it.zid, link)).collect();
        let transport = TransportInfo { zid: it.zid, whatami: it.whatami, is_qos: it.qos };
        Self { transport, links, dropped: it.dropped, sent: it.sent }
    }
}
