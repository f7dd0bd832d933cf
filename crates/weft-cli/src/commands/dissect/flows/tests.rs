//! Captures in, lines out.

use pcap_parser::Linktype;
use weft_wire::{Encode as _, Push, WireExpr};

use super::super::connection::Direction::{Back, Forth};
use super::super::limits::IP_FRAGMENTS_MAX;
use super::super::record::Kind;
use super::super::testing::{Script, captured, captured_message, frame, lines, records};
use super::*;

const FORTH: &str = "c1 10.0.0.1:40000 > 10.0.0.2:7447 ";
const BACK: &str = "c1 10.0.0.2:7447 > 10.0.0.1:40000 ";

fn ethernet() -> Script {
    Script::new(Linktype::ETHERNET)
}

#[test]
fn a_captured_handshake_is_shown_from_its_beginning_to_its_end() {
    let lines = ethernet().open().replay("plain_no_shm").lines();
    let expected = [
        format!(
            "{FORTH}INIT_SYN version=9 whatami=client zid=1122334455667788 sn_bits=32 request_id_bits=32 \
             batch_size=65480 qos patch=1"
        ),
        format!(
            "{BACK}INIT_ACK version=9 whatami=router zid=a1b2c3d4e5f60718293a4b5c6d7e8f90 sn_bits=32 \
             request_id_bits=32 batch_size=49152 cookie=33B qos patch=1"
        ),
        format!("{FORTH}OPEN_SYN lease_ms=10000 initial_sn=78978204 cookie=33B"),
        format!("{BACK}OPEN_ACK lease_ms=10000 initial_sn=244224398"),
        format!("{FORTH}CLOSE reason=generic"),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn every_link_layer_and_both_formats_show_the_same() {
    let script = |link| Script::new(link).open().replay("plain_no_shm");
    let expected = records(&script(Linktype::ETHERNET).pcap(), &[]);
    assert_eq!(expected.len(), 5);
    for link in [
        Linktype::ETHERNET,
        Linktype::LINUX_SLL,
        Linktype::LINUX_SLL2,
        Linktype::NULL,
        Linktype::LOOP,
        Linktype::RAW,
        Linktype::IPV4,
    ] {
        assert_eq!(records(&script(link).pcap(), &[]), expected, "{link}");
        assert_eq!(records(&script(link).pcapng(), &[]), expected, "{link}");
    }
    for link in [Linktype::ETHERNET, Linktype::LINUX_SLL2, Linktype::IPV6] {
        let lines = Script::new(link).over_ipv6().open().replay("plain_no_shm").lines();
        let hosts =
            "c1 [101:101:101:101:101:101:101:101]:40000 > [202:202:202:202:202:202:202:202]:7447";
        assert!(lines[0].starts_with(hosts) && lines.len() == 5, "{lines:?}");
    }
}

#[test]
fn compressed_and_low_latency_connections_are_followed() {
    let script = ethernet().open().replay("compression");
    let lines = script.lines();
    let put = "PUSH key=demo/z priority=data congestion=drop kind=put size=300 payload=AAAA";
    assert!(lines[4].starts_with(&format!("{FORTH}FRAME sn=78978204 reliable data: {put}")));
    assert_eq!(
        lines[6..],
        [
            format!("{BACK}KEEP_ALIVE"),
            format!("{FORTH}KEEP_ALIVE"),
            format!("{FORTH}CLOSE reason=generic"),
        ]
    );
    let mut script = ethernet().open();
    for (direction, bytes) in [
        captured("lowlatency/init"),
        captured("plain_no_shm/Open"),
        captured("lowlatency/network_message"),
        captured("lowlatency/keep_alive"),
        captured("lowlatency/close"),
        // From the way in which the reference closes links.
        captured("close/client"),
    ]
    .concat()
    {
        script = script.send(direction, &bytes);
    }
    let lines = script.lines();
    let put = "PUSH key=demo/a priority=data congestion=drop kind=put size=5 payload=hello";
    assert_eq!(
        lines[4..],
        [
            format!("{FORTH}{put}"),
            format!("{BACK}KEEP_ALIVE"),
            format!("{FORTH}CLOSE reason=generic"),
            format!("{FORTH}CLOSE reason=generic"),
        ]
    );
}

#[test]
fn ids_are_written_out_whoever_declared_them() {
    let message = |name: &str| captured_message(&format!("client-router/{name}"));
    let declarations = [
        message("c-declare-subscriber-demo-s/declare-d_keyexpr"),
        message("c-declare-subscriber-demo-s/declare-d_subscriber"),
    ];
    let push = message("a-put-json-schema/push-put-2");
    let script = ethernet()
        .open()
        .replay("plain_no_shm/Init")
        .replay("plain_no_shm/Open")
        .send(Forth, &frame(1, &[&declarations[0], &declarations[1]]))
        .send(Back, &frame(9, &[&push]));
    let control = "priority=control congestion=block";
    let stamp = "timestamp=2023-11-24T"; // of the capture
    let lines = script.lines();
    assert_eq!(
        lines[4..6],
        [
            format!(
                "{FORTH}FRAME sn=1 reliable data: DECLARE what=key_expr id=1 key=demo/s {control}"
            ),
            format!(
                "{FORTH}FRAME sn=1 reliable data: DECLARE what=subscriber id=1 key=demo/s/** {control}"
            ),
        ]
    );
    let beginning =
        "FRAME sn=9 reliable data: PUSH key=demo/s/a priority=data congestion=drop kind=put";
    assert!(lines[6].starts_with(&format!("{BACK}{beginning}")), "{}", lines[6]);
    assert!(lines[6].ends_with(r#"encoding=application/json;sch size=7 payload={"x":1}"#));
    assert!(lines[6].contains("/bb00bb encoding") || lines[6].contains(stamp), "{}", lines[6]);
}

#[test]
fn a_capture_from_the_middle_says_what_it_assumes() {
    let push = captured_message("client-router/a-pub-put/push-put");
    let lines = ethernet().send(Forth, &frame(3, &[&push])).lines();
    let assumed = "NOTE the handshake was not seen; assuming no compression, no low latency, 32-bit \
                   sequence numbers, patch 1";
    assert_eq!(lines[0], format!("{FORTH}{assumed}"));
    let put = "PUSH key=<id 2> priority=data congestion=drop kind=put size=8 payload=12345678";
    assert_eq!(lines[1..], [format!("{FORTH}FRAME sn=3 reliable data: {put}")]);
    // From the inside of a batch, and compressed.
    let batches = captured("compression/Frame");
    let lines = ethernet().send(Forth, &batches[0].1[20..]).send(Forth, &batches[0].1).lines();
    assert_eq!(
        lines[0],
        format!("{FORTH}NOTE 14 bytes passed over, up to what looks like a batch")
    );
    assert!(lines[1].contains("assuming compression") && lines[2].contains("key=demo/z"));
}

#[test]
fn tcp_is_put_in_order_and_gaps_are_told() {
    let batches: Vec<Vec<u8>> = (0..6_u8)
        .map(|sn| {
            frame(sn, &[&captured_message("client-router/a-put-text-plain-encoding/push-put")])
        })
        .collect();
    let mut script = ethernet().open().replay("plain_no_shm/Init").replay("plain_no_shm/Open");
    let first = script.packets.len();
    for batch in &batches[..3] {
        script = script.send(Forth, batch);
    }
    script.packets.swap(first, first + 2);
    let again = script.packets[first].clone();
    script.packets.push(again);
    script = script.lose(Forth, &batches[3]).send(Forth, &batches[4]).send(Back, b"\x01\x00\x04");
    script = script.send(Forth, &batches[5]);
    let lines = script.lines();
    let push = "PUSH key=demo/s/a priority=data congestion=drop kind=put encoding=text/plain size=2 payload=hi";
    let line = |sn| format!("{FORTH}FRAME sn={sn} reliable data: {push}");
    let len = batches[3].len();
    assert_eq!(
        lines[4..],
        [
            line(0),
            line(1),
            line(2),
            format!("{FORTH}NOTE {len} bytes are not in the capture"),
            line(4),
            format!("{BACK}KEEP_ALIVE"),
            line(5),
        ]
    );
}

#[test]
fn after_a_gap_inside_a_batch_the_next_whole_one_is_found() {
    let push = captured_message("client-router/a-put-text-plain-encoding/push-put");
    let (long, short) = (frame(1, &[&push, &push, &push]), frame(2, &[&push]));
    let script = ethernet()
        .open()
        .replay("plain_no_shm/Init")
        .replay("plain_no_shm/Open")
        .send(Forth, &long[..10])
        .lose(Forth, &long[10..20])
        .send(Forth, &long[20..])
        .send(Forth, &short);
    let (rest, lines) = (long.len() - 20, script.lines());
    let notes: Vec<&String> = lines.iter().filter(|line| line.contains("NOTE")).collect();
    assert_eq!(
        notes,
        [
            &format!("{FORTH}NOTE 10 bytes are not in the capture"),
            &format!("{FORTH}NOTE 10 bytes of a batch whose end is missing"),
            &format!("{FORTH}NOTE {rest} bytes passed over, up to what looks like a batch"),
        ]
    );
    assert!(lines.last().unwrap().contains("FRAME sn=2 reliable data: PUSH key=demo/s/a"));
}

#[test]
fn other_ports_are_followed_if_it_looks_like_zenoh_or_on_demand() {
    let handshake = ethernet().on_port(1234).open().replay("plain_no_shm").pcap();
    assert_eq!(lines(&handshake, &[]).len(), 5);
    assert_eq!(lines(&handshake, &[7447]), [""; 0]);
    assert_eq!(lines(&handshake, &[9, 1234]).len(), 5);
    let middle = ethernet().on_port(1234).replay("keep_alive/client").pcap();
    assert_eq!(lines(&middle, &[]), [""; 0]);
    assert_eq!(lines(&middle, &[1234]).len(), 1);
    let http = ethernet().on_port(80).open().send(Forth, b"GET / HTTP/1.1\r\n\r\n").pcap();
    assert_eq!(lines(&http, &[]), [""; 0]);
}

#[test]
fn scouting_and_datagrams_of_transports_are_told_apart() {
    let datagram = |name: &str| captured(name).remove(0).1;
    let script = ethernet()
        .datagram((1, 5000), (224, 7446), &datagram("scout/with_zid"))
        .datagram((2, 6000), (1, 5000), &datagram("hello/router_one_locator"))
        .datagram((1, 5001), (2, 7447), &datagram("udp/init_syn"))
        .datagram((2, 7447), (1, 5001), &datagram("udp/init_ack"))
        .datagram((2, 7447), (1, 5001), &datagram("udp/keep_alive"))
        .datagram((3, 7), (224, 7446), &datagram("join/peer_qos"))
        .datagram((3, 7), (224, 7446), &datagram("frame/multicast_push"))
        .datagram((3, 7), (224, 7446), b"\xff");
    let zid = "a1b2c3d4e5f60718293a4b5c6d7e8f90";
    let lines = script.lines();
    assert_eq!(
        lines[..2],
        [
            "10.0.0.1:5000 > 10.0.0.224:7446 SCOUT version=9 what=router|peer|client zid=77"
                .to_owned(),
            format!(
                "10.0.0.2:6000 > 10.0.0.1:5000 HELLO version=9 whatami=router zid={zid} \
             locators=tcp/127.0.0.1:40597"
            ),
        ]
    );
    let rest = [
        "c1 10.0.0.1:5001 > 10.0.0.2:7447 INIT_SYN",
        "c1 10.0.0.2:7447 > 10.0.0.1:5001 INIT_ACK",
        "c1 10.0.0.2:7447 > 10.0.0.1:5001 KEEP_ALIVE",
        "c2 10.0.0.3:7 > 10.0.0.224:7446 JOIN version=9 whatami=peer",
        "c2 10.0.0.3:7 > 10.0.0.224:7446 FRAME sn=213315436 reliable data: PUSH key=demo/a",
        "c2 10.0.0.3:7 > 10.0.0.224:7446 ERROR unknown message 0x1f at byte 0",
    ];
    assert_eq!(lines.len(), 8, "{lines:?}");
    for (line, beginning) in lines[2..].iter().zip(rest) {
        assert!(line.starts_with(beginning), "{line}");
    }
}

#[test]
fn datagrams_in_ip_fragments_are_put_together() {
    let mut batch = vec![0x25, 1];
    Push::put(WireExpr::full("a"), &[b'x'; 4000]).encode(&mut batch).unwrap();
    for link in [Linktype::ETHERNET, Linktype::LINUX_SLL2, Linktype::RAW] {
        let script = Script::new(link).fragmented((2, 7447), &batch, 1480);
        assert_eq!(script.packets.len(), 3);
        let lines = script.lines();
        assert!(lines[1].contains("FRAME sn=1 reliable data: PUSH key=a "), "{lines:?}");
        assert!(lines[1].contains("size=4000") && lines.len() == 2, "{lines:?}");
    }
    // One without its middle is given up when many others have come.
    let mut flows = Flows::new(vec![]);
    let mut hand_over = |bytes: &[u8]| {
        let packet = Packet { unix_ns: 0, link: Linktype::RAW, bytes, missing: 0 };
        let mut shown = 0;
        flows.packet(&packet, &mut |_, _| shown += 1);
        shown
    };
    let packets = Script::new(Linktype::RAW).fragmented((2, 7447), &batch, 1480).packets;
    hand_over(&packets[0]);
    for id in 100..100 + IP_FRAGMENTS_MAX as u16 {
        let mut other = packets[0].clone();
        other[4..6].copy_from_slice(&id.to_be_bytes());
        hand_over(&other);
    }
    assert_eq!(hand_over(&packets[1]) + hand_over(&packets[2]), 0);
    assert!(hand_over(&packets[0]) > 0);
}

#[test]
fn a_capture_of_very_many_connections_is_followed_with_bounded_memory() {
    let mut flows = Flows::new(vec![]);
    let push = captured_message("client-router/a-pub-put/push-put");
    let mut seen = 0;
    for port in 0..2 * FLOWS_MAX as u16 {
        let script = ethernet().on_port(7447);
        let mut packet = script.send(Forth, &frame(3, &[&push])).packets.remove(0);
        // The port of the client, behind the headers of Ethernet and IPv4.
        packet[34..36].copy_from_slice(&(10_000 + port).to_be_bytes());
        let packet = Packet { unix_ns: 0, link: Linktype::ETHERNET, bytes: &packet, missing: 0 };
        flows.packet(&packet, &mut |_, record| seen += usize::from(record.kind == Kind::Push));
        assert!(flows.followed.len() <= FLOWS_MAX);
    }
    assert_eq!((seen, flows.connections()), (2 * FLOWS_MAX, 2 * FLOWS_MAX as u64));
    for port in 0..2 * SCOUTERS_MAX as u16 {
        flows.expect_answers(SocketAddr::from(([10, 0, 0, 1], port)));
    }
    assert_eq!(flows.scouters.len(), SCOUTERS_MAX);
}

#[test]
fn a_port_that_is_used_again_is_another_connection() {
    let mut script = ethernet().open().replay("plain_no_shm");
    let packets = script.packets.clone();
    // The same packets with other numbers.
    script.packets.clear();
    let again = ethernet().send(Forth, b"").open().replay("plain_no_shm").packets;
    script.packets = [packets, again[1..].to_vec()].concat();
    let mut syn = script.packets[7].clone();
    syn[38] ^= 1;
    script.packets[7] = syn;
    let lines = script.lines();
    assert!(lines.iter().any(|line| line.starts_with("c2 ")), "{lines:?}");
}
