//! Publishes every second what nobody needs to miss: samples are numbered, the last ten are kept, and
//! the last number is told from time to time.
//!
//! Beside it: `advanced_subscriber`. Stop the router between the two for a while, or start the
//! subscriber late.

use std::time::Duration;

use weft::Config;
use weft::ext::{CacheConfig, MissDetectionConfig, declare_advanced_publisher};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    let numbers = MissDetectionConfig::default().heartbeat(Duration::from_millis(500));
    let publisher = declare_advanced_publisher(&session, "demo/clock")
        .cache(CacheConfig::default().max_samples(10))
        .sample_miss_detection(numbers)
        .publisher_detection(true)
        .wait()?;
    for seconds in 0_u64.. {
        publisher.put(format!("{seconds} s")).wait()?;
        println!("{}: {seconds} s", publisher.key_expr());
        std::thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}
