//! What an advanced subscriber knows of its sources: which samples it delivers and in which order,
//! which it lacks, and what it asks to get them.
//!
//! Not here: sessions, queries, timers, locks. Samples, ends of queries and the time come in as
//! arguments; what is to be delivered and asked goes out through [`Recovery::outputs`] and
//! [`Recovery::questions`].
//!
//! Spec: 02 §7.3. Invariants:
//! - Of one numbered source, samples are delivered in the order of their numbers, each at most once.
//! - A number that was skipped is told as missed, once, and not delivered afterwards.
//! - At most [`SOURCES_MAX`] sources are known and [`PENDING_MAX`] samples held back.
//!
//! ```text
//!   delivered        lacking     held back
//!  ... 5 6 7         8 9         10 11 12
//!          ^ last    ^ asked for            a question about them ends: 8 9 are missed,
//!                                           10 11 12 are delivered
//! ```

#[cfg(test)]
mod tests;
mod track;

use std::collections::{HashMap, VecDeque};

use weft_keyexpr::{KeyExpr, SnRange};
use weft_wire::{EntityGlobalId, Timestamp, ZenohId};

use self::track::{Position, Track};
use super::miss::Miss;
use crate::sample::Sample;

/// Sources that a subscriber keeps apart; the one that was silent for longest makes room.
pub const SOURCES_MAX: usize = 4_096;
/// Samples that a subscriber holds back while others are asked for. Those of a source that would go
/// beyond are delivered, and what they lack counts as missed.
pub const PENDING_MAX: usize = 16_384;
/// How long a source that was silent and is not known to be alive is remembered, in microseconds.
const RETENTION_US: u64 = 3_600_000_000;

/// Who numbers or stamps samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SourceId {
    /// A publisher that numbers them.
    Numbered(EntityGlobalId),
    /// The node whose clock stamps those that have no number.
    Stamped(ZenohId),
}

/// What is recovered, and how.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    /// Older samples are asked for.
    pub(super) history: bool,
    /// At most so many of each source.
    pub(super) depth: Option<usize>,
    /// Missing samples are asked for.
    pub(super) recovers: bool,
    /// How often each source is asked for what came after the last sample, in microseconds.
    pub(super) period_us: Option<u64>,
}

/// Something for the application.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Output {
    Sample(Sample),
    Miss(Miss),
}

/// Something to ask the network. Its end is reported with [`Recovery::answered`].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
    pub(super) about: About,
    pub(super) topic: Topic,
}

/// Whom a question is about, and what it can bring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum About {
    Everybody,
    /// What was held back behind `until` was not known when it was asked.
    Numbered {
        source: EntityGlobalId,
        until: Option<u32>,
    },
    Stamped(ZenohId),
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Topic {
    /// The newest samples of all sources.
    History,
    /// Those of the source with this key.
    HistoryOf(KeyExpr),
    /// Samples of a source with these numbers, from wherever they are kept.
    Numbers(EntityGlobalId, SnRange),
    /// The same from the source itself, which has this key.
    NumbersOf(KeyExpr, SnRange),
}

/// The sources of a subscriber.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    rules: Rules,
    /// The question about everybody's history has no end yet.
    starting: bool,
    numbered: HashMap<EntityGlobalId, Track<u32>>,
    stamped: HashMap<ZenohId, Track<Timestamp>>,
    /// Samples held back, of all sources.
    pending: usize,
    /// When something is to be done without an event.
    due_us: Option<u64>,
    /// For the application, in this order.
    pub(super) outputs: VecDeque<Output>,
    /// For the network, soon.
    pub(super) questions: Vec<Question>,
}

impl Recovery {
    /// Asks for the history at once, if there is to be one.
    pub(super) fn new(rules: Rules) -> Self {
        let mut recovery = Self { rules, starting: rules.history, ..Self::default() };
        if rules.history {
            recovery.ask(About::Everybody, Topic::History);
        }
        recovery
    }

    /// A sample that was published just now.
    ///
    /// Cost for one in order: a hash and no allocation.
    pub(super) fn live(&mut self, sample: Sample, now_us: u64) {
        let Some(info) = sample.source_info() else { return self.replied(sample, now_us) };
        self.replied(sample, now_us);
        let Some(track) = self.numbered.get(&info.id) else { return };
        let waits = track.questions > 0 || self.starting && track.last.is_none();
        if self.rules.recovers && !waits && !track.pending.is_empty() {
            self.ask_missing(info.id, None);
        }
    }

