//! Generalisation: one declared expression instead of the many that it includes.
//!
//! Spec: 03 §3.5 ("Session-level aggregation"); 03 §13, 1. The configuration names expressions. What
//! this node tells its north of its own subscribers, and of those of whom it serves, is told as the
//! expression that includes it; so samples come as far as this node for all that the expression includes,
//! and go on from here as the tables say, which hold every key. Nobody gets more than he asked for, and the
//! north hears as much as there are expressions. In the same way, what this node's session publishes is
//! asked for upstream as one.
//!
//! Not here: queryables, because a cover cannot say of which part of it the answers are complete; tokens,
//! which are what they are called; what is told to the south, where interests already choose.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use weft_keyexpr::KeyExpr;
use weft_wire::QueryableInfo;

use crate::asked::AskSpec;
use crate::entity::{Entry, Kind, KindSet, Owner};
use crate::face::{FaceId, Region};
use crate::outbox::Outbox;
use crate::routing::Routing;

/// The expressions that stand for all that they include.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aggregation {
    /// For subscribers.
    pub subscribers: Vec<KeyExpr>,
    /// For publishers.
    pub publishers: Vec<KeyExpr>,
}

impl Aggregation {
    /// Without the expressions that others include, so that nothing stands for something that stands
    /// for something else.
    pub(crate) fn reduced(self) -> Self {
        Self { subscribers: reduced(self.subscribers), publishers: reduced(self.publishers) }
    }
}

fn reduced(keys: Vec<KeyExpr>) -> Vec<KeyExpr> {
    let keys: BTreeSet<KeyExpr> = keys.into_iter().collect();
    let stands =
        |key: &&KeyExpr| !keys.iter().any(|other| other != *key && other.includes(key.as_ke()));
    keys.iter().filter(stands).cloned().collect()
}

/// The expression of the list that stands for `key`, unless that is `key` itself: the first that
/// includes it. Cost: a comparison for each expression.
fn cover<'a>(covers: &'a [KeyExpr], key: &KeyExpr) -> Option<&'a KeyExpr> {
    covers.iter().find(|cover| cover.includes(key.as_ke())).filter(|cover| *cover != key)
}

/// What covers stand for, by cover and by owner.
#[derive(Clone, Debug, Default)]
pub(crate) struct Covered(BTreeMap<KeyExpr, BTreeMap<Owner, BTreeSet<KeyExpr>>>);

impl Covered {
    /// The owners of what a cover stands for.
    pub(crate) fn owners(&self, cover: &KeyExpr) -> impl Iterator<Item = Owner> {
        self.0.get(cover).into_iter().flat_map(|owners| owners.keys().copied())
    }

    fn insert(&mut self, cover: &KeyExpr, owner: Owner, key: &KeyExpr) {
        let owners = self.0.entry(cover.clone()).or_default();
        owners.entry(owner).or_default().insert(key.clone());
    }

    fn remove(&mut self, cover: &KeyExpr, owner: Owner, key: &KeyExpr) {
        let Some(owners) = self.0.get_mut(cover) else { return };
        let Some(keys) = owners.get_mut(&owner) else { return };
        keys.remove(key);
        if keys.is_empty() {
            owners.remove(&owner);
        }
    }
}

impl Routing {
    /// Keys that are told to the north although nobody may have declared them.
    pub(crate) fn covers(&self, kind: Kind) -> &[KeyExpr] {
        match kind {
            Kind::Subscriber => &self.config.aggregation.subscribers,
            Kind::Queryable | Kind::Token => &[],
        }
    }

    /// Notes whether `owner` has a declaration on `key` that a cover stands for.
    pub(crate) fn note_covered(&mut self, kind: Kind, key: &KeyExpr, owner: Owner) {
        let Some(cover) = cover(self.covers(kind), key) else { return };
        if self.is_of_north(owner) {
            return;
        }
        let entry = self.tables[kind.index()].get(key.as_ke());
        if entry.is_some_and(|entry| entry.owners.get(&owner).is_some()) {
            self.covered.insert(&cover.clone(), owner, key);
        } else {
            self.covered.remove(&cover.clone(), owner, key);
        }
    }

    fn is_of_north(&self, owner: Owner) -> bool {
        let region = match owner {
            Owner::Face(face) => self.region(face),
            Owner::Node(region, _) => region,
        };
        region == Region::North
    }

    /// What the north is told about `key`, of what the owners have that `admits` lets through.
    ///
    /// Cost: a comparison for each configured expression; for one of those, a look at its owners
    /// up to the first that is let through.
    pub(crate) fn told_to_north(
        &self,
        kind: Kind,
        key: &KeyExpr,
        entry: Option<&Entry>,
        admits: impl Fn(Owner) -> bool,
    ) -> Option<QueryableInfo> {
        let is_covered = cover(self.covers(kind), key).is_some();
        let own = entry.and_then(|entry| {
            entry.merged(|owner| admits(owner) && (!is_covered || self.is_of_north(owner)))
        });
        own.or_else(|| self.covered.owners(key).any(admits).then(QueryableInfo::default))
    }

    /// Tells the north of the expression that stands for `key`, or takes it back.
    pub(crate) fn sync_cover(&mut self, kind: Kind, key: &KeyExpr, out: &mut dyn Outbox) {
        let Some(cover) = cover(self.covers(kind), key).cloned() else { return };
        self.sync_networks(kind, &cover, out);
        let pushed: Vec<FaceId> = self.pushed.iter().copied().collect();
        for face in pushed {
            self.sync_face(face, kind, &cover, false, out);
        }
        self.drop_unused(kind, &cover);
    }

    /// What is asked for upstream when `asker` wants to know of `spec`: publishers of this node's session
    /// ask for the expression that includes theirs.
    pub(crate) fn asked_as(&self, asker: FaceId, spec: &AskSpec) -> AskSpec {
        let publishes = asker == FaceId::LOCAL && spec.kinds == KindSet::only(Kind::Subscriber);
        let key = spec.key.as_ref().filter(|_| publishes);
        let cover = key.and_then(|key| self.publishers_cover(key));
        AskSpec { key: cover.or(spec.key.as_ref()).cloned(), ..spec.clone() }
    }

    /// The expression that is asked for instead of `key`.
    pub(crate) fn publishers_cover(&self, key: &KeyExpr) -> Option<&KeyExpr> {
        cover(&self.config.aggregation.publishers, key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(texts: &[&str]) -> Vec<KeyExpr> {
        texts.iter().map(|text| KeyExpr::new(text).unwrap()).collect()
    }

    #[test]
    fn an_expression_within_another_one_stands_for_nothing() {
        let covers = reduced(keys(&["a/b/**", "a/**", "c/*", "a/**", "*/x"]));
        assert_eq!(covers, keys(&["*/x", "a/**", "c/*"]));
        let of = |text: &str| cover(&covers, &KeyExpr::new(text).unwrap()).map(KeyExpr::as_str);
        assert_eq!(of("a/b/c"), Some("a/**"));
        assert_eq!(of("c/x"), Some("*/x"), "the first that includes it");
        assert_eq!(of("a/**"), None, "it stands for itself");
        assert_eq!(of("c/**"), None);
    }
}
