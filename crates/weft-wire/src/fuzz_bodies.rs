//! What the fuzz targets run: decode; if that works, encode, decode again and compare.

use alloc::vec::Vec;
use core::fmt::Debug;

use crate::{
    Decode, Encode, LinkStateList, NetworkMessage, NoSpace, Reader, ScoutingMessage,
    TransportMessage,
};

/// One network message.
pub fn network(bytes: &[u8]) {
    let Ok(message) = NetworkMessage::decode(&mut Reader::new(bytes)) else {
        return;
    };
    let again = encoded(&message);
    assert_same(&message, NetworkMessage::decode(&mut Reader::new(&again)));
}

/// One transport message; of frames and fragments only the header.
pub fn transport(bytes: &[u8]) {
    let Ok(message) = TransportMessage::decode(&mut Reader::new(bytes)) else {
        return;
    };
    let again = encoded(&message);
    assert_same(&message, TransportMessage::decode(&mut Reader::new(&again)));
}

/// One scouting message.
pub fn scouting(bytes: &[u8]) {
    let Ok(message) = ScoutingMessage::decode(&mut Reader::new(bytes)) else {
        return;
    };
    let again = encoded(&message);
    assert_same(&message, ScoutingMessage::decode(&mut Reader::new(&again)));
}

/// One list of link states.
pub fn linkstate(bytes: &[u8]) {
    let Ok(states) = LinkStateList::decode(&mut Reader::new(bytes)) else {
        return;
    };
    let again = encoded(&states);
    assert_same(&states, LinkStateList::decode(&mut Reader::new(&again)));
}

/// The wire form, whose length is the one that was announced.
fn encoded(message: &impl Encode) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert_eq!(message.encode(&mut bytes), Ok::<_, NoSpace>(()));
    assert_eq!(message.encoded_len(), bytes.len());
    bytes
}

fn assert_same<T: Debug + PartialEq, E: Debug>(expected: &T, again: Result<T, E>) {
    match again {
        Ok(again) => assert_eq!(&again, expected),
        Err(error) => panic!("{expected:?} encodes to what is refused with {error:?}"),
    }
}

#[cfg(test)]
mod tests;
