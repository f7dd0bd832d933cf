//! Links on their way to becoming transports, and transports until they end.
//!
//! Spec: 01 §4, §5.4, §5.7. A link starts as *dialed* (this node opened it) or *accepted*. An
//! accepted link has no handshake state here until its OPEN brings back a cookie that proves the
//! INIT; only its deadline is kept. A transport is what all links to one neighbour id share. There
//! is a second one only if two nodes connect to each other at the same time. A transport sends on
//! its first link and does not outlive any of them: what was on its way over a lost link is lost, and
//! a declaration among it would be missed for ever. But the neighbour may have closed, and its last
//! words be unread on another link: the transport *finishes*, it says CLOSE and reads on until each
//! link has ended.

mod pending;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;
use weft_routing::{FaceInit, Side};
use weft_transport::{
    Admission, HandshakeArrival, Initiator, Lease, LinkParams, Negotiated, ResponderStep, RxHalf,
    Step,
};
use weft_wire::{CloseReason, WhatAmI, ZenohId};

use self::pending::Pending;
use crate::FaceId;
use crate::dialer::DialId;
use crate::gateway::{face_init, side};
use crate::node::Node;
use crate::ports::{NodeEvent, OpenedTransport, Ports};
use crate::timers::Timer;

/// Names a link. Never reused within a node's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u64);

/// Who opened a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkOrigin {
    /// This node, for the given attempt.
    Dialed(DialId),
    /// The neighbour.
    Accepted,
}

/// Why a link or a transport ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    Broken,
    ClosedByNeighbour,
    LeaseExpired,
    NoHandshake,
    /// The neighbour is back, by another link, before its old ones were found dead.
    Replaced,
    /// Given up by the caller, for the reason given.
    GivenUp(&'static str),
}

impl Loss {
    pub(crate) const fn why(self) -> &'static str {
        match self {
            Self::Broken => "link closed",
            Self::ClosedByNeighbour => "closed by the neighbour",
            Self::LeaseExpired => "lease expired",
            Self::NoHandshake => "no answer to the handshake",
            Self::Replaced => "replaced by a new connection",
            Self::GivenUp(why) => why,
        }
    }
}

/// A link that has just come up.
#[derive(Clone, Debug)]
pub struct LinkInit {
    /// Its name.
    pub link: LinkId,
    /// Who opened it.
    pub origin: LinkOrigin,
    /// What batches it carries.
    pub params: LinkParams,
    /// Something that tells the neighbour's address from others, its port behind a colon at the end;
    /// bound into the cookie.
    pub peer_tag: Vec<u8>,
}

#[derive(Debug)]
enum Phase {
    Dialed { dial: DialId, initiator: Box<Initiator> },
    Accepted { peer_tag: Box<[u8]> },
    Open { zid: ZenohId, dial: Option<DialId> },
}

#[derive(Debug)]
struct Link {
    params: LinkParams,
    phase: Phase,
}

#[derive(Debug)]
pub(crate) struct Transport {
    pub(crate) face: FaceId,
    pub(crate) negotiated: Negotiated,
    lease: Lease,
    /// In the order of their opening.
    pub(crate) links: Vec<LinkId>,
    accepted: usize,
    /// It has lost a link, and only reads what is left on the others.
    finishing: bool,
    /// Its first gossip has arrived.
    pub(crate) gossiped: bool,
}

/// A connected neighbour, for information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeighbourInfo {
    /// Its face.
    pub face: FaceId,
    /// Its identity.
    pub zid: ZenohId,
    /// Its mode.
    pub whatami: WhatAmI,
    /// Whether priorities have channels of their own.
    pub qos: bool,
    /// Its links, in the order of their opening.
    pub links: Vec<LinkId>,
}

/// All links and transports of a node.
#[derive(Debug)]
pub(crate) struct Links {
    by_id: BTreeMap<LinkId, Link>,
    /// Accepted links without a transport.
    pending: Pending,
    pub(crate) transports: BTreeMap<ZenohId, Transport>,
    zids: BTreeMap<FaceId, ZenohId>,
}

