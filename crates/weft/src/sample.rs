//! Samples: what subscribers receive and replies carry.

use std::sync::Arc;

use weft_keyexpr::{Ke, KeyExpr};
use weft_wire::{CongestionControl, Priority, PushBody, Qos, Reliability, SourceInfo, Timestamp};

pub use crate::select::SampleKind;

use crate::encoding::Encoding;
use crate::key_shares;
use crate::timestamp::TimestampStack;
use crate::zbytes::ZBytes;

/// A sample that owns what it holds. Cloning allocates nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub(crate) key_expr: KeyExpr,
    pub(crate) payload: ZBytes,
    pub(crate) kind: SampleKind,
    pub(crate) encoding: Encoding,
    pub(crate) timestamp: Option<Timestamp>,
    pub(crate) qos: Qos,
    pub(crate) reliability: Reliability,
    pub(crate) beside: Option<Arc<Beside>>,
}

/// What only some samples have: kept apart, so that the others are small, as they are moved often.
#[derive(Debug, PartialEq)]
pub(crate) struct Beside {
    attachment: Option<ZBytes>,
    source_info: Option<SourceInfo>,
    stack: Option<Arc<TimestampStack>>,
}

impl Beside {
    /// `None` for nothing. Otherwise allocates.
    #[inline]
    pub(crate) fn of(
        attachment: Option<ZBytes>,
        source_info: Option<SourceInfo>,
        stack: Option<Arc<TimestampStack>>,
    ) -> Option<Arc<Self>> {
        let any = attachment.is_some() || source_info.is_some() || stack.is_some();
        any.then(|| Arc::new(Self { attachment, source_info, stack }))
    }
}

impl Sample {
    /// The key expression it was published on.
    pub const fn key_expr(&self) -> &KeyExpr {
        &self.key_expr
    }

    /// The value; empty for a deletion.
    pub const fn payload(&self) -> &ZBytes {
        &self.payload
    }

    /// Put or delete.
    pub const fn kind(&self) -> SampleKind {
        self.kind
    }

    /// How the payload is to be read.
    pub const fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// When it was published, if a node on its way stamps.
    pub const fn timestamp(&self) -> Option<Timestamp> {
        self.timestamp
    }

    /// The priority it travelled with.
    pub const fn priority(&self) -> Priority {
        self.qos.priority()
    }

    /// What happened to it where there was no room.
    pub const fn congestion_control(&self) -> CongestionControl {
        self.qos.congestion_control()
    }

    /// Whether it was sent without waiting for company.
    pub const fn express(&self) -> bool {
        self.qos.express()
    }

    /// The channel it came on.
    pub const fn reliability(&self) -> Reliability {
        self.reliability
    }

    /// What the publisher added.
    pub fn attachment(&self) -> Option<&ZBytes> {
        self.beside.as_ref()?.attachment.as_ref()
    }

    /// Who published it as which number, if the publisher said so.
    pub fn source_info(&self) -> Option<SourceInfo> {
        self.beside.as_ref()?.source_info
    }

    /// What was recorded of it on its way, if its publisher had it recorded; for a sample of a reply,
    /// what was recorded of the query before.
    pub fn timestamp_stack(&self) -> Option<&TimestampStack> {
        self.beside.as_ref()?.stack.as_deref()
    }

    /// A sample about a liveliness token.
    pub(crate) fn token(key_expr: KeyExpr, alive: bool) -> Self {
        Self {
            key_expr,
            payload: ZBytes::default(),
            kind: if alive { SampleKind::Put } else { SampleKind::Delete },
            encoding: Encoding::default(),
            timestamp: None,
            qos: Qos::DEFAULT,
            reliability: Reliability::Reliable,
            beside: None,
        }
    }
}

