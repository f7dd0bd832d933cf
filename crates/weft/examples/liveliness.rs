//! Says that it is alive, and watches who else is.
//!
//! Beside it: itself, several times. Kill one and the others see it disappear.

use weft::{Config, SampleKind};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    // With history: those who were there before are reported, too.
    let watcher = session.liveliness().declare_subscriber("demo/alive/*").history(true).wait()?;
    // The token lasts as long as this value, the session and the connection.
    let key = format!("demo/alive/{}", session.zid());
    let _token = session.liveliness().declare_token(key).wait()?;

    for reply in session.liveliness().get("demo/alive/*").wait()? {
        if let Ok(sample) = reply.result() {
            println!("alive when asked: {}", sample.key_expr());
        }
    }
    for change in watcher.iter() {
        match change.kind() {
            SampleKind::Put => println!("appeared:    {}", change.key_expr()),
            SampleKind::Delete => println!("disappeared: {}", change.key_expr()),
        }
    }
    Ok(())
}
