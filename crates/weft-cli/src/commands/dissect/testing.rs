//! Captures made of bytes that were captured from the real peer, and reading them.

use etherparse::{IpNumber, Ipv4Header, PacketBuilder};
use pcap_parser::Linktype;
use serde_json::Value;

use super::capture;
use super::connection::Direction;
use super::flows::Flows;
use super::record::{Place, Record};

/// When the first packet of a script is seen; each further one is a microsecond later.
pub(super) const BEGIN_UNIX_S: u32 = 1_700_000_000;

/// The packets of one conversation between `10.0.0.1:40000` and `10.0.0.2:PORT`.
pub(super) struct Script {
    pub(super) packets: Vec<Vec<u8>>,
    pub(super) link: Linktype,
    port: u16,
    is_ipv6: bool,
    seqs: [u32; 2],
}

impl Script {
    pub(super) fn new(link: Linktype) -> Self {
        // The numbers of one side wrap soon.
        Self { packets: vec![], link, port: 7447, is_ipv6: false, seqs: [u32::MAX - 20, 500] }
    }

    pub(super) fn on_port(self, port: u16) -> Self {
        Self { port, ..self }
    }

    pub(super) fn over_ipv6(self) -> Self {
        Self { is_ipv6: true, ..self }
    }

    /// The beginning of a TCP connection.
    pub(super) fn open(mut self) -> Self {
        self.segment(Direction::Forth, b"", true, false);
        self.segment(Direction::Back, b"", true, true);
        self
    }

    /// A segment, the next one of its direction.
    pub(super) fn send(mut self, direction: Direction, bytes: &[u8]) -> Self {
        self.segment(direction, bytes, false, true);
        self
    }

    /// A segment that is not captured.
    pub(super) fn lose(mut self, direction: Direction, bytes: &[u8]) -> Self {
        self.segment(direction, bytes, false, true);
        self.packets.pop();
        self
    }

    /// Everything of a captured conversation.
    pub(super) fn replay(self, prefix: &str) -> Self {
        captured(prefix).into_iter().fold(self, |it, (direction, bytes)| it.send(direction, &bytes))
    }

    fn segment(&mut self, direction: Direction, bytes: &[u8], syn: bool, ack: bool) {
        let (side, other) = (direction as usize, direction.reverse() as usize);
        let (seq, acknowledged) = (self.seqs[side], self.seqs[other]);
        self.seqs[side] = seq.wrapping_add(bytes.len() as u32 + u32::from(syn));
        let (hosts, ports) = (hosts(direction), self.ports(direction));
        macro_rules! written {
            ($ip:expr) => {{
                let mut builder = $ip.tcp(ports.0, ports.1, seq, 1000);
                if syn {
                    builder = builder.syn();
                }
                if ack {
                    builder = builder.ack(acknowledged);
                }
                let mut packet = vec![];
                builder.write(&mut packet, bytes).unwrap();
                packet
            }};
        }
        let packet = if self.is_ipv6 {
            written!(PacketBuilder::ipv6([hosts.0; 16], [hosts.1; 16], 9))
        } else {
            written!(PacketBuilder::ipv4([10, 0, 0, hosts.0], [10, 0, 0, hosts.1], 9))
        };
        self.framed(&packet);
    }

    /// A datagram.
    pub(super) fn datagram(mut self, from: (u8, u16), to: (u8, u16), bytes: &[u8]) -> Self {
        let builder = PacketBuilder::ipv4([10, 0, 0, from.0], [10, 0, 0, to.0], 9);
        let mut packet = vec![];
        builder.udp(from.1, to.1).write(&mut packet, bytes).unwrap();
        self.framed(&packet);
        self
    }

    /// A datagram in IP fragments of `len` bytes, the last one first.
    pub(super) fn fragmented(mut self, to: (u8, u16), bytes: &[u8], len: usize) -> Self {
        let udp_len = bytes.len() as u16 + 8;
        let udp = [&[0, 9], &to.1.to_be_bytes()[..], &udp_len.to_be_bytes(), &[0, 0], bytes];
        let udp = udp.concat();
        for (at, piece) in udp.chunks(len).enumerate().collect::<Vec<_>>().into_iter().rev() {
            let hosts = ([10, 0, 0, 1], [10, 0, 0, to.0]);
            let mut ip =
                Ipv4Header::new(piece.len() as u16, 9, IpNumber::UDP, hosts.0, hosts.1).unwrap();
            (ip.identification, ip.dont_fragment) = (77, false);
            ip.more_fragments = (at + 1) * len < udp.len();
            ip.fragment_offset = ((at * len / 8) as u16).try_into().unwrap();
            self.framed(&[&ip.to_bytes()[..], piece].concat());
        }
        self
    }

    /// Puts the header of the link in front of an IP packet.
    fn framed(&mut self, ip: &[u8]) {
        let ether_type: [u8; 2] = if self.is_ipv6 { [0x86, 0xdd] } else { [0x08, 0x00] };
        let header: Vec<u8> = match self.link {
            Linktype::ETHERNET => [&[2; 12][..], &ether_type].concat(),
            Linktype::LINUX_SLL => [&[0; 14][..], &ether_type].concat(),
            Linktype::LINUX_SLL2 => [&ether_type[..], &[0; 18]].concat(),
            Linktype::NULL | Linktype::LOOP => vec![2, 0, 0, 0],
            _ => vec![],
        };
        self.packets.push([&header, ip].concat());
    }

