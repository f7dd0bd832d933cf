//! Pulls: a ring keeps the newest samples, and the application looks at them when it has time.
//!
//! Beside it: `publish`.

use std::time::Duration;

use weft::Config;
use weft::handlers::RingChannel;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    // Room for three samples. A full ring drops its oldest one and keeps nobody waiting.
    let ring = session.declare_subscriber("demo/**").with(RingChannel::new(3)).wait()?;
    loop {
        std::thread::sleep(Duration::from_secs(5));
        for sample in ring.drain() {
            println!("{}: {} bytes", sample.key_expr(), sample.payload().len());
        }
        println!("{} were too old when they were asked for", ring.dropped());
    }
}
