//! Publishes a value every second on one key.
//!
//! Beside it: `subscribe`, `pull`, `asynchronous`.

use std::time::Duration;

use weft::{Config, Encoding};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    // A publisher is the way to publish on one key again and again.
    let publisher =
        session.declare_publisher("demo/clock").encoding(Encoding::TEXT_PLAIN).wait()?;
    for seconds in 0_u64.. {
        publisher.put(format!("{seconds} s")).wait()?;
        println!("{}: {seconds} s", publisher.key_expr());
        std::thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}
