//! [`PushDecoder`]: pushes that follow one another in a batch, of which mostly the payload differs.
//!
//! Most samples of a batch have one publisher, and so the same bytes up to the payload, but for a timestamp:
//!
//! ```text
//!  | header, scope, suffix, extensions, body header | timestamp | encoding, extensions | payload |
//!  |<------------------- head -------------------->|  if any   |<------ middle ----->|
//! ```
//!
//! A message with the head of the one before is decoded into the same place: what the head says is there
//! already. With the same middle, only timestamp and payload are read. This is faster by a factor of about
//! two for small messages, because a [`Push`] is more than 200 bytes that need not be written again.

use super::{Parts, Push};
use crate::{DecodeError, PushBody, Reader, WireExpr};

/// Decodes the pushes of one batch.
#[derive(Debug)]
pub struct PushDecoder<'a> {
    push: Push<'a>,
    raw_body: &'a [u8],
    /// Head of the latest message; empty if it cannot serve the next one.
    head: &'a [u8],
    /// Up to eight bytes of the head as a number, and which of its bits count.
    word: u64,
    mask: u64,
    middle: &'a [u8],
}

/// Heads up to this long are compared as one number.
const WORD_LEN: usize = size_of::<u64>();

impl<'a> PushDecoder<'a> {
    /// A decoder that has seen no message.
    #[inline]
    #[must_use]
    pub fn new() -> Self {
        let push = Push::del(WireExpr::EMPTY);
        Self { push, raw_body: &[], head: &[], word: 0, mask: 0, middle: &[] }
    }

    /// The latest message.
    #[inline]
    #[must_use]
    pub const fn push(&self) -> &Push<'a> {
        &self.push
    }

    /// The bytes of its body, to forward them as they are.
    #[inline]
    #[must_use]
    pub const fn raw_body(&self) -> &'a [u8] {
        self.raw_body
    }

    /// Decodes the next message, which must be a PUSH by its [header](crate::is_push_id). Returns whether it has the key, the node id and the QoS of
    /// the one before.
    ///
    /// No allocation. After an error nothing that this decoder says means anything.
    ///
    /// # Errors
    /// As [`NetworkMessage::decode`](crate::NetworkMessage).
    #[inline]
    pub fn next(&mut self, r: &mut Reader<'a>) -> Result<bool, DecodeError> {
        let similar = self.next_if_similar(r)?;
        if !similar {
            self.next_other(r)?;
        }
        Ok(similar)
    }

    /// Decodes the next message if it is a PUSH with the key, the node id and the QoS of the one before.
    /// Otherwise reads nothing and returns false; some such messages are not recognised.
    ///
    /// # Errors
    /// As [`PushDecoder::next`].
    #[inline]
    pub fn next_if_similar(&mut self, r: &mut Reader<'a>) -> Result<bool, DecodeError> {
        Ok(self.is_similar(r.rest()) && self.next_similar(r)?)
    }

    #[inline]
    fn is_similar(&self, rest: &[u8]) -> bool {
        match rest.first_chunk() {
            Some(first) if self.head.len() <= WORD_LEN => {
                (u64::from_le_bytes(*first) ^ self.word) & self.mask == 0 && self.mask != 0
            }
            _ => !self.head.is_empty() && rest.starts_with(self.head),
        }
    }

    /// Reads a message with the same head; returns false, and reads nothing, if its middle is another.
    #[inline]
    fn next_similar(&mut self, r: &mut Reader<'a>) -> Result<bool, DecodeError> {
        let [.., body_header] = *self.head else { return Ok(false) };
        let PushBody::Put(put) = &mut self.push.body else { return Ok(false) };
        let mut ahead = *r;
        ahead.slice(self.head.len() - 1, "push")?;
        let start = ahead.pos();
        ahead.byte("body header")?;
        if !put.decode_similar(body_header, &mut ahead, self.middle)? {
            return Ok(false);
        }
        self.raw_body = ahead.since(start);
        *r = ahead;
        Ok(true)
    }

    #[inline(never)]
    fn next_other(&mut self, r: &mut Reader<'a>) -> Result<(), DecodeError> {
        let (start, whole) = (r.pos(), r.rest());
        let header = r.byte("network header")?;
        let mut parts = Parts::default();
        self.push = Push::decode(header, r, &mut parts)?;
        self.raw_body = parts.body;
        self.middle = parts.middle;
        self.head = match self.push.body {
            PushBody::Put(_) => &whole[..=r.pos() - start - parts.body.len()],
            PushBody::Del(_) => &[],
        };
        let mut word = [0; WORD_LEN];
        let mut mask = [0; WORD_LEN];
        if let (Some(word), Some(mask)) =
            (word.get_mut(..self.head.len()), mask.get_mut(..self.head.len()))
        {
            word.copy_from_slice(self.head);
            mask.fill(0xff);
        }
        (self.word, self.mask) = (u64::from_le_bytes(word), u64::from_le_bytes(mask));
        Ok(())
    }
}

impl Default for PushDecoder<'_> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
