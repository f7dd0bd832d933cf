//! A small cache from received wire expressions to routes: what makes a sample's way lock-free.
//!
//! Expressions that are only an id index a vector; those with text, and those of samples that come
//! from elsewhere in a network (with a node id), go into an open-addressing table
//! of bounded size in which a new entry may replace an old one, and which starts anew when its texts
//! get too long together. A lost entry costs one route computation, nothing else, so a neighbour
//! that sends a new key with every message makes only its own messages slow.

use alloc::boxed::Box;
use alloc::vec::Vec;
use weft_wire::{Mapping, WireExpr};

/// Ids up to here are indexed; larger ones are cached like text.
const INDEXED_ID_MAX: u16 = 4095;
/// Entries of the table at most. A power of two.
const SLOTS_MAX: usize = 1 << 15;
const SLOTS_MIN: usize = 1 << 6;
/// Bytes of all texts in the table, and of what their routes hold on to, at most.
const HELD_LEN_MAX: usize = 4 << 20;
/// How many neighbouring slots an expression may be in.
const PROBES: usize = 8;

#[derive(Debug)]
struct Slot<R> {
    hash: u64,
    scope: u16,
    mapping: Mapping,
    node_id: u16,
    suffix: Box<str>,
    /// Bytes of the suffix and of what the route holds on to.
    held_len: usize,
    route: R,
}

/// Where in the cache a route is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The table of ids, or [`HASHED`].
    table: u8,
    index: u32,
}

/// The table of everything that is not indexed.
const HASHED: u8 = 2;

/// Routes by wire expression, as one neighbour sends them.
#[derive(Debug)]
pub(crate) struct ExprCache<R> {
    by_id: [Vec<Option<R>>; 2],
    slots: Vec<Option<Slot<R>>>,
    used: usize,
    held_len: usize,
}

impl<R> Default for ExprCache<R> {
    fn default() -> Self {
        Self { by_id: [Vec::new(), Vec::new()], slots: Vec::new(), used: 0, held_len: 0 }
    }
}

impl<R> ExprCache<R> {
    /// Where the route of an expression is, if it is cached. Cost: an index, or a hash of the suffix and
    /// a comparison; no allocation.
    #[inline]
    pub(crate) fn locate(&self, expr: WireExpr<'_>, node_id: u16) -> Option<Place> {
        if is_indexed(expr, node_id) {
            return Some(Place { table: table(expr) as u8, index: expr.scope.into() });
        }
        if self.slots.is_empty() {
            return None;
        }
        let hash = hash(expr, node_id);
        let index = self.probes(hash).find(|index| {
            self.slots[*index].as_ref().is_some_and(|slot| {
                slot.hash == hash
                    && slot.scope == expr.scope
                    && slot.mapping == expr.mapping
                    && slot.node_id == node_id
                    && *slot.suffix == *expr.suffix
            })
        })?;
        Some(Place { table: HASHED, index: index as u32 })
    }

    /// The route there, as long as nothing was inserted or cleared since it was located.
    #[inline]
    pub(crate) fn at(&self, place: Place) -> Option<&R> {
        let index = place.index as usize;
        match self.by_id.get(usize::from(place.table)) {
            Some(routes) => routes.get(index)?.as_ref(),
            None => self.slots.get(index)?.as_ref().map(|slot| &slot.route),
        }
    }

    /// Remembers a route that holds on to `held_len` bytes.
    pub(crate) fn insert(&mut self, expr: WireExpr<'_>, node_id: u16, route: R, held_len: usize) {
        if is_indexed(expr, node_id) {
            let routes = &mut self.by_id[table(expr)];
            let index = expr.scope as usize;
            if routes.len() <= index {
                routes.resize_with(index + 1, || None);
            }
            routes[index] = Some(route);
            return;
        }
        let held_len = held_len + expr.suffix.len();
        if self.held_len + held_len > HELD_LEN_MAX {
            self.slots = Vec::new();
            (self.used, self.held_len) = (0, 0);
        }
        if self.used * 2 >= self.slots.len() && self.slots.len() < SLOTS_MAX {
            self.grow();
        }
        let hash = hash(expr, node_id);
        let slot = Slot {
            hash,
            scope: expr.scope,
            mapping: expr.mapping,
            node_id,
            suffix: expr.suffix.into(),
            held_len,
            route,
        };
        self.place(slot);
    }

    fn place(&mut self, slot: Slot<R>) {
        let same = |other: &Slot<R>| {
            other.hash == slot.hash
                && other.scope == slot.scope
                && other.mapping == slot.mapping
                && other.node_id == slot.node_id
                && other.suffix == slot.suffix
        };
        let mut free = None;
        let mut known = None;
        for index in self.probes(slot.hash) {
            match &self.slots[index] {
                Some(other) if same(other) => known = Some(index),
                None if free.is_none() => free = Some(index),
                _ => {}
            }
        }
        let home = slot.hash as usize & (self.slots.len() - 1);
        self.held_len += slot.held_len;
        match self.slots[known.or(free).unwrap_or(home)].replace(slot) {
            Some(old) => self.held_len -= old.held_len,
            None => self.used += 1,
        }
    }

