//! Opening a session that cannot be opened, and one that has a choice.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use weft::ErrorKind;

use crate::support::{Node, ends, listener, matched_publisher, next, router, until};

/// A loopback port on which nobody listens.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn refused(node: Node) -> String {
    let started = Instant::now();
    let error = weft::open(node.0).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Open);
    assert!(started.elapsed() < Duration::from_secs(15));
    let text = error.to_string();
    assert!(!text.contains('\n'), "one line: {text}");
    text
}

/// A client that nobody answers says whom it asked, and why that failed.
#[test]
fn a_client_without_router_is_refused() {
    let endpoint = format!("tcp/127.0.0.1:{}", free_port());
    let text = refused(Node::new("client").connect_to(&[&endpoint]));
    assert!(text.contains(&endpoint) && text.to_lowercase().contains("refused"), "{text}");

    let other = format!("tcp/127.0.0.1:{}", free_port());
    let text = refused(Node::new("client").connect_to(&[&endpoint, &other]));
    assert!(text.contains(&endpoint) && text.contains(&other), "{text}");

    let text = refused(Node::new("client").connect_to(&["unixsock-stream/nowhere/at/all"]));
    assert!(text.contains("nowhere/at/all"), "{text}");
}

/// A client that is told nothing says how to tell it.
#[test]
fn a_client_without_endpoints_is_refused() {
    let text = refused(Node::new("client"));
    assert!(text.contains("connect/endpoints"), "{text}");
}

/// A client that finds nobody by scouting says so, after its scouting timeout.
#[test]
fn a_client_that_finds_nobody_is_refused() {
    let port = free_port();
    let node = Node::new("client")
        .set("scouting/multicast/enabled", "true")
        .set("scouting/multicast/address", &format!("'224.0.0.224:{port}'"))
        .set("scouting/timeout", "300");
    let text = refused(node);
    assert!(!text.is_empty());
}

/// An endpoint that is taken is an error for whoever wants to listen on it.
#[test]
fn a_taken_endpoint_is_refused() {
    let first = listener();
    let endpoint = first.info().locators()[0].to_string();
    for mode in ["peer", "router"] {
        let node = Node::new(mode).listen(&endpoint).set("listen/exit_on_failure", "true");
        let text = refused(node);
        assert!(text.contains(&endpoint), "{text}");
    }
}

/// Whoever is told to wait for its endpoint gets it when it is free, be it in the background.
#[test]
fn a_taken_endpoint_is_listened_on_when_it_is_free() {
    let first = listener();
    let endpoint = first.info().locators()[0].to_string();
    let own = format!("{endpoint}#exit_on_failure=false;retry_period_init_ms=5");
    let second = Node::new("peer").listen(&own).set("listen/timeout_ms", "-1").open();
    assert!(second.info().locators().is_empty());
    first.close().wait();
    until("the listener", || second.info().locators().len() == 1);
    let client = Node::new("client").connect_to(&[&endpoint]).open();
    assert_eq!(client.info().peers_zid(), [second.zid()]);
}

/// An endpoint that a peer must not do without decides whether it opens.
#[test]
fn a_peer_does_not_open_without_a_required_endpoint() {
    let there = listener();
    let found = there.info().locators()[0].to_string();
    let missing = format!("tcp/127.0.0.1:{}", free_port());
    let node =
        |endpoints: &[&str]| Node::new("peer").connect_to(endpoints).set("connect/timeout_ms", "0");
    let text = refused(node(&[&found, &format!("{missing}#exit_on_failure=true")]));
    assert!(text.contains(&missing), "{text}");
    let peer = node(&[&missing, &format!("{found}#exit_on_failure=true")]).open();
    assert_eq!(peer.info().peers_zid(), [there.zid()]);
}

/// A peer whose neighbours are not there opens all the same, and connects when they come.
#[test]
fn a_peer_opens_without_its_neighbours() {
    let port = free_port();
    let endpoint = format!("tcp/127.0.0.1:{port}");
    let node = Node::new("peer").connect_to(&[&endpoint]);
    let peer = node.set("connect/retry/period_init_ms", "50").open();
    assert!(peer.info().neighbours().is_empty());
    let late = Node::new("peer").listen(&endpoint).open();
    until("the connection", || peer.info().peers_zid() == [late.zid()]);
}

