//! Advanced publishers and subscribers: history, recovery, misses, detection.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use weft::ext::{
    AdvancedPublisher, AdvancedPublisherBuilder, AdvancedSubscriber, CacheConfig, HistoryConfig,
    Miss, MissDetectionConfig, RecoveryConfig, SampleMissListener, declare_advanced_publisher,
    declare_advanced_subscriber,
};
use weft::handlers::{FifoChannel, Receiver};
use weft::{Encoding, Error, IntoKeyExpr, Sample, SampleKind, Session, SourceInfo};

use crate::support::{
    Node, alone, assert_ends, await_queryable, brokered, ends, next, pair, soon, until,
};

const BEAT: Duration = Duration::from_millis(20);

fn numbers() -> MissDetectionConfig {
    MissDetectionConfig::default()
}

fn cache(count: usize) -> CacheConfig {
    CacheConfig::default().max_samples(count)
}

fn text(sample: &Sample) -> String {
    sample.payload().try_to_str().unwrap().into_owned()
}

/// The next samples of a subscriber, as text.
fn texts(subscriber: &AdvancedSubscriber<Receiver<Sample>>, count: usize) -> Vec<String> {
    (0..count).map(|_| text(&next(subscriber))).collect()
}

fn put_all(publisher: &AdvancedPublisher, texts: &[&str]) {
    for text in texts {
        publisher.put(*text).wait().unwrap();
    }
}

/// A publisher that somebody elsewhere subscribes to.
fn matched<K: IntoKeyExpr>(builder: AdvancedPublisherBuilder<'_, K>) -> AdvancedPublisher {
    let publisher = builder.wait().unwrap();
    let status = publisher.matching_listener().wait().unwrap();
    assert!(next(&status).matching());
    publisher
}

/// Two clients whose router comes and goes: what is published in between is lost.
struct Unsteady {
    endpoint: String,
    router: Option<Session>,
    a: Session,
    b: Session,
}

impl Unsteady {
    fn new() -> Self {
        let router = Node::new("router").listen("tcp/127.0.0.1:0").open();
        let endpoint = router.info().locators()[0].to_string();
        let retry = "{ period_init_ms: 50, period_max_ms: 200, period_increase_factor: 2 }";
        let client =
            || Node::new("client").connect_to(&[&endpoint]).set("connect/retry", retry).open();
        let (a, b) = (client(), client());
        Self { endpoint, router: Some(router), a, b }
    }

    /// Publishes while there is no router, and returns when the two are connected again.
    fn lose(&mut self, publisher: &AdvancedPublisher, publish: impl FnOnce()) {
        let status = publisher.matching_listener().wait().unwrap();
        assert!(next(&status).matching());
        self.router.take().unwrap().close().wait();
        let is_alone = |session: &Session| session.info().neighbours().is_empty();
        until("the loss", || is_alone(&self.a) && is_alone(&self.b));
        assert!(!next(&status).matching());
        publish();
        self.router = Some(Node::new("router").listen(&self.endpoint).open());
        assert!(next(&status).matching());
        await_queryable(&self.b, "k/@adv/**");
    }

    /// A publisher with numbers and a cache, and a subscriber that has got its samples 0 and 1.
    fn start(
        &self,
        miss_detection: MissDetectionConfig,
        depth: usize,
        recovery: Option<RecoveryConfig>,
    ) -> (AdvancedPublisher, AdvancedSubscriber, SampleMissListener) {
        let subscriber = declare_advanced_subscriber(&self.b, "k");
        let subscriber = match recovery {
            Some(recovery) => subscriber.recovery(recovery).wait().unwrap(),
            None => subscriber.wait().unwrap(),
        };
        let misses = subscriber.sample_miss_listener().wait().unwrap();
        let builder = declare_advanced_publisher(&self.a, "k").cache(cache(depth));
        let publisher = matched(builder.sample_miss_detection(miss_detection));
        put_all(&publisher, &["0", "1"]);
        assert_eq!(texts(&subscriber, 2), ["0", "1"]);
        (publisher, subscriber, misses)
    }
}

