//! Measures how long a message takes to `pong` and back.
//!
//! Beside it: `pong`.

use std::time::{Duration, Instant};

use weft::Config;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    let pongs = session.declare_subscriber("pong").wait()?;
    let publisher = session.declare_publisher("ping").express(true).wait()?;
    let payload = [0; 64];

    println!("waiting for pong");
    loop {
        publisher.put_bytes(&payload)?;
        if pongs.recv_timeout(Duration::from_secs(1))?.is_some() {
            break;
        }
    }
    let mut times = Vec::new();
    for _ in 0..10_000 {
        let sent = Instant::now();
        publisher.put_bytes(&payload)?;
        pongs.recv()?;
        times.push(sent.elapsed());
    }
    times.sort();
    println!(
        "median {:.1?}, 99 % within {:.1?}",
        times[times.len() / 2],
        times[times.len() * 99 / 100]
    );
    Ok(())
}
