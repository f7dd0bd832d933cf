//! Subscribers that say what they have got: beside the subscription a queryable on the same key
//! expression, which answers the read-back of quorum puts and nobody else.
//!
//! An acknowledgement is the newest sample's kind and time stamp, without its payload. A sample without a
//! stamp cannot be told from others, and one on a key with wildcards is of no key: neither is acknowledged.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_keyexpr::KeyExpr;
use weft_node::Locality;
use weft_wire::Timestamp;

use crate::error::Result;
use crate::query::Query;
use crate::sample::{SampleKind, SampleView};
use crate::session::Session;

/// The parameter of a query that asks for acknowledgements.
pub(crate) const ACKNOWLEDGE: &str = "_ack";

/// Keys whose newest sample an acknowledging subscriber knows; at least the last half as many that had a
/// sample.
pub const ACKNOWLEDGED_KEYS_MAX: usize = 1024;

/// The newest sample of each key, as far as it is acknowledged.
#[derive(Default)]
pub(crate) struct Acknowledged(Mutex<Generations>);

/// Two tables, so that old keys are forgotten without looking for them.
#[derive(Default)]
struct Generations {
    recent: HashMap<KeyExpr, Newest>,
    older: HashMap<KeyExpr, Newest>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Newest {
    stamp: Timestamp,
    kind: SampleKind,
}

impl Acknowledged {
    /// Declares the queryable, which lives as long as the session; returns its id as well.
    pub(crate) fn declare(
        session: &Session,
        key: &KeyExpr,
        origin: Locality,
    ) -> Result<(Arc<Self>, u32)> {
        let acknowledged = Arc::<Self>::default();
        let answering = Arc::clone(&acknowledged);
        let queryable = session
            .declare_queryable(key)
            .allowed_origin(origin)
            .callback(move |query| answering.answer(&query))
            .wait()?;
        let id = queryable.id()?.eid;
        queryable.background();
        Ok((acknowledged, id))
    }

    /// The sample was delivered.
    ///
    /// Cost: a lock and a lookup; a copy of the key if it is new, or was long without a sample.
    pub(crate) fn note(&self, sample: &SampleView<'_>) {
        let key = sample.key_expr();
        if let Some(stamp) = sample.timestamp()
            && !key.is_wild()
        {
            let newest = Newest { stamp, kind: sample.kind() };
            self.lock().note(key.as_ref(), newest, || key.to_owned());
        }
    }

    /// Answers a query, if it asks for acknowledgements.
    pub(crate) fn answer(&self, query: &Query) {
        if !query.parameters().contains(ACKNOWLEDGE) {
            return;
        }
        let key = query.key_expr();
        let Some(newest) = self.lock().find(key.as_str()) else { return };
        let reply = match newest.kind {
            SampleKind::Put => query.reply(key, ""),
            SampleKind::Delete => query.reply_del(key),
        };
        if let Err(error) = reply.timestamp(newest.stamp).wait() {
            tracing::debug!(%key, %error, "not acknowledged");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn note(&mut self, key: &str, newest: Newest, owned: impl FnOnce() -> KeyExpr) {
        if let Some(known) = self.recent.get_mut(key) {
            if known.stamp < newest.stamp {
                *known = newest;
            }
            return;
        }
        let known = self.older.remove(key).filter(|known| known.stamp > newest.stamp);
        if self.recent.len() >= ACKNOWLEDGED_KEYS_MAX / 2 {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(owned(), known.unwrap_or(newest));
    }

    fn find(&self, key: &str) -> Option<Newest> {
        self.recent.get(key).or_else(|| self.older.get(key)).copied()
    }
}

#[cfg(test)]
mod tests {
    use weft_wire::ZenohId;

    use super::*;

    fn at(time: u64, kind: SampleKind) -> Newest {
        let id = ZenohId::from_le_bytes(&[1]).unwrap();
        Newest { stamp: Timestamp { time, id }, kind }
    }

    fn put(time: u64) -> Newest {
        at(time, SampleKind::Put)
    }

    fn note(generations: &mut Generations, key: &str, newest: Newest) {
        generations.note(key, newest, || KeyExpr::new(key).unwrap());
    }

    #[test]
    fn the_newest_sample_of_a_key_is_known() {
        let mut generations = Generations::default();
        note(&mut generations, "a", put(2));
        note(&mut generations, "a", put(1));
        assert_eq!(generations.find("a"), Some(put(2)));
        note(&mut generations, "a", at(3, SampleKind::Delete));
        assert_eq!(generations.find("a"), Some(at(3, SampleKind::Delete)));
        assert_eq!(generations.find("b"), None);
    }

    #[test]
    fn old_keys_are_forgotten_and_used_ones_are_not() {
        let mut generations = Generations::default();
        note(&mut generations, "used", put(u64::MAX));
        for time in 0..10_000 {
            note(&mut generations, &format!("k/{time}"), put(time));
            if time % 100 == 0 {
                note(&mut generations, "used", put(time));
            }
            let kept = generations.recent.len() + generations.older.len();
            assert!(kept <= ACKNOWLEDGED_KEYS_MAX);
        }
        assert_eq!(
            generations.find("used"),
            Some(put(u64::MAX)),
            "no older sample takes its place"
        );
        assert_eq!(generations.find("k/0"), None);
        let half = ACKNOWLEDGED_KEYS_MAX as u64 / 2 - 1;
        assert!(
            (10_000 - half..10_000)
                .all(|time| { generations.find(&format!("k/{time}")) == Some(put(time)) })
        );
    }
}
