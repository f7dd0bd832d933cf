//! What a publisher keeps of what it published, for those who come late or lost some of it.
//!
//! Not here: who asks, and how it is answered ([`super::publisher`]). Spec: 02 §7.2.

use std::collections::VecDeque;

use weft_keyexpr::{Parameters, SnRange};

use crate::sample::Sample;

/// What an [`AdvancedPublisher`](super::AdvancedPublisher) keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    pub(super) max_samples: usize,
    pub(super) express: Option<bool>,
}

impl Default for CacheConfig {
    /// The last sample.
    fn default() -> Self {
        Self { max_samples: 1, express: None }
    }
}

impl CacheConfig {
    /// How many of the last samples are kept, deletions included. Default: 1. With 0, declaring the
    /// publisher fails.
    pub const fn max_samples(mut self, value: usize) -> Self {
        self.max_samples = value;
        self
    }

    /// Whether replies are sent without waiting for company. Default: as the query was sent. Their
    /// priority and congestion control are those of the query, as for all replies.
    pub const fn replies_express(mut self, value: bool) -> Self {
        self.express = Some(value);
        self
    }
}

/// The last samples of a publisher, oldest first.
#[derive(Debug)]
pub(super) struct Cache {
    samples: VecDeque<Sample>,
    max: usize,
}

impl Cache {
    /// Room for `max` samples, which is not allocated before it is needed.
    pub(super) const fn new(max: usize) -> Self {
        Self { samples: VecDeque::new(), max }
    }

    pub(super) fn push(&mut self, sample: Sample) {
        if self.samples.len() >= self.max {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// The samples that a query with these parameters asks for, oldest first.
    pub(super) fn select(&self, parameters: &Parameters, now_unix_ns: i128) -> Vec<Sample> {
        let numbers = parameters.get("_sn").map(SnRange::parse).unwrap_or_default();
        // What cannot be read is taken as open.
        let time = parameters.time_range().and_then(Result::ok);
        let count_max = parameters.get("_max").and_then(|text| text.parse().ok());
        let in_time = |sample: &Sample| match (time, sample.timestamp()) {
            (Some(range), Some(stamp)) => range.contains(i128::from(stamp.unix_ns()), now_unix_ns),
            _ => true,
        };
        let is_asked_for = |sample: &&Sample| {
            numbers.contains(sample.source_info().map(|info| info.sn)) && in_time(sample)
        };
        let newest_first = self.samples.iter().rev().filter(is_asked_for);
        let mut found: Vec<Sample> =
            newest_first.take(count_max.unwrap_or(usize::MAX)).cloned().collect();
        found.reverse();
        found
    }
}

#[cfg(test)]
mod tests {
    use weft_keyexpr::KeyExpr;
    use weft_wire::{EntityGlobalId, SourceInfo, Timestamp, ZenohId};

    use super::*;
    use crate::sample::Beside;

    const SECOND_NS: i128 = 1_000_000_000;

    /// Number `sn`, published `sn` seconds after the epoch.
    fn sample(sn: u32) -> Sample {
        let zid: ZenohId = "1".parse().unwrap();
        let id = EntityGlobalId { zid, eid: 1 };
        Sample {
            timestamp: Some(Timestamp::new(u64::from(sn) << 32, zid)),
            beside: Beside::of(None, Some(SourceInfo { id, sn }), None),
            ..Sample::token(KeyExpr::new("k").unwrap(), true)
        }
    }

    fn selected(cache: &Cache, parameters: &str) -> Vec<Option<u32>> {
        let found = cache.select(&Parameters::from(parameters), 10 * SECOND_NS);
        found.iter().map(|sample| sample.source_info().map(|info| info.sn)).collect()
    }

    #[test]
    fn the_last_samples_are_selected_by_number_time_and_count() {
        let mut cache = Cache::new(4);
        for sn in 0..=9 {
            cache.push(sample(sn));
        }
        let all = [6, 7, 8, 9].map(Some);
        assert_eq!(selected(&cache, ""), all);
        assert_eq!(selected(&cache, "_sn=..;_anyke"), all);
        assert_eq!(selected(&cache, "_sn=x..y;_max=z;_time=later"), all);
        assert_eq!(selected(&cache, "_sn=8.."), all[2..]);
        assert_eq!(selected(&cache, "_sn=7..8"), all[1..3]);
        assert_eq!(selected(&cache, "_sn=7"), all[1..2]);
        assert_eq!(selected(&cache, "_max=2"), all[2..]);
        assert_eq!(selected(&cache, "_max=0"), []);
        assert_eq!(selected(&cache, "_max=2;_sn=..8"), all[1..3]);
        assert_eq!(selected(&cache, "_time=[now(-2s)..]"), all[2..]);
        assert_eq!(selected(&cache, "_max=1;_time=[..now(-3s)]"), all[1..2]);
    }

    #[test]
    fn samples_without_stamp_pass_any_time_and_those_without_number_no_range() {
        let mut cache = Cache::new(2);
        cache.push(Sample { timestamp: None, beside: None, ..sample(1) });
        assert_eq!(selected(&cache, "_time=[now(-2s)..]"), [None]);
        assert_eq!(selected(&cache, "_sn=0.."), []);
    }
}