#[test]
fn samples_are_numbered_and_kept() {
    let (a, b) = pair();
    let publisher =
        declare_advanced_publisher(&a, "k").cache(cache(3)).encoding(Encoding::TEXT_PLAIN);
    let publisher = publisher.sample_miss_detection(numbers()).wait().unwrap();
    put_all(&publisher, &["0", "1"]);
    publisher.delete().attachment("why").wait().unwrap();
    publisher.put("3").encoding(Encoding::TEXT_CSV).attachment("x").wait().unwrap();
    await_queryable(&b, "k/@adv/**");
    let subscriber = declare_advanced_subscriber(&b, "k").history(HistoryConfig::default());
    let subscriber = subscriber.wait().unwrap();
    let [one, two, three] = [next(&subscriber), next(&subscriber), next(&subscriber)];
    let info = |sn| Some(SourceInfo { id: publisher.id(), sn });
    assert_eq!((text(&one), one.source_info()), ("1".into(), info(1)));
    assert_eq!(one.encoding().to_string(), "text/plain");
    assert_eq!((two.kind(), two.source_info()), (SampleKind::Delete, info(2)));
    assert_eq!(two.attachment().unwrap(), "why");
    assert_eq!((text(&three), three.source_info()), ("3".into(), info(3)));
    assert_eq!(
        (three.encoding().to_string(), three.attachment().unwrap()),
        ("text/csv".into(), &"x".into())
    );
    assert_eq!(three.key_expr().as_str(), "k");
}

#[test]
fn history_is_limited_by_count_and_age() {
    let (router, a, b) = brokered();
    let publisher = declare_advanced_publisher(&a, "k").cache(cache(10));
    let publisher = publisher.sample_miss_detection(numbers()).wait().unwrap();
    let long_ago = weft::Timestamp::new(1 << 32, a.zid());
    publisher.put("old").timestamp(long_ago).wait().unwrap();
    put_all(&publisher, &["1", "2", "3"]);
    await_queryable(&b, "k/@adv/**");
    let subscribe = |history| declare_advanced_subscriber(&b, "k").history(history).wait().unwrap();
    let history = HistoryConfig::default();
    assert_eq!(texts(&subscribe(history), 4), ["old", "1", "2", "3"]);
    assert_eq!(texts(&subscribe(history.max_samples(2)), 2), ["2", "3"]);
    let aged = subscribe(history.max_age(Duration::from_secs(60)));
    assert_eq!(texts(&aged, 3), ["1", "2", "3"]);
    drop(router);
}

/// Without numbers, stamps tell what was delivered already.
#[test]
fn a_stamping_session_keeps_samples_without_numbers() {
    let refused = declare_advanced_publisher(&alone(), "k").cache(cache(1)).wait();
    assert!(
        matches!(refused, Err(Error::Argument { message }) if message.contains("timestamping"))
    );
    let refused = declare_advanced_publisher(&alone(), "k").cache(cache(0)).wait();
    assert!(matches!(refused, Err(Error::Argument { .. })));

    let a = Node::new("peer").listen("tcp/127.0.0.1:0").set("timestamping/enabled", "true").open();
    let b = Node::new("peer").connect(&a).open();
    let publisher = declare_advanced_publisher(&a, "k").cache(cache(10)).wait().unwrap();
    put_all(&publisher, &["0", "1"]);
    await_queryable(&b, "k/@adv/**");
    let subscriber = declare_advanced_subscriber(&b, "k").history(HistoryConfig::default());
    let subscriber = subscriber.wait().unwrap();
    assert_eq!(texts(&subscriber, 2), ["0", "1"]);
    put_all(&publisher, &["2"]);
    let live = next(&subscriber);
    assert_eq!((text(&live), live.timestamp().unwrap().id), ("2".into(), a.zid()));
    assert_eq!(live.source_info(), None);
}

#[test]
fn publishers_that_come_late_are_asked_for_their_history() {
    let (_router, a, b) = brokered();
    let history = HistoryConfig::default().detect_late_publishers(true);
    let subscriber = declare_advanced_subscriber(&b, "k/*").history(history).wait().unwrap();
    for key in ["k/1", "k/2"] {
        let publisher = declare_advanced_publisher(&a, key).cache(cache(10));
        let publisher = publisher.sample_miss_detection(numbers()).publisher_detection(true);
        let publisher = publisher.wait().unwrap();
        put_all(&publisher, &["0", "1", "2"]);
        assert_eq!(texts(&subscriber, 3), ["0", "1", "2"], "{key}");
    }
}

/// The next sample shows that some were lost; they come before it.
#[test]
fn what_was_lost_is_recovered_when_the_next_sample_shows_it() {
    let mut network = Unsteady::new();
    let (publisher, subscriber, misses) =
        network.start(numbers(), 10, Some(RecoveryConfig::Heartbeat));
    network.lose(&publisher, || put_all(&publisher, &["2", "3"]));
    put_all(&publisher, &["4"]);
    assert_eq!(texts(&subscriber, 3), ["2", "3", "4"]);
    assert_eq!(misses.try_recv(), Ok(None));
}

