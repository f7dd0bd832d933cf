//! Receivers that are slower than what feeds them, and whom they hold up.

use std::sync::{Arc, Barrier, Mutex, mpsc};

use weft::handlers::{FifoChannel, RingChannel};
use weft::{CongestionControl, Query, Sample, SampleView, Session};

use crate::log::Log;
use crate::support::{
    Node, SOON, alone, await_queryable, ends, matched_publisher, next, pair, soon, until,
};

/// A FIFO that is full stops what feeds it, up to the publisher, and loses nothing.
#[test]
fn a_full_fifo_blocks_and_loses_nothing() {
    const COUNT: u32 = 3000;
    let (a, b) = pair();
    let subscriber = a.declare_subscriber("f").with(FifoChannel::new(1)).wait().unwrap();
    let publisher = matched_publisher(&b, "f");
    let payload = vec![0; 20_000];
    let publishing = std::thread::spawn(move || {
        for number in 0..COUNT {
            let mut payload = payload.clone();
            payload[..4].copy_from_slice(&number.to_le_bytes());
            publisher.put(payload).wait().unwrap();
        }
    });
    until("a full channel", || subscriber.len() == 2);
    // 60 MB fit in no buffer between: the publisher waits.
    assert!(!publishing.is_finished());
    for number in 0..COUNT {
        assert_eq!(next(&subscriber).payload().to_bytes()[..4], number.to_le_bytes());
    }
    publishing.join().unwrap();
}

/// Fills all that is between `session` and a subscriber that does not read. What fits arrives as zeros.
fn congest(session: &Session, key: &str) {
    let publisher = session.declare_publisher(key).wait().unwrap();
    let payload = vec![0; 20_000];
    for _ in 0..3000 {
        publisher.put_bytes(&payload).unwrap();
    }
}

/// Where there is no room, the first sample waits and further ones are dropped; the publisher is kept
/// by neither.
#[test]
fn block_first_keeps_one_sample_and_no_publisher() {
    // In one batch, and in fragments.
    for (len, count) in [(20_000, 1000_u32), (200_000, 100)] {
        let (a, b) = pair();
        let subscriber = a.declare_subscriber("f").with(FifoChannel::new(1)).wait().unwrap();
        let fence = matched_publisher(&b, "f");
        congest(&b, "f");
        let first = b.declare_publisher("f").congestion_control(CongestionControl::BlockFirst);
        let first = first.wait().unwrap();
        ends("publishing", move || {
            for number in 1..=count {
                let mut payload = vec![0; len];
                payload[..4].copy_from_slice(&number.to_le_bytes());
                first.put(payload).wait().unwrap();
            }
        });
        let number = |sample: Sample| {
            let bytes = sample.payload().to_bytes();
            u32::from_le_bytes(bytes[..4].try_into().unwrap())
        };
        let received = || std::iter::from_fn(|| Some(number(next(&subscriber))));
        assert_eq!(received().find(|number| *number != 0), Some(1), "the first one has waited");
        fence.put(u32::MAX.to_le_bytes()).wait().unwrap();
        let rest: Vec<u32> = received().take_while(|number| *number != u32::MAX).collect();
        assert!(rest.is_sorted(), "none has overtaken another");
        assert!(rest.len() + 1 < count as usize, "those behind it were dropped");
    }
}

/// Closing waits for a sample that waits for room.
#[test]
fn block_first_sends_its_sample_before_closing() {
    let (a, b) = pair();
    let subscriber = a.declare_subscriber("f").with(FifoChannel::new(1)).wait().unwrap();
    let _matched = matched_publisher(&b, "f");
    congest(&b, "f");
    // As long as those that filled the queue: something shorter might fit it.
    let put = b.put("f", vec![1; 20_000]).congestion_control(CongestionControl::BlockFirst);
    put.wait().unwrap();
    let closing = std::thread::spawn(move || b.close().wait());
    until("the last sample", || next(&subscriber).payload().to_bytes()[0] == 1);
    closing.join().unwrap();
}

