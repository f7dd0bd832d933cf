//! Weft behind the roles of the benchmark, used as its own examples use it.
//!
//! Not here: how anything is measured: the crate `bench_roles`.

use bench_roles::{Failure, How, Message, Network, Place, Priority, Publish, play};
use std::process::ExitCode;
use weft::handlers::Callback;
use weft::{
    Config, CongestionControl, KeyExpr, Publisher, Queryable, SampleView, Session, Subscriber,
};

fn main() -> ExitCode {
    play::<Weft>()
}

struct Weft(Session);

/// What lives for as long as it is declared.
enum Held {
    Subscriber { _it: Subscriber<()> },
    Queryable { _it: Queryable<()> },
}

impl Network for Weft {
    type Payload = Vec<u8>;
    type Publisher = WeftPublisher;
    type Held = Held;

    fn open(place: &Place) -> Result<Self, Failure> {
        let mut config = Config::default();
        for (path, json) in place.zenoh_settings() {
            config.insert_json5(path, &json)?;
        }
        Ok(Self(weft::open(config).wait()?))
    }

    fn payload(bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    fn publisher(&self, key: &str, how: How) -> Result<WeftPublisher, Failure> {
        let publisher = self.0.declare_publisher(key).express(how.express);
        let priority = match how.priority {
            Priority::RealTime => weft::Priority::RealTime,
            Priority::Data => weft::Priority::Data,
        };
        let publisher = publisher.priority(priority).congestion_control(CongestionControl::Block);
        Ok(WeftPublisher(publisher.wait()?))
    }

    fn subscribe<F>(&self, key: &str, callback: F) -> Result<Held, Failure>
    where
        F: Fn(&dyn Message) + Send + Sync + 'static,
    {
        let subscriber = self.0.declare_subscriber(key);
        let subscriber =
            subscriber.callback(move |sample: &SampleView<'_>| callback(&sample.payload()));
        Ok(Held::Subscriber { _it: subscriber.wait()? })
    }

    fn echo(&self, from: &str, to: &str, how: How) -> Result<Held, Failure> {
        let publisher = self.publisher(to, how)?.0;
        let subscriber = self.0.declare_subscriber(from).callback(move |sample| {
            // It fails only while the session closes, and then the other side notices by itself.
            let _ = publisher.put_bytes(sample.payload());
        });
        Ok(Held::Subscriber { _it: subscriber.wait()? })
    }

    fn answer(&self, key: &str, size: usize) -> Result<Held, Failure> {
        let payload = weft::ZBytes::from(vec![7; size]);
        let key = KeyExpr::new(key)?;
        let queryable = self.0.declare_queryable(&key).complete(true);
        let own = key.clone();
        let queryable = queryable.callback(move |query| {
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
        self.0.get(key).with(Callback::with_drop(|_reply| (), closed)).wait()?;
        Ok(())
    }
}

struct WeftPublisher(Publisher);

impl Publish for WeftPublisher {
    type Payload = Vec<u8>;

    #[inline]
    fn put(&self, payload: &Vec<u8>) -> Result<(), Failure> {
        Ok(self.0.put_bytes(payload)?)
    }
}
