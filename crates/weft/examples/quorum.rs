//! Puts what two are to have, and gets what two agree on.
//!
//! Beside it: two storages, such as `weft storage -k 'demo/**'`.

use std::time::Duration;

use weft::{Config, Error};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    let put = session.put("demo/door", "shut").quorum(2).timeout(Duration::from_secs(2));
    match put.wait() {
        Ok(stamp) => println!("two have what was put at {stamp}"),
        Err(Error::Quorum(error)) => println!("only {} of {} have it", error.got, error.wanted),
        Err(error) => return Err(error.into()),
    }
    let agreed = session.get("demo/*").quorum(2).wait()?;
    for sample in &agreed.samples {
        println!("{} = {}", sample.key_expr(), sample.payload().try_to_str()?);
    }
    for (key, got) in &agreed.short {
        println!("{key}: only {got} agree");
    }
    session.close().wait();
    Ok(())
}
