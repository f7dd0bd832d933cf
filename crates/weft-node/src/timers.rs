//! The node's own deadlines. Routing's come on top.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::FaceId;
use crate::dialer::DialId;
use crate::links::LinkId;

/// What is due. Each has one deadline at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A handshake has taken too long.
    Handshake(LinkId),
    /// A keep-alive may be due on a link, or its neighbour's lease may have run out.
    Lease(FaceId, LinkId),
    /// A neighbour is to be dialed again.
    Redial(DialId),
    /// The next scouting question.
    Scout,
    /// Opening has waited long enough.
    Startup,
    /// A liveliness query has waited long enough.
    TokenQuery(u32),
}

impl Timer {
    /// Names the timer in logs.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Handshake(_) => "handshake timeout",
            Self::Lease(..) => "lease",
            Self::Redial(_) => "redial",
            Self::Scout => "scout",
            Self::Startup => "startup",
            Self::TokenQuery(_) => "liveliness query timeout",
        }
    }
}

/// Deadlines. A timer that has become pointless is cleared, so that what is here is what is waited
/// for, and nothing else.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    due: BTreeSet<(u64, Timer)>,
    at_us: BTreeMap<Timer, u64>,
}

impl Timers {
    /// Sets a timer, in place of an earlier deadline.
    pub(crate) fn set(&mut self, at_us: u64, timer: Timer) {
        if let Some(before) = self.at_us.insert(timer, at_us) {
            self.due.remove(&(before, timer));
        }
        self.due.insert((at_us, timer));
    }

    pub(crate) fn clear(&mut self, timer: Timer) {
        if let Some(at_us) = self.at_us.remove(&timer) {
            self.due.remove(&(at_us, timer));
        }
    }

    pub(crate) fn clear_all(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn next(&self) -> Option<(u64, &'static str)> {
        self.due.first().map(|(at_us, timer)| (*at_us, timer.reason()))
    }

    /// The first timer that is due, which is thereby cleared.
    pub(crate) fn pop(&mut self, now_us: u64) -> Option<Timer> {
        let (at_us, timer) = *self.due.first()?;
        if at_us > now_us {
            return None;
        }
        self.clear(timer);
        Some(timer)
    }

    pub(crate) fn len(&self) -> usize {
        self.due.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_come_in_the_order_of_their_deadlines_once_each() {
        let mut timers = Timers::default();
        timers.set(30, Timer::Scout);
        timers.set(20, Timer::TokenQuery(1));
        timers.set(10, Timer::Scout);
        timers.set(25, Timer::TokenQuery(2));
        timers.clear(Timer::TokenQuery(2));
        timers.clear(Timer::TokenQuery(3));
        assert_eq!(timers.next(), Some((10, "scout")));
        assert_eq!(timers.pop(9), None);
        assert_eq!(timers.pop(30), Some(Timer::Scout));
        assert_eq!(timers.pop(30), Some(Timer::TokenQuery(1)));
        assert_eq!(timers.pop(u64::MAX), None);
        assert_eq!(timers.len(), 0);
    }
}
