//! What was recorded of a message on its way, for those who ask for it.
//!
//! Spec: 05 A.13, 02 §1.1.3.

use std::sync::Arc;

use weft_wire::{
    InterceptionPoint, InterceptionPoints, Stamp, Timestamp, TsStack, WhatAmI, ZenohId,
};

use crate::zbytes::ZBytes;

/// Where the way of a message is recorded: at one point at least.
///
/// ```
/// use weft::timestamp::TimestampInstrumentation;
/// use weft::InterceptionPoint::{Receive, Route, Send};
///
/// let ends = TimestampInstrumentation::new([Send, Receive]).expect("two points");
/// assert!(ends.is_instrumented(Send) && !ends.is_instrumented(Route));
/// assert_eq!(TimestampInstrumentation::new([]), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimestampInstrumentation(InterceptionPoints);

impl TimestampInstrumentation {
    /// Records at these points; `None` without any.
    pub fn new(points: impl IntoIterator<Item = InterceptionPoint>) -> Option<Self> {
        let points = points.into_iter().fold(InterceptionPoints::NONE, InterceptionPoints::with);
        (!points.is_empty()).then_some(Self(points))
    }

    /// Records at all points.
    pub const fn all() -> Self {
        let ends = InterceptionPoints::NONE.with(InterceptionPoint::Send);
        Self(ends.with(InterceptionPoint::Route).with(InterceptionPoint::Receive))
    }

    /// Whether something is recorded at `point`.
    pub const fn is_instrumented(self, point: InterceptionPoint) -> bool {
        self.0.contains(point)
    }

    pub(crate) fn points(this: Option<Self>) -> InterceptionPoints {
        this.map_or(InterceptionPoints::NONE, |it| it.0)
    }
}

/// What was recorded of a message, and for a reply, of its query before.
#[derive(Clone, Debug, PartialEq)]
pub struct TimestampStack {
    instrumentation: TimestampInstrumentation,
    records: Vec<TimestampRecord>,
}

/// What was recorded at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct TimestampRecord {
    /// Where.
    pub point: InterceptionPoint,
    /// When.
    pub stamp: RecordedStamp,
}

/// A time as it is recorded.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordedStamp {
    /// By the clock of a node.
    Time(Timestamp),
    /// What the application of a node gave, see
    /// [`OpenBuilder::timestamp_callback`](crate::OpenBuilder::timestamp_callback).
    Custom(ZBytes),
}

/// Who records, as a timestamp callback is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampContext {
    /// The session's identity.
    pub zid: ZenohId,
    /// Its mode.
    pub whatami: WhatAmI,
}

impl TimestampStack {
    /// Where the way of the message is recorded.
    pub const fn instrumentation(&self) -> TimestampInstrumentation {
        self.instrumentation
    }

    /// The records, in the order in which they were made.
    pub fn records(&self) -> &[TimestampRecord] {
        &self.records
    }

    /// Reads a stack as it came. One that is malformed is none; of records, those before the first
    /// malformed one are read.
    pub(crate) fn received(bytes: &[u8]) -> Option<Self> {
        let stack = TsStack::decode(bytes).ok()?;
        let records = stack.records().map_while(Result::ok).map(|record| TimestampRecord {
            point: record.point,
            stamp: match record.stamp {
                Stamp::Time(timestamp) => RecordedStamp::Time(timestamp),
                Stamp::Custom(bytes) => RecordedStamp::Custom(bytes.into()),
            },
        });
        let instrumentation = TimestampInstrumentation(stack.points());
        Some(Self { instrumentation, records: records.collect() })
    }

    /// The same for what may have no stack.
    #[inline]
    pub(crate) fn of(bytes: Option<&[u8]>) -> Option<Arc<Self>> {
        bytes.and_then(Self::received).map(Arc::new)
    }
}