#[test]
fn what_was_lost_last_is_recovered_by_heartbeats() {
    for detection in [numbers().heartbeat(BEAT), numbers().sporadic_heartbeat(BEAT)] {
        let mut network = Unsteady::new();
        let (publisher, subscriber, _misses) =
            network.start(detection, 10, Some(RecoveryConfig::Heartbeat));
        network.lose(&publisher, || {
            put_all(&publisher, &["2", "3"]);
        });
        if detection == numbers().sporadic_heartbeat(BEAT) {
            // It has told the number while nobody could hear it.
            put_all(&publisher, &["4"]);
        }
        assert_eq!(texts(&subscriber, 2), ["2", "3"], "{detection:?}");
    }
}

#[test]
fn what_was_lost_last_is_recovered_by_periodic_queries() {
    let mut network = Unsteady::new();
    let recovery = RecoveryConfig::PeriodicQueries { period: BEAT };
    let (publisher, subscriber, misses) = network.start(numbers(), 10, Some(recovery));
    network.lose(&publisher, || put_all(&publisher, &["2", "3"]));
    assert_eq!(texts(&subscriber, 2), ["2", "3"]);
    put_all(&publisher, &["4"]);
    assert_eq!(texts(&subscriber, 1), ["4"]);
    assert_eq!(misses.try_recv(), Ok(None));
}

#[test]
fn what_cannot_be_recovered_is_told_as_missed() {
    let cases = [(None, 10, 3, vec!["5"]), (Some(RecoveryConfig::Heartbeat), 2, 2, vec!["4", "5"])];
    for (recovery, depth, count, delivered) in cases {
        let mut network = Unsteady::new();
        let (publisher, subscriber, misses) = network.start(numbers(), depth, recovery);
        network.lose(&publisher, || put_all(&publisher, &["2", "3", "4"]));
        put_all(&publisher, &["5"]);
        assert_eq!(next(&misses), Miss { source: publisher.id(), count }, "{recovery:?}");
        assert_eq!(texts(&subscriber, delivered.len()), delivered);
    }
}

#[test]
fn publishers_and_subscribers_can_be_detected() {
    let (a, b) = pair();
    let subscriber = declare_advanced_subscriber(&b, "k/*").subscriber_detection(true);
    let subscriber = subscriber.subscriber_detection_metadata("meta").unwrap().wait().unwrap();
    let tokens = a.liveliness().declare_subscriber("k/*/@adv/sub/**").history(true);
    let tokens = tokens.wait().unwrap();
    let own = subscriber.id().unwrap();
    let expected = format!("k/*/@adv/sub/{}/{}/meta", own.zid, own.eid);
    assert_eq!(next(&tokens).key_expr().as_str(), expected);

    let publisher = declare_advanced_publisher(&a, "k/1").sample_miss_detection(numbers());
    let publisher = publisher.publisher_detection(true).wait().unwrap();
    let found = subscriber.detect_publishers().history(true).wait().unwrap();
    let key = format!("k/1/@adv/pub/{}/{}/_", a.zid(), publisher.id().eid);
    let appeared = next(&found);
    assert_eq!((appeared.key_expr().as_str(), appeared.kind()), (&*key, SampleKind::Put));
    publisher.undeclare();
    assert_eq!(next(&found).kind(), SampleKind::Delete);
    let unnumbered = declare_advanced_publisher(&a, "k/2").publisher_detection(true);
    let unnumbered = unnumbered.publisher_detection_metadata("x/y").unwrap().wait().unwrap();
    let key = format!("k/2/@adv/pub/{}/uhlc/x/y", a.zid());
    assert_eq!(next(&found).key_expr().as_str(), key);
    drop(unnumbered);
    drop(subscriber);
    assert_eq!(next(&tokens).kind(), SampleKind::Delete);
}

/// Numbered samples of one publisher leave in order, whichever threads they come from.
#[test]
fn several_threads_may_publish() {
    const COUNT: usize = 500;
    let (_router, a, b) = brokered();
    let subscriber = declare_advanced_subscriber(&b, "k").wait().unwrap();
    let misses = subscriber.sample_miss_listener().wait().unwrap();
    let builder = declare_advanced_publisher(&a, "k").sample_miss_detection(numbers());
    let publisher = matched(builder.congestion_control(weft::CongestionControl::Block));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..COUNT {
                    publisher.put("x").wait().unwrap();
                }
            });
        }
        for expected in 0..4 * COUNT as u32 {
            assert_eq!(next(&subscriber).source_info().unwrap().sn, expected);
        }
    });
    assert_eq!(misses.try_recv(), Ok(None));
}

