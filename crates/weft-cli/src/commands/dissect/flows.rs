//! The conversations of a capture: which packets belong together, and which of them speak this protocol.
//!
//! Not here: what is said in them (`connection`).
//!
//! TCP connections and UDP conversations are followed if they use one of the ports, or if, without ports being asked for,
//! what they say looks like Zenoh beyond doubt. SCOUT and HELLO have the same ids as INIT and OPEN; they are told apart by
//! the port of scouting, and answers by whom they go to.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use weft_wire::{Decode as _, Reader, ScoutingMessage, VERSION};

use super::batch::{Likeness, likeness};
use super::capture::Packet;
use super::connection::{Connection, Direction, is_zenoh};
use super::describe;
use super::limits::{Budget, FLOWS_MAX, HELD_MAX, SCOUTERS_MAX};
use super::packet::{Defragmenter, Ends, Seen, Segment, parse};
use super::record::{Place, Record};
use super::tcp::{Assembler, Piece};

/// The port of nodes unless they are told otherwise.
const PORT_DEFAULT: u16 = 7447;

/// The port of scouting.
const SCOUTING_PORT: u16 = 7446;

/// Takes what there is to show, and where it was seen.
pub(super) type EmitAt<'e> = &'e mut dyn FnMut(&Place, Record);

/// All conversations of a capture.
pub(super) struct Flows {
    /// The only ports; none means the default one, and whatever looks like Zenoh.
    ports: Vec<u16>,
    followed: HashMap<FlowId, Flow>,
    scouters: VecDeque<SocketAddr>,
    fragments: Defragmenter,
    budget: Budget,
    /// Packets so far: the clock by which flows are old.
    packets: u64,
    connections: u64,
    unknown_links: u64,
}

/// A conversation, whoever speaks: TCP or not, and both ends in order.
type FlowId = (bool, SocketAddr, SocketAddr);

struct Flow {
    number: u64,
    first: SocketAddr,
    connection: Connection,
    tcp: [Assembler; 2],
    /// The number of the SYN that it began with.
    began_with: Option<u32>,
    last_packet: u64,
    last_seen: Place,
}

impl Flows {
    pub(super) fn new(ports: Vec<u16>) -> Self {
        Self {
            ports,
            followed: HashMap::new(),
            scouters: VecDeque::new(),
            fragments: Defragmenter::default(),
            budget: Budget::new(HELD_MAX),
            packets: 0,
            connections: 0,
            unknown_links: 0,
        }
    }

    /// Takes the next packet of the capture.
    pub(super) fn packet(&mut self, packet: &Packet<'_>, emit: EmitAt<'_>) {
        self.packets += 1;
        match parse(packet.link, packet.bytes) {
            Seen::IpFragment => {
                if let Some(whole) = self.fragments.push(packet.link, packet.bytes) {
                    self.seen(packet, whole.seen(), emit);
                }
            }
            seen => self.seen(packet, seen, emit),
        }
    }

    fn seen(&mut self, packet: &Packet<'_>, seen: Seen<'_>, emit: EmitAt<'_>) {
        match seen {
            Seen::Tcp(ends, segment) => self.tcp(packet, ends, &segment, emit),
            Seen::Udp(ends, payload) => self.udp(packet, ends, payload, emit),
            Seen::UnknownLink => self.unknown_links += 1,
            Seen::IpFragment | Seen::Other => {}
        }
    }

    /// The capture ends: what waits for more will not get it.
    pub(super) fn end(&mut self, emit: EmitAt<'_>) {
        let mut flows: Vec<Flow> = self.followed.drain().map(|(_, flow)| flow).collect();
        flows.sort_by_key(|flow| flow.number);
        for mut flow in flows {
            flow.end(emit);
        }
    }

    /// Connections seen so far.
    pub(super) const fn connections(&self) -> u64 {
        self.connections
    }

