//! What only TCP has: options, wildcards, segments.

use std::io::ErrorKind;

use socket2::SockRef;
use weft_link::{LinkError, LinkOptions, Listener, OptionFault, Target, interfaces};

use crate::case::{Case, Pair, TcpV4, TcpV6, accept, bound_tcp, connect, connect_with, target_of};

fn target(addr: &str) -> Target {
    Target::Tcp(addr.parse().unwrap())
}

fn loopback() -> String {
    interfaces().unwrap().into_iter().find(|interface| interface.is_loopback).unwrap().name
}

#[test]
fn loopback_links_tell_their_interface_and_batch_limit() {
    let Pair { near, far, .. } = Pair::new(&target("127.0.0.1:0"));
    for link in [near, far] {
        assert_eq!(link.interfaces(), [loopback()]);
        let segment_len = SockRef::from(&link).tcp_mss().unwrap();
        let (mtu, half) = (u32::from(link.mtu()), segment_len / 2);
        assert!(mtu % half == 0 && mtu < 65_495 && mtu + half >= 65_495, "{mtu} of {segment_len}");
        assert!(SockRef::from(&link).tcp_nodelay().unwrap());
        assert_eq!(SockRef::from(&link).linger().unwrap(), None);
    }
}

#[test]
fn the_ipv6_wildcard_takes_ipv4_and_shows_it_as_such() {
    if TcpV6::new().is_none() {
        return;
    }
    let listener = Listener::bind(&target("[::]:0"), &LinkOptions::default()).unwrap();
    let Target::Tcp(bound) = target_of(&listener) else { unreachable!() };
    for ip in ["127.0.0.1", "[::1]"] {
        let near = connect(&target(&format!("{ip}:{}", bound.port()))).unwrap();
        let far = accept(&listener);
        assert_eq!(far.src(), format!("tcp/{ip}:{}", bound.port()));
        assert_eq!((far.src(), far.dst()), (near.dst(), near.src()));
    }
    let locators = listener.locators().unwrap();
    for ip in ["127.0.0.1", "[::1]"] {
        let locator = format!("tcp/{ip}:{}", bound.port());
        assert!(
            locators.iter().any(|one| one.locator == locator && one.is_loopback),
            "{locators:?}"
        );
    }
    assert!(locators.iter().all(|one| !one.locator.contains("[::]")));
}

#[test]
fn a_listener_on_one_address_is_reached_there_only() {
    let listener = Listener::bind(&TcpV4.free(), &LinkOptions::default()).unwrap();
    let locators = listener.locators().unwrap();
    assert_eq!(locators.len(), 1);
    assert_eq!((&locators[0].locator, locators[0].is_loopback), (&listener.local_locator(), true));
}

#[test]
fn buffer_sizes_and_dscp_reach_both_ends() {
    let items = [("dscp", "0x20|0x08"), ("so_sndbuf", "20000"), ("so_rcvbuf", "30000")];
    let options = LinkOptions::parse(items).unwrap();
    let Pair { near, far, .. } = Pair::with_options(&target("127.0.0.1:0"), &options);
    for link in [near, far] {
        let socket = SockRef::from(&link);
        assert_eq!(socket.tos_v4().unwrap(), 0x28);
        // Linux doubles the size for its own bookkeeping.
        assert!((20_000..=40_000).contains(&socket.send_buffer_size().unwrap()));
        assert!((30_000..=60_000).contains(&socket.recv_buffer_size().unwrap()));
    }
    if TcpV6::new().is_some() {
        let Pair { near, .. } = Pair::with_options(&target("[::1]:0"), &options);
        assert_eq!(SockRef::from(&near).tclass_v6().unwrap(), 0x28);
    }
}

#[test]
fn bind_chooses_the_local_address() {
    let listener = Listener::bind(&TcpV4.free(), &LinkOptions::default()).unwrap();
    let options = LinkOptions::parse([("bind", "127.0.0.9:0")]).unwrap();
    let near = connect_with(&target_of(&listener), &options).unwrap();
    assert!(near.src().starts_with("tcp/127.0.0.9:"), "{}", near.src());
    assert_eq!(accept(&listener).dst(), near.src());
}

#[test]
fn bind_must_fit() {
    let options = LinkOptions::parse([("bind", "[::1]:0")]).unwrap();
    let error = connect_with(&target("127.0.0.1:7447"), &options).unwrap_err();
    assert_eq!(error, LinkError::Option { key: "bind".into(), fault: OptionFault::OtherFamily });
    let error = Listener::bind(&TcpV4.free(), &options).unwrap_err();
    assert_eq!(error, LinkError::Option { key: "bind".into(), fault: OptionFault::DialOnly });

    let options = LinkOptions::parse([("bind", "192.0.2.254:0")]).unwrap();
    let error = connect_with(&target("127.0.0.1:7447"), &options).unwrap_err();
    assert!(matches!(&error, LinkError::Bind { addr, .. } if addr == "tcp/192.0.2.254:0"));
    assert_eq!(error.kind(), Some(ErrorKind::AddrNotAvailable));
}

#[test]
#[cfg(target_os = "linux")]
fn iface_ties_a_socket_to_one_interface() {
    let loopback = loopback();
    let options = LinkOptions::parse([("iface", loopback.as_str())]).unwrap();
    let Pair { listener, near, .. } = Pair::with_options(&target("0.0.0.0:0"), &options);
    assert_eq!(near.interfaces(), std::slice::from_ref(&loopback));
    assert_eq!(SockRef::from(&near).device().unwrap(), Some(loopback.into_bytes()));
    assert!(listener.locators().unwrap().iter().all(|one| one.is_loopback));

    let options = LinkOptions::parse([("iface", "no-such-iface")]).unwrap();
    let error = Listener::bind(&target("0.0.0.0:0"), &options).unwrap_err();
    let LinkError::Option { key, fault: OptionFault::Refused(_) } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(key, "iface");
}

/// The kernel connects a socket that dials its own address with itself.
#[test]
fn a_dial_that_meets_itself_is_refused() {
    let (target, _keeps_others_out) = bound_tcp("127.0.0.1:0");
    let Target::Tcp(own) = target else { unreachable!() };
    let options = LinkOptions { bind: Some(own), ..LinkOptions::default() };
    let error = connect_with(&target, &options).unwrap_err();
    assert_eq!(error.kind(), Some(ErrorKind::ConnectionRefused), "{error}");
}
