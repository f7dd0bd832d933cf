//! What can travel with a payload: how it is to be read, bytes beside it, its time and its source.
//!
//! It needs nobody else, but `subscribe` shows what others receive.

use weft::{Config, Encoding, SourceInfo};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;
    let subscriber = session.declare_subscriber("demo/sensor").wait()?;
    let publisher = session.declare_publisher("demo/sensor").wait()?;
    publisher
        .put(r#"{"celsius":21.5}"#)
        // Well-known encodings travel as a number; any may have a schema.
        .encoding(Encoding::APPLICATION_JSON.with_schema("room/v1")?)
        .attachment("calibrated on Monday")
        .timestamp(session.new_timestamp())
        .source_info(SourceInfo { id: publisher.id(), sn: 7 })
        .wait()?;

    let sample = subscriber.recv()?;
    println!("{} = {}", sample.key_expr(), sample.payload().try_to_str()?);
    println!("  encoding:   {}", sample.encoding());
    if let Some(attachment) = sample.attachment() {
        println!("  attachment: {}", attachment.try_to_str()?);
    }
    if let Some(timestamp) = sample.timestamp() {
        println!("  timestamp:  {timestamp}");
    }
    if let Some(SourceInfo { id, sn }) = sample.source_info() {
        println!("  source:     entity {} of {}, number {sn}", id.eid, id.zid);
    }
    Ok(())
}