/// A sample as a callback sees it: borrowed from the receive buffer, nothing copied.
///
/// Keep one with [`SampleView::to_sample`], which copies the payload.
#[derive(Clone, Copy, Debug)]
pub struct SampleView<'a> {
    raw: &'a weft_runtime::SampleView<'a>,
    /// The key without the session's namespace, if it has one.
    key: Option<Ke<'a>>,
}

impl<'a> SampleView<'a> {
    pub(crate) const fn new(raw: &'a weft_runtime::SampleView<'a>, key: Option<Ke<'a>>) -> Self {
        Self { raw, key }
    }

    /// The key expression it was published on.
    pub fn key_expr(&self) -> Ke<'a> {
        self.key.unwrap_or_else(|| self.raw.key.as_ke())
    }

    /// The value; empty for a deletion.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.raw.payload().unwrap_or_default()
    }

    /// Put or delete.
    #[inline]
    pub const fn kind(&self) -> SampleKind {
        if self.raw.payload().is_some() { SampleKind::Put } else { SampleKind::Delete }
    }

    /// How the payload is to be read. Allocates only for a schema that is not well known.
    pub fn encoding(&self) -> Encoding {
        Encoding::received(self.raw.encoding())
    }

    /// When it was published, if a node on its way stamps.
    pub const fn timestamp(&self) -> Option<Timestamp> {
        self.raw.timestamp()
    }

    /// The priority it travelled with.
    pub const fn priority(&self) -> Priority {
        self.raw.push.qos.priority()
    }

    /// What happened to it where there was no room.
    pub const fn congestion_control(&self) -> CongestionControl {
        self.raw.push.qos.congestion_control()
    }

    /// Whether it was sent without waiting for company.
    pub const fn express(&self) -> bool {
        self.raw.push.qos.express()
    }

    /// The channel it came on.
    pub const fn reliability(&self) -> Reliability {
        self.raw.reliability
    }

    /// What the publisher added.
    pub const fn attachment(&self) -> Option<&'a [u8]> {
        self.raw.attachment()
    }

    /// Who published it as which number, if the publisher said so.
    pub const fn source_info(&self) -> Option<SourceInfo> {
        self.raw.source_info()
    }

    /// What was recorded of it on its way, if its publisher had it recorded. Allocates if it was.
    pub fn timestamp_stack(&self) -> Option<TimestampStack> {
        self.raw.push.ts_stack.and_then(TimestampStack::received)
    }

    fn payload_to_keep(&self) -> ZBytes {
        let payload = self.payload();
        self.raw
            .buffer
            .and_then(|buffer| ZBytes::within(buffer, payload))
            .unwrap_or_else(|| ZBytes::from(payload))
    }

    /// Lends a view of the same sample with another payload to `call`.
    pub(crate) fn with_payload(
        &self,
        payload: &[u8],
        encoding: &Encoding,
        call: impl FnOnce(&SampleView<'_>),
    ) {
        let mut push = *self.raw.push;
        if let PushBody::Put(put) = &mut push.body {
            put.payload = payload;
            put.encoding = encoding.to_wire();
        }
        let raw = weft_runtime::SampleView { push: &push, buffer: None, ..*self.raw };
        call(&SampleView { raw: &raw, key: self.key });
    }

    /// A copy to keep. Payload and attachment are copied: up to 38 bytes into the sample, more to the
    /// heap, with one allocation each. The payload of a sample that came in fragments, because it is
    /// longer than a batch, is not copied but shared with the receive buffer.
    pub fn to_sample(&self) -> Sample {
        Sample {
            key_expr: self.key.map_or_else(|| key_shares::take(self.raw.key), Ke::to_owned),
            payload: self.payload_to_keep(),
            kind: self.kind(),
            encoding: self.encoding(),
            timestamp: self.raw.timestamp(),
            qos: self.raw.push.qos,
            reliability: self.raw.reliability,
            beside: Beside::of(
                self.raw.attachment().map(ZBytes::from),
                self.raw.source_info(),
                TimestampStack::of(self.raw.push.ts_stack),
            ),
        }
    }
}
