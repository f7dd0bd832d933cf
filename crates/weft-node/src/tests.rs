//! Tests of the whole node over a world that only takes notes.

mod dialing;
mod handshakes;
mod intercept;
mod leases;
mod regions;
mod scouting;
mod sessions;
mod startup;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::SocketAddr;

use weft_keyexpr::KeyExpr;
use weft_transport::{
    CookieKey, HandshakeArrival, HandshakeConfig, Initiator, LinkParams, Negotiated, Responder,
    ResponderStep, Step,
};
use weft_wire::{
    CloseReason, Decode, Encode, Endpoint, NetworkMessage, Reader, TransportMessage, WhatAmI,
    ZenohId,
};

use crate::{
    Activity, DialId, DialTarget, FaceId, LinkFacts, LinkId, LinkInit, LinkOrigin, LinkProtocol,
    Node, NodeConfig, NodeEvent, OpenedTransport, Ports, ScoutTo,
};

const PARAMS: LinkParams = LinkParams { mtu: u16::MAX, streamed: true };

/// Takes note of everything that a node wants done.
#[derive(Default)]
struct World {
    /// In words, in order.
    done: Vec<String>,
    transmitted: Vec<(LinkId, Vec<u8>)>,
    events: Vec<NodeEvent>,
    scouted: Vec<(Vec<u8>, ScoutTo)>,
    /// Messages to open transports, in their wire form.
    sent: Vec<Vec<u8>>,
    activity: BTreeMap<LinkId, Activity>,
}

impl Ports for World {
    fn send(&mut self, face: FaceId, message: &NetworkMessage<'_>) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).unwrap();
        self.sent.push(bytes);
        self.done.push(format!("send {}", face.0));
    }

    fn transmit(&mut self, link: LinkId, batch: &[u8]) {
        self.transmitted.push((link, batch.to_vec()));
        // The CLOSE of a link that compresses has a header of 0.
        let content = batch.strip_prefix(&[0]).unwrap_or(batch);
        let message = TransportMessage::decode(&mut Reader::new(content)).unwrap();
        let name = format!("{message:?}");
        let name: String = name.chars().take_while(|c| c.is_alphanumeric()).collect();
        self.done.push(format!("transmit {} {name}", link.0));
    }

    fn open(&mut self, link: LinkId, transport: OpenedTransport) {
        self.done.push(format!("open {} as {}", link.0, transport.face.0));
    }

    fn attach(&mut self, link: LinkId, face: FaceId, _negotiated: &Negotiated) {
        self.done.push(format!("attach {} to {}", link.0, face.0));
    }

    fn finish(&mut self, face: FaceId, reason: CloseReason) {
        self.done.push(format!("finish {} {reason:?}", face.0));
    }

    fn close_link(&mut self, link: LinkId) {
        self.done.push(format!("close link {}", link.0));
    }

    fn close_transport(&mut self, face: FaceId, reason: Option<CloseReason>) {
        self.done.push(format!("close transport {} {reason:?}", face.0));
    }

    fn dial(&mut self, dial: DialId, endpoints: &[Endpoint]) {
        let names: Vec<&str> = endpoints.iter().map(|it| it.locator().address()).collect();
        self.done.push(format!("dial {} {}", dial.0, names.join(" ")));
    }

    fn activity(&self, link: LinkId) -> Activity {
        self.activity.get(&link).copied().unwrap_or(Activity { rx_us: 0, tx_us: 0 })
    }

    fn keep_alive(&mut self, face: FaceId, link: LinkId) {
        self.done.push(format!("keep alive {} {}", face.0, link.0));
    }

    fn link_facts(&self, _link: LinkId) -> LinkFacts {
        LinkFacts { protocol: Some(LinkProtocol::Tcp), ..LinkFacts::default() }
    }

    fn scout(&mut self, datagram: &[u8], to: ScoutTo) {
        self.scouted.push((datagram.to_vec(), to));
    }

    fn event(&mut self, event: NodeEvent) {
        self.events.push(event);
    }
}

/// A node under test, its world, and the time.
struct Bench {
    node: Node,
    world: World,
    now_us: u64,
    links: u64,
}

fn zid(text: &str) -> ZenohId {
    text.parse().unwrap()
}

fn key(text: &str) -> KeyExpr {
    KeyExpr::new(text).unwrap()
}

fn target(addresses: &[&str]) -> DialTarget {
    let endpoints = addresses.iter().map(|it| format!("tcp/{it}").parse().unwrap()).collect();
    DialTarget::new(endpoints)
}

impl Bench {
    fn new(whatami: WhatAmI) -> Self {
        Self::with(whatami, |_| {})
    }

