//! Answers every message of `ping`, from the callback that receives it.

use weft::{Config, SampleView};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    let publisher = session.declare_publisher("pong").express(true).wait()?;
    let answer = move |ping: &SampleView<'_>| {
        // It fails only when the session is closed.
        let _ = publisher.put_bytes(ping.payload());
    };
    let _subscriber = session.declare_subscriber("ping").callback(answer).wait()?;
    loop {
        std::thread::park();
    }
}
