//! What a small sample costs on the wire beside its payload, counted in bytes captured between two sessions.
//!
//! Spec: 02 §8.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use weft::{Config, CongestionControl, Session};

/// How long an event may take before the test fails.
const SOON: Duration = Duration::from_secs(30);
const PAYLOAD: &[u8] = b"\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5";

fn open(settings: &[(&str, &str)]) -> Session {
    let mut config = Config::default();
    config.insert_json5("scouting/multicast/enabled", "false").unwrap();
    config.insert_json5("timestamping/enabled", "false").unwrap();
    for (key, value) in settings {
        config.insert_json5(key, value).unwrap();
    }
    weft::open(config).wait().unwrap()
}

/// Passes one connection on to `target`. Returns its own address, and what it has passed on to there.
fn capture(target: String) -> (String, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, captured) = channel();
    std::thread::spawn(move || {
        let (inner, _) = listener.accept().unwrap();
        let outer = TcpStream::connect(target).unwrap();
        let (mut from, mut to) = (outer.try_clone().unwrap(), inner.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut from, &mut to));
        let (mut from, mut to) = (inner, outer);
        let mut bytes = [0; 16_384];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            to.write_all(&bytes[..count]).unwrap();
            let _ = sender.send(bytes[..count].to_vec());
        }
        let _ = to.shutdown(Shutdown::Both);
    });
    (address, captured)
}

/// The batches in a stream, each behind its length.
fn batches(mut stream: &[u8]) -> Vec<&[u8]> {
    let mut batches = Vec::new();
    while let Some((len, rest)) = stream.split_first_chunk() {
        let (batch, rest) = rest.split_at(usize::from(u16::from_le_bytes(*len)));
        batches.push(batch);
        stream = rest;
    }
    batches
}

#[test]
fn a_sample_costs_five_bytes_and_a_further_one_three_beside_its_length() {
    const COUNT: usize = 10_000;
    const SAMPLE_LEN: usize = 3 + 1 + PAYLOAD.len();
    let subscribing = open(&[("listen/endpoints", "['tcp/127.0.0.1:0']")]);
    let subscriber = subscribing.declare_subscriber("test/small").wait().unwrap();
    let locator = subscribing.info().locators()[0].to_string();
    let (address, captured) = capture(locator.trim_start_matches("tcp/").to_owned());
    let publishing = open(&[
        ("mode", "'client'"),
        ("connect/endpoints", &format!("['tcp/{address}']")),
        // Sequence numbers of one byte, as they are under 128 with any resolution.
        ("transport/link/tx/sequence_number_resolution", "'8bit'"),
    ]);
    // Congestion control `drop` and all else by default is the quality that needs no extension.
    let publisher = publishing
        .declare_publisher("test/small")
        .congestion_control(CongestionControl::Drop)
        .wait()
        .unwrap();
    for _ in 0..COUNT / 100 {
        for _ in 0..100 {
            publisher.put_bytes(PAYLOAD).unwrap();
        }
        for _ in 0..100 {
            assert_eq!(*subscriber.recv_timeout(SOON).unwrap().unwrap().payload(), *PAYLOAD);
        }
    }
    drop(publisher);
    publishing.close().wait();
    let stream: Vec<u8> = captured.iter().flatten().collect();

    let (mut alone, mut further) = (0, 0);
    for batch in batches(&stream).into_iter().filter(|batch| batch.ends_with(PAYLOAD)) {
        // FRAME: header and sequence number.
        let (frame, messages) = batch.split_at(2);
        assert_eq!(frame[0] & 0x1f, 0x05, "{batch:02x?}");
        assert_eq!(messages.len() % SAMPLE_LEN, 0, "{batch:02x?}");
        for message in messages.chunks(SAMPLE_LEN) {
            // PUSH, the publisher's number for the key, PUT; then the payload behind its length.
            assert_eq!((message[0] & 0x1f, message[2], message[3]), (0x1d, 0x01, 8));
            assert!(message[1] < 0x80 && message.ends_with(PAYLOAD));
        }
        alone += usize::from(messages.len() == SAMPLE_LEN);
        further += messages.len() / SAMPLE_LEN - 1;
    }
    // Each kind was seen: 2 + 3 bytes beside the length and the payload, and 3.
    assert!(alone > 0, "no sample travelled alone");
    assert!(further > 0, "no sample followed another one");
}
