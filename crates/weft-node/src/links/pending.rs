//! Accepted links whose handshake is not complete, and which of them gives way if there are too many.
//!
//! It is one of the host (or of one of the hosts) that has the most, so that a flood of half-open links costs the flood and not
//! who else comes. Which one is left to chance, so that from the flood's own host, too, a newcomer may
//! get through, however long it takes to its first word.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::LinkId;

#[derive(Debug)]
pub(super) struct Pending {
    /// Oldest first.
    entries: Vec<Entry>,
    chance: Chance,
}

#[derive(Debug)]
struct Entry {
    link: LinkId,
    host: Box<[u8]>,
}

impl Pending {
    /// None. `seed` is secret, or a flood could foresee which links give way.
    pub(super) const fn new(seed: u64) -> Self {
        Self { entries: Vec::new(), chance: Chance(seed) }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn add(&mut self, link: LinkId, peer_tag: &[u8]) {
        self.entries.push(Entry { link, host: host(peer_tag).into() });
    }

    pub(super) fn remove(&mut self, link: LinkId) {
        self.entries.retain(|entry| entry.link != link);
    }

    /// The one that gives way. Costs a look at all.
    pub(super) fn choose(&mut self) -> Option<LinkId> {
        let mut by_host: BTreeMap<&[u8], Vec<LinkId>> = BTreeMap::new();
        for entry in &self.entries {
            by_host.entry(&entry.host).or_default().push(entry.link);
        }
        let most = by_host.values().map(Vec::len).max()?;
        let candidates: Vec<LinkId> =
            by_host.into_values().filter(|links| links.len() == most).flatten().collect();
        candidates.get(self.chance.below(candidates.len())).copied()
    }
}

/// The host in an address such as `tcp/10.0.0.1:4000`: all but the port.
fn host(peer_tag: &[u8]) -> &[u8] {
    match peer_tag.iter().rposition(|byte| *byte == b':') {
        Some(colon) => &peer_tag[..colon],
        None => peer_tag,
    }
}

/// Numbers that nobody outside can foresee, from a secret seed.
#[derive(Debug)]
struct Chance(u64);

impl Chance {
    /// A number below `end`; 0 if there is none.
    fn below(&mut self, end: usize) -> usize {
        // A linear congruential generator with Knuth's constants; its upper bits are the good ones.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}
