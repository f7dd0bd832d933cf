//! The same API without blocking: builders are awaited, channels are futures and streams.
//!
//! Any executor will do. This one is as small as they get, to show that nothing else is needed.
//!
//! Beside it: `publish`, `put`.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};

use futures_core::Stream;
use weft::Config;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    block_on(async {
        let session = weft::open(Config::from_cli(std::env::args().skip(1))?).await?;
        let subscriber = session.declare_subscriber("demo/**").await?;
        session.put("demo/self", "hello").await?;

        let sample = subscriber.recv_async().await?;
        println!("the first: {} = {}", sample.key_expr(), sample.payload().try_to_str()?);

        // With the `futures` crate: `while let Some(sample) = samples.next().await`.
        let mut samples = subscriber.stream();
        while let Some(sample) = poll_fn(|task| Pin::new(&mut samples).poll_next(task)).await {
            println!("another: {} = {}", sample.key_expr(), sample.payload().try_to_str()?);
        }
        Ok(())
    })
}

/// Runs one future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Arc::new(Unpark(thread::current())).into();
    let mut task = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut task) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
