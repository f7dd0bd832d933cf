//! Finds out who is there, without a session.
//!
//! Beside it: any of the others, or `weft router`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use weft::{Config, WhatAmI, WhatAmIMatcher};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::from_cli(std::env::args().skip(1))?;
    let scout =
        weft::scout(WhatAmIMatcher::from(WhatAmI::Router) | WhatAmI::Peer, config).wait()?;
    let deadline = Instant::now() + Duration::from_secs(2);
    let mut seen = BTreeSet::new();
    // It goes on asking, so everybody answers several times.
    while let Some(hello) = scout.recv_deadline(deadline)? {
        if seen.insert(hello.zid) {
            let locators: Vec<_> = hello.locators.iter().map(ToString::to_string).collect();
            println!("{} {} at {}", hello.whatami, hello.zid, locators.join(", "));
        }
    }
    println!("{} found", seen.len());
    Ok(())
}
