//! The receiving half of a transport: batches in, messages out.
//!
//! Not here: finding batches in a stream (`framing`), the lease (`lease`), what messages mean.
//! Spec: 01 §5.1 to §5.3, §5.5 (receiver), §5.6.
//!
//! Messages borrow the batch; only fragmented ones are copied, once, while they are put together.
//! Old, repeated and far-ahead FRAMEs are discarded with all that they hold; gaps are accepted,
//! because the peer may drop what it could not send. Whatever cannot be decoded ends the link.

mod buffers;
mod reassembly;
#[cfg(test)]
mod tests;

use crate::compression::CompressionError;
use crate::handshake::Negotiated;
use crate::sn;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use reassembly::{Discarded, Reassembly};
use weft_wire::{
    Close, CloseReason, Decode, DecodeError, FragmentHeader, FrameHeader, NetworkMessage, Priority,
    Push, PushDecoder, Reader, Reliability, TransportMessage, is_network_id, is_push_id,
};

/// How much a peer may make this side hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RxLimits {
    /// Bytes of the largest fragmented message, as it is on the wire. Larger ones are discarded.
    pub message_size_max: usize,
    /// Bytes of all incomplete messages of the transport together. The allocator may round each up
    /// to twice its size.
    pub total_size_max: usize,
}

impl Default for RxLimits {
    /// 1 GiB for each, as the reference.
    fn default() -> Self {
        Self { message_size_max: 1 << 30, total_size_max: 1 << 30 }
    }
}

/// Why a link must be dropped, without a CLOSE.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RxError {
    /// The batch is not made of messages. Offsets count from its start.
    Malformed(DecodeError),
    /// An SN that the resolution agreed on cannot express.
    SnOutOfRange {
        /// The SN.
        sn: u64,
    },
    /// A priority other than Data on a transport without QoS.
    PriorityWithoutQos {
        /// The priority.
        priority: Priority,
    },
    /// The batch cannot be decompressed.
    Compression(CompressionError),
}

impl From<CompressionError> for RxError {
    fn from(error: CompressionError) -> Self {
        Self::Compression(error)
    }
}

impl From<DecodeError> for RxError {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

impl fmt::Display for RxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "malformed batch: {error}"),
            Self::SnOutOfRange { sn } => write!(f, "sequence number {sn} exceeds the resolution"),
            Self::PriorityWithoutQos { priority } => {
                write!(f, "priority {priority:?} on a transport without QoS")
            }
            Self::Compression(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RxError {}

/// One thing that a batch holds. Small, because it is moved: what is large stays where it was decoded.
#[derive(Debug, PartialEq)]
pub enum RxItem<'a> {
    /// A sample that came in one piece.
    Sample {
        /// The reliability of its channel.
        reliability: Reliability,
        /// The priority of its channel; Data on a transport without QoS.
        priority: Priority,
        /// The message.
        push: &'a Push<'a>,
        /// The bytes of its body, to forward them as they are.
        raw_body: &'a [u8],
        /// It has the key, the node id and the QoS of the sample that this batch gave before.
        similar: bool,
    },
    /// Any other network message that came in one piece.
    Message {
        /// The reliability of its channel.
        reliability: Reliability,
        /// The priority of its channel; Data on a transport without QoS.
        priority: Priority,
        /// The message.
        message: &'a NetworkMessage<'a>,
        /// The bytes of the body of a Request or Response, to forward as they are; else empty.
        raw_body: &'a [u8],
    },
    /// A network message that came in fragments.
    Assembled {
        /// The reliability of its channel.
        reliability: Reliability,
        /// The priority of its channel; Data on a transport without QoS.
        priority: Priority,
        /// Its bytes, which have been found to decode. Whoever wants to keep them clones this.
        bytes: &'a Arc<Vec<u8>>,
    },
    /// A sign of life.
    KeepAlive,
    /// The peer closes the link, or with `session` the transport. Nothing follows.
    Close {
        /// Whether all links of the transport are meant.
        session: bool,
        /// Why.
        reason: CloseReason,
    },
}

