//! `weft dissect`, of files and of connections that pass through it.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::process::{Weft, router};

/// How long a socket may say nothing, on a machine that is very busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A `weft dissect` in front of `locator`, and the locator that it listens on.
fn proxy(locator: &str, flags: &str) -> (Weft, String) {
    let dissect = Weft::start(&format!("dissect --live tcp/127.0.0.1:0 --to {locator} {flags}"));
    let through = dissect.wait_for_error("listening on ");
    (dissect, through)
}

/// A router and its locator.
fn router_at() -> (Weft, String) {
    let (router, client) = router();
    let locator = client.strip_prefix("-m client -e ").unwrap().to_owned();
    (router, locator)
}

#[test]
fn what_passes_through_is_shown_with_its_key_written_out() {
    let (_router, locator) = router_at();
    let (dissect, through) = proxy(&locator, "");
    let sub = Weft::start(&format!("sub -k a/* --count 2 -m client -e {through}"));
    sub.wait_for_error("subscribed");
    let publisher = Weft::run(&format!(
        "pub -k a/b -p hello --count 2 --interval 0 --wait --encoding text/plain -m client -e {through}"
    ));
    assert_eq!(publisher.ok(), ["PUT a/b: hello"; 2]);
    assert_eq!(sub.ended().ok(), ["PUT a/b: hello [text/plain]"; 2]);
    // The publisher ends with the second connection, the subscriber with the first one.
    let mut lines = vec![];
    while lines.iter().filter(|line: &&String| line.contains(" CLOSE ")).count() < 2 {
        lines.push(dissect.wait_for(""));
    }
    let find = |parts: &[&str]| {
        let has_all = |line: &&String| parts.iter().all(|part| line.contains(part));
        assert!(lines.iter().any(|line| has_all(&line)), "{parts:?} in {lines:#?}");
    };
    let to = format!("> {}", locator.strip_prefix("tcp/").unwrap());
    find(&[" c1 ", &to, "INIT_SYN version=9 whatami=client"]);
    find(&[" c1 ", "INIT_ACK", "whatami=router", "cookie="]);
    find(&[" c2 ", &to, "OPEN_SYN"]);
    find(&["DECLARE what=subscriber", "key=a/* "]);
    find(&["PUSH key=a/b ", "encoding=text/plain", "size=5 payload=hello"]);
    assert!(lines.iter().all(|line| !line.contains(" ERROR ") && !line.contains("<id")));
    assert!(lines.iter().all(|line| !line.contains(" NOTE ")), "{lines:#?}");
    assert_eq!(dissect.interrupt().code, Some(0));
}

