//! Answers queries: what is asked for decides what is computed.
//!
//! Beside it: `get`, `querier`.

use weft::Config;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    let queryable = session.declare_queryable("demo/square").wait()?;
    for query in queryable.iter() {
        println!("asked: {query}");
        match query.parameters().get("of").map(str::parse::<f64>) {
            Some(Ok(number)) => {
                query.reply("demo/square", (number * number).to_string()).wait()?;
            }
            _ => query.reply_err("of=NUMBER is wanted").wait()?,
        }
        // The querier waits until the query is dropped: here.
    }
    Ok(())
}
