//! Nodes of one machine find each other, over the loopback interface.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use weft_link::scouting::{Group, ScoutInterface, ScoutListener, ScoutSocket, select};
use weft_link::{LinkError, interfaces};

#[test]
fn a_question_reaches_every_listener_and_the_answer_its_asker() {
    let group = group("239.255.71.1");
    let interface = loopback(&group);
    let listeners =
        [0, 1].map(|_| ScoutListener::open(&group, std::slice::from_ref(&interface)).unwrap());
    let [asker, responder] = [0, 1].map(|_| ScoutSocket::open(&group, interface.clone()).unwrap());
    assert!(listeners.iter().all(|listener| listener.skipped().is_empty()));

    asker.send_to_group(b"scout").unwrap();
    for listener in &listeners {
        let mut buffer = [0; 16];
        wait(listener);
        let (len, sender) = listener.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..len], b"scout");
        assert!(asker.is_sender(sender) && !responder.is_sender(sender), "{sender}");
        responder.send_to(b"hello", sender).unwrap();
    }
    for _ in &listeners {
        let mut buffer = [0; 16];
        wait(&asker);
        let (len, sender) = asker.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..len], b"hello");
        assert!(responder.is_sender(sender), "{sender}");
    }
    let nothing = asker.recv_from(&mut [0; 16]).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    let nothing = listeners[0].recv_from(&mut [0; 16]).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock, "an answer goes to its asker only");
}

#[test]
fn groups_are_kept_apart() {
    let (ours, other) = (group("239.255.71.2"), group("239.255.71.3"));
    let interface = loopback(&ours);
    let listener = ScoutListener::open(&ours, std::slice::from_ref(&interface)).unwrap();
    ScoutSocket::open(&other, interface.clone()).unwrap().send_to_group(b"theirs").unwrap();
    ScoutSocket::open(&ours, interface).unwrap().send_to_group(b"ours").unwrap();
    let mut buffer = [0; 16];
    wait(&listener);
    let (len, _) = listener.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..len], b"ours");
}

/// Linux would deliver what arrives by way of any other program's membership too.
#[test]
#[cfg(target_os = "linux")]
fn only_the_selected_interfaces_are_heard() {
    let group = group("239.255.71.4");
    let on_loopback = loopback(&group);
    let Some(elsewhere) = other_interface(&group) else {
        println!("skipped: this machine has no second interface with multicast");
        return;
    };
    let everywhere = [on_loopback.clone(), elsewhere.clone()];
    let hears_both = ScoutListener::open(&group, &everywhere).unwrap();
    let hears_one = ScoutListener::open(&group, &everywhere[1..]).unwrap();
    ScoutSocket::open(&group, on_loopback).unwrap().send_to_group(b"loopback").unwrap();
    ScoutSocket::open(&group, elsewhere).unwrap().send_to_group(b"elsewhere").unwrap();
    let heard = |listener: &ScoutListener| {
        let mut buffer = [0; 16];
        wait(listener);
        let (len, _) = listener.recv_from(&mut buffer).unwrap();
        String::from_utf8(buffer[..len].to_vec()).unwrap()
    };
    assert_eq!([heard(&hears_both), heard(&hears_both)], ["loopback", "elsewhere"]);
    assert_eq!(heard(&hears_one), "elsewhere");
}

#[test]
fn ipv6_groups_work_too() {
    let group = group("ff02::7447");
    let Some(interface) = other_interface(&group) else {
        println!("skipped: this machine has no IPv6 interface with multicast");
        return;
    };
    let listener = ScoutListener::open(&group, std::slice::from_ref(&interface)).unwrap();
    let [asker, responder] = [0, 1].map(|_| ScoutSocket::open(&group, interface.clone()).unwrap());
    asker.send_to_group(b"scout").unwrap();
    let mut buffer = [0; 16];
    wait(&listener);
    let (len, sender) = listener.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..len], b"scout");
    assert!(asker.is_sender(sender), "{sender}");
    responder.send_to(b"hello", sender).unwrap();
    wait(&asker);
    assert_eq!(asker.recv_from(&mut buffer).unwrap().0, 5);
}

#[test]
fn a_listener_that_hears_nothing_is_an_error() {
    let error = ScoutListener::open(&group("239.255.71.5"), &[]).unwrap_err();
    assert!(matches!(error, LinkError::Scout { .. }), "{error}");
}

/// A group with a port of this process's own, so that parallel runs don't hear each other.
fn group(ip: &str) -> Group {
    let port = 20_000 + (std::process::id() % 40_000) as u16;
    Group::new(SocketAddr::new(ip.parse().unwrap(), port), 1).unwrap()
}

fn loopback(group: &Group) -> ScoutInterface {
    let name = interfaces().unwrap().into_iter().find(|one| one.is_loopback).unwrap().name;
    select(&name, group).unwrap().remove(0)
}

/// An interface that `auto` selects and that is not loopback.
fn other_interface(group: &Group) -> Option<ScoutInterface> {
    let selected = select("auto", group).unwrap_or_default();
    selected.into_iter().find(|one| !one.address().is_loopback())
}

fn wait(of: impl AsFd) {
    let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
    let mut fds = [PollFd::new(&of, PollFlags::IN)];
    assert_eq!(poll(&mut fds, Some(&limit)).unwrap(), 1, "nothing was heard in time");
}
