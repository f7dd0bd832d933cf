//! `weft demo`: what Weft does, in a few seconds, over real sockets.
//!
//! A router, sensors, a dashboard, a storage, a thermostat and somebody who asks, each in a session of its own and all in
//! this process; then what the machine makes of it in messages per second and microseconds.
//!
//! Not here: the sessions (`stage`) and the measuring (`speed`).

mod speed;
mod stage;

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use weft::{
    Encoding, KeyExpr, LivelinessSubscriber, LivelinessToken, Querier, Query, Reply, SampleKind,
    Session, Subscriber,
};

use self::stage::{PATIENCE, Stage, late};
use super::storage::{Declared, InMemory};
use crate::arguments::seconds;
use crate::context::Context;
use crate::ending::Limits;
use crate::failure::Failure;
use crate::render::{self, Shown};

/// What everybody here talks about.
const HOME: &str = "demo/home/**";

const THERMOSTAT: &str = "demo/home/thermostat";

const ROBOT: &str = "demo/alive/robot";

/// What the sensors measure, one after the other: key and Celsius.
const READINGS: [(&str, f64); 4] = [
    ("demo/home/kitchen", 21.5),
    ("demo/home/bedroom", 18.2),
    ("demo/home/cellar", 12.9),
    ("demo/home/kitchen", 21.9),
];

/// Values that a question about everything finds: those of three rooms and of the thermostat.
const VALUE_COUNT: usize = 4;

/// From one publication to the next, so that they are seen to arrive.
const INTERVAL: Duration = Duration::from_millis(150);

/// The same while it stays.
const INTERVAL_STAYING: Duration = Duration::from_secs(1);

/// Show what Weft does: everything in one process, over real sockets
///
/// JSON: {"type":"step","step":…} at the beginning of each part, then what `weft sub`, `weft get` and `weft liveliness
/// sub` write, and {"type":"measure","case":…,"size":…,"value":…,"unit":…}.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Goes on at the end, with a publication every second, and prints how to join
    #[arg(long)]
    stay: bool,
    /// Ends after this time of staying
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true, requires = "stay")]
    duration: Option<Duration>,
}

impl Demo {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        context.ending.on_signals()?;
        let stage = Stage::open(context)?;
        let about =
            format!("{} listens on {}; all others connect to it", stage.router(), stage.endpoint);
        stage.step("router", "A router", &about)?;
        let home = Home::open(&stage)?;
        home.publish(&stage)?;
        home.ask(&stage)?;
        let robot = show_liveliness(&stage)?;
        speed::measure(&stage)?;
        if self.stay {
            context.ending.limit(Limits::of_time(self.duration));
            let _token = robot.liveliness().declare_token(ROBOT).wait()?;
            tell_how_to_join(&stage)?;
            home.go_on(&stage)?;
        }
        Ok(())
    }
}

/// Sensors, a dashboard, a storage, a thermostat, and somebody who asks.
struct Home {
    sensors: Session,
    dashboard: Subscriber,
    querier: Querier,
    _storage: Declared,
    _thermostat: weft::Queryable<()>,
    /// The sessions behind them.
    sessions: [Session; 4],
}

impl Home {
    fn open(stage: &Stage) -> Result<Self, Failure> {
        let sessions = [stage.join()?, stage.join()?, stage.join()?, stage.join()?];
        let [viewer, keeper, heater, asker] = &sessions;
        let home = KeyExpr::new(HOME).map_err(weft::Error::from)?;
        let storage = Arc::new(InMemory::new(1000));
        let this = Self {
            sensors: stage.join()?,
            dashboard: viewer.declare_subscriber(&home).wait()?,
            querier: asker.declare_querier(&home).wait()?,
            _storage: storage.serve(
                keeper,
                &home,
                false,
                |_, keep| keep(),
                |_, answer| answer(),
            )?,
            _thermostat: heater
                .declare_queryable(THERMOSTAT)
                .callback(answer_as_thermostat)
                .wait()?,
            sessions: sessions.clone(),
        };
        for session in &sessions {
            stage.wait_in_place(session)?;
        }
        Ok(this)
    }

    /// The sensors publish, and the dashboard receives.
    fn publish(&self, stage: &Stage) -> Result<(), Failure> {
        let about = format!("sensors publish, and a dashboard subscribes to {HOME}");
        stage.step("publish", "Publish and subscribe", &about)?;
        for (key, celsius) in READINGS {
            self.measure(key, celsius)?;
            let sample = self.dashboard.recv_timeout(PATIENCE).ok().flatten();
            let sample = sample.ok_or_else(|| late("a sample did not arrive"))?;
            let shown = Shown::from(&sample);
            stage.show(|| shown.line(), || shown.json("sample"));
            stage.pause(INTERVAL)?;
        }
        Ok(())
    }

    fn measure(&self, key: &str, celsius: f64) -> Result<(), Failure> {
        let value = json!({ "celsius": celsius, "battery": 87 }).to_string();
        Ok(self.sensors.put(key, value).encoding(Encoding::APPLICATION_JSON).wait()?)
    }