/// A FIFO that is full blocks the local publisher, too.
#[test]
fn a_full_fifo_blocks_the_local_publisher() {
    let session = alone();
    let subscriber = session.declare_subscriber("f").with(FifoChannel::new(2)).wait().unwrap();
    let publishing = std::thread::spawn(move || {
        for number in 0..100_u8 {
            session.put("f", [number]).wait().unwrap();
        }
        session
    });
    until("a full channel", || subscriber.len() == 3);
    assert!(!publishing.is_finished());
    for number in 0..100_u8 {
        assert_eq!(*next(&subscriber).payload(), [number]);
    }
    publishing.join().unwrap();
}

/// A FIFO that keeps what feeds it for a second says so, once.
#[test]
fn a_fifo_that_blocks_for_long_is_a_warning() {
    let session = alone();
    let subscriber = session.declare_subscriber("slow/*").with(FifoChannel::new(2)).wait().unwrap();
    let log = Log::default();
    let publish = |count: u8| {
        let (session, log) = (session.clone(), log.clone());
        let publish = move || {
            (0..count).for_each(|number| session.put("slow/er", [number]).wait().unwrap());
        };
        std::thread::spawn(|| tracing::subscriber::with_default(log, publish))
    };
    let publishing = publish(5);
    until("a warning", || log.lines().len() == 1);
    assert_eq!((subscriber.blocked(), subscriber.dropped()), (1, 0));
    // The fourth waits for as long as the third, which is no news.
    assert_eq!(*next(&subscriber).payload(), [0]);
    until("the next one to wait", || subscriber.blocked() == 2);
    assert!(subscriber.len() == 3 && !publishing.is_finished());
    std::thread::sleep(std::time::Duration::from_millis(1200));
    for number in 1..5_u8 {
        assert_eq!(*next(&subscriber).payload(), [number]);
    }
    publishing.join().unwrap();
    let lines = log.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("key=slow/* capacity=2"), "{lines:?}");
    // After others that had room it is.
    let publishing = publish(3);
    until("another warning", || log.lines().len() == 2);
    assert_eq!(*next(&subscriber).payload(), [0]);
    publishing.join().unwrap();
}

/// A ring keeps the newest samples, blocks nobody, and counts what it dropped.
#[test]
fn a_ring_drops_the_oldest() {
    let (a, b) = pair();
    let ring = a.declare_subscriber("r").with(RingChannel::new(3)).wait().unwrap();
    let fence = a.declare_subscriber("fence").wait().unwrap();
    let publisher = matched_publisher(&b, "r");
    let last = matched_publisher(&b, "fence");
    for number in 0..1000_u32 {
        publisher.put_bytes(&number.to_le_bytes()).unwrap();
    }
    last.put("x").wait().unwrap();
    next(&fence);
    let kept: Vec<_> =
        ring.drain().map(|sample| sample.payload().to_bytes().into_owned()).collect();
    assert_eq!(kept, [997_u32, 998, 999].map(|number| number.to_le_bytes().to_vec()));
    assert_eq!(ring.dropped(), 997);
    assert_eq!(ring.try_recv().unwrap(), None);
}

/// One thread for all links, so that a handler that keeps it would keep all of them.
fn hub() -> Session {
    Node::new("peer").listen("tcp/127.0.0.1:0").open()
}

