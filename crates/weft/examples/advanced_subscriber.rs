//! Subscribes to what publishers keep as well as to what they publish, asks for what gets lost, and
//! says what it will never get.
//!
//! Beside it: `advanced_publisher`.

use weft::Config;
use weft::ext::{HistoryConfig, RecoveryConfig, declare_advanced_subscriber};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    let subscriber = declare_advanced_subscriber(&session, "demo/**")
        .history(HistoryConfig::default().detect_late_publishers(true))
        .recovery(RecoveryConfig::Heartbeat)
        .wait()?;
    let _misses = subscriber
        .sample_miss_listener()
        .callback(|miss| println!("{} samples of {:?} are lost", miss.count, miss.source))
        .wait()?;
    for sample in subscriber.iter() {
        println!("{} = {}", sample.key_expr(), sample.payload().try_to_str()?);
    }
    Ok(())
}