/// A client takes whichever endpoint answers, and the other one when that goes.
#[test]
fn a_client_fails_over() {
    let (one, two) = (router(), router());
    let endpoints: Vec<String> = [&one, &two].map(|it| it.info().locators()[0].to_string()).into();
    let dead = format!("tcp/127.0.0.1:{}", free_port());
    let client = Node::new("client")
        .connect_to(&[&dead, &endpoints[0], &endpoints[1]])
        .set("connect/retry/period_init_ms", "50")
        .open();
    let subscriber = client.declare_subscriber("f").wait().unwrap();
    let first = client.info().routers_zid();
    let (taken, spare) = if first == [one.zid()] { (one, two) } else { (two, one) };
    assert_eq!(first, [taken.zid()]);
    matched_publisher(&taken, "f").put("first").wait().unwrap();
    assert_eq!(*next(&subscriber).payload(), "first");
    taken.close().wait();
    until("the other router", || client.info().routers_zid() == [spare.zid()]);
    matched_publisher(&spare, "f").put("second").wait().unwrap();
    assert_eq!(*next(&subscriber).payload(), "second");
}

/// An address that does not answer delays neither opening nor its neighbour's other addresses.
#[test]
fn an_address_that_does_not_answer_delays_nobody() {
    let router = router();
    let endpoint = router.info().locators()[0].to_string();
    // A full backlog: the kernel answers nothing to further connections.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let backlog: Vec<_> = (0..200)
        .map_while(|_| {
            std::net::TcpStream::connect_timeout(&address, Duration::from_millis(20)).ok()
        })
        .collect();
    ends("opening", move || {
        let client = Node::new("client").connect_to(&[&format!("tcp/{address}"), &endpoint]).open();
        assert_eq!(client.info().routers_zid(), [router.zid()]);
        drop(backlog);
    });
}

/// A neighbour that accepts connections and then says nothing, or hangs up.
#[test]
fn a_neighbour_that_does_not_shake_hands_delays_nobody() {
    let router = router();
    let endpoint = router.info().locators()[0].to_string();
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let rude = TcpListener::bind("127.0.0.1:0").unwrap();
    let [mute, gone] = [mute, rude].map(|it| (format!("tcp/{}", it.local_addr().unwrap()), it));
    let hangs_up = gone.1.try_clone().unwrap();
    std::thread::spawn(move || hangs_up.incoming().for_each(drop));
    ends("opening", move || {
        for others in [[&mute.0, &endpoint], [&gone.0, &endpoint], [&endpoint, &mute.0]] {
            let started = Instant::now();
            let client = Node::new("client").connect_to(&others.map(String::as_str)).open();
            assert_eq!(client.info().routers_zid(), [router.zid()]);
            // A handshake would be given up after 10 s.
            assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        }
    });
}

/// A link beyond `limits/links` is tried again, and comes up when there is room.
#[test]
fn a_link_beyond_the_limit_is_tried_again() {
    let (one, other) = (router(), router());
    let endpoints = [&one, &other].map(|it| it.info().locators()[0].to_string());
    let peer = Node::new("peer")
        .connect_to(&endpoints.each_ref().map(String::as_str))
        .set("limits/links", "1")
        .set("connect/retry", "{ period_init_ms: 50, period_max_ms: 50 }")
        .open();
    until("one router", || peer.info().routers_zid().len() == 1);
    let (first, second) =
        if peer.info().routers_zid() == [one.zid()] { (one, other) } else { (other, one) };
    first.close().wait();
    until("the other one", || peer.info().routers_zid() == [second.zid()]);
}

/// Values that contradict each other are refused before anything is opened.
#[test]
fn contradictions_are_refused() {
    let mut config = weft::Config::default();
    assert!(config.insert_json5("mode", "'broker'").is_err());
    assert!(config.insert_json5("listen/endpoints", "['tcp']").is_err());
    let error = config.insert_json5("connect/endpoint", "[]").unwrap_err();
    assert!(error.to_string().contains("connect/endpoints"), "{error}");
    let error = config.insert_json5("scouting/timeout", "'soon'").unwrap_err();
    assert_eq!(weft::Error::from(error).kind(), ErrorKind::Config);
}

/// Opening takes a copy of the configuration.
#[test]
fn a_session_keeps_its_configuration() {
    let mut config = Node::new("peer").set("id", "'abc'").0;
    let session = weft::open(config.clone()).wait().unwrap();
    config.insert_json5("id", "'def'").unwrap();
    assert_eq!(session.zid().to_string(), "abc");
    assert_eq!(weft::open(config).wait().unwrap().zid().to_string(), "def");
}
