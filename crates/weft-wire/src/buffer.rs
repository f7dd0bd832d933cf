//! Reading from received bytes and writing to a caller's buffer.
//!
//! Spec: 01 §1.1 to §1.3. [`Reader`] takes fields off a slice and remembers where it is; a [`Sink`] takes
//! what an [`Encode`] writes, whether it stores, counts or gathers.

mod reader;
mod sink;

pub use reader::Reader;
pub use sink::{Counter, NoSpace, Sink, Writer};

use crate::DecodeError;

/// Something with a wire form, its header byte included.
pub trait Encode {
    /// Writes the wire form to `sink`. Payloads go through [`Sink::payload`], so that a gathering sink can
    /// keep them borrowed for as long as the message is.
    ///
    /// # Errors
    /// [`NoSpace`] from the sink; part of the message may have been written by then.
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace>;

    /// Bytes that [`encode`](Self::encode) writes. Costs one pass over the message without its payload.
    #[must_use]
    fn encoded_len(&self) -> usize {
        let mut counter = Counter::default();
        match self.encode(&mut counter) {
            Ok(()) => counter.len(),
            Err(NoSpace) => unreachable!("a counter has room for everything"),
        }
    }
}

/// Something that can be taken off a [`Reader`], its header byte included.
pub trait Decode<'a>: Sized {
    /// Reads one value; the reader stands behind it afterwards. After an error its position means nothing.
    ///
    /// # Errors
    /// [`DecodeError`] with the offset of the offending field.
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;
}
