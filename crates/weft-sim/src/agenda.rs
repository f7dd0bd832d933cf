//! What happens next: events in virtual time, those of one instant in the order of their planning.

use std::collections::BTreeMap;

/// A list of things to come.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    due: BTreeMap<(u64, u64), T>,
    planned: u64,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { due: BTreeMap::new(), planned: 0 }
    }
}

impl<T> Agenda<T> {
    pub(crate) fn plan(&mut self, at_us: u64, event: T) {
        self.planned += 1;
        self.due.insert((at_us, self.planned), event);
    }

    /// When the next event is due.
    pub(crate) fn next_us(&self) -> Option<u64> {
        self.due.first_key_value().map(|((at_us, _), _)| *at_us)
    }

    /// The next event that is due by `until_us`, and when.
    pub(crate) fn pop(&mut self, until_us: u64) -> Option<(u64, T)> {
        if self.next_us()? > until_us {
            return None;
        }
        self.due.pop_first().map(|((at_us, _), event)| (at_us, event))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.due.iter().map(|((at_us, _), event)| (*at_us, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_by_plan() {
        let mut agenda = Agenda::default();
        for (at_us, event) in [(5, 'c'), (3, 'a'), (3, 'b')] {
            agenda.plan(at_us, event);
        }
        assert_eq!(agenda.pop(2), None);
        assert_eq!(agenda.pop(3), Some((3, 'a')));
        assert_eq!(agenda.pop(9), Some((3, 'b')));
        assert_eq!(agenda.next_us(), Some(5));
    }
}