    fn with(whatami: WhatAmI, change: impl FnOnce(&mut NodeConfig)) -> Self {
        let mut config = NodeConfig::new(zid("a1"), whatami, CookieKey::new([7; 16]));
        config.gossip.enabled = false;
        change(&mut config);
        Self { node: Node::new(config), world: World::default(), now_us: 1_000_000, links: 0 }
    }

    fn start(&mut self) {
        self.node.start(self.now_us, &mut self.world);
    }

    /// What was done since the last call.
    fn done(&mut self) -> Vec<String> {
        core::mem::take(&mut self.world.done)
    }

    fn events(&mut self) -> Vec<NodeEvent> {
        core::mem::take(&mut self.world.events)
    }

    fn last_batch(&self) -> Vec<u8> {
        self.world.transmitted.last().unwrap().1.clone()
    }

    /// Lets time pass, timer by timer.
    fn advance(&mut self, by_us: u64) {
        let until_us = self.now_us + by_us;
        while let Some((at_us, _)) = self.node.next_timeout().filter(|it| it.0 <= until_us) {
            self.now_us = self.now_us.max(at_us);
            self.node.handle_timeout(self.now_us, &mut self.world);
        }
        self.now_us = until_us;
    }

    fn link(&mut self, origin: LinkOrigin) -> LinkId {
        self.link_of(origin, &format!("tcp/10.0.0.1:{}", self.links))
    }

    fn link_of(&mut self, origin: LinkOrigin, address: &str) -> LinkId {
        self.links += 1;
        let link = LinkId(self.links);
        let now = Activity { rx_us: self.now_us, tx_us: self.now_us };
        self.world.activity.insert(link, now);
        let init = LinkInit { link, origin, params: PARAMS, peer_tag: address.into() };
        self.node.link_up(self.now_us, init, &mut self.world);
        link
    }

    fn batch(&mut self, link: LinkId, batch: &[u8]) {
        self.node.handshake_batch(self.now_us, link, batch, &mut self.world);
    }

    /// A neighbour connects and shakes hands as far as it is let.
    fn accept(&mut self, remote: &str, whatami: WhatAmI) -> LinkId {
        self.accept_config(&HandshakeConfig::new(zid(remote), whatami))
    }

    fn accept_config(&mut self, config: &HandshakeConfig) -> LinkId {
        let link = self.link(LinkOrigin::Accepted);
        let mut batch = Vec::new();
        let mut initiator = Initiator::new(config, PARAMS, None, &mut batch);
        self.batch(link, &batch);
        let ack = self.last_batch();
        let mut open = Vec::new();
        if initiator.handle_batch(&ack, &mut open) == Ok(Step::Continue) {
            self.batch(link, &open);
        }
        link
    }

    /// A dialed neighbour is there and shakes hands.
    fn answer_dial(&mut self, dial: u32, remote: &str, whatami: WhatAmI) -> LinkId {
        self.answer_dial_config(dial, HandshakeConfig::new(zid(remote), whatami))
    }

    fn answer_dial_config(&mut self, dial: u32, config: HandshakeConfig) -> LinkId {
        let link = self.link(LinkOrigin::Dialed(DialId(dial)));
        let responder = Responder::new(config, CookieKey::new([9; 16]));
        for _ in 0..2 {
            let mut reply = Vec::new();
            let arrival = HandshakeArrival { link: PARAMS, now_us: self.now_us, peer_tag: &[1] };
            match responder.handle_batch(&self.last_batch(), &arrival, &mut reply) {
                Ok(ResponderStep::Reply) => {}
                Ok(ResponderStep::Admit(admission)) => admission.accept(&mut reply),
                Err(error) => panic!("{error}"),
            }
            self.batch(link, &reply);
        }
        link
    }

    fn dial_fails(&mut self, dial: u32) {
        self.node.dial_failed(self.now_us, DialId(dial), "nobody", &mut self.world);
    }

    fn down(&mut self, link: LinkId) {
        self.node.link_down(self.now_us, link, &mut self.world);
    }

    /// Something was read from a link just now.
    fn hears(&mut self, link: LinkId) {
        self.world.activity.entry(link).and_modify(|it| it.rx_us = self.now_us);
    }

    fn neighbours(&self) -> Vec<String> {
        self.node.neighbours().map(|it| it.zid.to_string()).collect()
    }
}

/// The reason in the CLOSE that was transmitted last.
fn last_close(bench: &Bench) -> Option<CloseReason> {
    match TransportMessage::decode(&mut Reader::new(&bench.last_batch())) {
        Ok(TransportMessage::Close(close)) => Some(close.reason),
        _ => None,
    }
}
