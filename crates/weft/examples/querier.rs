//! Asks for the same key again and again, and only while there is somebody to answer.
//!
//! Beside it: `queryable`.

use std::time::Duration;

use weft::Config;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    let querier = session.declare_querier("demo/square").wait()?;
    for number in 0_u32.. {
        if querier.matching_status()?.matching() {
            for reply in querier.get().parameters(format!("of={number}")).wait()? {
                match reply.result() {
                    Ok(sample) => println!("{number}² = {}", sample.payload().try_to_str()?),
                    Err(error) => println!("error: {error}"),
                }
            }
        } else {
            println!("nobody knows what {number}² is");
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}