impl Links {
    /// None. `seed` is secret, as for [`Pending::new`].
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            by_id: BTreeMap::new(),
            pending: Pending::new(seed),
            transports: BTreeMap::new(),
            zids: BTreeMap::new(),
        }
    }

    pub(crate) fn by_face(&self, face: FaceId) -> Option<(ZenohId, &Transport)> {
        let zid = *self.zids.get(&face)?;
        Some((zid, self.transports.get(&zid)?))
    }

    /// Gossip of the neighbour has arrived; returns whether it is its first.
    pub(crate) fn gossiped(&mut self, face: FaceId) -> bool {
        let transport = self.zids.get(&face).and_then(|zid| self.transports.get_mut(zid));
        transport.is_some_and(|it| !core::mem::replace(&mut it.gossiped, true))
    }

    /// Links, and those among them whose handshake is not complete on the accepting side.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.by_id.len(), self.pending.len())
    }
}

impl Node {
    /// A link is up.
    pub fn link_up(&mut self, now_us: u64, init: LinkInit, ports: &mut dyn Ports) {
        let LinkInit { link, origin, params, peer_tag } = init;
        let phase = match origin {
            LinkOrigin::Dialed(dial) => {
                let Some(expected) = self.dialer.link_up(dial, link) else {
                    return ports.close_link(link);
                };
                let mut batch = Vec::new();
                let initiator =
                    Initiator::new(&self.config.handshake, params, expected, &mut batch);
                ports.transmit(link, &batch);
                self.timers.set(now_us + self.config.open_timeout_us, Timer::Handshake(link));
                Phase::Dialed { dial, initiator: Box::new(initiator) }
            }
            LinkOrigin::Accepted => {
                self.make_room_for_accepted(ports);
                self.links.pending.add(link, &peer_tag);
                self.timers.set(now_us + self.config.accept_timeout_us, Timer::Handshake(link));
                Phase::Accepted { peer_tag: peer_tag.into() }
            }
        };
        self.links.by_id.insert(link, Link { params, phase });
    }

    /// Closes unfinished handshakes if there are too many.
    fn make_room_for_accepted(&mut self, ports: &mut dyn Ports) {
        while self.links.pending.len() >= self.config.accept_pending_max.max(1) {
            let Some(chosen) = self.links.pending.choose() else { return };
            self.end_handshakes([chosen], ports);
        }
    }

    /// Takes a link out of the tables, with its timers.
    fn forget_link(&mut self, link: LinkId) -> Option<Link> {
        let state = self.links.by_id.remove(&link)?;
        self.timers.clear(Timer::Handshake(link));
        match &state.phase {
            Phase::Open { zid, .. } => {
                if let Some(transport) = self.links.transports.get_mut(zid) {
                    self.timers.clear(Timer::Lease(transport.face, link));
                    transport.links.retain(|other| *other != link);
                }
            }
            Phase::Accepted { .. } => self.links.pending.remove(link),
            Phase::Dialed { .. } => {}
        }
        Some(state)
    }

    /// A batch arrived on a link that has no transport yet. (Once [`Ports::open`] or
    /// [`Ports::attach`] was called for it, its batches go to [`Inbound`](crate::Inbound).)
    pub fn handshake_batch(
        &mut self,
        now_us: u64,
        link: LinkId,
        batch: &[u8],
        ports: &mut dyn Ports,
    ) {
        let Some(state) = self.links.by_id.get_mut(&link) else { return };
        let mut reply = Vec::new();
        match &mut state.phase {
            Phase::Dialed { dial, initiator } => {
                let dial = *dial;
                let gateway = self.config.gateway.as_ref();
                let place = |peer: &Negotiated| side(gateway, link, peer, ports).map(Side::bound);
                let step = initiator.handle_batch_placing(batch, place, &mut reply);
                let peer = initiator.peer();
                if !reply.is_empty() {
                    ports.transmit(link, &reply);
                }
                match step {
                    Ok(Step::Continue) => {}
                    Ok(Step::Established(negotiated)) => {
                        self.dialed_established(now_us, link, dial, negotiated, ports);
                    }
                    Err(error) => {
                        self.forget_link(link);
                        ports.close_link(link);
                        self.handshake_failed(now_us, (dial, link), peer, &error, ports);
                    }
                }
            }
            Phase::Accepted { peer_tag } => {
                let arrival = HandshakeArrival { link: state.params, now_us, peer_tag };
                match self.responder.handle_batch(batch, &arrival, &mut reply) {
                    Ok(ResponderStep::Reply) => ports.transmit(link, &reply),
                    Ok(ResponderStep::Admit(admission)) => {
                        self.accepted_asks_in(now_us, link, admission, ports);
                    }
                    Err(_) => self.turn_away(link, &reply, ports),
                }
            }
            Phase::Open { .. } => {}
        }
    }

