//! One connection of two nodes: bytes of both directions in, records out.
//!
//! Not here: where the bytes come from (`flows`, `live`), and the words for messages (`describe`).
//!
//! A direction is *in step* while it is known where its batches begin: from the beginning of the connection, or from the
//! first piece that looks like a batch after bytes were missing or nothing made sense any more.

mod stream;

use weft_transport::Decompressor;
use weft_wire::{
    Declaration, FragmentHeader, FrameHeader, Mapping, NetworkMessage, Resolution,
    TransportMessage, WireExpr,
};

pub(super) use self::stream::is_zenoh;

use self::stream::Stream;
use super::batch::{Batch, Item, is_handshake};
use super::describe;
use super::fragments::{Fragments, Outcome, Rules};
use super::keys::Keys;
use super::limits::{Budget, SHOWN_LEN_MAX};
use super::record::{Envelope, Record};
use crate::render;

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The side that was seen first, which is the one that connected if the beginning was seen.
    Forth,
    /// The other one.
    Back,
}

impl Direction {
    /// The other direction.
    pub(super) const fn reverse(self) -> Self {
        match self {
            Self::Forth => Self::Back,
            Self::Back => Self::Forth,
        }
    }
}

/// Takes what there is to show.
pub(super) type Emit<'e> = &'e mut dyn FnMut(Record);

/// One connection.
pub(super) struct Connection {
    sides: [Side; 2],
    agreed: Agreed,
    decompressor: Decompressor,
    budget: Budget,
}

/// What is known of one direction.
#[derive(Default)]
struct Side {
    stream: Stream,
    keys: Keys,
    fragments: Fragments,
    /// OPEN was sent: what was agreed on is in force.
    is_open: bool,
}

/// What the handshake agreed on.
#[derive(Clone, Copy, Debug)]
struct Agreed {
    compression: bool,
    low_latency: bool,
    rules: Rules,
    /// Nobody has seen the handshake, and that was said.
    is_assumed: bool,
    is_known: bool,
}

impl Agreed {
    /// What nodes agree on unless they are told otherwise.
    const DEFAULT: Self = Self {
        compression: false,
        low_latency: false,
        rules: Rules { markers: true, sn_mask: Resolution::DEFAULT.sn_mask() },
        is_assumed: false,
        is_known: false,
    };
}

