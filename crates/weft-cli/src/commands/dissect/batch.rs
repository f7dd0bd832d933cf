//! What a batch holds, one thing after the other, without any state of the connection.
//!
//! Not here: sequence numbers, fragments that belong together, names of key expressions (`connection`).

use weft_wire::{
    Decode as _, DecodeError, FragmentHeader, FrameHeader, NetworkMessage, Reader,
    TransportMessage, VERSION, is_network_id,
};

/// One thing that a batch holds.
pub(super) enum Item<'a> {
    /// A transport message; a frame only if no message follows it.
    Transport(TransportMessage<'a>),
    /// A piece of a network message.
    Fragment(FragmentHeader, &'a [u8]),
    /// A network message, the frame that it is in (none on a low-latency transport), and its length in bytes.
    Network(Option<FrameHeader>, NetworkMessage<'a>, usize),
}

/// The contents of one batch. After an error there is nothing more.
pub(super) struct Batch<'a> {
    reader: Reader<'a>,
    low_latency: bool,
    frame: Option<FrameHeader>,
    /// Where what was read last begins.
    start: usize,
}

impl<'a> Batch<'a> {
    /// A batch without its length. On a low-latency transport, network messages need no frame.
    pub(super) fn new(bytes: &'a [u8], low_latency: bool) -> Self {
        Self { reader: Reader::new(bytes), low_latency, frame: None, start: 0 }
    }

    /// Where in the batch the thing that was read last begins, broken or not.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    pub(super) fn next(&mut self) -> Option<Result<Item<'a>, DecodeError>> {
        self.start = self.reader.pos();
        let header = self.reader.peek()?;
        let item = self.item(header);
        if item.is_err() {
            self.reader.take_rest();
        }
        Some(item)
    }

    fn item(&mut self, header: u8) -> Result<Item<'a>, DecodeError> {
        if is_network_id(header) && (self.low_latency || self.frame.is_some()) {
            let message = NetworkMessage::decode(&mut self.reader)?;
            let len = self.reader.pos() - self.start;
            return Ok(Item::Network(self.frame, message, len));
        }
        self.frame = None;
        let message = TransportMessage::decode(&mut self.reader)?;
        match message {
            TransportMessage::Frame(frame) if self.reader.peek().is_some_and(is_network_id) => {
                self.frame = Some(frame);
                self.start = self.reader.pos();
                self.item(self.reader.peek().unwrap_or_default())
            }
            TransportMessage::Fragment(fragment) => {
                Ok(Item::Fragment(fragment, self.reader.take_rest()))
            }
            message => Ok(Item::Transport(message)),
        }
    }
}

/// How sure it is that bytes are a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Likeness {
    /// They are not.
    None,
    /// They may be, but so may many others be.
    Some,
    /// They have a handshake of this version or a message in a frame.
    Strong,
}

/// Compares bytes, of which more may follow if `is_cut`, with a batch.
pub(super) fn likeness(bytes: &[u8], is_cut: bool, low_latency: bool) -> Likeness {
    let mut batch = Batch::new(bytes, low_latency);
    let mut likeness = if bytes.is_empty() { Likeness::None } else { Likeness::Some };
    while let Some(item) = batch.next() {
        match item {
            Ok(Item::Transport(message)) => match version(&message) {
                Some(VERSION) => likeness = Likeness::Strong,
                Some(_) => return Likeness::None,
                None => {}
            },
            Ok(Item::Network(..)) => likeness = Likeness::Strong,
            Ok(Item::Fragment(..)) => {}
            // What is cut is as good as what comes before the cut.
            Err(DecodeError::Truncated { .. }) if is_cut && batch.start() > 0 => return likeness,
            Err(_) => return Likeness::None,
        }
    }
    likeness
}

fn version(message: &TransportMessage<'_>) -> Option<u8> {
    match message {
        TransportMessage::InitSyn(syn) => Some(syn.version),
        TransportMessage::InitAck(ack) => Some(ack.version),
        TransportMessage::Join(join) => Some(join.version),
        _ => None,
    }
}

/// Whether a batch begins with a handshake message, which may hold secrets; broken or not.
pub(super) fn is_handshake(batch: &[u8]) -> bool {
    const ID_MASK: u8 = 0x1f;
    const INIT: u8 = 0x01;
    const OPEN: u8 = 0x02;
    batch.first().is_some_and(|header| matches!(header & ID_MASK, INIT | OPEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame with a PUSH of `hello` on `demo/a`, and a keep-alive.
    const BATCH: &[u8] = b"\x25\x01\x7d\x00\x06demo/a\x01\x05hello\x04";

    #[test]
    fn things_come_in_order_with_their_frame() {
        let mut batch = Batch::new(BATCH, false);
        let Some(Ok(Item::Network(Some(frame), _, 16))) = batch.next() else { panic!("a message") };
        assert_eq!((frame.sn, batch.start()), (1, 2));
        let next = batch.next();
        assert!(matches!(next, Some(Ok(Item::Transport(TransportMessage::KeepAlive)))));
        assert!(batch.next().is_none());
    }

    #[test]
    fn an_error_tells_where_and_is_the_last_thing() {
        let mut batch = Batch::new(b"\x04\x1d\x00", false);
        assert!(matches!(batch.next(), Some(Ok(_))));
        let error = DecodeError::UnknownMessage { id: 0x1d, offset: 1 };
        assert!(matches!(batch.next(), Some(Err(found)) if found == error));
        assert!(batch.start() == 1 && batch.next().is_none());
    }

    #[test]
    fn likeness_grows_with_what_is_recognised() {
        assert_eq!(likeness(BATCH, false, false), Likeness::Strong);
        assert_eq!(likeness(&BATCH[..6], true, false), Likeness::Some);
        assert_eq!(likeness(&BATCH[..6], false, false), Likeness::None);
        assert_eq!(likeness(b"\x04", false, false), Likeness::Some);
        assert_eq!(likeness(b"", false, false), Likeness::None);
        assert_eq!(likeness(b"\x0f", false, false), Likeness::None);
        // INIT of version 8.
        assert_eq!(likeness(b"\x01\x08\x02\x01", false, false), Likeness::None);
        assert_eq!(likeness(b"\x01\x09\x02\x01", false, false), Likeness::Strong);
    }
}
