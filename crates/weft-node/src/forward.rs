//! How a sample changes on its way through a node: hardly.
//!
//! Spec: 03 §4.2, §4.3. The key is written as the next neighbour knows it; the body goes on as it
//! came, byte for byte, unless this node has to add a timestamp to it.

use weft_routing::Hop;
use weft_wire::{Push, Put, RoutedPush, Timestamp};

use crate::hlc::{Lane, TooFarAhead};

/// `push` as it goes along a hop of its route, with its body as received.
#[inline]
pub fn forwarded<'a>(push: &'a Push<'a>, raw_body: &'a [u8], hop: &'a Hop) -> RoutedPush<'a> {
    let wire_expr = hop.expr.as_wire();
    let (qos, raw_body) = (push.qos, Some(raw_body));
    RoutedPush { push, raw_body, wire_expr, qos, node_id: hop.node_id, timestamp: None }
}

/// What stamping did to a PUT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stamped {
    /// Its own timestamp is fine.
    Kept,
    /// It goes on with this timestamp of this node.
    New(Timestamp),
    /// Its timestamp lies too far in the future and the node is told to drop such samples.
    Refused(TooFarAhead),
}

/// Checks or adds a PUT's timestamp. DEL is never stamped on the way (02 §4.5).
#[inline]
pub fn stamp_put(
    put: &Put<'_>,
    lane: &mut Lane<'_>,
    wall_ntp64: impl Fn() -> u64,
    drop_future: bool,
) -> Stamped {
    match put.timestamp {
        None => Stamped::New(lane.stamp(wall_ntp64)),
        Some(stamp) => match lane.observe(&wall_ntp64, stamp) {
            Ok(()) => Stamped::Kept,
            Err(refused) if drop_future => Stamped::Refused(refused),
            Err(_) => Stamped::New(lane.stamp(wall_ntp64)),
        },
    }
}
