//! Counting what repliers say of each key.
//!
//! A replier has one word on a key: its newest, as consolidation would choose it. Two words agree if
//! kind, payload and encoding are equal, and their stamps where both have one. A word without a stamp
//! supports each of several that disagree among themselves, and never joins them to one.

use std::collections::{BTreeMap, HashSet};

use weft_keyexpr::KeyExpr;
use weft_wire::EntityGlobalId;

use super::Agreement;
use crate::sample::Sample;

/// Repliers whose words on one key are compared.
pub const REPLIERS_MAX: usize = 1024;

/// Estimated memory of the answers that one quorum get compares, in bytes.
pub const MEMORY_MAX: usize = 256 << 20;

/// What an answer takes beside its key and its payload, in bytes. An estimate.
const ANSWER_MEMORY: usize = 256;

/// Who says something; `None` for all who do not tell.
type Replier = Option<EntityGlobalId>;

/// What was said so far.
#[derive(Debug)]
pub(super) struct Votes {
    wanted: usize,
    /// Of each key, the newest word of each replier, in the order of their first words.
    words: BTreeMap<KeyExpr, Vec<(Replier, Sample)>>,
    repliers: HashSet<Replier>,
    memory: usize,
}

/// More is said than is compared.
#[derive(Debug, PartialEq)]
pub(super) struct TooMuch;

impl Votes {
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, words: BTreeMap::new(), repliers: HashSet::new(), memory: 0 }
    }

    /// `replier` says `sample`. Of equal stamps the last one counts, and none is the oldest.
    pub(super) fn add(&mut self, replier: Replier, sample: Sample) -> Result<(), TooMuch> {
        let words = self.words.entry(sample.key_expr.clone()).or_default();
        self.memory += memory(&sample);
        match words.iter_mut().find(|(who, _)| *who == replier) {
            Some((_, word)) => {
                let is_newer = word.timestamp <= sample.timestamp;
                let older = if is_newer { std::mem::replace(word, sample) } else { sample };
                self.memory -= memory(&older);
            }
            None => words.push((replier, sample)),
        }
        let too_many = words.len() > REPLIERS_MAX;
        self.repliers.insert(replier);
        if too_many || self.memory > MEMORY_MAX { Err(TooMuch) } else { Ok(()) }
    }

    /// Who sent a sample.
    pub(super) fn repliers(&self) -> usize {
        self.repliers.len()
    }

    /// What is agreed on `key`, if anything is.
    pub(super) fn agreed_on(&self, key: &KeyExpr) -> Option<&Sample> {
        self.best(self.words.get(key)?).ok()
    }

    /// What is agreed on all keys; `None` without any.
    pub(super) fn agreement(&self) -> Option<Agreement> {
        let mut agreement = Agreement { repliers: self.repliers(), ..Agreement::default() };
        for (key, words) in &self.words {
            match self.best(words) {
                Ok(sample) => agreement.samples.push(sample.clone()),
                Err(got) => agreement.short.push((key.clone(), got)),
            }
        }
        (!agreement.samples.is_empty()).then_some(agreement)
    }

    /// How many agree on the key that came closest to a quorum without having one.
    pub(super) fn most(&self) -> usize {
        self.words.values().filter_map(|words| self.best(words).err()).max().unwrap_or_default()
    }

    /// The newest word that enough agree with; without one, how many agree at most. Compares each word
    /// with each: there are at most [`REPLIERS_MAX`].
    fn best<'a>(&self, words: &'a [(Replier, Sample)]) -> Result<&'a Sample, usize> {
        let counted = words.iter().map(|(_, word)| {
            let count = words.iter().filter(|(_, other)| confirms(other, word)).count();
            (word, count)
        });
        let mut most = 0;
        let mut best: Option<(&Sample, usize)> = None;
        for (word, count) in counted {
            most = most.max(count);
            let is_better = best
                .is_none_or(|(known, votes)| (known.timestamp, votes) < (word.timestamp, count));
            if count >= self.wanted && is_better {
                best = Some((word, count));
            }
        }
        best.map(|(word, _)| word).ok_or(most)
    }
}

/// Whether `other` confirms `word`. One without a stamp confirms any, and is confirmed by its like.
fn confirms(other: &Sample, word: &Sample) -> bool {
    (other.timestamp.is_none() || other.timestamp == word.timestamp)
        && other.kind == word.kind
        && other.encoding == word.encoding
        && other.payload == word.payload
}

fn memory(sample: &Sample) -> usize {
    let attachment = sample.attachment().map_or(0, crate::ZBytes::len);
    ANSWER_MEMORY + sample.key_expr.as_str().len() + sample.payload.len() + attachment
}

#[cfg(test)]
mod tests {
    use weft_wire::{Timestamp, ZenohId};

    use super::*;
    use crate::encoding::Encoding;
    use crate::sample::SampleKind;
    use crate::zbytes::ZBytes;

    fn replier(eid: u32) -> EntityGlobalId {
        EntityGlobalId { zid: ZenohId::from_le_bytes(&[1]).unwrap(), eid }
    }

