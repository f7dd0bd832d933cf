//! Stops waiting for the answers of a query.
//!
//! It needs nobody else.

use std::time::{Duration, Instant};

use weft::{CancellationToken, Config, Query};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    // Somebody who thinks for a minute.
    let think = |query: Query| {
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(60));
            query.reply("demo/question", "42").wait()
        });
    };
    let _thinker = session.declare_queryable("demo/question").callback(think).wait()?;

    let asked = Instant::now();
    let token = CancellationToken::new();
    let replies = session.get("demo/question").cancellation_token(&token).wait()?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            // When this returns, no callback of the query runs and none will.
            token.cancel();
        });
        println!("{} answers, after {:.1?}", replies.into_iter().count(), asked.elapsed());
    });
    Ok(())
}
