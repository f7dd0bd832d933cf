//! Each query ends exactly once, within its timeout, and nothing comes after the end.

use std::collections::{BTreeMap, BTreeSet};

use super::{Verdict, hold};

/// How late an end may come, in microseconds.
const SLACK_US: u64 = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Queries {
    /// The deadline of each query that has not ended.
    open: BTreeMap<usize, u64>,
    deadlines: BTreeSet<(u64, usize)>,
}

impl Queries {
    pub(crate) fn asked(&mut self, query: usize, deadline_us: u64) {
        self.open.insert(query, deadline_us);
        self.deadlines.insert((deadline_us, query));
    }

    pub(crate) fn replied(&self, query: usize) -> Verdict {
        hold!(self.open.contains_key(&query), "query {query} got a reply after its end");
        Ok(())
    }

    pub(crate) fn ended(&mut self, query: usize) -> Verdict {
        let known = self.open.remove(&query);
        hold!(known.is_some(), "query {query} ended twice");
        self.deadlines.retain(|(_, other)| *other != query);
        Ok(())
    }

    /// The asker is gone or does not care any more.
    pub(crate) fn forget(&mut self, query: usize) {
        if let Some(deadline_us) = self.open.remove(&query) {
            self.deadlines.remove(&(deadline_us, query));
        }
    }

    pub(crate) fn at(&self, now_us: u64) -> Verdict {
        let overdue = self.deadlines.first().filter(|(at_us, _)| at_us + SLACK_US < now_us);
        hold!(overdue.is_none(), "(deadline, query) {overdue:?} has not ended");
        Ok(())
    }

    pub(crate) fn is_open(&self, query: usize) -> bool {
        self.open.contains_key(&query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_double_and_missing_ends_are_found() {
        let mut queries = Queries::default();
        queries.asked(1, 1_000_000);
        assert_eq!(queries.replied(1), Ok(()));
        assert_eq!(queries.at(1_001_000), Ok(()));
        assert!(queries.at(1_001_001).is_err());
        assert_eq!(queries.ended(1), Ok(()));
        assert_eq!(queries.at(2_000_000), Ok(()));
        assert!(queries.replied(1).is_err());
        assert!(queries.ended(1).is_err());
    }

    #[test]
    fn a_forgotten_query_need_not_end() {
        let mut queries = Queries::default();
        queries.asked(1, 10);
        queries.forget(1);
        assert_eq!(queries.at(1_000_000), Ok(()));
        assert!(!queries.is_open(1));
    }
}
