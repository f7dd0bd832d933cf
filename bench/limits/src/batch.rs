//! Messages in one direction, packed into batches as Zenoh does it, without anything around them.
//!
//! ```text
//! | batch length, 2 bytes | message length, 4 bytes | ... | message length | ... |
//! ```
//!
//! A message that is longer than a batch fills whole ones, as fragments do. The receiver reads as much as there is and
//! walks from message to message; it looks at nothing else.

use crate::{accept, connect};
use bench_roles::{Arguments, Failure, Outcome, Window};
use std::io::{self, Read as _, Write as _};
use std::time::Instant;

/// What a batch can hold.
const BATCH_LEN_MAX: usize = 65_535;
/// Throughput does not grow with more of them in one write.
const BATCHES_PER_WRITE: usize = 4;
const READ_LEN: usize = 256 * 1024;
const PREFIX_LEN: usize = 2;
const MESSAGE_PREFIX_LEN: usize = 4;

/// Counts bytes until the window closes, and walks over the messages in them.
pub(crate) fn receive(mut arguments: Arguments) -> Outcome {
    let endpoint: String = arguments.required("--listen")?;
    let warmup = arguments.seconds("--warmup", 1.0)?;
    let duration = arguments.seconds("--duration", 3.0)?;
    arguments.finish()?;
    let mut stream = accept(&endpoint)?;
    let mut window = Window::new(warmup, duration);
    let mut buffer = vec![0; READ_LEN];
    let (mut filled, mut bytes, mut messages) = (0, 0, 0_u64);
    let rate = loop {
        let len = stream.read(&mut buffer[filled..])?;
        if len == 0 {
            return Err(Failure::Run("the sender hung up inside the window".to_owned()));
        }
        filled += len;
        bytes += len as u64;
        let (walked, count) = walk(&buffer[..filled]);
        buffer.copy_within(walked..filled, 0);
        filled -= walked;
        messages += count;
        if let Some(rate) = window.mark(bytes, Instant::now()) {
            break rate.per_second();
        }
    };
    let gbit = rate * 8.0 / 1e9;
    Ok(format!(
        r#"{{"role":"batch-receiver","bytes_per_s":{rate:.0},"gbit_per_s":{gbit:.3},"messages":{messages}}}"#
    ))
}

/// The length of the whole batches at the start of `bytes`, and the number of messages in them.
fn walk(bytes: &[u8]) -> (usize, u64) {
    let (mut at, mut count) = (0, 0);
    while let Some(prefix) = bytes.get(at..at + PREFIX_LEN) {
        let len = usize::from(u16::from_le_bytes([prefix[0], prefix[1]]));
        let Some(batch) = bytes.get(at + PREFIX_LEN..at + PREFIX_LEN + len) else { break };
        let mut message = 0;
        while let Some(prefix) = batch.get(message..message + MESSAGE_PREFIX_LEN) {
            let len = u32::from_le_bytes([prefix[0], prefix[1], prefix[2], prefix[3]]);
            message += len as usize;
            count += 1;
        }
        at += PREFIX_LEN + len;
    }
    (at, count)
}

/// One write: batches of messages of `message_len` bytes, their prefix included.
fn batches(message_len: usize) -> Vec<u8> {
    let message_len = message_len.clamp(MESSAGE_PREFIX_LEN, BATCH_LEN_MAX);
    let count = BATCH_LEN_MAX / message_len;
    let mut batch = ((count * message_len) as u16).to_le_bytes().to_vec();
    for _ in 0..count {
        batch.extend((message_len as u32).to_le_bytes());
        batch.resize(batch.len() + message_len - MESSAGE_PREFIX_LEN, 7);
    }
    batch.repeat(BATCHES_PER_WRITE)
}

/// Passes bytes on until either side hangs up.
pub(crate) fn relay(mut arguments: Arguments) -> Outcome {
    let listen: String = arguments.required("--listen")?;
    let connect_to: String = arguments.required("--connect")?;
    arguments.finish()?;
    let mut to = connect(&connect_to)?;
    let mut from = accept(&listen)?;
    let mut buffer = vec![0; READ_LEN];
    let mut count: u64 = 0;
    loop {
        let len = until_hung_up(from.read(&mut buffer))?.unwrap_or(0);
        if len == 0 || until_hung_up(to.write_all(&buffer[..len]))?.is_none() {
            return Ok(format!(r#"{{"role":"batch-relay","bytes":{count}}}"#));
        }
        count += len as u64;
    }
}

/// Writes messages of `--message` bytes for `--duration`, or until the receiver hangs up.
pub(crate) fn send(mut arguments: Arguments) -> Outcome {
    let endpoint: String = arguments.required("--connect")?;
    let duration = arguments.seconds("--duration", 5.0)?;
    let message_len = arguments.value("--message")?.unwrap_or(BATCH_LEN_MAX);
    arguments.finish()?;
    let mut stream = connect(&endpoint)?;
    let batches = batches(message_len);
    let mut count: u64 = 0;
    let start = Instant::now();
    while start.elapsed() < duration && until_hung_up(stream.write_all(&batches))?.is_some() {
        count += batches.len() as u64;
    }
    Ok(format!(r#"{{"role":"batch-sender","bytes":{count}}}"#))
}

/// A receiver leaves when its window closes; to whoever feeds it that is the end, not an error.
fn until_hung_up<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) => match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Ok(None),
            _ => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_batches_are_walked_and_the_rest_is_left() {
        let bytes = batches(14);
        let per_batch = BATCH_LEN_MAX / 14;
        assert_eq!(walk(&bytes), (bytes.len(), (BATCHES_PER_WRITE * per_batch) as u64));
        let cut = bytes.len() - 1;
        let whole = bytes.len() / BATCHES_PER_WRITE * (BATCHES_PER_WRITE - 1);
        assert_eq!(walk(&bytes[..cut]).0, whole);
        assert_eq!(walk(&bytes[..1]), (0, 0));
    }

    #[test]
    fn a_long_message_fills_batches() {
        let bytes = batches(1 << 20);
        assert_eq!(bytes.len(), BATCHES_PER_WRITE * (PREFIX_LEN + BATCH_LEN_MAX));
        assert_eq!(walk(&bytes).1, BATCHES_PER_WRITE as u64);
    }
}
