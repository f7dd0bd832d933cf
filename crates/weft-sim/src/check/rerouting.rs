//! While the trees of a network change, a publication that is on its way may come to a node by its old
//! tree and by its new one, and publications may overtake each other.
//!
//! Each node changes over when it hears of the change, and nobody knows what the others have passed on
//! by then. What is published while all is quiet, before and after, is not excused.

use std::collections::{BTreeSet, VecDeque};

use crate::fact::PutId;

/// How long before a change a publication may have been made that is still on its way.
const UNDER_WAY_US: u64 = 5_000_000;
/// How long after a change the last node has heard of it.
const SPREADING_US: u64 = 1_000_000;

#[derive(Debug, Default)]
pub(crate) struct Rerouting {
    recent: VecDeque<(u64, PutId)>,
    until_us: u64,
    excused: BTreeSet<PutId>,
}

impl Rerouting {
    /// The links of a network have changed.
    pub(crate) fn changed(&mut self, now_us: u64) {
        self.until_us = now_us + SPREADING_US;
        let since_us = now_us.saturating_sub(UNDER_WAY_US);
        let recent = self.recent.drain(..).filter(|(at_us, _)| *at_us >= since_us);
        self.excused.extend(recent.map(|(_, put)| put));
    }

    pub(crate) fn published(&mut self, now_us: u64, put: PutId) {
        if now_us < self.until_us {
            self.excused.insert(put);
        } else {
            self.recent.push_back((now_us, put));
            while self.recent.front().is_some_and(|(at_us, _)| at_us + UNDER_WAY_US < now_us) {
                self.recent.pop_front();
            }
        }
    }

    /// Everything is quiet: every node has heard of the last change, and nothing is under way.
    pub(crate) fn settled(&mut self) {
        self.until_us = 0;
        self.recent.clear();
    }

    pub(crate) fn excuses(&self, put: PutId) -> bool {
        self.excused.contains(&put)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_published_around_a_change_is_excused() {
        let mut rerouting = Rerouting::default();
        for (second, put) in [(10, 1), (20, 2), (30, 3)] {
            rerouting.published(second * 1_000_000, PutId(put));
            if put == 2 {
                rerouting.changed(21_000_000);
                rerouting.published(21_500_000, PutId(9));
            }
        }
        let excused = |put| rerouting.excuses(PutId(put));
        assert_eq!((excused(1), excused(2), excused(9), excused(3)), (false, true, true, false));
        rerouting.changed(30_500_000);
        rerouting.settled();
        rerouting.published(30_700_000, PutId(4));
        rerouting.changed(31_000_000);
        assert!(rerouting.excuses(PutId(4)), "it is under way");
        rerouting.settled();
        rerouting.published(31_100_000, PutId(5));
        assert!(!rerouting.excuses(PutId(5)));
    }
}