    /// Packets so far of link layers that are not known here.
    pub(super) const fn unknown_links(&self) -> u64 {
        self.unknown_links
    }

    fn tcp(&mut self, packet: &Packet<'_>, ends: Ends, segment: &Segment<'_>, emit: EmitAt<'_>) {
        let id = id(true, ends);
        let begins_anew = segment.syn
            && segment.ack.is_none()
            && self.followed.get(&id).is_some_and(|flow| flow.began_with != Some(segment.seq));
        if begins_anew && let Some(mut old) = self.followed.remove(&id) {
            old.end(emit);
        }
        let is_followed = self.followed.contains_key(&id)
            || self.has_port(ends)
            || (self.ports.is_empty() && is_zenoh(segment.payload));
        let says_something = segment.syn || !segment.payload.is_empty();
        if !is_followed || !says_something && !self.followed.contains_key(&id) {
            return;
        }
        let budget = self.budget.clone();
        let flow = self.flow(id, packet, ends, emit);
        flow.segment(segment, packet.missing, &budget, emit);
    }

    fn udp(&mut self, packet: &Packet<'_>, ends: Ends, payload: &[u8], emit: EmitAt<'_>) {
        let id = id(false, ends);
        if !self.followed.contains_key(&id) && self.scouting(packet, ends, payload, emit) {
            return;
        }
        let is_followed = self.followed.contains_key(&id)
            || self.has_port(ends)
            || (self.ports.is_empty() && likeness(payload, false, false) == Likeness::Strong);
        if !is_followed || payload.is_empty() {
            return;
        }
        let missing = packet.missing as u64;
        let flow = self.flow(id, packet, ends, emit);
        let (direction, place) = (flow.direction(), flow.last_seen);
        let mut emit = |record| emit(&place, record);
        if missing > 0 {
            emit(Record::note(format!("{missing} bytes of a datagram are not in the capture")));
        }
        flow.connection.datagram(direction, payload, &mut emit);
    }

    /// Shows a datagram if it is one of scouting.
    fn scouting(
        &mut self,
        packet: &Packet<'_>,
        ends: Ends,
        payload: &[u8],
        emit: EmitAt<'_>,
    ) -> bool {
        let is_port = ends.from.port() == SCOUTING_PORT || ends.to.port() == SCOUTING_PORT;
        let is_answer = self.scouters.contains(&ends.to);
        let decoded = ScoutingMessage::decode(&mut Reader::new(payload));
        // The answer to a question that was not captured.
        let is_hello =
            matches!(&decoded, Ok(ScoutingMessage::Hello(hello)) if hello.version == VERSION);
        let is_stray = self.ports.is_empty() && !self.has_port(ends) && is_hello;
        if !is_port && !is_answer && !is_stray {
            return false;
        }
        let connection = None;
        let place = Place { unix_ns: packet.unix_ns, connection, from: ends.from, to: ends.to };
        match decoded {
            Ok(message) => {
                if matches!(message, ScoutingMessage::Scout(_)) {
                    self.expect_answers(ends.from);
                }
                emit(&place, describe::scouting(&message));
            }
            // The transport of a group may use the same port.
            Err(_) if likeness(payload, false, false) > Likeness::None => return false,
            Err(error) => {
                let record = Record::error(error.to_string());
                emit(&place, record.bytes("datagram", payload));
            }
        }
        true
    }

    fn expect_answers(&mut self, scouter: SocketAddr) {
        if self.scouters.contains(&scouter) {
            return;
        }
        if self.scouters.len() >= SCOUTERS_MAX {
            self.scouters.pop_front();
        }
        self.scouters.push_back(scouter);
    }

    fn has_port(&self, ends: Ends) -> bool {
        let ports = if self.ports.is_empty() { &[PORT_DEFAULT] } else { &self.ports[..] };
        ports.contains(&ends.from.port()) || ports.contains(&ends.to.port())
    }