#[test]
fn filters_count_and_json() {
    let (_router, locator) = router_at();
    let flags = "--kind push,declare --key x/** --count 1 --json";
    let dissect = Weft::start(&format!("dissect --live tcp/127.0.0.1:0+->+{locator} {flags}"));
    let through = dissect.wait_for_error("listening on ");
    for key in ["y", "x/y"] {
        Weft::run(&format!("put -k {key} -p {key} -m client -e {through}")).ok();
    }
    let ended = dissect.ended().json();
    let push: &Value = &ended[0];
    assert_eq!((ended.len(), &push["type"], &push["key"]), (1, &"push".into(), &"x/y".into()));
    assert_eq!((&push["payload"], &push["connection"]), (&"x/y".into(), &"c2".into()));
    assert!(push["frame"]["sn"].is_u64() && push["time"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn each_half_of_a_connection_ends_on_its_own_and_every_byte_is_passed_on() {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let locator = format!("tcp/{}", target.local_addr().unwrap());
    let (dissect, through) = proxy(&locator, "");
    let mut client = TcpStream::connect(through.strip_prefix("tcp/").unwrap()).unwrap();
    let (mut server, _) = target.accept().unwrap();
    for socket in [&client, &server] {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    // Not a word of it is a message.
    let question = vec![0xff; 300_000];
    let sender = std::thread::spawn({
        let (question, mut client) = (question.clone(), client.try_clone().unwrap());
        move || {
            client.write_all(&question).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
        }
    });
    let mut received = vec![];
    server.read_to_end(&mut received).unwrap();
    sender.join().unwrap();
    assert!(received == question);
    server.write_all(b"answer").unwrap();
    drop(server);
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "answer");
    assert!(dissect.wait_for("").contains(" ERROR "));
}

#[test]
fn a_target_that_does_not_read_stops_who_sends() {
    const PASSED_MAX: usize = 64 << 20;
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let (_dissect, through) = proxy(&format!("tcp/{}", target.local_addr().unwrap()), "");
    let mut client = TcpStream::connect(through.strip_prefix("tcp/").unwrap()).unwrap();
    let (mut server, _) = target.accept().unwrap();
    client.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut sent = 0;
    let piece = vec![0; 1 << 16];
    while let Ok(len) = client.write(&piece) {
        sent += len;
        assert!(sent < PASSED_MAX, "somebody keeps it all");
    }
    client.shutdown(Shutdown::Write).unwrap();
    let mut received = vec![];
    server.read_to_end(&mut received).unwrap();
    assert_eq!(received.len(), sent);
}

#[test]
fn a_target_that_is_not_there_ends_the_connection_and_nothing_else() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (dissect, through) = proxy(&format!("tcp/{closed}"), "");
    let mut client = TcpStream::connect(through.strip_prefix("tcp/").unwrap()).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(client.read(&mut [0; 1]).unwrap_or_default(), 0);
    dissect.wait_for_error("warning: c1 from ");
    assert_eq!(dissect.interrupt().code, Some(0));
}

/// A capture of raw IP with the INIT of a client, as captured from the reference, in one TCP segment.
fn capture() -> Vec<u8> {
    let batch = b"\x11\x00\xc1\x09\x72\x88\x77\x66\x55\x44\x33\x22\x11\x0a\xc8\xff\x81\x27\x01";
    let total = (40 + batch.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend_from_slice(&total.to_be_bytes());
    packet.extend_from_slice(&[0, 0, 0, 0, 9, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend_from_slice(&[0x9c, 0x40, 0x1d, 0x17, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x10]);
    packet.extend_from_slice(&[0x10, 0, 0, 0, 0, 0]);
    packet.extend_from_slice(batch);
    let len = packet.len() as u32;
    let words = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 101, 1_700_000_000, 5, len, len];
    let mut file: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    file.extend_from_slice(&packet);
    file
}

/// A file that is gone with it.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("weft-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // It may have been removed by somebody else.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_file_is_shown_to_its_end() {
    let file = TempFile::new("init.pcap", &capture());
    let line = "22:13:20.000005 c1 10.0.0.1:40000 > 10.0.0.2:7447 INIT_SYN version=9 whatami=client \
                zid=1122334455667788 sn_bits=32 request_id_bits=32 batch_size=65480 qos patch=1";
    let ended = Weft::run(&format!("dissect {}", file.0.display()));
    assert_eq!(ended.stderr, ["messages: 1, connections: 1, errors: 0"]);
    assert_eq!(ended.ok(), [line]);
    assert_eq!(Weft::run_with("dissect -", &capture()).ok(), [line]);
    let json = Weft::run(&format!("dissect --json --count 1 {}", file.0.display())).json();
    assert_eq!((json.len(), &json[0]["type"]), (1, &"init_syn".into()));
    // One that ends too early.
    let cut = &capture()[..60];
    let ended = Weft::run_with("dissect -", cut);
    assert_eq!((ended.code, ended.stdout.len()), (Some(0), 0), "{ended:?}");
    assert!(ended.stderr[1].starts_with("warning: -: the capture ends inside a block at byte 24"));
}

#[test]
fn mistakes_are_told_in_one_line() {
    let text = TempFile::new("text.pcap", b"just some text that is no capture at all");
    for (line, code, complaint) in [
        ("dissect".to_owned(), 2, "required"),
        ("dissect --live tcp/127.0.0.1:0".to_owned(), 2, "--to"),
        ("dissect --live udp/127.0.0.1:0 --to tcp/h:1".to_owned(), 2, "only tcp/"),
        ("dissect x --kind pish".to_owned(), 2, "pish"),
        ("dissect /nowhere/x.pcap".to_owned(), 1, "/nowhere/x.pcap"),
        (format!("dissect {}", text.0.display()), 1, "neither a pcap nor a pcapng"),
    ] {
        let ended = Weft::run(&line);
        let error = ended.stderr.last().unwrap();
        assert_eq!((ended.code, ended.stdout.len()), (Some(code), 0), "{line}: {ended:?}");
        assert!(error.starts_with("error: ") && error.contains(complaint), "{line}: {error}");
    }
}
