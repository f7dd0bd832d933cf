//! A publication crosses each connection at most once: no circles, no duplicates on the wire.

use std::collections::{BTreeMap, BTreeSet};

use super::{Verdict, hold};
use crate::fact::PutId;

#[derive(Debug, Default)]
pub(crate) struct Circles {
    crossed: BTreeMap<PutId, BTreeSet<(usize, usize)>>,
}

impl Circles {
    /// A host sends a publication to another one; there are `hosts` in all.
    pub(crate) fn sent(&mut self, put: PutId, from: usize, to: usize, hosts: usize) -> Verdict {
        let crossed = self.crossed.entry(put).or_default();
        hold!(crossed.insert((from, to)), "{put:?} goes from {from} to {to} a second time");
        hold!(!crossed.contains(&(to, from)), "{put:?} goes back from {from} to {to}");
        hold!(crossed.len() < 2 * hosts, "{put:?} is sent {} times", crossed.len());
        if self.crossed.len() > 10_000 {
            self.crossed.pop_first();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_echoes_and_storms_are_found() {
        let mut circles = Circles::default();
        assert_eq!(circles.sent(PutId(1), 0, 1, 3), Ok(()));
        assert_eq!(circles.sent(PutId(1), 1, 2, 3), Ok(()));
        assert_eq!(circles.sent(PutId(2), 0, 1, 3), Ok(()));
        assert!(circles.sent(PutId(1), 0, 1, 3).is_err(), "again");
        assert!(circles.sent(PutId(1), 2, 1, 3).is_err(), "back");
        let mut circles = Circles::default();
        assert_eq!(circles.sent(PutId(1), 0, 1, 2), Ok(()));
        assert_eq!(circles.sent(PutId(1), 2, 3, 2), Ok(()));
        assert_eq!(circles.sent(PutId(1), 4, 5, 2), Ok(()));
        assert!(circles.sent(PutId(1), 6, 7, 2).is_err(), "too often");
    }
}
