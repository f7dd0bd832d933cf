//! The reference implementation behind the roles of the benchmark, used as its own examples use it.
//!
//! Not here: how anything is measured: the crate `bench_roles`.

use bench_roles::{Failure, How, Message, Network, Place, Priority, Publish, play};
use std::process::ExitCode;
use std::sync::Arc;
use zenoh::bytes::ZBytes;
use zenoh::key_expr::KeyExpr;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::CongestionControl;
use zenoh::query::Queryable;
use zenoh::sample::Sample;
use zenoh::{Config, Session, Wait as _};

fn main() -> ExitCode {
    // Says nothing unless RUST_LOG asks: its log goes to standard output, like our one line.
    zenoh::try_init_log_from_env();
    play::<Reference>()
}

struct Reference(Session);

/// What lives for as long as it is declared.
enum Held {
    Subscriber { _it: Subscriber<()> },
    Queryable { _it: Queryable<()> },
}

/// A received sample; it is looked into only when somebody wants to know.
struct Received<'a>(&'a Sample);

impl Message for Received<'_> {
    fn stamp(&self) -> u64 {
        let bytes = self.0.payload().to_bytes();
        (&&*bytes as &dyn Message).stamp()
    }
}

impl Network for Reference {
    type Payload = ZBytes;
    type Publisher = ReferencePublisher;
    type Held = Held;

    fn open(place: &Place) -> Result<Self, Failure> {
        let mut config = Config::default();
        for (path, json) in place.zenoh_settings() {
            config.insert_json5(path, &json)?;
        }
        Ok(Self(zenoh::open(config).wait()?))
    }

    fn payload(bytes: Vec<u8>) -> ZBytes {
        ZBytes::from(bytes)
    }

    fn publisher(&self, key: &str, how: How) -> Result<ReferencePublisher, Failure> {
        let priority = match how.priority {
            Priority::RealTime => zenoh::qos::Priority::RealTime,
            Priority::Data => zenoh::qos::Priority::Data,
        };
        let publisher = self
            .0
            .declare_publisher(key.to_owned())
            .congestion_control(CongestionControl::Block)
            .priority(priority)
            .express(how.express)
            .wait()?;
        Ok(ReferencePublisher(publisher))
    }

    fn subscribe<F>(&self, key: &str, callback: F) -> Result<Held, Failure>
    where
        F: Fn(&dyn Message) + Send + Sync + 'static,
    {
        let subscriber = self.0.declare_subscriber(key);
        let subscriber = subscriber.callback(move |sample| callback(&Received(&sample)));
        Ok(Held::Subscriber { _it: subscriber.wait()? })
    }

    fn echo(&self, from: &str, to: &str, how: How) -> Result<Held, Failure> {
        let publisher = self.publisher(to, how)?.0;
        let subscriber = self.0.declare_subscriber(from).callback(move |sample| {
            // It fails only while the session closes, and then the other side notices by itself.
            let _ = publisher.put(sample.payload().clone()).wait();
        });
        Ok(Held::Subscriber { _it: subscriber.wait()? })
    }

    fn answer(&self, key: &str, size: usize) -> Result<Held, Failure> {
        let payload = ZBytes::from(vec![7; size]);
        let key = KeyExpr::new(key.to_owned())?;
        let own = key.clone();
        let queryable = self.0.declare_queryable(key).complete(true).callback(move |query| {
            // It fails only while the session closes.
            let _ = query.reply(&own, payload.clone()).wait();
        });
        Ok(Held::Queryable { _it: queryable.wait()? })
    }

    fn ask(&self, key: &str) -> Result<bool, Failure> {
        let replies = self.0.get(key).wait()?;
        let mut is_answered = false;
        while let Ok(reply) = replies.recv() {
            is_answered |= reply.result().is_ok();
        }
        Ok(is_answered)
    }

    fn ask_then<F>(&self, key: &str, closed: F) -> Result<(), Failure>
    where
        F: FnOnce() + Send + 'static,
    {
        let over = Over(Some(closed));
        // Callbacks are shared; the last reference goes when the question is closed.
        let over = Arc::new(std::sync::Mutex::new(over));
        self.0
            .get(key)
            .callback(move |_reply| {
                let _lives_as_long_as_the_callback = &over;
            })
            .wait()?;
        Ok(())
    }
}

/// Calls once when it is dropped.
struct Over<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for Over<F> {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            call();
        }
    }
}

struct ReferencePublisher(Publisher<'static>);

impl Publish for ReferencePublisher {
    type Payload = ZBytes;

    #[inline]
    fn put(&self, payload: &ZBytes) -> Result<(), Failure> {
        Ok(self.0.put(payload.clone()).wait()?)
    }
}