    fn probes(&self, hash: u64) -> impl Iterator<Item = usize> + use<R> {
        let mask = self.slots.len() - 1;
        (0..PROBES).map(move |step| (hash as usize + step) & mask)
    }

    fn grow(&mut self) {
        let len = (self.slots.len() * 2).max(SLOTS_MIN);
        let mut wider = Vec::new();
        wider.resize_with(len, || None);
        let old = core::mem::replace(&mut self.slots, wider);
        (self.used, self.held_len) = (0, 0);
        for slot in old.into_iter().flatten() {
            self.place(slot);
        }
    }

    /// Forgets everything: an id has changed its meaning.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Forgets the routes that do not match, and with them what they hold on to.
    pub(crate) fn retain(&mut self, keep: impl Fn(&R) -> bool) {
        for route in self.by_id.iter_mut().flatten() {
            if route.as_ref().is_some_and(|route| !keep(route)) {
                *route = None;
            }
        }
        for slot in &mut self.slots {
            if let Some(gone) = slot.take_if(|slot| !keep(&slot.route)) {
                self.used -= 1;
                self.held_len -= gone.held_len;
            }
        }
    }
}

#[inline]
fn is_indexed(expr: WireExpr<'_>, node_id: u16) -> bool {
    node_id == 0 && expr.suffix.is_empty() && expr.scope <= INDEXED_ID_MAX
}

#[inline]
fn table(expr: WireExpr<'_>) -> usize {
    usize::from(expr.mapping == Mapping::Sender)
}

/// A multiply-and-fold hash over eight bytes at a time.
#[inline]
fn hash(expr: WireExpr<'_>, node_id: u16) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let bytes = expr.suffix.as_bytes();
    let id = u64::from(node_id) << 17 | u64::from(expr.scope) << 1 | table(expr) as u64;
    let mut state = id ^ (bytes.len() as u64) << 33;
    let mut mix = |word: u64| {
        let wide = u128::from(state ^ word) * u128::from(FACTOR);
        state = (wide as u64) ^ ((wide >> 64) as u64) ^ word.rotate_left(32);
    };
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        mix(u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(u64::from_le_bytes(last));
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    impl<R> ExprCache<R> {
        fn find(&self, expr: WireExpr<'_>, node_id: u16) -> Option<&R> {
            self.at(self.locate(expr, node_id)?)
        }
    }

    fn expr(scope: u16, mapping: Mapping, suffix: &str) -> WireExpr<'_> {
        WireExpr { scope, mapping, suffix }
    }

    #[test]
    fn expressions_that_differ_in_any_part_are_kept_apart() {
        let mut cache = ExprCache::default();
        let all = [
            expr(1, Mapping::Sender, ""),
            expr(1, Mapping::Receiver, ""),
            expr(2, Mapping::Sender, ""),
            expr(1, Mapping::Sender, "/a"),
            expr(1, Mapping::Receiver, "/a"),
            expr(0, Mapping::Sender, "a/b/c/d/e"),
            expr(60_000, Mapping::Sender, ""),
        ];
        for (index, expr) in all.into_iter().enumerate() {
            assert_eq!(cache.find(expr, 0), None);
            cache.insert(expr, 0, index, 0);
        }
        for (index, expr) in all.into_iter().enumerate() {
            assert_eq!(cache.find(expr, 0), Some(&index));
        }
        cache.insert(all[0], 7, 70, 0);
        cache.insert(all[3], 7, 73, 0);
        assert_eq!((cache.find(all[0], 7), cache.find(all[3], 7)), (Some(&70), Some(&73)));
        assert_eq!((cache.find(all[0], 0), cache.find(all[3], 8)), (Some(&0), None));
        cache.retain(|index| *index != 3);
        assert_eq!(cache.find(all[3], 0), None);
        cache.clear();
        assert_eq!(cache.find(all[0], 0), None);
    }

    #[test]
    fn ten_thousand_keys_stay_and_a_flood_is_bounded() {
        let mut cache = ExprCache::default();
        let keys: Vec<_> = (0..10_000).map(|i| format!("demo/key/number/{i}")).collect();
        for (index, key) in keys.iter().enumerate() {
            cache.insert(expr(0, Mapping::Sender, key), 0, index, 50);
        }
        let found = keys
            .iter()
            .enumerate()
            .filter(|(index, key)| cache.find(expr(0, Mapping::Sender, key), 0) == Some(index))
            .count();
        assert!(found > 9_900, "only {found} of 10,000 found");
        for i in 0..200_000 {
            cache.insert(expr(0, Mapping::Sender, &format!("flood/{i}")), 0, i, 50);
        }
        assert_eq!(cache.slots.len(), SLOTS_MAX);
        assert!(cache.used <= SLOTS_MAX);
    }
    #[test]
    fn long_texts_do_not_add_up() {
        let mut cache = ExprCache::default();
        let text = "x".repeat(60_000);
        for i in 0..2_000_usize {
            cache.insert(expr(0, Mapping::Sender, &format!("{text}/{i}")), 0, i, 60_000);
            assert!(cache.held_len <= HELD_LEN_MAX);
        }
        assert_eq!(cache.find(expr(0, Mapping::Sender, &format!("{text}/1999")), 0), Some(&1999));
        cache.retain(|_| false);
        assert_eq!((cache.used, cache.held_len), (0, 0));
    }
}