    /// A sample that somebody had kept.
    pub(super) fn replied(&mut self, sample: Sample, now_us: u64) {
        let (info, stamp) = (sample.source_info(), sample.timestamp());
        match (info, stamp) {
            (Some(info), _) => {
                self.know(SourceId::Numbered(info.id), now_us);
                let Some(track) = self.numbered.get_mut(&info.id) else { return };
                let sink = Sink { pending: &mut self.pending, outputs: &mut self.outputs };
                let rules = Handling { rules: self.rules, starting: self.starting };
                rules.take(track, Some(info.id), info.sn, sample, sink);
            }
            // Without a history nobody repeats them.
            (None, Some(stamp)) if self.rules.history => {
                self.know(SourceId::Stamped(stamp.id), now_us);
                let Some(track) = self.stamped.get_mut(&stamp.id) else { return };
                let sink = Sink { pending: &mut self.pending, outputs: &mut self.outputs };
                let rules = Handling { rules: self.rules, starting: self.starting };
                rules.take(track, None, stamp, sample, sink);
            }
            _ => self.outputs.push_back(Output::Sample(sample)),
        }
    }

    /// A source says on its `key` which number it used last.
    pub(super) fn heartbeat(
        &mut self,
        source: EntityGlobalId,
        key: &KeyExpr,
        sn: u32,
        now_us: u64,
    ) {
        if self.starting && self.numbered.get(&source).is_none_or(|it| it.last.is_none()) {
            return;
        }
        self.know(SourceId::Numbered(source), now_us);
        let Some(track) = self.numbered.get(&source) else { return };
        let is_news = track.last.is_none_or(|last| sn.is_after(last));
        if self.rules.recovers && is_news && track.questions == 0 {
            self.ask_missing(source, Some((key, sn)));
        }
    }

    /// A source has appeared under its `key`.
    pub(super) fn appeared(&mut self, source: SourceId, key: &KeyExpr, now_us: u64) {
        self.know(source, now_us);
        let topic = Topic::HistoryOf(key.clone());
        match source {
            SourceId::Numbered(source) => {
                let Some(track) = self.numbered.get_mut(&source) else { return };
                track.is_alive = true;
                self.ask(About::Numbered { source, until: None }, topic);
            }
            SourceId::Stamped(source) => {
                let Some(track) = self.stamped.get_mut(&source) else { return };
                track.is_alive = true;
                self.ask(About::Stamped(source), topic);
            }
        }
    }

    /// A source has gone.
    pub(super) fn disappeared(&mut self, source: SourceId) {
        match source {
            SourceId::Numbered(id) => {
                self.numbered.entry(id).and_modify(|it| it.is_alive = false);
            }
            SourceId::Stamped(id) => {
                self.stamped.entry(id).and_modify(|it| it.is_alive = false);
            }
        }
    }

    /// A question has all its answers, or its time is over.
    pub(super) fn answered(&mut self, about: About) {
        match about {
            About::Everybody => {
                self.starting = false;
                let numbered: Vec<_> = self.numbered.keys().copied().collect();
                let stamped: Vec<_> = self.stamped.keys().copied().collect();
                for source in numbered {
                    self.settle(source, None);
                }
                for source in stamped {
                    self.settle_stamped(source);
                }
            }
            About::Numbered { source, until } => {
                if let Some(track) = self.numbered.get_mut(&source) {
                    track.questions = track.questions.saturating_sub(1);
                    self.settle(source, until);
                }
            }
            About::Stamped(source) => {
                if let Some(track) = self.stamped.get_mut(&source) {
                    track.questions = track.questions.saturating_sub(1);
                    self.settle_stamped(source);
                }
            }
        }
    }

    /// When [`Recovery::due`] is to be called, if nothing changes before.
    pub(super) const fn due_us(&self) -> Option<u64> {
        self.due_us
    }

