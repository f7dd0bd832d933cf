//! Whatever a file or a peer says, there is no panic.

use pcap_parser::Linktype;
use proptest::prelude::*;

use super::connection::{Connection, Direction};
use super::limits::Budget;
use super::record::{Place, Record};
use super::testing::{Script, captured, records};
use super::{capture, flows, packet};

fn show(place: &Place, record: &Record) {
    assert!(!record.line(place).contains('\n'));
    assert!(record.json(place).is_object());
}

fn show_all(file: &[u8], ports: &[u16]) {
    for (place, record) in records(file, ports) {
        show(&place, &record);
    }
}

/// A capture with a handshake, data in both directions, and datagrams.
fn capture_file(is_ng: bool) -> Vec<u8> {
    let script = Script::new(Linktype::ETHERNET)
        .open()
        .replay("peer-peer_no_shm")
        .datagram((1, 5000), (224, 7446), &captured("scout/with_zid")[0].1)
        .datagram((2, 6000), (1, 5000), &captured("hello/router_one_locator")[0].1)
        .fragmented((2, 7447), &[4; 3000], 1480);
    if is_ng { script.pcapng() } else { script.pcap() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn random_files_do_not_panic(bytes: Vec<u8>, magic in 0..4_usize) {
        let magics: [&[u8]; 4] = [
            b"",
            b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x01\x00\x00\x00",
            b"\xa1\xb2\x3c\x4d",
            b"\x0a\x0d\x0d\x0a\x00\x00\x00\x1c\x1a\x2b\x3c\x4d\x00\x01\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x1c",
        ];
        show_all(&[magics[magic], &bytes].concat(), &[]);
    }

    #[test]
    fn damaged_captures_do_not_panic(
        is_ng: bool,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut: Option<prop::sample::Index>,
    ) {
        let mut file = capture_file(is_ng);
        for (at, byte) in damage {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        show_all(&file, &[]);
    }

    #[test]
    fn random_packets_do_not_panic(link in 0..300, bytes: Vec<u8>, missing: u16) {
        let packet = capture::Packet { unix_ns: u64::MAX, link: Linktype(link), bytes: &bytes, missing: missing.into() };
        packet::parse(packet.link, packet.bytes);
        let mut flows = flows::Flows::new(vec![]);
        flows.packet(&packet, &mut |place, record| show(place, &record));
        flows.end(&mut |place, record| show(place, &record));
    }

    #[test]
    fn random_conversations_do_not_panic(
        begin: bool,
        handshake in prop::sample::select(vec!["", "plain_no_shm/", "compression/", "lowlatency/"]),
        pieces in prop::collection::vec((any::<bool>(), any::<bool>(), prop::collection::vec(0..0x80_u8, 0..40)), 0..30),
    ) {
        let place = Place { unix_ns: 0, connection: Some(1), from: ([1; 4], 1).into(), to: ([2; 4], 2).into() };
        let mut emit = |record: Record| show(&place, &record);
        let mut connection = Connection::new(&Budget::new(1000));
        if begin {
            connection.begin(Direction::Forth);
            connection.begin(Direction::Back);
        }
        if !handshake.is_empty() {
            for (direction, bytes) in captured(handshake) {
                connection.bytes(direction, &bytes, &mut emit);
            }
        }
        for (is_back, is_datagram, bytes) in pieces {
            let direction = if is_back { Direction::Back } else { Direction::Forth };
            if is_datagram {
                connection.datagram(direction, &bytes, &mut emit);
            } else if bytes.first() == Some(&0) {
                connection.gap(direction, bytes.len() as u64, &mut emit);
            } else {
                // Most of them are whole batches, so that what is in them is looked at.
                connection.bytes(direction, &[&[bytes.len() as u8, 0][..], &bytes].concat(), &mut emit);
            }
        }
        connection.end(Direction::Forth, &mut emit);
        connection.end(Direction::Back, &mut emit);
    }
}
