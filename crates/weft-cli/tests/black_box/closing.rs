//! Ctrl-C: the first one closes sessions in order, which their neighbours see.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use crate::process::{Weft, router};
use crate::query::stop;

/// A way to the router that remembers what went there.
struct Tap {
    /// What a client that takes it says on its command line.
    client: String,
    /// What came over a connection, when it is over.
    sent: Receiver<Vec<u8>>,
}

impl Tap {
    /// A way to the node at the locator with which `client` ends.
    fn new(client: &str) -> Self {
        let (flags, router) = client.rsplit_once("tcp/").unwrap();
        let router = router.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = format!("{flags}tcp/{}", listener.local_addr().unwrap());
        let (over, sent) = mpsc::channel();
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let far = TcpStream::connect(&router).unwrap();
                let (far_reader, near_writer) =
                    (far.try_clone().unwrap(), near.try_clone().unwrap());
                std::thread::spawn(move || copy(far_reader, near_writer));
                let over = over.clone();
                std::thread::spawn(move || over.send(copy(near, far)));
            }
        });
        Self { client, sent }
    }

    /// Whether the last word over the connection that ends next is CLOSE with the reason "generic".
    fn saw_close(&self) -> bool {
        let sent = self.sent.recv_timeout(Duration::from_secs(60)).unwrap();
        // 01 §4: the identifier is in the five lower bits, and this message ends with the reason.
        matches!(sent[..], [.., header, 0] if header & 0x1f == 0x03)
    }
}

/// Copies until there is no more; what was copied.
fn copy(mut from: TcpStream, mut to: TcpStream) -> Vec<u8> {
    let (mut copied, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        copied.extend_from_slice(&buffer[..len]);
        if to.write_all(&buffer[..len]).is_err() {
            break;
        }
    }
    // The other side may be gone already.
    let _ = to.shutdown(Shutdown::Write);
    copied
}

#[test]
fn the_neighbour_of_an_interrupted_command_is_told() {
    let (_router, client) = router();
    let tap = Tap::new(&client);
    for (command, status) in
        [("sub", 0), ("info --watch", 0), ("ping --answers callback", 130), ("ping", 130)]
    {
        let weft = Weft::start(&format!("{command} {}", tap.client));
        match command {
            "info --watch" => weft.wait_for("neighbour "),
            _ => weft.wait_for_error("session "),
        };
        let ended = weft.interrupt();
        assert_eq!((ended.code, ended.complaints().len()), (Some(status), 0), "{ended:?}");
        assert!(tap.saw_close(), "{command}");
    }
    let weft = Weft::start(&format!("sub {}", tap.client));
    weft.wait_for_error("session ");
    drop(weft);
    assert!(!tap.saw_close(), "one that was killed has told nobody");
}

#[test]
fn a_question_that_waits_is_closed_in_order() {
    let (_router, client) = router();
    let tap = Tap::new(&client);
    let silent = Weft::start(&format!("queryable -k waits/silent {client}"));
    let quick = Weft::start(&format!("queryable -k waits/quick {client}"));
    silent.wait_for_error("answering");
    quick.wait_for_error("answering");
    crate::process::run_until(&format!("get -s waits/* -t all {client}"), |lines| lines.len() == 2);
    stop(&silent);
    let flags = "-s waits/* -t all --consolidation none -o 600";
    let get = Weft::start(&format!("get {flags} {}", tap.client));
    get.wait_for("PUT waits/quick");
    let ended = get.interrupt();
    assert_eq!((ended.code, ended.complaints().len()), (Some(130), 0), "{ended:?}");
    assert!(tap.saw_close());
}

#[test]
fn the_demo_closes_all_its_sessions() {
    let demo = Weft::start("demo --log info");
    demo.wait_for("2. Publish");
    let ended = demo.interrupt();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let count = |text: &str| ended.stderr.iter().filter(|line| line.contains(text)).count();
    assert!(count("session open") >= 3, "{ended:?}");
    assert_eq!(count("session open"), count("session closed"), "{ended:?}");
}

#[test]
fn the_bench_ends_and_its_roles_close_their_sessions() {
    let bench = Weft::start("bench --rounds 100000 --seconds 0.05 --case ping");
    bench.wait_for_error("round 2");
    let ended = bench.interrupt();
    assert_eq!((ended.code, ended.stdout.len()), (Some(130), 0), "{ended:?}");

    let (_router, client) = router();
    let tap = Tap::new(&client);
    let place = tap.client.replace("-m", "--mode").replace("-e", "--connect");
    for (role, begun) in [("sub-thr --duration 60", "ready"), ("pong", "ready")] {
        for is_interrupted in [true, false] {
            let weft = Weft::start(&format!("bench-role {role} {place}"));
            weft.wait_for_error(begun);
            // By a signal, or by the end of its standard input.
            let _ = if is_interrupted { weft.interrupt() } else { weft.ended() };
            assert!(tap.saw_close(), "{role}");
        }
    }
}