    /// Ends an accepted link that did not become a transport, with a last word if there is one.
    fn turn_away(&mut self, link: LinkId, last: &[u8], ports: &mut dyn Ports) {
        if !last.is_empty() {
            ports.transmit(link, last);
        }
        self.forget_link(link);
        ports.close_link(link);
    }

    fn accepted_asks_in(
        &mut self,
        now_us: u64,
        link: LinkId,
        mut admission: Admission,
        ports: &mut dyn Ports,
    ) {
        let mut reply = Vec::new();
        let side = side(self.config.gateway.as_ref(), link, &admission.negotiated, ports);
        let init = face_init(&admission.negotiated, side);
        admission.remote_bound = side.map(Side::bound);
        self.give_up_silent(now_us, init.zid, ports);
        if let Err(reason) = self.may_admit(&admission.negotiated, &init, true, ports) {
            admission.refuse(reason, &mut reply);
            return self.turn_away(link, &reply, ports);
        }
        admission.accept(&mut reply);
        ports.transmit(link, &reply);
        self.join(now_us, (link, None), admission.negotiated, init, ports);
    }

    fn dialed_established(
        &mut self,
        now_us: u64,
        link: LinkId,
        dial: DialId,
        negotiated: Negotiated,
        ports: &mut dyn Ports,
    ) {
        let zid = negotiated.zid;
        let side = side(self.config.gateway.as_ref(), link, &negotiated, ports);
        let init = face_init(&negotiated, side);
        self.give_up_silent(now_us, zid, ports);
        if let Err(reason) = self.may_admit(&negotiated, &init, false, ports) {
            let mut close = Vec::new();
            negotiated.write_close(reason, &mut close);
            ports.transmit(link, &close);
            self.forget_link(link);
            ports.close_link(link);
            return self.dial_refused(now_us, (dial, link), zid, reason, ports);
        }
        let others = self.dialer.opened(now_us, dial, link, zid);
        self.end_handshakes(others, ports);
        self.join(now_us, (link, Some(dial)), negotiated, init, ports);
    }

    /// Links in handshake that nobody needs any more.
    pub(crate) fn end_handshakes(
        &mut self,
        links: impl IntoIterator<Item = LinkId>,
        ports: &mut dyn Ports,
    ) {
        for link in links {
            self.forget_link(link);
            ports.close_link(link);
        }
    }

    /// A neighbour is back. If its transport has been silent for half of its lease, it is taken for
    /// what a crash left behind, which would otherwise keep the neighbour out until the lease ends.
    fn give_up_silent(&mut self, now_us: u64, zid: ZenohId, ports: &mut dyn Ports) {
        let Some(transport) = self.links.transports.get(&zid) else { return };
        let patience_us = transport.negotiated.lease_remote_ms.saturating_mul(1000) / 2;
        let heard = transport.links.iter().map(|link| ports.activity(*link).rx_us).max();
        if heard.is_some_and(|heard| heard.saturating_add(patience_us) < now_us) {
            let face = transport.face;
            self.end_transport(now_us, face, Some(CloseReason::GENERIC), Loss::Replaced, ports);
        }
    }

    /// The reason to refuse a neighbour, if there is one (01 §4.3).
    fn may_admit(
        &mut self,
        negotiated: &Negotiated,
        init: &FaceInit,
        accepted: bool,
        ports: &mut dyn Ports,
    ) -> Result<(), CloseReason> {
        if negotiated.zid == self.config.zid {
            return Err(CloseReason::CONNECTION_TO_SELF);
        }
        if let Some(known) = self.links.transports.get(&negotiated.zid) {
            let full = accepted && known.accepted >= self.config.links_per_session_max;
            if full || known.finishing {
                return Err(CloseReason::MAX_LINKS);
            }
            let same = Negotiated { batch_size: known.negotiated.batch_size, ..negotiated.clone() };
            return if same == known.negotiated { Ok(()) } else { Err(CloseReason::INVALID) };
        }
        if self.links.transports.len() >= self.config.sessions_max {
            return Err(CloseReason::MAX_SESSIONS);
        }
        self.routing.admits(init).map_err(|why| {
            self.report_refusal(init, why, ports);
            CloseReason::GENERIC
        })
    }

