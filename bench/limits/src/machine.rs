//! What the machine does without a network: copying memory, and keeping a core awake.

use bench_roles::{Arguments, Outcome, wait_for_end_of_stdin};
use std::hint::{black_box, spin_loop};
use std::time::Instant;

/// Copies more than this between two reads of the clock.
const COPIED_PER_CLOCK: usize = 1 << 20;

/// Copies `--size` bytes from one buffer to another for `--duration`.
pub(crate) fn copy(mut arguments: Arguments) -> Outcome {
    let size = arguments.required::<usize>("--size")?.max(1);
    let duration = arguments.seconds("--duration", 1.0)?;
    arguments.finish()?;
    let (from, mut to) = (vec![7_u8; size], vec![0_u8; size]);
    let burst = COPIED_PER_CLOCK.div_ceil(size);
    let mut count = 0;
    let start = Instant::now();
    while start.elapsed() < duration {
        for _ in 0..burst {
            to.copy_from_slice(black_box(&from));
            black_box(&mut to);
        }
        count += burst;
    }
    let per_second = (count * size) as f64 / start.elapsed().as_secs_f64();
    Ok(format!(r#"{{"role":"memcpy","size":{size},"bytes_per_s":{per_second:.0}}}"#))
}

/// Keeps its core from sleeping until standard input ends.
pub(crate) fn spin(arguments: Arguments) -> Outcome {
    arguments.finish()?;
    std::thread::spawn(|| {
        loop {
            spin_loop();
        }
    });
    wait_for_end_of_stdin();
    Ok(r#"{"role":"spinner"}"#.to_owned())
}