    fn said(payload: &str, time: Option<u64>) -> Sample {
        let id = ZenohId::from_le_bytes(&[7]).unwrap();
        Sample {
            payload: ZBytes::from(payload),
            kind: SampleKind::Put,
            timestamp: time.map(|time| Timestamp { time, id }),
            encoding: Encoding::default(),
            ..Sample::token(KeyExpr::new("k").unwrap(), true)
        }
    }

    /// What so many agree on, of the words of repliers 0, 1, ….
    fn outcome(wanted: usize, words: &[(u32, &str, Option<u64>)]) -> Result<String, usize> {
        let mut votes = Votes::new(wanted);
        for (who, payload, time) in words {
            votes.add(Some(replier(*who)), said(payload, *time)).unwrap();
        }
        let agreement = votes.agreement().ok_or_else(|| votes.most())?;
        let agreed = votes.agreed_on(&KeyExpr::new("k").unwrap());
        assert_eq!(agreed, Some(&agreement.samples[0]));
        Ok(agreement.samples[0].payload().try_to_str().unwrap().into_owned())
    }

    #[test]
    fn equal_words_of_different_repliers_count() {
        assert_eq!(outcome(2, &[(0, "a", None), (1, "b", None), (2, "a", None)]), Ok("a".into()));
        assert_eq!(outcome(3, &[(0, "a", None), (1, "b", None), (2, "a", None)]), Err(2));
        assert_eq!(outcome(1, &[]), Err(0));
    }

    #[test]
    fn a_replier_has_one_word_and_that_is_its_newest() {
        assert_eq!(outcome(2, &[(0, "a", None), (0, "a", None)]), Err(1));
        let changed = [(0, "a", None), (0, "b", None), (1, "a", None), (2, "b", None)];
        assert_eq!(outcome(2, &changed), Ok("b".into()));
        let late = [(0, "new", Some(2)), (0, "old", Some(1)), (1, "new", Some(2))];
        assert_eq!(outcome(2, &late), Ok("new".into()));
    }

    #[test]
    fn stamps_count_where_both_have_one() {
        assert_eq!(outcome(2, &[(0, "a", Some(1)), (1, "a", Some(2))]), Err(1));
        assert_eq!(outcome(2, &[(0, "a", Some(1)), (1, "a", None)]), Ok("a".into()));
        // The one without a stamp agrees with both, and they do not.
        let mixed = [(0, "a", Some(1)), (1, "a", Some(2)), (2, "a", None)];
        assert_eq!(outcome(2, &mixed), Ok("a".into()));
        assert_eq!(outcome(3, &mixed), Err(2));
    }

    #[test]
    fn of_two_quorums_the_newer_one_counts() {
        let old = [(0, "old", Some(1)), (1, "old", Some(1)), (2, "old", Some(1))];
        let new = [(3, "new", Some(2)), (4, "new", Some(2))];
        assert_eq!(outcome(2, &[&old[..], &new[..]].concat()), Ok("new".into()));
        assert_eq!(outcome(3, &[&old[..], &new[..]].concat()), Ok("old".into()));
    }

    #[test]
    fn kinds_and_encodings_count() {
        let mut votes = Votes::new(2);
        votes.add(Some(replier(0)), said("", None)).unwrap();
        votes.add(Some(replier(1)), Sample { kind: SampleKind::Delete, ..said("", None) }).unwrap();
        let text = Sample { encoding: Encoding::TEXT_PLAIN, ..said("", None) };
        votes.add(Some(replier(2)), text).unwrap();
        assert_eq!((votes.agreement(), votes.most()), (None, 1));
        assert_eq!(votes.repliers(), 3);
    }

    #[test]
    fn the_unnamed_are_one_replier() {
        let mut votes = Votes::new(2);
        votes.add(None, said("a", None)).unwrap();
        votes.add(None, said("a", None)).unwrap();
        assert_eq!((votes.agreement(), votes.most()), (None, 1));
        votes.add(Some(replier(1)), said("a", None)).unwrap();
        assert!(votes.agreement().is_some());
    }

    #[test]
    fn memory_is_bounded() {
        let mut votes = Votes::new(1);
        for who in 0..REPLIERS_MAX as u32 {
            votes.add(Some(replier(who)), said("a", None)).unwrap();
        }
        assert_eq!(votes.add(Some(replier(REPLIERS_MAX as u32)), said("a", None)), Err(TooMuch));
        let mut votes = Votes::new(1);
        let large = "a".repeat(1 << 20);
        let taken =
            (0..).take_while(|who| votes.add(Some(replier(*who)), said(&large, None)).is_ok());
        assert_eq!(taken.count(), MEMORY_MAX / (ANSWER_MEMORY + 1 + large.len()));
        // What replaces something takes its place.
        let mut votes = Votes::new(1);
        let again = (0..1000).all(|_| votes.add(Some(replier(0)), said(&large, None)).is_ok());
        assert!(again);
    }
}
