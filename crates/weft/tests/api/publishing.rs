//! What a publication carries, and that it arrives: once, whole, in order.

use std::sync::mpsc;

use weft::handlers::FifoChannel;
use weft::{
    CongestionControl, Encoding, EntityGlobalId, KeyExpr, Priority, Reliability, SampleKind,
    SampleView, SourceInfo, ZBytes,
};

use crate::support::{Node, alone, brokered, matched_publisher, next, pair, soon};

const PRIORITIES: [Priority; 7] = [
    Priority::RealTime,
    Priority::InteractiveHigh,
    Priority::InteractiveLow,
    Priority::DataHigh,
    Priority::Data,
    Priority::DataLow,
    Priority::Background,
];
const CONTROLS: [CongestionControl; 3] =
    [CongestionControl::Drop, CongestionControl::Block, CongestionControl::BlockFirst];

fn encoding(text: &str) -> Encoding {
    text.parse().unwrap()
}

/// What is configured for a key counts, not what the application says.
#[test]
fn the_configuration_decides_about_qualities() {
    let rules = "[
        {key_exprs: ['x', 'q/*'], config: {priority: 'real_time', congestion_control: 'block_first',
            express: true, reliability: 'best_effort'}},
        {key_exprs: ['q/**'], config: {priority: 'background'}},
        {key_exprs: ['far'], config: {allowed_destination: 'remote'}},
    ]";
    let session = Node::new("peer").set("qos/publication", rules).set("namespace", "'n'").open();
    let subscriber = session.declare_subscriber("**").wait().unwrap();
    let default = (Priority::Data, CongestionControl::Drop, false, Reliability::Reliable);
    let first = (Priority::RealTime, CongestionControl::BlockFirst, true, Reliability::BestEffort);
    for (key, expected) in [
        ("q/a", first),
        ("x", first),
        ("q/*", first),
        ("q/a/b", (Priority::Background, default.1, default.2, default.3)),
        ("q/**", (Priority::Background, default.1, default.2, default.3)),
        ("other", default),
    ] {
        session.put(key, "1").wait().unwrap();
        session.declare_publisher(key).wait().unwrap().put("2").wait().unwrap();
        for _ in 0..2 {
            let sample = next(&subscriber);
            let found = (
                sample.priority(),
                sample.congestion_control(),
                sample.express(),
                sample.reliability(),
            );
            assert_eq!(found, expected, "{key}");
        }
    }
    session.put("far", "1").wait().unwrap();
    session.declare_publisher("far").wait().unwrap().put("2").wait().unwrap();
    session.put("last", "3").wait().unwrap();
    assert_eq!(next(&subscriber).key_expr().as_str(), "last");
}

/// Every quality that a publisher sets is seen by its subscribers.
#[test]
fn qualities_arrive() {
    let (a, b) = pair();
    let subscriber = a.declare_subscriber("q").wait().unwrap();
    drop(matched_publisher(&b, "q"));
    for priority in PRIORITIES {
        for control in CONTROLS {
            for express in [false, true] {
                for reliability in [Reliability::Reliable, Reliability::BestEffort] {
                    let publisher = b.declare_publisher("q").priority(priority).express(express);
                    let publisher = publisher.congestion_control(control).reliability(reliability);
                    let publisher = publisher.wait().unwrap();
                    assert_eq!(publisher.priority(), priority);
                    assert_eq!(publisher.congestion_control(), control);
                    assert_eq!(publisher.reliability(), reliability);
                    publisher.put("x").wait().unwrap();
                    let sample = next(&subscriber);
                    assert_eq!(sample.priority(), priority);
                    assert_eq!(sample.congestion_control(), control);
                    assert_eq!(sample.express(), express);
                    assert_eq!(sample.reliability(), reliability);
                }
            }
        }
    }
}

/// Without options a sample is a droppable, reliable one of priority Data and encoding zenoh/bytes.
#[test]
fn defaults_are_those_of_the_protocol() {
    let (a, b) = pair();
    let subscriber = a.declare_subscriber("d").wait().unwrap();
    let publisher = b.declare_publisher("d").wait().unwrap();
    drop(matched_publisher(&b, "d"));
    for put in [true, false] {
        if put {
            b.put("d", "x").wait().unwrap();
        } else {
            publisher.put("x").wait().unwrap();
        }
        let sample = next(&subscriber);
        assert_eq!(sample.kind(), SampleKind::Put);
        assert_eq!(sample.priority(), Priority::Data);
        assert_eq!(sample.congestion_control(), CongestionControl::Drop);
        assert_eq!(sample.reliability(), Reliability::Reliable);
        assert!(!sample.express());
        assert_eq!(*sample.encoding(), Encoding::ZENOH_BYTES);
        assert_eq!(sample.attachment(), None);
        assert_eq!(sample.timestamp(), None);
        assert_eq!(sample.source_info(), None);
    }
}

