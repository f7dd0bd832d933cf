//! What the unit tests of several modules need.

use std::vec::Vec;

use crate::{Decode, DecodeError, Encode, Reader};

/// The bytes of a message.
pub(crate) fn encoded(message: &impl Encode) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).expect("a vector has room");
    assert_eq!(message.encoded_len(), bytes.len());
    bytes
}

/// The message that `bytes` are, all of them.
pub(crate) fn decoded<'a, M: Decode<'a>>(bytes: &'a [u8]) -> Result<M, DecodeError> {
    let mut r = Reader::new(bytes);
    let message = M::decode(&mut r)?;
    assert!(r.is_empty(), "{:?} left", r.rest());
    Ok(message)
}