    fn ports(&self, direction: Direction) -> (u16, u16) {
        match direction {
            Direction::Forth => (40_000, self.port),
            Direction::Back => (self.port, 40_000),
        }
    }

    /// As a pcap file, little-endian with microseconds.
    pub(super) fn pcap(&self) -> Vec<u8> {
        let mut file = vec![];
        let words = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, self.link.0 as u32];
        for word in words {
            file.extend_from_slice(&word.to_le_bytes());
        }
        for (at, packet) in self.packets.iter().enumerate() {
            let len = packet.len() as u32;
            for word in [BEGIN_UNIX_S, at as u32, len, len] {
                file.extend_from_slice(&word.to_le_bytes());
            }
            file.extend_from_slice(packet);
        }
        file
    }

    /// As a pcapng file, big-endian with nanoseconds.
    pub(super) fn pcapng(&self) -> Vec<u8> {
        let mut file = vec![];
        let section = [&0x1a2b_3c4d_u32.to_be_bytes()[..], &[0, 1, 0, 0], &[0xff; 8]].concat();
        block(&mut file, 0x0a0d_0d0a, &section);
        let link = (self.link.0 as u16).to_be_bytes();
        let resolution = [0, 9, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0];
        block(&mut file, 1, &[&link[..], &[0, 0, 0, 0, 0xff, 0xff], &resolution].concat());
        for (at, packet) in self.packets.iter().enumerate() {
            let time = u64::from(BEGIN_UNIX_S) * 1_000_000_000 + at as u64 * 1000;
            let len = packet.len() as u32;
            let mut body = [&[0; 4][..], &time.to_be_bytes()].concat();
            body.extend_from_slice(&len.to_be_bytes());
            body.extend_from_slice(&len.to_be_bytes());
            body.extend_from_slice(packet);
            block(&mut file, 6, &body);
        }
        file
    }

    /// What is shown of it to people, without the time.
    pub(super) fn lines(&self) -> Vec<String> {
        lines(&self.pcap(), &[])
    }
}

/// The last bytes of the addresses of the sender and of the receiver.
const fn hosts(direction: Direction) -> (u8, u8) {
    match direction {
        Direction::Forth => (1, 2),
        Direction::Back => (2, 1),
    }
}

/// Appends a block of a pcapng file.
fn block(file: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let padded = body.len().next_multiple_of(4);
    let len = (padded as u32 + 12).to_be_bytes();
    file.extend_from_slice(&kind.to_be_bytes());
    file.extend_from_slice(&len);
    file.extend_from_slice(body);
    file.resize(file.len() + padded - body.len(), 0);
    file.extend_from_slice(&len);
}

/// What is found in a capture.
pub(super) fn records(file: &[u8], ports: &[u16]) -> Vec<(Place, Record)> {
    let (mut flows, mut records) = (Flows::new(ports.to_vec()), vec![]);
    let mut push = |place: &Place, record| records.push((*place, record));
    // Whether it can be read to its end is for the tests of that to say.
    let _ = capture::read(file, |packet| {
        flows.packet(&packet, &mut push);
        true
    });
    flows.end(&mut push);
    records
}

/// The same as people see it, without the time.
pub(super) fn lines(file: &[u8], ports: &[u16]) -> Vec<String> {
    let line = |(place, record): &(Place, Record)| record.line(place)[16..].to_owned();
    records(file, ports).iter().map(line).collect()
}

/// The captured pieces of a stream or datagrams whose name begins like this.
pub(super) fn captured(prefix: &str) -> Vec<(Direction, Vec<u8>)> {
    let found: Vec<_> = entries("transport.json")
        .iter()
        .filter(|entry| text(entry, "name").starts_with(prefix))
        .inspect(|entry| assert_eq!(entry["truncated"], false, "{prefix}"))
        .map(|entry| {
            let is_back = text(entry, "direction").starts_with("responder->");
            let direction = if is_back { Direction::Back } else { Direction::Forth };
            (direction, unhex(text(entry, "hex")))
        })
        .collect();
    assert!(!found.is_empty(), "{prefix}");
    found
}

/// All captured network messages with their names and whether they were sent by a node that listens.
pub(super) fn captured_messages() -> Vec<(String, String, Vec<u8>)> {
    let named = |entry: &Value| {
        let hex = unhex(text(entry, "hex"));
        (text(entry, "name").to_owned(), text(entry, "direction").to_owned(), hex)
    };
    entries("network.json").iter().map(named).collect()
}

/// A captured network message by its name.
pub(super) fn captured_message(name: &str) -> Vec<u8> {
    let mut all = captured_messages().into_iter();
    all.find(|(found, ..)| found == name).expect(name).2
}

fn entries(file: &str) -> Vec<Value> {
    let path = format!("{}/../../vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn text<'v>(entry: &'v Value, field: &str) -> &'v str {
    entry[field].as_str().unwrap()
}

pub(super) fn unhex(text: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digits).collect()
}

/// A batch for a stream: a frame on the reliable channel with these messages.
pub(super) fn frame(sn: u8, messages: &[&[u8]]) -> Vec<u8> {
    let mut batch = vec![0x25, sn];
    for message in messages {
        batch.extend_from_slice(message);
    }
    stream(&batch)
}

/// A batch with its length.
pub(super) fn stream(batch: &[u8]) -> Vec<u8> {
    let mut bytes = vec![];
    weft_transport::write_batch(batch, &mut bytes);
    bytes
}
