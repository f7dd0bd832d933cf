//! Works only while somebody is interested in the result.
//!
//! Beside it: `subscribe`, started and ended.

use std::time::Duration;

use weft::Config;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    let publisher = session.declare_publisher("demo/expensive").wait()?;
    let changes = publisher.matching_listener().wait()?;
    println!("waiting for a subscriber");
    let mut is_wanted = false;
    for number in 0_u64.. {
        // Without a subscriber there is nothing to do but to wait for one.
        let change = if is_wanted {
            changes.recv_timeout(Duration::from_secs(1))?
        } else {
            Some(changes.recv()?)
        };
        if let Some(status) = change {
            is_wanted = status.matching();
            println!("{}", if is_wanted { "somebody subscribes" } else { "nobody does" });
        }
        if is_wanted {
            publisher.put(number.to_string()).wait()?;
        }
    }
    Ok(())
}