/// The protocol's own priority is not for applications.
#[test]
fn control_counts_as_real_time() {
    let session = alone();
    let subscriber = session.declare_subscriber("c").wait().unwrap();
    session.put("c", "x").priority(Priority::Control).wait().unwrap();
    assert_eq!(next(&subscriber).priority(), Priority::RealTime);
}

/// Encoding, attachment, timestamp and source info arrive with puts and deletions, single or from a
/// publisher.
#[test]
fn extras_arrive() {
    let (a, b) = pair();
    let subscriber = a.declare_subscriber("e").wait().unwrap();
    let publisher =
        b.declare_publisher("e").encoding(encoding("text/plain;utf-16")).wait().unwrap();
    drop(matched_publisher(&b, "e"));
    let source = SourceInfo { id: EntityGlobalId { zid: b.zid(), eid: 7 }, sn: 11 };
    let stamp = b.new_timestamp();
    let attached = ZBytes::from(vec![7; 300]);

    b.put("e", "1")
        .encoding(encoding("a/b;c"))
        .attachment(&attached)
        .timestamp(stamp)
        .source_info(source)
        .wait()
        .unwrap();
    publisher.put("2").attachment(&attached).timestamp(stamp).source_info(source).wait().unwrap();
    publisher
        .put("3")
        .encoding(Encoding::TEXT_PLAIN)
        .attachment(&attached)
        .timestamp(stamp)
        .source_info(source)
        .wait()
        .unwrap();
    for (payload, encoding) in [("1", "a/b;c"), ("2", "text/plain;utf-16"), ("3", "text/plain")] {
        let sample = next(&subscriber);
        assert_eq!(*sample.payload(), payload);
        assert_eq!(sample.encoding().to_string(), encoding);
        assert_eq!(sample.attachment(), Some(&attached));
        assert_eq!(sample.timestamp(), Some(stamp));
        assert_eq!(sample.source_info(), Some(source));
    }

    b.delete("e").attachment(&attached).timestamp(stamp).source_info(source).wait().unwrap();
    publisher.delete().attachment(&attached).timestamp(stamp).source_info(source).wait().unwrap();
    for _ in 0..2 {
        let sample = next(&subscriber);
        assert_eq!(sample.kind(), SampleKind::Delete);
        assert!(sample.payload().is_empty());
        assert_eq!(*sample.encoding(), Encoding::ZENOH_BYTES);
        assert_eq!(sample.attachment(), Some(&attached));
        assert_eq!(sample.timestamp(), Some(stamp));
        assert_eq!(sample.source_info(), Some(source));
    }
}

/// A view shows what the owned sample holds.
#[test]
fn a_view_and_a_sample_say_the_same() {
    let (a, b) = pair();
    let (seen, views) = mpsc::channel();
    let callback = move |view: &SampleView<'_>| {
        let sample = view.to_sample();
        assert_eq!(*sample.key_expr(), view.key_expr());
        assert_eq!(*sample.payload(), view.payload());
        assert_eq!(view.encoding(), *sample.encoding());
        assert_eq!(view.kind(), sample.kind());
        assert_eq!(view.timestamp(), sample.timestamp());
        assert_eq!(view.attachment().map(ZBytes::from), sample.attachment().cloned());
        assert_eq!(view.priority(), sample.priority());
        seen.send(sample).unwrap();
    };
    let _subscriber = a.declare_subscriber("v/*").callback(callback).wait().unwrap();
    let publisher = matched_publisher(&b, "v/1");
    publisher.put(vec![1; 1000]).attachment("more").encoding(encoding("x/y")).wait().unwrap();
    publisher.delete().wait().unwrap();
    assert_eq!(soon(&views).payload().len(), 1000);
    assert_eq!(soon(&views).kind(), SampleKind::Delete);
}

/// A put on a key with wildcards reaches every subscriber that it intersects, with that key.
#[test]
fn a_put_may_have_wildcards() {
    let (a, b) = pair();
    let hit = a.declare_subscriber("w/1/x").wait().unwrap();
    let other = a.declare_subscriber("w/2/*").wait().unwrap();
    let miss = a.declare_subscriber("w/1/y").wait().unwrap();
    let own = b.declare_subscriber("w/**").wait().unwrap();
    drop(matched_publisher(&b, "w/1/y"));
    drop(matched_publisher(&b, "w/*/x"));
    b.put("w/*/x", "1").wait().unwrap();
    b.put("w/1/y", "fence").wait().unwrap();
    for receiver in [&*hit, &*other, &*own] {
        let sample = next(receiver);
        assert_eq!(sample.key_expr().as_str(), "w/*/x");
        assert_eq!(*sample.payload(), "1");
    }
    assert_eq!(*next(&miss).payload(), "fence");
}

/// A subscriber gets each sample once, however many of its session's declarations overlap.
#[test]
fn each_subscriber_gets_a_sample_once() {
    let (_router, a, b) = brokered();
    let subscribers: Vec<_> = ["o/**", "o/*", "o/1", "o/1"]
        .map(|key| a.declare_subscriber(key).wait().unwrap())
        .into_iter()
        .collect();
    let publisher = matched_publisher(&b, "o/1");
    publisher.put("1").wait().unwrap();
    publisher.put("2").wait().unwrap();
    for subscriber in &subscribers {
        assert_eq!(*next(subscriber).payload(), "1");
        assert_eq!(*next(subscriber).payload(), "2");
    }
}