impl Connection {
    /// A connection of which nothing is known, not even where batches begin.
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            sides: [Side::default(), Side::default()],
            agreed: Agreed::DEFAULT,
            decompressor: Decompressor::new(),
            budget: budget.clone(),
        }
    }

    /// The next byte of this direction is the first of a batch.
    pub(super) fn begin(&mut self, direction: Direction) {
        self.side(direction).stream.begin();
    }

    /// Bytes of a stream, in order.
    pub(super) fn bytes(&mut self, direction: Direction, bytes: &[u8], emit: Emit<'_>) {
        let mut stream = std::mem::take(&mut self.side(direction).stream);
        self.find_compression(&stream, bytes);
        let framing = self.framing(direction);
        if stream.push(bytes, framing, emit) {
            while let Some(batch) = stream.next_batch(self.framing(direction), emit) {
                let is_good = self.batch(direction, &stream.held()[batch], emit);
                stream.judge(is_good, emit);
            }
            stream.compact();
        }
        self.side(direction).stream = stream;
    }

    /// Bytes of a stream are missing, as many as `len`.
    pub(super) fn gap(&mut self, direction: Direction, len: u64, emit: Emit<'_>) {
        emit(
            Record::note(format!("{len} bytes are not in the capture"))
                .json_only("missing", len.into()),
        );
        self.side(direction).stream.lose(emit);
    }

    /// There are no more bytes.
    pub(super) fn end(&mut self, direction: Direction, emit: Emit<'_>) {
        self.side(direction).stream.end(emit);
    }

    /// A datagram, which is one batch.
    pub(super) fn datagram(&mut self, direction: Direction, bytes: &[u8], emit: Emit<'_>) {
        self.batch(direction, bytes, emit);
    }

    fn side(&mut self, direction: Direction) -> &mut Side {
        &mut self.sides[direction as usize]
    }

    fn framing(&self, direction: Direction) -> stream::Framing {
        let is_open = self.sides[direction as usize].is_open;
        stream::Framing {
            low_latency: self.agreed.low_latency && is_open,
            compression: self.agreed.compression && is_open,
        }
    }

    /// Where the handshake was not seen, whether batches are compressed is guessed from the first one.
    fn find_compression(&mut self, stream: &Stream, bytes: &[u8]) {
        if self.agreed.is_known || self.agreed.is_assumed || !stream.is_lost() {
            return;
        }
        let framing = |compression| stream::Framing { low_latency: false, compression };
        if !stream::looks_right(bytes, framing(false)) && stream::looks_right(bytes, framing(true))
        {
            self.agreed.compression = true;
            self.sides.iter_mut().for_each(|side| side.is_open = true);
        }
    }

    /// Shows what a batch holds. Whether all of it made sense.
    fn batch(&mut self, direction: Direction, batch: &[u8], emit: Emit<'_>) -> bool {
        if !self.framing(direction).compression {
            return self.content(direction, batch, emit);
        }
        let mut decompressor = std::mem::take(&mut self.decompressor);
        let is_good = match decompressor.batch(batch, u16::MAX) {
            Ok(content) => self.content(direction, content, emit),
            Err(error) => {
                emit(broken(error.to_string(), 0, batch));
                false
            }
        };
        self.decompressor = decompressor;
        is_good
    }

    fn content(&mut self, direction: Direction, bytes: &[u8], emit: Emit<'_>) -> bool {
        let mut batch = Batch::new(bytes, self.framing(direction).low_latency);
        while let Some(item) = batch.next() {
            match item {
                Ok(Item::Transport(message)) => self.transport(direction, &message, emit),
                Ok(Item::Fragment(header, piece)) => self.fragment(direction, &header, piece, emit),
                Ok(Item::Network(frame, message, len)) => {
                    self.assume(emit);
                    let envelope = frame.map(|frame| self.open_frame(direction, frame, emit));
                    self.network(direction, &message, len, envelope, emit);
                }
                Err(error) => {
                    emit(broken(error.to_string(), batch.start(), bytes));
                    return false;
                }
            }
        }
        true
    }

    fn transport(&mut self, direction: Direction, message: &TransportMessage<'_>, emit: Emit<'_>) {
        emit(describe::transport(message));
        match message {
            TransportMessage::InitSyn(_) => {
                // Whatever was before: a new transport, in which both sides know nothing.
                self.agreed = Agreed::DEFAULT;
                self.renew(direction);
                self.renew(direction.reverse());
            }
            TransportMessage::InitAck(ack) => {
                self.agreed = Agreed {
                    compression: ack.exts.compression,
                    low_latency: ack.exts.low_latency,
                    rules: Rules {
                        markers: ack.exts.patch >= 1,
                        sn_mask: ack.resolution.sn_mask(),
                    },
                    is_known: true,
                    is_assumed: false,
                };
            }
            TransportMessage::Join(join) => {
                self.agreed.rules =
                    Rules { markers: join.patch >= 1, sn_mask: join.resolution.sn_mask() };
                self.agreed.is_known = true;
            }
            TransportMessage::OpenSyn(_) | TransportMessage::OpenAck(_) => {
                self.side(direction).is_open = true;
            }
            TransportMessage::Frame(frame) => {
                self.open_frame(direction, *frame, emit);
            }
            _ => {}
        }
    }

    /// Forgets what was declared and begun.
    fn renew(&mut self, direction: Direction) {
        let side = self.side(direction);
        (side.keys, side.fragments) = (Keys::default(), Fragments::default());
        side.is_open = false;
    }

    /// Says what is taken for granted, if the handshake was not seen.
    fn assume(&mut self, emit: Emit<'_>) {
        if !self.agreed.is_known && !self.agreed.is_assumed {
            self.agreed.is_assumed = true;
            let compression =
                if self.agreed.compression { "compression" } else { "no compression" };
            emit(Record::note(format!(
                "the handshake was not seen; assuming {compression}, no low latency, 32-bit sequence numbers, patch 1"
            )));
        }
    }

    /// A frame came: an incomplete message of its channel is given up.
    fn open_frame(&mut self, direction: Direction, frame: FrameHeader, emit: Emit<'_>) -> Envelope {
        let FrameHeader { reliability, sn, priority } = frame;
        if self.side(direction).fragments.forget(reliability, priority) {
            emit(Record::note("a fragmented message was given up".to_owned()));
        }
        Envelope { name: "frame", sn, reliability, priority, fragments: None }
    }

    fn fragment(
        &mut self,
        direction: Direction,
        header: &FragmentHeader,
        piece: &[u8],
        emit: Emit<'_>,
    ) {
        self.assume(emit);
        let record = describe::transport(&TransportMessage::Fragment(*header));
        emit(record.number("size", piece.len() as u64));
        let (rules, budget) = (self.agreed.rules, self.budget.clone());
        match self.side(direction).fragments.push(header, piece, rules, &budget) {
            Outcome::Incomplete => {}
            Outcome::Lost(why) => emit(Record::note(why)),
            Outcome::Complete { message, count } => {
                let FragmentHeader { reliability, priority, sn, .. } = *header;
                let fragments = Some(count);
                let envelope = Envelope { name: "fragment", sn, reliability, priority, fragments };
                self.assembled(direction, &message, envelope, emit);
            }
        }
    }

    /// A message that came in fragments, which is all that may be there.
    fn assembled(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        envelope: Envelope,
        emit: Emit<'_>,
    ) {
        // Without a frame around it, a message is read as on a low-latency transport.
        let mut batch = Batch::new(bytes, true);
        match batch.next() {
            Some(Ok(Item::Network(_, message, len))) => {
                self.network(direction, &message, len, Some(envelope), emit);
            }
            Some(Err(error)) => emit(broken(error.to_string(), 0, bytes)),
            _ => emit(broken("fragments without a message".to_owned(), 0, bytes)),
        }
    }

    fn network(
        &mut self,
        direction: Direction,
        message: &NetworkMessage<'_>,
        len: usize,
        envelope: Option<Envelope>,
        emit: Emit<'_>,
    ) {
        let mut record = describe::network(message, len, &|it| self.name(direction, it));
        record.envelope = envelope;
        emit(record);
        let NetworkMessage::Declare(declare) = message else { return };
        match &declare.body {
            Declaration::KeyExpr { id, wire_expr } => {
                let (name, budget) = (self.name(direction, wire_expr), self.budget.clone());
                if !self.side(direction).keys.declare(*id, name, &budget) {
                    emit(Record::note(format!(
                        "id {id} is not kept: its name is too long, or all names together are"
                    )));
                }
            }
            Declaration::UndeclareKeyExpr { id } => self.side(direction).keys.undeclare(*id),
            _ => {}
        }
    }

    /// The text of a key expression in a message of this direction.
    fn name(&self, direction: Direction, wire_expr: &WireExpr<'_>) -> String {
        let declarer = match wire_expr.mapping {
            Mapping::Sender => direction,
            Mapping::Receiver => direction.reverse(),
        };
        self.sides[declarer as usize].keys.resolve(wire_expr)
    }
}

/// Something in a batch that makes no sense, from `start` on.
fn broken(error: String, start: usize, batch: &[u8]) -> Record {
    let record =
        Record::error(error).number("offset", start as u64).number("batch_len", batch.len() as u64);
    let rest = batch.get(start..).unwrap_or_default();
    if is_handshake(batch) || is_handshake(rest) {
        // It may hold a cookie or credentials.
        return record.length_of("handshake", Some(rest));
    }
    record.text("hex", render::hex(&rest[..rest.len().min(SHOWN_LEN_MAX)]))
}

#[cfg(test)]
mod tests;
