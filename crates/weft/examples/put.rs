//! Publishes one value.
//!
//! Beside it: `subscribe`.

use weft::Config;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    session.put("demo/greeting", "hello").wait()?;
    // Closing sends what is still queued; so does dropping the last handle of the session.
    session.close().wait();
    Ok(())
}
