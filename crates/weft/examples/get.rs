//! Asks once and prints every answer.
//!
//! Beside it: `queryable`, or a storage.

use std::time::Duration;

use weft::{Config, QueryTarget};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    let replies = session
        .get("demo/*?of=12")
        .target(QueryTarget::All)
        .timeout(Duration::from_secs(2))
        .wait()?;
    // Ends when everybody has answered, or with an error when the time is over.
    for reply in replies {
        match reply.result() {
            Ok(sample) => println!("{} = {}", sample.key_expr(), sample.payload().try_to_str()?),
            Err(error) => println!("error: {error}"),
        }
    }
    Ok(())
}
