//! In calm weather nothing is lost: a publication reaches every subscriber that is due to get it,
//! exactly once, and no other.

use std::collections::{BTreeMap, BTreeSet};

use super::{Verdict, hold};
use crate::fact::PutId;

#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    /// Who is due to get a publication and has not got it.
    due: BTreeMap<PutId, BTreeSet<usize>>,
}

impl Deliveries {
    /// A publication that all of these are to get, and nobody else.
    pub(crate) fn expect(&mut self, put: PutId, subscribers: BTreeSet<usize>) {
        self.due.insert(put, subscribers);
    }

    pub(crate) fn delivered(&mut self, put: PutId, subscriber: usize) -> Verdict {
        if let Some(due) = self.due.get_mut(&put) {
            hold!(due.remove(&subscriber), "{put:?} was not due at subscriber {subscriber}");
        }
        Ok(())
    }

    /// Everything is quiet: whatever was due has come, unless it is excused.
    pub(crate) fn settled(&mut self, excused: impl Fn(PutId) -> bool) -> Verdict {
        let due = std::mem::take(&mut self.due).into_iter();
        for (put, due) in due.filter(|(put, _)| !excused(*put)) {
            hold!(due.is_empty(), "{put:?} did not reach subscribers {due:?}");
        }
        Ok(())
    }

    /// A fault: what is on its way may be lost.
    pub(crate) fn excuse(&mut self) {
        self.due.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_stray_deliveries_are_found() {
        let mut deliveries = Deliveries::default();
        deliveries.expect(PutId(1), BTreeSet::from([4, 5]));
        assert_eq!(deliveries.delivered(PutId(1), 4), Ok(()));
        assert!(deliveries.delivered(PutId(1), 6).is_err());
        assert!(deliveries.settled(|_| false).is_err(), "5 got nothing");
        deliveries.expect(PutId(2), BTreeSet::from([4]));
        deliveries.excuse();
        assert_eq!(deliveries.settled(|_| false), Ok(()));
        assert_eq!(deliveries.delivered(PutId(2), 9), Ok(()), "nothing is known of it");
    }
}