    /// Does what is due: asks sources that are asked from time to time, forgets silent ones.
    pub(super) fn due(&mut self, now_us: u64) {
        self.numbered.retain(|_, track| !track.is_forgettable(now_us, RETENTION_US));
        self.stamped.retain(|_, track| !track.is_forgettable(now_us, RETENTION_US));
        if let Some(period_us) = self.rules.period_us {
            let mut asked = Vec::new();
            for (source, track) in &mut self.numbered {
                if track.asks_at_us <= now_us {
                    track.asks_at_us = now_us + period_us;
                    let waits = self.starting && track.last.is_none();
                    asked.extend((track.questions == 0 && !waits).then_some(*source));
                }
            }
            for source in asked {
                self.ask_missing(source, None);
            }
        }
        let asks = self.numbered.values().filter(|_| self.rules.period_us.is_some());
        let asks = asks.map(|track| track.asks_at_us).min();
        let used = self.numbered.values().map(|track| track.used_us);
        let used = used.chain(self.stamped.values().map(|track| track.used_us)).min();
        // What is old and alive is looked at once more after a whole retention.
        let forgets = used.map(|used_us| (used_us + RETENTION_US).max(now_us + RETENTION_US / 16));
        self.due_us = [asks, forgets].into_iter().flatten().min();
    }

    /// A source is heard of.
    fn know(&mut self, source: SourceId, now_us: u64) {
        let known = match source {
            SourceId::Numbered(id) => self.numbered.get_mut(&id).map(|it| &mut it.used_us),
            SourceId::Stamped(id) => self.stamped.get_mut(&id).map(|it| &mut it.used_us),
        };
        if let Some(used_us) = known {
            *used_us = now_us;
            return;
        }
        if self.numbered.len() + self.stamped.len() >= SOURCES_MAX {
            self.forget_one();
        }
        let asks_at_us = now_us.saturating_add(self.rules.period_us.unwrap_or_default());
        match source {
            SourceId::Numbered(id) => {
                self.numbered.insert(id, Track::new(now_us, asks_at_us));
            }
            SourceId::Stamped(id) => {
                self.stamped.insert(id, Track::new(now_us, asks_at_us));
            }
        }
        let due_us =
            if self.rules.period_us.is_some() { asks_at_us } else { now_us + RETENTION_US };
        self.due_us = Some(self.due_us.map_or(due_us, |other| other.min(due_us)));
    }

    /// Forgets the source that was silent for longest; what it held back is delivered.
    fn forget_one(&mut self) {
        let mut sink = Sink { pending: &mut self.pending, outputs: &mut self.outputs };
        let numbered = self.numbered.iter().map(|(id, it)| (it.used_us, SourceId::Numbered(*id)));
        let stamped = self.stamped.iter().map(|(id, it)| (it.used_us, SourceId::Stamped(*id)));
        match numbered.chain(stamped).min_by_key(|(used_us, _)| *used_us) {
            Some((_, SourceId::Numbered(id))) => {
                if let Some(mut track) = self.numbered.remove(&id) {
                    sink.flush(&mut track, Some(id));
                }
            }
            Some((_, SourceId::Stamped(id))) => {
                if let Some(mut track) = self.stamped.remove(&id) {
                    sink.flush(&mut track, None);
                }
            }
            None => {}
        }
    }

    fn ask(&mut self, about: About, topic: Topic) {
        match about {
            About::Everybody => {}
            About::Numbered { source, .. } => {
                self.numbered.entry(source).and_modify(|it| it.questions += 1);
            }
            About::Stamped(source) => {
                self.stamped.entry(source).and_modify(|it| it.questions += 1);
            }
        }
        self.questions.push(Question { about, topic });
    }

    /// Asks for what a source sent after its last sample in order: up to `heartbeat`, if that is
    /// where it is known from.
    fn ask_missing(&mut self, source: EntityGlobalId, heartbeat: Option<(&KeyExpr, u32)>) {
        let Some(track) = self.numbered.get(&source) else { return };
        let until = track.pending.back().map(|(sn, _)| *sn);
        let start = track.last.map(|last| last.wrapping_add(1));
        let topic = match heartbeat {
            Some((key, sn)) => Topic::NumbersOf(key.clone(), SnRange { start, end: Some(sn) }),
            None => Topic::Numbers(source, SnRange { start, end: None }),
        };
        self.ask(About::Numbered { source, until }, topic);
    }

