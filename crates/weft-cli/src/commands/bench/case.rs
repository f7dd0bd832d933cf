//! What `weft bench` measures, one figure at a time.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::Value;

use super::process::RoleProcess;
use crate::ending::Ending;
use crate::failure::Failure;

/// Part of the time of a measurement that comes before it.
const WARMUP: f64 = 0.5;

/// What a role may take beyond its own measurement. It gives up by itself before that, and says why.
const GRACE: Duration = Duration::from_secs(40);

const ROUND_TRIPS_PER_SECOND: f64 = 10_000.0;

/// One figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) name: &'static str,
    /// Bytes of payload.
    pub(super) size: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    PeerToPeer,
    Brokered,
    Ping,
}

/// All there are.
pub(super) const CASES: &[Case] = &[
    Case { name: "p2p", size: 8, kind: Kind::PeerToPeer },
    Case { name: "p2p", size: 64, kind: Kind::PeerToPeer },
    Case { name: "p2p", size: 1024, kind: Kind::PeerToPeer },
    Case { name: "brokered", size: 8, kind: Kind::Brokered },
    Case { name: "brokered", size: 64, kind: Kind::Brokered },
    Case { name: "brokered", size: 1024, kind: Kind::Brokered },
    Case { name: "ping", size: 64, kind: Kind::Ping },
];

impl Case {
    /// Name and size, as `--case` knows it.
    pub(super) fn label(&self) -> String {
        format!("{}/{}", self.name, self.size)
    }

    /// What the figure counts.
    pub(super) const fn unit(&self) -> &'static str {
        match self.kind {
            Kind::PeerToPeer | Kind::Brokered => "msg/s",
            Kind::Ping => "us",
        }
    }

    /// Measures it once.
    pub(super) fn measure(&self, time: Duration, ending: &Ending) -> Result<f64, Failure> {
        let endpoint = free_endpoint()?;
        match self.kind {
            Kind::PeerToPeer => {
                let places = [format!("--listen {endpoint}"), format!("--connect {endpoint}")];
                self.throughput(&places, time, ending)
            }
            Kind::Brokered => {
                let mut router = RoleProcess::start("router", &format!("--listen {endpoint}"))?;
                router.wait_ready(ending)?;
                let place = format!("--mode client --connect {endpoint}");
                self.throughput(&[place.clone(), place], time, ending)
            }
            Kind::Ping => self.ping(&endpoint, time, ending),
        }
    }

    /// From a publisher to a subscriber; `places` are those of the subscriber and of the publisher.
    fn throughput(
        &self,
        places: &[String; 2],
        time: Duration,
        ending: &Ending,
    ) -> Result<f64, Failure> {
        let [subscriber, publisher] = places;
        let warmup = time.mul_f64(WARMUP);
        let (warmup_s, time_s) = (warmup.as_secs_f64(), time.as_secs_f64());
        let flags = format!("{subscriber} --warmup {warmup_s} --duration {time_s}");
        let mut subscriber = RoleProcess::start("sub-thr", &flags)?;
        subscriber.wait_ready(ending)?;
        let time_max = warmup + time + GRACE;
        // The publisher outlives the window, and ends when its value is dropped.
        let (size, time_s) = (self.size, time_max.as_secs_f64());
        let flags = format!("{publisher} --size {size} --duration {time_s}");
        let _publisher = RoleProcess::start("pub-thr", &flags)?;
        number(&subscriber.output(time_max, ending)?, "msgs_per_s")
    }

    fn ping(&self, endpoint: &str, time: Duration, ending: &Ending) -> Result<f64, Failure> {
        let mut pong = RoleProcess::start("pong", &format!("--listen {endpoint} --express"))?;
        pong.wait_ready(ending)?;
        let size = self.size;
        let count = (ROUND_TRIPS_PER_SECOND * time.as_secs_f64()).max(1.0) as usize;
        let warmup = count / 10;
        let flags = format!(
            "--connect {endpoint} --express --size {size} --count {count} --warmup {warmup}"
        );
        let mut ping = RoleProcess::start("ping", &flags)?;
        // A hundred times what a round trip takes on a quiet machine.
        number(&ping.output(10 * time + GRACE, ending)?, "p50_us")
    }
}

fn number(output: &Value, field: &str) -> Result<f64, Failure> {
    output[field].as_f64().ok_or_else(|| Failure::Run(format!("no `{field}` in {output}")))
}

/// An endpoint that nobody listens on.
fn free_endpoint() -> Result<String, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    Ok(format!("tcp/{}", listener.local_addr()?))
}
