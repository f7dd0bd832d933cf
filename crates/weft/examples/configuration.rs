//! Configures a session in code: two of them that find each other by address alone.
//!
//! It needs nobody else. A file does the same: `Config::from_file("weft.json5")`.

use weft::Config;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = Config::from_json5(
        r#"{
            mode: "peer",
            listen: { endpoints: ["tcp/127.0.0.1:0"] },   // any free port
            scouting: { multicast: { enabled: false } },
        }"#,
    )?;
    let listening = weft::open(config.clone()).wait()?;
    let locator = listening.info().locators()[0].to_string();
    println!("{} listens at {locator}", listening.zid());

    config.insert_json5("mode", "'client'")?;
    config.insert_json5("connect/endpoints", &format!("['{locator}']"))?;
    let connected = weft::open(config.clone()).wait()?;
    for neighbour in connected.info().neighbours() {
        let (whatami, zid) = (neighbour.transport.whatami(), neighbour.transport.zid());
        println!("{} is connected to the {whatami} {zid}", connected.zid());
    }

    // A typing error is found, not ignored.
    let refused = config.insert_json5("conect/endpoints", "[]");
    println!("{}", refused.expect_err("there is no such key"));
    Ok(())
}
