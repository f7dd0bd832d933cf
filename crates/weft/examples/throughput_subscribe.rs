//! Counts the messages of each second.
//!
//! Beside it: `throughput_publish`. Build with `--release`, or it measures the compiler.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weft::{Config, SampleView};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let look = move |_: &SampleView<'_>| {
        counted.fetch_add(1, Ordering::Relaxed);
    };
    let _subscriber = session.declare_subscriber("throughput").callback(look).wait()?;
    loop {
        std::thread::sleep(Duration::from_secs(1));
        println!("{} messages a second", count.swap(0, Ordering::Relaxed));
    }
}