    /// Makes an admitted link part of the transport to its neighbour, the first link opening it.
    fn join(
        &mut self,
        now_us: u64,
        (link, dial): (LinkId, Option<DialId>),
        negotiated: Negotiated,
        init: FaceInit,
        ports: &mut dyn Ports,
    ) {
        let (zid, whatami, qos) = (negotiated.zid, negotiated.whatami, negotiated.qos);
        let Some(state) = self.links.by_id.get_mut(&link) else { return };
        state.phase = Phase::Open { zid, dial };
        self.links.pending.remove(link);
        self.timers.clear(Timer::Handshake(link));
        let accepted = usize::from(dial.is_none());
        if let Some(transport) = self.links.transports.get_mut(&zid) {
            transport.links.push(link);
            transport.accepted += accepted;
            let face = transport.face;
            self.timers.set(now_us, Timer::Lease(face, link));
            ports.attach(link, face, &negotiated);
            return self.guard(face, ports);
        }
        let face = self.routing.next_face();
        let own_ms = self.config.handshake.lease_ms;
        let lease = Lease::new(own_ms, negotiated.lease_remote_ms, self.config.keep_alive);
        let rx = Box::new(RxHalf::new(&negotiated, self.config.rx));
        ports.open(link, OpenedTransport { face, negotiated: negotiated.clone(), rx });
        let links = Vec::from([link]);
        let (finishing, gossiped) = (false, false);
        let transport = Transport { face, negotiated, lease, links, accepted, finishing, gossiped };
        self.links.transports.insert(zid, transport);
        self.links.zids.insert(face, zid);
        self.timers.set(now_us, Timer::Lease(face, link));
        self.guard(face, ports);
        ports.event(NodeEvent::NeighbourUp { face, zid, whatami, qos });
        let admitted = self
            .with_routing(now_us, ports, |routing, out| routing.face_up(now_us, face, init, out));
        debug_assert!(admitted.is_ok(), "may_admit has asked");
        self.name_keys(now_us, ports);
        if self.is_served() {
            self.stop_scouting();
        }
        self.check_startup(ports);
    }

    /// A link is gone: closed by its neighbour, broken, or never completed.
    pub fn link_down(&mut self, now_us: u64, link: LinkId, ports: &mut dyn Ports) {
        self.link_lost(now_us, link, Loss::Broken, ports);
    }

    fn link_lost(&mut self, now_us: u64, link: LinkId, loss: Loss, ports: &mut dyn Ports) {
        let Some(state) = self.forget_link(link) else { return };
        match state.phase {
            Phase::Accepted { .. } => {}
            Phase::Dialed { dial, .. } => {
                self.link_failed(now_us, (dial, link), loss.why().to_string(), ports);
            }
            Phase::Open { zid, dial } => {
                let Some(transport) = self.links.transports.get_mut(&zid) else { return };
                let face = transport.face;
                if transport.links.is_empty() {
                    self.end_transport(now_us, face, None, loss, ports);
                } else if !core::mem::replace(&mut transport.finishing, true) {
                    ports.finish(face, CloseReason::GENERIC);
                }
                if let Some(dial) = dial {
                    self.dial_lost(now_us, dial, loss);
                }
                self.scout_again(now_us, ports);
            }
        }
    }

    /// The neighbour behind `face` said CLOSE, or broke the protocol: the link it did so on ends.
    pub fn neighbour_closed(&mut self, now_us: u64, link: LinkId, ports: &mut dyn Ports) {
        ports.close_link(link);
        self.link_lost(now_us, link, Loss::ClosedByNeighbour, ports);
    }

    /// Gives up a neighbour: it is told why, and all its links end.
    pub fn close_neighbour(
        &mut self,
        now_us: u64,
        face: FaceId,
        reason: CloseReason,
        why: &'static str,
        ports: &mut dyn Ports,
    ) {
        self.end_transport(now_us, face, Some(reason), Loss::GivenUp(why), ports);
        self.scout_again(now_us, ports);
    }