    /// The storage and the thermostat answer.
    fn ask(&self, stage: &Stage) -> Result<(), Failure> {
        let about = "a storage has kept what was published, a thermostat makes up its answer: both are asked";
        stage.step("query", "Store and query", about)?;
        self.show_replies(stage, "", VALUE_COUNT)?;
        let warm = "_filter=celsius>18;_project=celsius";
        self.show_replies(stage, warm, VALUE_COUNT - 1)
    }

    fn show_replies(
        &self,
        stage: &Stage,
        parameters: &str,
        count_min: usize,
    ) -> Result<(), Failure> {
        let separator = if parameters.is_empty() { "" } else { "?" };
        stage.tell(&format!("GET {HOME}{separator}{parameters}"));
        for reply in self.replies(stage, parameters, count_min)? {
            let sample = reply.result().map_err(|error| Failure::Run(error.to_string()))?;
            let shown = Shown::from(sample);
            stage.show(|| format!("  {}", shown.line()), || render::reply(&reply, sample));
        }
        Ok(())
    }

    /// Asks until the storage has everything: it learns of a sample when the dashboard does, give or take.
    fn replies(
        &self,
        stage: &Stage,
        parameters: &str,
        count_min: usize,
    ) -> Result<Vec<Reply>, Failure> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let replies = self.querier.get().parameters(parameters).wait()?;
            let replies: Vec<Reply> = replies.into_iter().collect();
            if replies.len() >= count_min {
                return Ok(replies);
            }
            if Instant::now() > deadline {
                return Err(late("the replies were not complete"));
            }
            stage.pause(Duration::from_millis(10))?;
        }
    }

    /// Publishes and shows what comes until the end.
    fn go_on(&self, stage: &Stage) -> Result<(), Failure> {
        let ending = &stage.context.ending;
        let mut readings = READINGS.iter().cycle();
        while !ending.is_here() {
            let next = Instant::now() + INTERVAL_STAYING;
            if let Some((key, celsius)) = readings.next() {
                self.measure(key, *celsius)?;
            }
            while !ending.is_here() && Instant::now() < next {
                let tick = Instant::now() + Duration::from_millis(50);
                if let Ok(Some(sample)) = self.dashboard.recv_deadline(tick.min(next)) {
                    let shown = Shown::from(&sample);
                    stage.show(|| shown.line(), || shown.json("sample"));
                }
            }
        }
        Ok(())
    }
}

impl Drop for Home {
    /// The storage stamps with the clock of its session, and so keeps it open until it is closed.
    fn drop(&mut self) {
        for session in &self.sessions {
            session.close().wait();
        }
    }
}

fn answer_as_thermostat(query: Query) {
    let value = json!({ "celsius": 20.5, "mode": "auto" }).to_string();
    let encoding = Encoding::APPLICATION_JSON;
    // The parameters come from the querier above, so `select` does not fail.
    if let Ok(Some((value, encoding))) = query.select(&value.into(), &encoding) {
        // It fails only for a key that was not asked for.
        let _ = query.reply(THERMOSTAT, value).encoding(encoding).wait();
    }
}

/// A token appears and disappears. Returns the session that had it.
fn show_liveliness(stage: &Stage) -> Result<Session, Failure> {
    let about = "a token tells that its owner is there, for as long as it is";
    stage.step("liveliness", "Liveliness", about)?;
    let watcher = stage.join()?;
    let tokens = watcher.liveliness().declare_subscriber("demo/alive/**").wait()?;
    let robot = stage.join()?;
    stage.wait_in_place(&watcher)?;
    let token: LivelinessToken = robot.liveliness().declare_token(ROBOT).wait()?;
    show_token(stage, &tokens, SampleKind::Put)?;
    stage.pause(INTERVAL)?;
    token.undeclare();
    show_token(stage, &tokens, SampleKind::Delete)?;
    Ok(robot)
}

fn show_token(
    stage: &Stage,
    tokens: &LivelinessSubscriber,
    expected: SampleKind,
) -> Result<(), Failure> {
    let token = tokens.recv_timeout(PATIENCE).ok().flatten();
    let token = token.filter(|token| token.kind() == expected);
    let token = token.ok_or_else(|| late("the change of a token was not seen"))?;
    let (line, json) = render::token(&token);
    stage.show(|| line, || json);
    Ok(())
}

fn tell_how_to_join(stage: &Stage) -> Result<(), Failure> {
    stage.step("stay", "Join", "from another terminal; Ctrl-C ends it here")?;
    let program = std::env::args().next().unwrap_or_else(|| "weft".to_owned());
    let endpoint = &stage.endpoint;
    for (command, flags) in [
        ("sub", " -k 'demo/home/**'"),
        ("get", " -s 'demo/home/**?_filter=celsius>18'"),
        ("put", " -k demo/home/door -p open"),
        ("liveliness get", " -k 'demo/alive/**'"),
        ("info", ""),
    ] {
        stage.tell(&format!("{program} {command} -m client -e {endpoint}{flags}"));
    }
    Ok(())
}