#[test]
fn one_session_may_be_both() {
    let session = alone();
    let publisher = declare_advanced_publisher(&session, "k").cache(cache(5));
    let publisher = publisher.sample_miss_detection(numbers().heartbeat(BEAT)).wait().unwrap();
    put_all(&publisher, &["0", "1"]);
    let subscriber = declare_advanced_subscriber(&session, "k").history(HistoryConfig::default());
    let subscriber = subscriber.recovery(RecoveryConfig::Heartbeat).wait().unwrap();
    assert_eq!(texts(&subscriber, 2), ["0", "1"]);
    put_all(&publisher, &["2"]);
    assert_eq!(texts(&subscriber, 1), ["2"]);
}

#[test]
fn keys_are_within_the_namespace() {
    let a = Node::new("peer").listen("tcp/127.0.0.1:0").set("namespace", "\"n/s\"").open();
    let b = Node::new("peer").connect(&a).open();
    let publisher = declare_advanced_publisher(&a, "k").cache(cache(5));
    let publisher = publisher.sample_miss_detection(numbers()).wait().unwrap();
    put_all(&publisher, &["0"]);
    await_queryable(&b, "n/s/k/@adv/**");
    let subscriber = declare_advanced_subscriber(&b, "n/s/k").history(HistoryConfig::default());
    let subscriber = subscriber.wait().unwrap();
    assert_eq!(next(&subscriber).key_expr().as_str(), "n/s/k");
    let own = declare_advanced_subscriber(&a, "k").history(HistoryConfig::default());
    assert_eq!(next(&own.wait().unwrap()).key_expr().as_str(), "k");
}

/// Undeclaring waits for a callback that runs, and closing returns although a channel is full.
#[test]
fn subscribers_end_while_they_deliver() {
    ends("undeclaring and closing", || {
        let session = alone();
        let builder = declare_advanced_publisher(&session, "k").sample_miss_detection(numbers());
        let publisher = Arc::new(builder.wait().unwrap());
        let put_on_a_thread = || {
            let publisher = Arc::clone(&publisher);
            std::thread::spawn(move || publisher.put("x").wait())
        };
        let (entered, entering) = std::sync::mpsc::channel();
        let (leave, leaving) = std::sync::mpsc::channel();
        let left = Arc::new(Mutex::new(false));
        let leaves = Arc::clone(&left);
        let slow = declare_advanced_subscriber(&session, "k").callback_mut(move |_| {
            entered.send(()).unwrap();
            soon(&leaving);
            *leaves.lock().unwrap() = true;
        });
        let slow = slow.wait().unwrap();
        let putting = put_on_a_thread();
        soon(&entering);
        let undeclaring = std::thread::spawn(move || slow.undeclare());
        leave.send(()).unwrap();
        undeclaring.join().unwrap();
        assert!(*left.lock().unwrap());
        putting.join().unwrap().unwrap();

        let full = declare_advanced_subscriber(&session, "k").with(FifoChannel::new(1));
        let full = full.wait().unwrap();
        let putting: Vec<_> = (0..3).map(|_| put_on_a_thread()).collect();
        until("a full channel", || full.blocked() > 0);
        session.close().wait();
        for thread in putting {
            drop(thread.join().unwrap());
        }
        while full.recv().is_ok() {}
        assert_ends(&full);
    });
}

#[test]
fn a_subscriber_may_be_undeclared_in_its_own_callback_or_left_to_the_session() {
    ends("undeclaring", || {
        let session = alone();
        let publisher = declare_advanced_publisher(&session, "k").cache(cache(5));
        let publisher = publisher.sample_miss_detection(numbers()).wait().unwrap();
        let own = Arc::new(Mutex::new(None::<AdvancedSubscriber<()>>));
        let to_end = Arc::clone(&own);
        let (called, calls) = std::sync::mpsc::channel();
        let subscriber = declare_advanced_subscriber(&session, "k")
            .callback(move |_| called.send(to_end.lock().unwrap().take().is_some()).unwrap());
        *own.lock().unwrap() = Some(subscriber.wait().unwrap());
        let (called, in_background) = std::sync::mpsc::channel();
        let subscriber = declare_advanced_subscriber(&session, "k")
            .callback(move |sample| called.send(text(&sample)).unwrap());
        subscriber.wait().unwrap().background();
        put_all(&publisher, &["0", "1"]);
        assert!(soon(&calls), "undeclared in its callback");
        assert_eq!((soon(&in_background), soon(&in_background)), ("0".into(), "1".into()));
        assert!(calls.recv().is_err(), "the callback was dropped");
        session.close().wait();
        assert!(in_background.recv().is_err(), "it ends with the session");
    });
}