/// A full channel stops the link that feeds it and no other.
#[test]
fn a_full_channel_stops_no_other_link() {
    let a = hub();
    let neighbours: Vec<_> = (0..6).map(|_| Node::new("peer").connect(&a).open()).collect();
    let stuck: Vec<_> = (0..5)
        .map(|i| {
            a.declare_subscriber(format!("stuck/{i}")).with(FifoChannel::new(1)).wait().unwrap()
        })
        .collect();
    let free = a.declare_subscriber("free").wait().unwrap();
    let publishers: Vec<_> = neighbours
        .iter()
        .take(5)
        .enumerate()
        .map(|(i, session)| matched_publisher(session, &format!("stuck/{i}")))
        .collect();
    let publisher = matched_publisher(&neighbours[5], "free");
    for publisher in &publishers {
        for _ in 0..5 {
            publisher.put("x").wait().unwrap();
        }
    }
    for subscriber in &stuck {
        until("a full channel", || subscriber.len() == 2);
    }
    for number in 0..1000_u32 {
        publisher.put_bytes(&number.to_le_bytes()).unwrap();
        assert_eq!(*next(&free).payload(), number.to_le_bytes());
    }
    // And a new neighbour can connect and declare.
    let late = Node::new("peer").connect(&a).open();
    matched_publisher(&late, "free").put("late").wait().unwrap();
    assert_eq!(*next(&free).payload(), "late");
    for subscriber in &stuck {
        for _ in 0..5 {
            next(subscriber);
        }
    }
}

/// A callback that takes its time, in a way that the library cannot see, stops its link only.
#[test]
fn a_slow_callback_stops_no_other_link() {
    let a = hub();
    let neighbours: Vec<_> = (0..5).map(|_| Node::new("peer").connect(&a).open()).collect();
    let (leave, leaving) = mpsc::channel::<()>();
    let leaving = Mutex::new(leaving);
    let (entered, entering) = mpsc::channel();
    let callback = move |_: &SampleView<'_>| {
        entered.send(()).unwrap();
        leaving.lock().unwrap().recv().unwrap();
    };
    let _slow = a.declare_subscriber("slow").callback(callback).wait().unwrap();
    let free = a.declare_subscriber("free").wait().unwrap();
    let publishers: Vec<_> = neighbours.iter().map(|it| matched_publisher(it, "free")).collect();
    let slow: Vec<_> = neighbours.iter().take(4).map(|it| matched_publisher(it, "slow")).collect();
    for publisher in &slow {
        publisher.put("x").wait().unwrap();
    }
    soon(&entering);
    for number in 0..100_u8 {
        publishers[4].put([number]).wait().unwrap();
        assert_eq!(*next(&free).payload(), [number]);
    }
    for _ in 0..4 {
        leave.send(()).unwrap();
    }
    for publisher in &publishers[..4] {
        publisher.put("after").wait().unwrap();
        assert_eq!(*next(&free).payload(), "after");
    }
}

/// An event handler that takes its time holds up no timer, no query and no other event handler.
#[test]
fn a_slow_event_handler_holds_up_nothing() {
    let (a, b) = pair();
    let (leave, leaving) = mpsc::channel::<()>();
    let leaving = Mutex::new(leaving);
    let (entered, entering) = mpsc::channel();
    let slow = move |_: Sample| {
        entered.send(()).unwrap();
        leaving.lock().unwrap().recv().unwrap();
    };
    let watcher = a.liveliness().declare_subscriber("slow").callback(slow).wait().unwrap();
    let other = a.liveliness().declare_subscriber("*").wait().unwrap();
    let slow = b.liveliness().declare_token("slow").wait().unwrap();
    soon(&entering);
    assert_eq!(next(&other).key_expr().as_str(), "slow");
    let _fast = b.liveliness().declare_token("fast").wait().unwrap();
    assert_eq!(next(&other).key_expr().as_str(), "fast");
    let _mute = b.declare_queryable("mute").wait().unwrap();
    await_queryable(&a, "mute");
    let timeout = std::time::Duration::from_millis(50);
    let replies = a.get("mute").timeout(timeout).wait().unwrap();
    assert!(next(&replies).result().unwrap_err().is_timeout());
    let alive = a.liveliness().get("*").wait().unwrap();
    assert_eq!(alive.iter().count(), 2);
    drop(slow);
    leave.send(()).unwrap();
    soon(&entering);
    leave.send(()).unwrap();
    drop(watcher);
}

