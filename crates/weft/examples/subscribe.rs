//! Subscribes in two ways: a callback that looks at samples where they arrive, and a channel.
//!
//! Beside it: `publish`, `put`, `delete`.

use weft::{Config, SampleView};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;

    // Runs on the thread that received the sample. Nothing is copied: the view borrows the receive
    // buffer.
    let look = |sample: &SampleView<'_>| {
        println!("callback: {} has {} bytes", sample.key_expr(), sample.payload().len());
    };
    let _watcher = session.declare_subscriber("demo/**").callback(look).wait()?;

    // A FIFO: samples that the application owns and takes when it likes. One that is full makes the
    // neighbour wait.
    let subscriber = session.declare_subscriber("demo/**").wait()?;
    for sample in subscriber.iter() {
        let text = sample.payload().try_to_str()?;
        println!("channel:  {:?} {} = {text}", sample.kind(), sample.key_expr());
    }
    Ok(())
}
