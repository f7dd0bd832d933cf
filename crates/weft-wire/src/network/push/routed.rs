//! [`RoutedPush`]: a sample on its way to one neighbour.
//!
//! Spec: 03 §4.2, §4.3.

use super::{Head, Push};
use crate::{
    Encode, NoSpace, PushBody, Put, Qos, Reader, Sink, Timestamp, WireExpr, body::put_timestamped,
};

/// A [`Push`] as one neighbour gets it: with the key as that neighbour knows it, and if it was received, with its
/// body as it came.
///
/// Cost of encoding: that of the head, and of a received body a copy of its bytes. Nothing of it is encoded again
/// but a timestamp that is put into it.
#[derive(Clone, Copy, Debug)]
pub struct RoutedPush<'a> {
    /// The message; its key, QoS and node id do not count.
    pub push: &'a Push<'a>,
    /// The bytes of its body, if it was received.
    pub raw_body: Option<&'a [u8]>,
    /// The key, as the neighbour knows it.
    pub wire_expr: WireExpr<'a>,
    /// How it is to be treated from here on.
    pub qos: Qos,
    /// Source of the routing tree in this node's numbering.
    pub node_id: u16,
    /// The timestamp that a received PUT gets, instead of its own if it has one. A DEL keeps what it has.
    pub timestamp: Option<Timestamp>,
}

impl Encode for RoutedPush<'_> {
    #[inline]
    fn encode<'a, S: Sink<'a> + ?Sized>(&'a self, sink: &mut S) -> Result<(), NoSpace> {
        let Self { push, wire_expr, qos, node_id, .. } = self;
        let Push { timestamp, ts_stack, .. } = **push;
        Head { wire_expr, qos: *qos, timestamp, node_id: *node_id, ts_stack }.encode(sink)?;
        match (self.raw_body, &self.timestamp, &push.body) {
            (None, _, body) => body.encode(sink),
            (Some(raw_body), Some(timestamp), PushBody::Put(put)) => {
                encode_stamped(raw_body, put, timestamp, sink)
            }
            (Some(raw_body), ..) => sink.payload(raw_body),
        }
    }
}

/// Writes a received body with another timestamp.
fn encode_stamped<'a, S: Sink<'a> + ?Sized>(
    raw_body: &'a [u8],
    put: &Put<'_>,
    timestamp: &Timestamp,
    sink: &mut S,
) -> Result<(), NoSpace> {
    let mut r = Reader::new(raw_body);
    // Both were read from there before.
    let header = r.byte("body header").unwrap_or_default();
    if put.timestamp.is_some() {
        let _ = Timestamp::decode(&mut r);
    }
    sink.byte(put_timestamped(header))?;
    timestamp.encode(sink)?;
    sink.payload(r.take_rest())
}