    /// What answers could bring has come: delivers what is in order, gives up what lacks before
    /// `until`, and asks again for what lacks behind it.
    fn settle(&mut self, source: EntityGlobalId, until: Option<u32>) {
        let Some(track) = self.numbered.get_mut(&source) else { return };
        if track.questions > 0 || self.starting && track.last.is_none() {
            return;
        }
        let mut sink = Sink { pending: &mut self.pending, outputs: &mut self.outputs };
        if track.last.is_none() {
            sink.begin(track, Some(source));
        } else if let Some(until) = until {
            sink.flush_through(track, Some(source), until);
        }
        if !self.rules.recovers {
            sink.flush(track, Some(source));
        } else if !track.pending.is_empty() {
            self.ask_missing(source, None);
        }
    }

    fn settle_stamped(&mut self, source: ZenohId) {
        if let Some(track) = self.stamped.get_mut(&source)
            && track.questions == 0
            && !self.starting
        {
            Sink { pending: &mut self.pending, outputs: &mut self.outputs }.flush(track, None);
        }
    }
}

/// Where samples go from a track.
struct Sink<'a> {
    pending: &'a mut usize,
    outputs: &'a mut VecDeque<Output>,
}

impl Sink<'_> {
    /// Delivers a sample after whatever the track had before; what lies between is missed.
    fn deliver<P: Position>(
        &mut self,
        track: &mut Track<P>,
        source: Option<EntityGlobalId>,
        (position, sample): (P, Sample),
    ) {
        let count = track.last.map_or(0, |last| position.between(last));
        if let Some(source) = source.filter(|_| count > 0) {
            self.outputs.push_back(Output::Miss(Miss { source, count }));
        }
        track.last = Some(position);
        self.outputs.push_back(Output::Sample(sample));
    }

    fn pop<P: Position>(&mut self, track: &mut Track<P>, source: Option<EntityGlobalId>) {
        if let Some(first) = track.pending.pop_front() {
            *self.pending -= 1;
            self.deliver(track, source, first);
        }
    }

    /// Delivers what follows the last sample without a gap.
    fn release<P: Position>(&mut self, track: &mut Track<P>, source: Option<EntityGlobalId>) {
        while let (Some((first, _)), Some(last)) = (track.pending.front(), track.last)
            && first.between(last) == 0
        {
            self.pop(track, source);
        }
    }

    /// Delivers the first sample held back, whatever came before, and what follows it.
    fn begin<P: Position>(&mut self, track: &mut Track<P>, source: Option<EntityGlobalId>) {
        self.pop(track, source);
        self.release(track, source);
    }

    /// Delivers everything up to `until`, and what follows it.
    fn flush_through<P: Position>(
        &mut self,
        track: &mut Track<P>,
        source: Option<EntityGlobalId>,
        until: P,
    ) {
        while track.pending.front().is_some_and(|(first, _)| !first.is_after(until)) {
            self.pop(track, source);
        }
        self.release(track, source);
    }

    /// Delivers everything.
    fn flush<P: Position>(&mut self, track: &mut Track<P>, source: Option<EntityGlobalId>) {
        while !track.pending.is_empty() {
            self.pop(track, source);
        }
    }
}

/// How a sample of a source is handled.
#[derive(Clone, Copy)]
struct Handling {
    rules: Rules,
    starting: bool,
}

impl Handling {
    fn take<P: Position>(
        self,
        track: &mut Track<P>,
        source: Option<EntityGlobalId>,
        position: P,
        sample: Sample,
        mut sink: Sink<'_>,
    ) {
        let waits = self.starting || track.questions > 0;
        // Numbers show by themselves what lacks; stamps do not.
        let holds_back = match (track.last, source) {
            (None, _) => waits && self.rules.depth != Some(1),
            (Some(last), _) if !position.is_after(last) => return,
            (Some(last), Some(_)) => position.between(last) > 0 && self.rules.recovers,
            (Some(_), None) => waits && self.rules.depth != Some(1),
        };
        if !holds_back {
            sink.deliver(track, source, (position, sample));
            return sink.release(track, source);
        }
        if !track.hold(position, sample) {
            return;
        }
        *sink.pending += 1;
        let is_full = self.rules.depth.is_some_and(|depth| track.pending.len() >= depth);
        if *sink.pending > PENDING_MAX {
            sink.flush(track, source);
        } else if track.last.is_none() && is_full {
            // The history has no room for anything older.
            sink.begin(track, source);
        }
    }
}
