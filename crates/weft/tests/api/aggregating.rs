//! `aggregation/*`: one declared expression instead of those that it includes. What of it can be seen is that
//! publishers elsewhere match the whole of it; what is delivered is the same.

use weft::{Publisher, Session};

use crate::support::{Node, matched_publisher, next, router, until};

const COVER: &str = "['plant/**']";

fn await_matching(publisher: &Publisher, matching: bool) {
    until("the publisher's status", || publisher.matching_status().unwrap().matching() == matching);
}

/// Publishes on `plant/other`, which nobody subscribes to, and on `key`.
fn publish(session: &Session, key: &str) {
    let other = matched_publisher(session, "plant/other");
    other.put("nobody asked for it").wait().unwrap();
    matched_publisher(session, key).put("wanted").wait().unwrap();
}

#[test]
fn subscribers_of_a_session_are_one_for_its_router() {
    let router = router();
    let generalising = Node::new("client").connect(&router).set("aggregation/subscribers", COVER);
    let generalising = generalising.open();
    let publishing = Node::new("client").connect(&router).open();
    let one = generalising.declare_subscriber("plant/1").wait().unwrap();
    let two = generalising.declare_subscriber("plant/2").wait().unwrap();
    for (key, subscriber) in [("plant/1", &one), ("plant/2", &two)] {
        publish(&publishing, key);
        assert_eq!(next(subscriber).key_expr().as_str(), key, "nothing extra is delivered");
    }
    let other = publishing.declare_publisher("plant/other").wait().unwrap();
    one.undeclare();
    publish(&publishing, "plant/2");
    assert_eq!(next(&two).key_expr().as_str(), "plant/2");
    two.undeclare();
    await_matching(&other, false);
}

#[test]
fn publishers_of_a_session_ask_as_one_and_match_each_for_itself() {
    let router = router();
    let generalising = Node::new("client").connect(&router).set("aggregation/publishers", COVER);
    let generalising = generalising.open();
    let subscribing = Node::new("client").connect(&router).open();
    let [one, two] =
        ["plant/1", "plant/2"].map(|key| generalising.declare_publisher(key).wait().unwrap());
    let subscriber = subscribing.declare_subscriber("plant/2").wait().unwrap();
    await_matching(&two, true);
    assert!(!one.matching_status().unwrap().matching());
    one.put("nobody asked for it").wait().unwrap();
    two.put("wanted").wait().unwrap();
    assert_eq!(next(&subscriber).key_expr().as_str(), "plant/2");
    drop(one);
    subscriber.undeclare();
    await_matching(&two, false);
}

#[test]
fn a_router_tells_the_others_of_one_expression_for_all_of_its_clients() {
    let near = Node::new("router").listen("tcp/127.0.0.1:0");
    let near = near.set("aggregation/subscribers", COVER).open();
    let far = Node::new("router").listen("tcp/127.0.0.1:0").connect(&near).open();
    let clients = [(), ()].map(|()| Node::new("client").connect(&near).open());
    let publishing = Node::new("client").connect(&far).open();
    let keys = ["plant/1", "plant/2"];
    let subscribers = [0, 1].map(|at| clients[at].declare_subscriber(keys[at]).wait().unwrap());
    for (key, subscriber) in keys.iter().zip(&subscribers) {
        publish(&publishing, key);
        assert_eq!(next(subscriber).key_expr().as_str(), *key);
    }
    let beside = Node::new("client").connect(&near).open();
    let other = beside.declare_publisher("plant/other").wait().unwrap();
    await_matching(&matched_publisher(&beside, "plant/1"), true);
    assert!(!other.matching_status().unwrap().matching(), "the router itself knows the keys");
}

#[test]
fn expressions_are_within_the_namespace() {
    let router = router();
    let inside = Node::new("client").connect(&router).set("namespace", "'ns/1'");
    let inside = inside.set("aggregation/subscribers", COVER).open();
    let outside = Node::new("client").connect(&router).open();
    let subscriber = inside.declare_subscriber("plant/1").wait().unwrap();
    matched_publisher(&outside, "ns/1/plant/other").put("nobody asked for it").wait().unwrap();
    matched_publisher(&outside, "ns/1/plant/1").put("wanted").wait().unwrap();
    assert_eq!(next(&subscriber).key_expr().as_str(), "plant/1");
}