    /// Ends a transport with all its links.
    fn end_transport(
        &mut self,
        now_us: u64,
        face: FaceId,
        reason: Option<CloseReason>,
        loss: Loss,
        ports: &mut dyn Ports,
    ) {
        let Some((zid, transport)) = self.links.by_face(face) else { return };
        ports.close_transport(face, reason);
        let mut dials = Vec::new();
        for link in transport.links.clone() {
            if let Some(Link { phase: Phase::Open { dial, .. }, .. }) = self.forget_link(link) {
                dials.extend(dial);
            }
        }
        self.links.zids.remove(&face);
        self.links.transports.remove(&zid);
        self.with_routing(now_us, ports, |routing, out| routing.face_down(now_us, face, out));
        self.interception.face_down(face);
        ports.event(NodeEvent::NeighbourDown { face, zid, why: loss.why() });
        self.redial_for(now_us, zid);
        for dial in dials {
            self.dial_lost(now_us, dial, loss);
        }
        self.check_startup(ports);
    }

    /// A client without an upstream, and without one to connect to, looks for one.
    fn scout_again(&mut self, now_us: u64, ports: &mut dyn Ports) {
        if self.config.whatami == WhatAmI::Client
            && !self.routing.has_upstream()
            && !self.dialer.has_configured()
        {
            self.start_scouting(now_us, ports);
        }
    }

    pub(crate) fn handshake_expired(&mut self, now_us: u64, link: LinkId, ports: &mut dyn Ports) {
        let Some(state) = self.links.by_id.get(&link) else { return };
        if !matches!(state.phase, Phase::Open { .. }) {
            ports.close_link(link);
            self.link_lost(now_us, link, Loss::NoHandshake, ports);
        }
    }

    /// Sends a keep-alive on a link that was silent, or gives up a neighbour that was (01 §5.4).
    pub(crate) fn check_lease(
        &mut self,
        now_us: u64,
        face: FaceId,
        link: LinkId,
        ports: &mut dyn Ports,
    ) {
        let Some((_, transport)) = self.links.by_face(face) else { return };
        if !transport.links.contains(&link) {
            return;
        }
        let lease = transport.lease;
        let mut activity = ports.activity(link);
        if lease.expired(activity.rx_us, now_us) {
            ports.close_link(link);
            return self.link_lost(now_us, link, Loss::LeaseExpired, ports);
        }
        // Whoever finishes has said its last word.
        if transport.finishing {
            activity.tx_us = now_us;
        }
        if lease.next_keep_alive(activity.tx_us) <= now_us {
            ports.keep_alive(face, link);
            activity.tx_us = now_us;
        }
        let next = lease.next_keep_alive(activity.tx_us).min(lease.expiry(activity.rx_us));
        self.timers.set(next.max(now_us + 1), Timer::Lease(face, link));
    }

    /// The connected neighbours.
    pub fn neighbours(&self) -> impl Iterator<Item = NeighbourInfo> + '_ {
        self.links.transports.iter().map(|(zid, transport)| NeighbourInfo {
            face: transport.face,
            zid: *zid,
            whatami: transport.negotiated.whatami,
            qos: transport.negotiated.qos,
            links: transport.links.clone(),
        })
    }

    /// Closes every link, telling the neighbours. What the session waits for ends.
    pub fn close(&mut self, ports: &mut dyn Ports) {
        // No timer is set from here on, so that any time will do.
        let now_us = 0;
        self.stop_scouting();
        self.dialer.clear();
        self.timers.clear_all();
        let Links { by_id, transports, .. } =
            core::mem::replace(&mut self.links, Links::new(self.config.hash_seed));
        for transport in transports.values() {
            ports.close_transport(transport.face, Some(CloseReason::GENERIC));
        }
        for (link, state) in by_id {
            if !matches!(state.phase, Phase::Open { .. }) {
                ports.close_link(link);
            }
        }
        for transport in transports.values() {
            let face = transport.face;
            self.with_routing(now_us, ports, |routing, out| routing.face_down(now_us, face, out));
            self.interception.face_down(face);
        }
        self.with_routing(now_us, ports, |routing, out| routing.end_own_queries(out));
        self.end_token_queries(ports);
    }
}
