//! Publishes that a key has no value any more.
//!
//! Beside it: `subscribe`, or a storage.

use weft::Config;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    session.delete("demo/greeting").wait()?;
    Ok(())
}
