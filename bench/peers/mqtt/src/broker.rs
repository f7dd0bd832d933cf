//! A Mosquitto broker of one's own, set up as the published studies do it: no limits on its queues.

use bench_roles::{Failure, Place};
use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long it may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running broker; it ends with this value, and with this process.
pub(crate) struct Broker {
    child: Child,
    config: PathBuf,
}

impl Broker {
    pub(crate) fn start(place: &Place) -> Result<Self, Failure> {
        let Some((host, port)) = place.listen.as_deref().and_then(address) else {
            return Err(Failure::Usage("--listen tcp/ADDRESS:PORT is missing".to_owned()));
        };
        let config = std::env::temp_dir().join(format!("weft-bench-{}.conf", std::process::id()));
        let text = format!(
            "listener {port} {host}\nallow_anonymous true\nset_tcp_nodelay true\npersistence false\nlog_type error\n\
             max_inflight_messages 0\nmax_queued_messages 0\n"
        );
        fs::write(&config, text)?;
        // A parent that is killed takes it along.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "mosquitto", "-c"])
            .arg(&config)
            .stdin(Stdio::null())
            .spawn()?;
        let broker = Self { child, config };
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect((host, port)).is_err() {
            if Instant::now() > deadline {
                return Err(Failure::Run("the broker does not listen".to_owned()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(broker)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.config);
    }
}

/// The parts of `tcp/ADDRESS:PORT`.
pub(crate) fn address(endpoint: &str) -> Option<(&str, u16)> {
    let (host, port) = endpoint.strip_prefix("tcp/")?.rsplit_once(':')?;
    Some((host, port.parse().ok()?))
}
