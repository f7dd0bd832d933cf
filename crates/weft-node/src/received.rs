//! What has come in from one neighbour: plain counters that only its reader writes.
//!
//! Cost: an addition a message, or a row of samples, and two a batch, under the lock that the reader holds
//! anyway.

use weft_wire::{NetworkMessage, PushBody, ResponseBody};

/// Kinds of network messages, as they are counted (03 §9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageClass {
    /// A value.
    Put,
    /// The end of one.
    Delete,
    /// A query.
    Query,
    /// A reply with data.
    Reply,
    /// A reply with an error.
    ReplyErr,
    /// The end of a query's replies.
    ResponseFinal,
    /// An interest.
    Interest,
    /// A declaration, or the end of one.
    Declare,
    /// Anything else between neighbours.
    Oam,
}

impl MessageClass {
    /// How many there are.
    pub const COUNT: usize = 9;

    /// All of them, in the order of [`Received::messages`].
    pub const ALL: [Self; Self::COUNT] = [
        Self::Put,
        Self::Delete,
        Self::Query,
        Self::Reply,
        Self::ReplyErr,
        Self::ResponseFinal,
        Self::Interest,
        Self::Declare,
        Self::Oam,
    ];

    /// Its name in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Delete => "delete",
            Self::Query => "query",
            Self::Reply => "reply",
            Self::ReplyErr => "reply-err",
            Self::ResponseFinal => "response-final",
            Self::Interest => "interest",
            Self::Declare => "declare",
            Self::Oam => "oam",
        }
    }

    #[inline]
    pub(crate) const fn of_push(body: &PushBody<'_>) -> Self {
        match body {
            PushBody::Del(_) => Self::Delete,
            PushBody::Put(_) => Self::Put,
        }
    }

    /// The kind of a message.
    #[inline]
    pub const fn of(message: &NetworkMessage<'_>) -> Self {
        match message {
            NetworkMessage::Push(push) => Self::of_push(&push.body),
            NetworkMessage::Request(_) => Self::Query,
            NetworkMessage::Response(response) => match response.body {
                ResponseBody::Err(_) => Self::ReplyErr,
                ResponseBody::Reply(_) | ResponseBody::Raw(_) => Self::Reply,
            },
            NetworkMessage::ResponseFinal(_) => Self::ResponseFinal,
            NetworkMessage::Interest(_) => Self::Interest,
            NetworkMessage::Declare(_) => Self::Declare,
            NetworkMessage::Oam(_) => Self::Oam,
        }
    }
}

/// Totals since the transport opened. What was compressed counts as what it was before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Network messages by [`MessageClass`]; a fragmented one counts when it is whole.
    pub messages: [u64; MessageClass::COUNT],
    /// Transport messages: frames, fragments, keep-alives and the like.
    pub transport_messages: u64,
    /// Batches.
    pub batches: u64,
    /// Bytes of the batches, without their prefixes.
    pub bytes: u64,
    /// Frames and fragments that were discarded: repeated, out of order, or pieces of a message that
    /// cannot be completed.
    pub discarded: u64,
}

impl Received {
    #[inline]
    pub(crate) const fn count(&mut self, class: MessageClass, count: u64) {
        self.messages[class as usize] += count;
    }
}
