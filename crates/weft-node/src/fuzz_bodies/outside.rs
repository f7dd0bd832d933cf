//! The world around the fuzzed node: links that exist as long as both sides say so, and nothing kept
//! of what is sent.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use weft_transport::Negotiated;
use weft_wire::{
    CloseReason, Decode, Encode, Endpoint, NetworkMessage, Reader, ResponseFinal, TransportMessage,
};

use super::plane::Route;
use crate::{
    Activity, DialId, FaceId, Inbound, LinkFacts, LinkId, Node, NodeEvent, OpenedTransport,
    PendingReply, Ports, ScoutTo,
};

/// A link that neither side has closed.
pub(super) struct Link {
    /// The neighbour, once a transport is open.
    pub(super) face: Option<FaceId>,
    pub(super) activity: Activity,
    /// What the node has written last in the handshake.
    reply: Option<Vec<u8>>,
}

#[derive(Default)]
pub(super) struct Outside {
    pub(super) now_us: u64,
    pub(super) links: BTreeMap<LinkId, Link>,
    /// The open transports, and the number that the next frame of each neighbour has.
    pub(super) faces: BTreeMap<FaceId, u64>,
    pub(super) inbound: BTreeMap<FaceId, Inbound<Arc<Route>>>,
    /// The transports that read what is left.
    finishing: BTreeSet<FaceId>,
    /// Attempts that are under way.
    pub(super) dials: Vec<DialId>,
    /// The neighbours that the session knows of.
    pub(super) neighbours: BTreeSet<FaceId>,
    /// The session's queries that have not ended.
    pub(super) queries: BTreeSet<u32>,
    pub(super) token_queries: BTreeSet<u32>,
    bytes: Vec<u8>,
}

impl Outside {
    pub(super) fn link_up(&mut self, now_us: u64, link: LinkId) {
        let activity = Activity { rx_us: now_us, tx_us: now_us };
        self.links.insert(link, Link { face: None, activity, reply: None });
    }

    /// What the node has answered on a link that has no transport yet, or just got one.
    pub(super) fn reply(&mut self, link: LinkId) -> Option<Vec<u8>> {
        self.links.get_mut(&link)?.reply.take()
    }

    /// A branch of a query has ended; its source is told when it was the last one.
    pub(super) fn end_branch(&mut self, node: &mut Node, face: FaceId, id: u32) {
        match node.end_branch(face, id) {
            Some(PendingReply { source: FaceId::LOCAL, source_id, .. }) => {
                assert!(self.queries.remove(&source_id), "a query ends once");
            }
            Some(PendingReply { source, source_id, qos }) => {
                let end = ResponseFinal { id: source_id, qos, timestamp: None };
                self.send(source, &NetworkMessage::ResponseFinal(end));
            }
            None => {}
        }
    }
}

impl Outside {
    /// A message for the neighbour behind `face`: returns what that neighbour reads.
    pub(super) fn sent(
        &mut self,
        face: FaceId,
        message: &(impl Encode + core::fmt::Debug),
    ) -> NetworkMessage<'_> {
        assert!(self.faces.contains_key(&face), "{message:?} to {face:?}, which is not there");
        self.bytes.clear();
        message.encode(&mut self.bytes).expect("a vector is never full");
        NetworkMessage::decode(&mut Reader::new(&self.bytes)).expect("what we write can be read")
    }
}

impl Ports for Outside {
    fn send(&mut self, face: FaceId, message: &NetworkMessage<'_>) {
        let read = self.sent(face, message);
        assert_eq!(core::mem::discriminant(&read), core::mem::discriminant(message));
    }

    fn transmit(&mut self, link: LinkId, batch: &[u8]) {
        let state = self.links.get_mut(&link).expect("a link that is up");
        assert!(state.face.is_none(), "handshakes precede frames");
        TransportMessage::decode(&mut Reader::new(batch)).expect("what we write can be read");
        state.reply = Some(batch.to_vec());
        state.activity.tx_us = self.now_us;
    }

    fn open(&mut self, link: LinkId, transport: OpenedTransport) {
        let OpenedTransport { face, negotiated, rx } = transport;
        assert!(self.faces.insert(face, negotiated.sn_rx_initial).is_none());
        self.inbound.insert(face, Inbound::new(face, *rx));
        self.attach(link, face, &negotiated);
    }

    fn attach(&mut self, link: LinkId, face: FaceId, _negotiated: &Negotiated) {
        assert!(self.faces.contains_key(&face));
        let state = self.links.get_mut(&link).expect("a link that is up");
        assert_eq!(state.face.replace(face), None);
        assert!(!self.finishing.contains(&face), "no link joins what ends");
    }

    fn finish(&mut self, face: FaceId, _reason: CloseReason) {
        assert!(self.finishing.insert(face), "a transport finishes once");
        assert!(self.links.values().any(|link| link.face == Some(face)), "there is a link to read");
    }

    fn close_link(&mut self, link: LinkId) {
        assert!(self.links.remove(&link).is_some(), "a link is closed once");
    }

    fn close_transport(&mut self, face: FaceId, _reason: Option<CloseReason>) {
        assert!(self.faces.remove(&face).is_some(), "a transport is closed once");
        self.finishing.remove(&face);
        self.inbound.remove(&face);
        self.links.retain(|_, link| link.face != Some(face));
    }

    fn dial(&mut self, dial: DialId, endpoints: &[Endpoint]) {
        assert!(!endpoints.is_empty() && !self.dials.contains(&dial));
        self.dials.push(dial);
    }

    fn activity(&self, link: LinkId) -> Activity {
        self.links[&link].activity
    }

    fn keep_alive(&mut self, face: FaceId, link: LinkId) {
        let state = self.links.get_mut(&link).expect("a link that is up");
        assert_eq!(state.face, Some(face));
        state.activity.tx_us = self.now_us;
    }

    fn link_facts(&self, link: LinkId) -> LinkFacts {
        assert!(self.links.contains_key(&link), "a link that is up");
        LinkFacts::default()
    }

    fn scout(&mut self, datagram: &[u8], _to: ScoutTo) {
        assert!(!datagram.is_empty());
    }

    fn event(&mut self, event: NodeEvent) {
        match event {
            NodeEvent::NeighbourUp { face, .. } => assert!(self.neighbours.insert(face)),
            NodeEvent::NeighbourDown { face, .. } => assert!(self.neighbours.remove(&face)),
            NodeEvent::QueryTimeout { query } => {
                assert!(self.queries.contains(&query) || self.token_queries.contains(&query));
            }
            NodeEvent::QueryFinal { query } => assert!(self.queries.remove(&query)),
            NodeEvent::TokenReply { query, .. } => assert!(self.token_queries.contains(&query)),
            NodeEvent::TokenQueryFinal { query } => assert!(self.token_queries.remove(&query)),
            NodeEvent::Token { subscribers, .. } => assert!(!subscribers.is_empty()),
            NodeEvent::StartFailed { reason: text } | NodeEvent::Warning { text } => {
                assert!(!text.is_empty());
            }
            NodeEvent::Started | NodeEvent::Matching { .. } | NodeEvent::QueryablesKnown { .. } => {
            }
        }
    }
}
