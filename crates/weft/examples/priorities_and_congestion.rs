//! What goes first, and what happens to the rest where there is no room.
//!
//! It needs nobody else; `weft sub -k "demo/**"` shows what arrives.

use weft::{Config, CongestionControl, Priority, Reliability};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = weft::open(Config::from_cli(std::env::args().skip(1))?).wait()?;

    // Must not be lost and must not wait: before everything else, in a batch of its own.
    let alarm = session
        .declare_publisher("demo/alarm")
        .priority(Priority::RealTime)
        .congestion_control(CongestionControl::Block)
        .express(true)
        .wait()?;
    // Worth something only while it is fresh: where there is no room, it is dropped.
    let video = session
        .declare_publisher("demo/video")
        .priority(Priority::DataLow)
        .congestion_control(CongestionControl::Drop)
        .reliability(Reliability::BestEffort)
        .wait()?;
    // In between: one waits for room, without keeping the publisher, and others are dropped meanwhile.
    let log = session
        .declare_publisher("demo/log")
        .priority(Priority::Background)
        .congestion_control(CongestionControl::BlockFirst)
        .wait()?;

    let frame = vec![0; 100_000];
    for number in 0..100 {
        video.put_bytes(&frame)?;
        log.put(format!("frame {number}")).wait()?;
    }
    alarm.put("that was the last frame").wait()?;
    Ok(())
}
