//! Each subscriber gets a publication at most once, and those of one publisher in their order.
//!
//! The order holds per channel (priority and reliability), as long as the publishing node keeps its
//! neighbours: what it sends through a new one may overtake what is still on its way through the old.

use std::collections::{BTreeMap, BTreeSet};

use super::{Verdict, hold};
use crate::fact::PutId;

/// What keeps its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stream {
    pub(crate) host: usize,
    pub(crate) life: u32,
    /// Counts the changes of the node's neighbours.
    pub(crate) epoch: u32,
    pub(crate) priority: u8,
    pub(crate) reliable: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Order {
    last: BTreeMap<(usize, Stream), PutId>,
    seen: BTreeSet<(usize, PutId)>,
}

impl Order {
    /// A subscriber gets a publication.
    pub(crate) fn delivered(&mut self, subscriber: usize, stream: Stream, put: PutId) -> Verdict {
        hold!(self.seen.insert((subscriber, put)), "subscriber {subscriber} got {put:?} twice");
        let last = self.last.insert((subscriber, stream), put);
        hold!(
            last.is_none_or(|last| last < put),
            "subscriber {subscriber} got {put:?} after {last:?} of {stream:?}"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Stream = Stream { host: 1, life: 0, epoch: 0, priority: 5, reliable: true };

    #[test]
    fn duplicates_and_reordering_are_found() {
        let mut order = Order::default();
        assert_eq!(order.delivered(0, A, PutId(1)), Ok(()));
        assert_eq!(order.delivered(0, A, PutId(3)), Ok(()));
        assert_eq!(order.delivered(1, A, PutId(3)), Ok(()), "another subscriber");
        assert!(order.delivered(0, A, PutId(2)).is_err(), "too late");
        assert!(order.delivered(1, A, PutId(3)).is_err(), "twice");
    }

    #[test]
    fn other_streams_have_their_own_order() {
        let mut order = Order::default();
        assert_eq!(order.delivered(0, A, PutId(5)), Ok(()));
        assert_eq!(order.delivered(0, Stream { priority: 1, ..A }, PutId(4)), Ok(()));
        assert_eq!(order.delivered(0, Stream { epoch: 1, ..A }, PutId(3)), Ok(()));
        assert_eq!(order.delivered(0, Stream { host: 2, ..A }, PutId(2)), Ok(()));
        assert!(
            order.delivered(0, Stream { epoch: 1, ..A }, PutId(5)).is_err(),
            "twice all the same"
        );
    }
}