/// A subscriber that comes late gets what is published from then on.
#[test]
fn a_late_subscriber_gets_what_comes_later() {
    let (a, b) = pair();
    let publisher = b.declare_publisher("l").wait().unwrap();
    let status = publisher.matching_listener().wait().unwrap();
    publisher.put("before").wait().unwrap();
    let subscriber = a.declare_subscriber("l").wait().unwrap();
    assert!(next(&status).matching());
    publisher.put("after").wait().unwrap();
    assert_eq!(*next(&subscriber).payload(), "after");
}

/// A key that was given a number is equal to its text, and can be used like it.
#[test]
fn declared_keys_are_keys() {
    let (a, b) = pair();
    let subscriber = a.declare_subscriber("k/*").wait().unwrap();
    let key = b.declare_keyexpr("k/1").unwrap();
    assert_eq!(key, KeyExpr::new("k/1").unwrap());
    drop(matched_publisher(&b, "k/1"));
    b.put(&key, "1").wait().unwrap();
    assert_eq!(next(&subscriber).key_expr().as_str(), "k/1");
    b.undeclare_keyexpr(&key).unwrap();
    assert!(b.undeclare_keyexpr(&key).is_err());
    b.put(&key, "2").wait().unwrap();
    assert_eq!(*next(&subscriber).payload(), "2");
}

/// Payloads of every size arrive whole, in one piece or in several.
#[test]
fn payloads_of_all_sizes_arrive() {
    let (_router, a, b) = brokered();
    let subscriber = a.declare_subscriber("p").wait().unwrap();
    let publisher = matched_publisher(&b, "p");
    let byte = |index: usize| (index.wrapping_mul(31) ^ (index >> 11)) as u8;
    for len in [0, 1, 37, 38, 39, 255, 1023, 1 << 14, 65_499, 65_535, 65_536, 1 << 20, 64 << 20] {
        let payload: Vec<u8> = (0..len).map(byte).collect();
        let expected = ZBytes::from(payload.clone());
        publisher.put(payload).wait().unwrap();
        assert!(*next(&subscriber).payload() == expected, "{len} bytes");
    }
    let pieces = [vec![1; 100_000], vec![2; 3], vec![3; 70_000]];
    let joined = ZBytes::from(pieces.concat());
    publisher.put(pieces.into_iter().map(ZBytes::from).collect::<ZBytes>()).wait().unwrap();
    assert!(*next(&subscriber).payload() == joined);
}

/// Many threads may publish on one publisher: nothing is lost, and each thread's order is kept.
#[test]
fn threads_share_a_publisher() {
    const THREADS: u32 = 8;
    const EACH: u32 = 5_000;
    let (_router, a, b) = brokered();
    let subscriber = a.declare_subscriber("t").with(FifoChannel::new(64)).wait().unwrap();
    let publisher = matched_publisher(&b, "t");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let publisher = &publisher;
            scope.spawn(move || {
                for number in 0..EACH {
                    let value = u64::from(thread) << 32 | u64::from(number);
                    publisher.put_bytes(&value.to_le_bytes()).unwrap();
                }
            });
        }
        let mut expected = [0; THREADS as usize];
        for _ in 0..THREADS * EACH {
            let payload = next(&subscriber).payload().to_bytes().into_owned();
            let value = u64::from_le_bytes(payload.try_into().unwrap());
            let of_thread = &mut expected[(value >> 32) as usize];
            assert_eq!(value as u32, *of_thread);
            *of_thread += 1;
        }
        assert_eq!(expected, [EACH; THREADS as usize]);
    });
    assert!(subscriber.is_empty());
}

/// One thousand text payloads between two peers: key, priority, congestion control and bytes.
#[test]
fn a_thousand_texts_arrive() {
    let (a, b) = pair();
    let (arrived, samples) = mpsc::channel();
    let callback = move |sample: &SampleView<'_>| arrived.send(sample.to_sample()).unwrap();
    let _subscriber = a.declare_subscriber("test/session").callback(callback).wait().unwrap();
    let publisher = b
        .declare_publisher("test/session")
        .priority(Priority::DataHigh)
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    let status = publisher.matching_listener().wait().unwrap();
    assert!(next(&status).matching());
    for number in 0..1000 {
        publisher.put(format!("text {number}")).wait().unwrap();
    }
    for number in 0..1000 {
        let sample = soon(&samples);
        assert_eq!(sample.key_expr().as_str(), "test/session");
        assert_eq!(sample.priority(), Priority::DataHigh);
        assert_eq!(sample.congestion_control(), CongestionControl::Block);
        assert_eq!(sample.payload().try_to_str().unwrap(), format!("text {number}"));
    }
}
