//! Puts the fragments of one direction together, and says why if it cannot.
//!
//! `weft_transport::RxHalf` does the same for a node that took part from the beginning, and keeps quiet about what it
//! discards; a capture may begin anywhere, and its reader wants to know.

use std::collections::BTreeMap;

use weft_wire::{FragmentHeader, Priority, Reliability};

use super::limits::{Budget, Reservation};

/// The incomplete messages of one direction, one a channel.
#[derive(Default)]
pub(super) struct Fragments(BTreeMap<(Reliability, Priority), Pending>);

struct Pending {
    sn: u64,
    count: u64,
    bytes: Vec<u8>,
    reserved: Reservation,
}

/// What the ends of the link agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    /// Whether first fragments and abandoned messages are marked (patch 1).
    pub(super) markers: bool,
    /// The greatest sequence number.
    pub(super) sn_mask: u64,
}

/// What a fragment leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// There has to be more.
    Incomplete,
    /// The message is whole.
    Complete {
        /// As it would be in a frame.
        message: Vec<u8>,
        /// How many fragments it came in.
        count: u64,
    },
    /// The message will never be whole, for this reason.
    Lost(String),
}

impl Fragments {
    /// Takes a fragment. Copies it once.
    pub(super) fn push(
        &mut self,
        header: &FragmentHeader,
        bytes: &[u8],
        rules: Rules,
        budget: &Budget,
    ) -> Outcome {
        let channel = (header.reliability, header.priority);
        let mut pending = self.0.remove(&channel);
        if rules.markers && header.drop {
            return Outcome::Lost("its sender gave the message up".to_owned());
        }
        let starts = if rules.markers { header.first } else { pending.is_none() };
        if starts {
            let reserved = budget.reserve();
            pending = Some(Pending { sn: header.sn, count: 0, bytes: Vec::new(), reserved });
        }
        let Some(mut pending) = pending else {
            return Outcome::Lost("the beginning of the message is not there".to_owned());
        };
        if header.sn != pending.sn {
            let expected = pending.sn;
            return Outcome::Lost(format!("fragment {expected} of the message is not there"));
        }
        if !pending.reserved.grow(bytes.len()) {
            return Outcome::Lost("too many bytes of incomplete messages".to_owned());
        }
        pending.sn = header.sn.wrapping_add(1) & rules.sn_mask;
        pending.count += 1;
        pending.bytes.extend_from_slice(bytes);
        if header.more {
            self.0.insert(channel, pending);
            return Outcome::Incomplete;
        }
        Outcome::Complete { message: pending.bytes, count: pending.count }
    }

    /// A frame came on a channel: what was incomplete there stays so. Whether there was something.
    pub(super) fn forget(&mut self, reliability: Reliability, priority: Priority) -> bool {
        self.0.remove(&(reliability, priority)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { markers: true, sn_mask: 0x7f };

    fn header(sn: u64, first: bool, more: bool) -> FragmentHeader {
        let (reliability, priority) = (Reliability::Reliable, Priority::Data);
        FragmentHeader { reliability, more, sn, priority, first, drop: false }
    }

    #[test]
    fn a_message_is_whole_with_its_last_fragment_even_over_the_end_of_the_numbers() {
        let (mut fragments, budget) = (Fragments::default(), Budget::new(3));
        let mut push = |header, bytes: &[u8]| fragments.push(&header, bytes, RULES, &budget);
        assert_eq!(push(header(0x7f, true, true), b"a"), Outcome::Incomplete);
        let whole = Outcome::Complete { message: b"abc".to_vec(), count: 2 };
        assert_eq!(push(header(0, false, false), b"bc"), whole);
        // The budget is free again.
        assert_eq!(push(header(1, true, true), b"abc"), Outcome::Incomplete);
    }

    #[test]
    fn what_cannot_be_whole_is_told_and_forgotten() {
        let (mut fragments, budget) = (Fragments::default(), Budget::new(3));
        let mut push = |header, bytes: &[u8]| fragments.push(&header, bytes, RULES, &budget);
        let mut is_lost = |header, bytes: &[u8], why: &str| {
            let outcome = push(header, bytes);
            assert!(matches!(&outcome, Outcome::Lost(text) if text.contains(why)), "{outcome:?}");
        };
        is_lost(header(1, false, true), b"a", "beginning");
        is_lost(header(2, true, true), b"abcd", "too many");
        is_lost(header(3, false, true), b"a", "beginning");
        is_lost(FragmentHeader { drop: true, ..header(4, false, true) }, b"", "gave");
        assert_eq!(push(header(5, true, true), b"a"), Outcome::Incomplete);
        let mut is_lost = |header, why: &str| {
            let outcome = fragments.push(&header, b"a", RULES, &budget);
            assert!(matches!(&outcome, Outcome::Lost(text) if text.contains(why)), "{outcome:?}");
        };
        is_lost(header(7, false, true), "fragment 6");
        is_lost(header(8, false, false), "beginning");
    }

    #[test]
    fn without_markers_whatever_comes_first_is_the_beginning() {
        let (mut fragments, budget) = (Fragments::default(), Budget::new(3));
        let rules = Rules { markers: false, ..RULES };
        let first = fragments.push(&header(1, false, true), b"a", rules, &budget);
        assert_eq!(first, Outcome::Incomplete);
        assert!(fragments.forget(Reliability::Reliable, Priority::Data));
        assert!(!fragments.forget(Reliability::Reliable, Priority::Data));
    }
}