/// More history than fits a channel does not keep the declaration from returning.
#[test]
fn a_declaration_does_not_wait_for_its_history() {
    let (a, b) = pair();
    let tokens: Vec<_> =
        (0..1000).map(|i| b.liveliness().declare_token(format!("h/{i}")).wait().unwrap()).collect();
    until("all tokens", || a.liveliness().get("h/*").wait().unwrap().into_iter().count() == 1000);
    ends("a declaration with history", move || {
        let watcher =
            a.liveliness().declare_subscriber("h/*").history(true).with(FifoChannel::new(0));
        let watcher = watcher.wait().unwrap();
        for _ in 0..1000 {
            next(&watcher);
        }
    });
    drop(tokens);
}

/// More replies of the session itself than fit a channel do not keep the get from returning.
#[test]
fn a_get_does_not_wait_for_its_replies() {
    let session = alone();
    let answer = |query: Query| {
        for number in 0..1000 {
            query.reply(format!("g/{number}"), "x").wait().unwrap();
        }
    };
    let _queryable = session.declare_queryable("g/*").callback(answer).wait().unwrap();
    ends("a get of the session itself", move || {
        for consolidation in [weft::Consolidation::None, weft::Consolidation::Latest] {
            let replies = session.get("g/*").consolidation(consolidation).with(FifoChannel::new(1));
            assert_eq!(replies.wait().unwrap().into_iter().count(), 1000);
        }
    });
}

/// A subscriber whose channel is full, with its reader waiting in it, can be dropped.
#[test]
fn a_subscriber_with_a_full_channel_can_be_dropped() {
    let (a, b) = pair();
    let full = a.declare_subscriber("x").with(FifoChannel::new(1)).wait().unwrap();
    let other = a.declare_subscriber("y").wait().unwrap();
    let publisher = matched_publisher(&b, "x");
    let fence = matched_publisher(&b, "y");
    for _ in 0..10 {
        publisher.put("1").wait().unwrap();
    }
    fence.put("2").wait().unwrap();
    until("a full channel", || full.len() == 2);
    ends("dropping it", move || drop(full));
    assert_eq!(*next(&other).payload(), "2");
}

/// A subscriber can be dropped while the reader of its link waits in another one's channel.
#[test]
fn a_full_channel_keeps_no_other_subscriber() {
    let (a, b) = pair();
    let full = a.declare_subscriber("x").with(FifoChannel::new(1)).wait().unwrap();
    let other = a.declare_subscriber("x").callback(|_: &SampleView<'_>| {}).wait().unwrap();
    let publisher = matched_publisher(&b, "x");
    for _ in 0..10 {
        publisher.put("1").wait().unwrap();
    }
    until("a full channel", || full.len() == 2);
    ends("dropping the other one", move || drop(other));
    for _ in 0..10 {
        next(&full);
    }
}

/// A queryable's channel that is full holds up its link, and the queries arrive once it is read.
#[test]
fn a_full_queryable_answers_when_it_is_read() {
    let (a, b) = pair();
    let queryable = a.declare_queryable("q").with(FifoChannel::new(1)).wait().unwrap();
    await_queryable(&b, "q");
    let pending: Vec<_> = (0..10).map(|_| b.get("q").timeout(SOON).wait().unwrap()).collect();
    until("a full channel", || queryable.len() == 2);
    for _ in 0..10 {
        next(&queryable).reply("q", "x").wait().unwrap();
    }
    for replies in pending {
        assert!(replies.into_iter().next().unwrap().result().is_ok());
    }
}

/// A callback that waits for other callbacks of the same session gets them, if they come over other
/// links.
#[test]
fn callbacks_of_different_links_run_side_by_side() {
    const LINKS: usize = 6;
    let a = hub();
    let neighbours: Vec<_> = (0..LINKS).map(|_| Node::new("peer").connect(&a).open()).collect();
    let together = Arc::new(Barrier::new(LINKS));
    let (met, meeting) = mpsc::channel();
    let callback = move |_: &SampleView<'_>| {
        together.wait();
        met.send(()).unwrap();
    };
    let _subscriber = a.declare_subscriber("x").callback(callback).wait().unwrap();
    for neighbour in &neighbours {
        matched_publisher(neighbour, "x").put("1").wait().unwrap();
    }
    for _ in 0..LINKS {
        soon(&meeting);
    }
}
