//! Publishes as fast as it can.
//!
//! Beside it: `throughput_subscribe`. Build with `--release`, or it measures the compiler.

use weft::{Config, CongestionControl};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    // Block: nothing is dropped, and the subscriber sets the pace.
    let publisher = session
        .declare_publisher("throughput")
        .congestion_control(CongestionControl::Block)
        .wait()?;
    println!("waiting for a subscriber");
    while !publisher.matching_listener().wait()?.recv()?.matching() {}
    println!("publishing");
    let payload = [0; 8];
    loop {
        // Lends the payload: it is copied once, into the batch that goes to the socket.
        publisher.put_bytes(&payload)?;
    }
}