impl<'a> RxItem<'a> {
    /// The sample, if this is one, in fragments or not.
    #[must_use]
    pub fn to_push(&self) -> Option<Push<'a>> {
        match *self {
            Self::Sample { push, .. } => Some(*push),
            Self::Assembled { bytes, .. } => {
                match NetworkMessage::decode(&mut Reader::new(bytes)) {
                    Ok(NetworkMessage::Push(push)) => Some(push),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The receiving half of one transport. At rest it is a few hundred bytes and holds no buffer.
pub struct RxHalf {
    /// The last SN accepted on each channel, by [`channel`](Self::channel).
    last: [u64; CHANNELS],
    sn_mask: u64,
    discarded: u64,
    transport_messages: u64,
    reassembly: Reassembly,
    /// The reassembled message that the caller looks at.
    assembled: Option<Arc<Vec<u8>>>,
    qos: bool,
}

/// Eight priorities, best-effort and reliable.
const CHANNELS: usize = 16;

impl RxHalf {
    /// A half that has received nothing. Allocates nothing.
    #[must_use]
    pub fn new(negotiated: &Negotiated, limits: RxLimits) -> Self {
        let before_first = negotiated.sn_rx_initial.wrapping_sub(1) & negotiated.sn_mask;
        Self {
            last: [before_first; CHANNELS],
            sn_mask: negotiated.sn_mask,
            discarded: 0,
            transport_messages: 0,
            reassembly: Reassembly::new(limits, negotiated.patch >= 1),
            assembled: None,
            qos: negotiated.qos,
        }
    }

    /// Reads one batch, without its prefix.
    #[inline]
    pub fn batch<'r, 'b>(&'r mut self, batch: &'b [u8]) -> RxBatch<'r, 'b> {
        let pushes = PushDecoder::new();
        RxBatch {
            half: self,
            reader: Reader::new(batch),
            frame: None,
            pushes,
            given: false,
            message: None,
        }
    }

    /// FRAMEs and FRAGMENTs discarded so far: old or repeated ones, and pieces of messages that
    /// cannot be completed.
    #[must_use]
    pub fn discarded(&self) -> u64 {
        self.discarded
    }

    /// Transport messages received so far: frames, fragments, keep-alives and the like.
    #[must_use]
    pub fn transport_messages(&self) -> u64 {
        self.transport_messages
    }

    /// Bytes of incomplete messages held now; at most [`RxLimits::total_size_max`].
    #[must_use]
    pub fn held(&self) -> usize {
        self.reassembly.held()
    }

    /// Frees the buffers kept for large messages, unless there were some since the last call: to be
    /// called from time to time.
    pub fn release_unused(&mut self) {
        self.reassembly.release_unused();
    }

    /// Checks the SN of a FRAME or FRAGMENT. Returns its channel and how far it is ahead, or `None`
    /// for the distance if it is to be discarded.
    fn accept(
        &mut self,
        reliability: Reliability,
        priority: Priority,
        sn: u64,
    ) -> Result<(usize, Option<u64>), RxError> {
        let channel = self.channel(reliability, priority)?;
        if sn & !self.sn_mask != 0 {
            return Err(RxError::SnOutOfRange { sn });
        }
        let gap = sn::advance(self.last[channel], sn, self.sn_mask);
        match gap {
            Some(_) => self.last[channel] = sn,
            None => self.discarded += 1,
        }
        Ok((channel, gap))
    }

    fn channel(&self, reliability: Reliability, priority: Priority) -> Result<usize, RxError> {
        match priority {
            _ if self.qos => Ok(2 * priority as usize + reliability as usize),
            Priority::Data => Ok(reliability as usize),
            _ => Err(RxError::PriorityWithoutQos { priority }),
        }
    }
}

/// The messages of one batch, one after the other. After an error nothing more is to be read.
pub struct RxBatch<'r, 'b> {
    half: &'r mut RxHalf,
    reader: Reader<'b>,
    /// The FRAME that the next message belongs to.
    frame: Option<Frame>,
    pushes: PushDecoder<'b>,
    /// The latest sample was given to the caller.
    given: bool,
    /// The latest message that is no sample.
    message: Option<NetworkMessage<'b>>,
}

#[derive(Clone, Copy)]
struct Frame {
    reliability: Reliability,
    priority: Priority,
    accepted: bool,
}

impl RxBatch<'_, '_> {
    /// The next thing in the batch, or `None` at its end. Call it until then: that is also when the
    /// buffer of a reassembled message is given back.
    ///
    /// Cost: one decode; of a sample like the one before, only of what differs. Only FRAGMENTs are
    /// copied, and may allocate.
    ///
    /// # Errors
    /// [`RxError`] if the link is to be dropped.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "items borrow from the iterator")]
    pub fn next(&mut self) -> Result<Option<RxItem<'_>>, RxError> {
        loop {
            while let Some(Frame { reliability, priority, accepted }) = self.frame
                && let Some(header) = self.reader.peek()
                && is_network_id(header)
            {
                if is_push_id(header) {
                    let similar = self.pushes.next(&mut self.reader)? && self.given;
                    self.given = accepted;
                    if accepted {
                        let (push, raw_body) = (self.pushes.push(), self.pushes.raw_body());
                        let item =
                            RxItem::Sample { reliability, priority, push, raw_body, similar };
                        return Ok(Some(item));
                    }
                    continue;
                }
                let (message, raw_body) = NetworkMessage::decode_raw(&mut self.reader)?;
                if accepted {
                    let message = self.message.insert(message);
                    let item = RxItem::Message { reliability, priority, message, raw_body };
                    return Ok(Some(item));
                }
            }
            self.frame = None;
            if self.reader.is_empty() {
                self.finish();
                return Ok(None);
            }
            self.half.transport_messages += 1;
            match TransportMessage::decode(&mut self.reader)? {
                TransportMessage::Frame(header) => self.open_frame(header)?,
                TransportMessage::Fragment(header) => return self.fragment(header),
                TransportMessage::KeepAlive => return Ok(Some(RxItem::KeepAlive)),
                TransportMessage::Close(Close { session, reason }) => {
                    self.reader.take_rest();
                    return Ok(Some(RxItem::Close { session, reason }));
                }
                // Of no meaning on an open transport.
                TransportMessage::InitSyn(_)
                | TransportMessage::InitAck(_)
                | TransportMessage::OpenSyn(_)
                | TransportMessage::OpenAck(_)
                | TransportMessage::Join(_)
                | TransportMessage::Oam(_) => {}
            }
        }
    }

    /// The next item, if it is a sample that follows the one given last directly and is similar to it.
    /// Otherwise reads nothing and returns `None`.
    ///
    /// # Errors
    /// As [`RxBatch::next`].
    #[inline]
    pub fn next_similar(&mut self) -> Result<Option<(&Push<'_>, &[u8])>, RxError> {
        if self.frame.is_none() || !self.given || !self.pushes.next_if_similar(&mut self.reader)? {
            return Ok(None);
        }
        Ok(Some(self.sample()))
    }

    /// The sample given last, and the bytes of its body.
    #[inline]
    #[must_use]
    pub fn sample(&self) -> (&Push<'_>, &[u8]) {
        (self.pushes.push(), self.pushes.raw_body())
    }

    fn open_frame(&mut self, header: FrameHeader) -> Result<(), RxError> {
        let FrameHeader { reliability, priority, sn } = header;
        let (channel, gap) = self.half.accept(reliability, priority, sn)?;
        let accepted = gap.is_some();
        if accepted {
            self.half.reassembly.note_frame(channel);
        }
        self.frame = Some(Frame { reliability, priority, accepted });
        Ok(())
    }

    /// Takes a FRAGMENT, which is the rest of the batch; returns the message that it completes.
    fn fragment(&mut self, header: FragmentHeader) -> Result<Option<RxItem<'_>>, RxError> {
        let FragmentHeader { reliability, priority, sn, .. } = header;
        let bytes = self.reader.take_rest();
        let (channel, gap) = self.half.accept(reliability, priority, sn)?;
        let Some(gap) = gap else { return Ok(None) };
        let half = &mut *self.half;
        let assembled = match half.reassembly.push(channel, gap == 1, &header, bytes) {
            Ok(Some(assembled)) => assembled,
            Ok(None) => return Ok(None),
            Err(Discarded) => {
                half.discarded += 1;
                return Ok(None);
            }
        };
        // What does not decode is discarded, and the link stays: the peer may have given the message
        // up. This is found out before the buffer is lent, while it can still be given back.
        if NetworkMessage::decode(&mut Reader::new(&assembled)).is_err() {
            half.discarded += 1;
            half.reassembly.recycle(Arc::new(assembled));
            return Ok(None);
        }
        let bytes = half.assembled.insert(Arc::new(assembled));
        Ok(Some(RxItem::Assembled { reliability, priority, bytes }))
    }

    /// Gives back the buffer of the reassembled message, if there was one.
    #[inline]
    fn finish(&mut self) {
        if let Some(assembled) = self.half.assembled.take() {
            self.half.reassembly.recycle(assembled);
        }
    }
}