    /// The flow of a packet, a new one if need be; notes that the packet is its last.
    fn flow(&mut self, id: FlowId, packet: &Packet<'_>, ends: Ends, emit: EmitAt<'_>) -> &mut Flow {
        if !self.followed.contains_key(&id) {
            self.make_room(emit);
            self.connections += 1;
        }
        let (number, unix_ns) = (self.connections, packet.unix_ns);
        let budget = &self.budget;
        let flow = self.followed.entry(id).or_insert_with(|| Flow {
            number,
            first: ends.from,
            connection: Connection::new(budget),
            tcp: [Assembler::default(), Assembler::default()],
            began_with: None,
            last_packet: 0,
            last_seen: Place { unix_ns, connection: Some(number), from: ends.from, to: ends.to },
        });
        flow.last_packet = self.packets;
        flow.last_seen =
            Place { unix_ns, connection: Some(flow.number), from: ends.from, to: ends.to };
        flow
    }

    /// Forgets the flow that was silent for longest, if there are too many. Looks at all of them.
    fn make_room(&mut self, emit: EmitAt<'_>) {
        if self.followed.len() < FLOWS_MAX {
            return;
        }
        let oldest = self.followed.iter().min_by_key(|(_, flow)| flow.last_packet);
        if let Some(id) = oldest.map(|(id, _)| *id)
            && let Some(mut flow) = self.followed.remove(&id)
        {
            flow.end(emit);
        }
    }
}

impl Flow {
    /// The direction of its last packet.
    fn direction(&self) -> Direction {
        if self.last_seen.from == self.first { Direction::Forth } else { Direction::Back }
    }

    fn segment(
        &mut self,
        segment: &Segment<'_>,
        missing: usize,
        budget: &Budget,
        emit: EmitAt<'_>,
    ) {
        let direction = self.direction();
        if segment.syn && self.tcp[direction as usize].is_new() {
            self.tcp[direction as usize].begin(segment.seq);
            self.connection.begin(direction);
            if segment.ack.is_none() {
                self.began_with = Some(segment.seq);
            }
        }
        if let Some(ack) = segment.ack {
            self.pieces(direction.reverse(), emit, |tcp, out| tcp.acknowledged(ack, out));
        }
        let seq = segment.seq.wrapping_add(u32::from(segment.syn));
        self.pieces(direction, emit, |tcp, out| {
            tcp.push(seq, segment.payload, missing, budget, out);
        });
    }

    fn end(&mut self, emit: EmitAt<'_>) {
        for direction in [Direction::Forth, Direction::Back] {
            self.pieces(direction, emit, |tcp, out| tcp.end(out));
            let place = self.place(direction);
            self.connection.end(direction, &mut |record| emit(&place, record));
        }
    }

    /// Does something with one direction, and reads what comes out of it.
    fn pieces(
        &mut self,
        direction: Direction,
        emit: EmitAt<'_>,
        act: impl FnOnce(&mut Assembler, &mut dyn FnMut(Piece<'_>)),
    ) {
        let (place, connection) = (self.place(direction), &mut self.connection);
        let mut emit = |record| emit(&place, record);
        act(&mut self.tcp[direction as usize], &mut |piece| match piece {
            Piece::Bytes(bytes) => connection.bytes(direction, bytes, &mut emit),
            Piece::Gap(len) => connection.gap(direction, len, &mut emit),
        });
    }

    /// Where and when something in this direction is seen, if the last packet is what shows it.
    fn place(&self, direction: Direction) -> Place {
        let Place { from, to, .. } = self.last_seen;
        if direction == self.direction() {
            self.last_seen
        } else {
            Place { from: to, to: from, ..self.last_seen }
        }
    }
}

fn id(is_tcp: bool, ends: Ends) -> FlowId {
    (is_tcp, ends.from.min(ends.to), ends.from.max(ends.to))
}

#[cfg(test)]
mod tests;
