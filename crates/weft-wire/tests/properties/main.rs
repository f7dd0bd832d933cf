//! What is encoded decodes to the same, fits exactly where it should, and nowhere smaller.

mod entropy;
mod messages;

use std::fmt::Debug;

use proptest::{collection::vec, prelude::*};
use weft_wire::{Decode, Encode, NoSpace, Reader, Sink, Writer};

use entropy::Entropy;

/// Encodes `message`, decodes it again and compares; tries all buffers that are too small.
fn check<'a, M>(message: &M, bytes: &'a mut Vec<u8>)
where
    M: Decode<'a> + Encode + Debug + PartialEq,
{
    message.encode(bytes).unwrap();
    assert_eq!(message.encoded_len(), bytes.len());
    for short in 0..bytes.len() {
        let mut writer_buf = vec![0; short];
        let mut writer = Writer::new(&mut writer_buf);
        assert_eq!(message.encode(&mut writer), Err(NoSpace));
        assert_eq!(writer.written(), &bytes[..writer.pos()], "a prefix of the message");
    }
    let mut exact = vec![0; bytes.len()];
    let mut writer = Writer::new(&mut exact);
    message.encode(&mut writer).unwrap();
    assert_eq!(writer.written(), bytes);
    assert_eq!(gathered(message), *bytes);
    // Something follows, and is left alone.
    bytes.push(0xff);
    let mut r = Reader::new(bytes);
    assert_eq!(M::decode(&mut r).as_ref(), Ok(message));
    assert_eq!(r.rest(), [0xff]);
}

/// Pieces of a message; the borrowed ones stay where they are until the message goes.
#[derive(Default)]
struct Gather<'a> {
    pieces: Vec<Piece<'a>>,
}

enum Piece<'a> {
    Copied(Vec<u8>),
    Borrowed(&'a [u8]),
}

impl<'a> Sink<'a> for Gather<'a> {
    fn byte(&mut self, byte: u8) -> Result<(), NoSpace> {
        self.bytes(&[byte])
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), NoSpace> {
        self.pieces.push(Piece::Copied(bytes.to_vec()));
        Ok(())
    }

    fn payload(&mut self, payload: &'a [u8]) -> Result<(), NoSpace> {
        self.pieces.push(Piece::Borrowed(payload));
        Ok(())
    }
}

fn gathered(message: &impl Encode) -> Vec<u8> {
    let mut gather = Gather::default();
    message.encode(&mut gather).unwrap();
    let pieces = gather.pieces.iter().map(|piece| match piece {
        Piece::Copied(bytes) => bytes.as_slice(),
        Piece::Borrowed(bytes) => bytes,
    });
    pieces.flatten().copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn network_messages_round_trip(entropy in vec(any::<u8>(), 0..256), text in ".{0,24}") {
        let message = messages::network(&mut Entropy::new(&entropy, &text));
        check(&message, &mut Vec::new());
    }

    #[test]
    fn transport_messages_round_trip(entropy in vec(any::<u8>(), 0..256), text in ".{0,8}") {
        let message = messages::transport(&mut Entropy::new(&entropy, &text));
        check(&message, &mut Vec::new());
    }

    #[test]
    fn scouting_messages_round_trip(entropy in vec(any::<u8>(), 0..128)) {
        let message = messages::scouting(&mut Entropy::new(&entropy, ""));
        check(&message, &mut Vec::new());
    }

    #[test]
    fn link_states_round_trip(entropy in vec(any::<u8>(), 0..256)) {
        let states = messages::link_states(&mut Entropy::new(&entropy, ""));
        check(&states, &mut Vec::new());
    }
}
