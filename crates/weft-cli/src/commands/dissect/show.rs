//! Which records are shown, and where.

use weft::{Ke, KeyExpr};

use super::record::{Kind, Place, Record};
use crate::ending::Ending;
use crate::output::Output;

/// Filters and counts records, and writes them.
pub(super) struct Show {
    pub(super) output: Output,
    pub(super) ending: Ending,
    /// Those that are wanted; all if there are none.
    pub(super) kinds: Vec<Kind>,
    /// Key expressions of which one has to intersect; all if there are none.
    pub(super) keys: Vec<KeyExpr>,
    pub(super) totals: Totals,
}

/// What went by, shown or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) messages: u64,
    pub(super) errors: u64,
}

impl Show {
    pub(super) fn record(&mut self, place: &Place, record: &Record) {
        match record.kind {
            Kind::Error => self.totals.errors += 1,
            Kind::Note => {}
            _ => self.totals.messages += 1,
        }
        if is_wanted(record, &self.kinds, &self.keys) {
            let (line, json) = (|| record.line(place), || record.json(place));
            self.ending.counted(|| self.output.result(line, json));
        }
    }
}

/// Costs of the keys: the product of the lengths of a wanted one, which its user wrote, and the one of the message.
fn is_wanted(record: &Record, kinds: &[Kind], keys: &[KeyExpr]) -> bool {
    let has_kind = kinds.is_empty() || kinds.contains(&record.kind);
    let key = || record.key.as_deref().and_then(|key| Ke::new(key).ok());
    let intersects = |key: Ke<'_>| keys.iter().any(|wanted| wanted.as_ke().intersects(key));
    has_kind && (keys.is_empty() || key().is_some_and(intersects))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_to_be_of_the_kind_and_of_the_key() {
        let record = Record::new(Kind::Push, "push").keyed("a/b".into());
        let keys: Vec<KeyExpr> = vec![KeyExpr::new("x").unwrap(), KeyExpr::new("a/*").unwrap()];
        assert!(is_wanted(&record, &[], &[]));
        assert!(is_wanted(&record, &[Kind::Note, Kind::Push], &keys));
        assert!(!is_wanted(&record, &[Kind::Note], &keys));
        assert!(!is_wanted(&record, &[], &keys[..1]));
        let unknown = Record::new(Kind::Push, "push").keyed("<id 3>//".into());
        assert!(!is_wanted(&unknown, &[], &keys) && is_wanted(&unknown, &[], &[]));
        assert!(!is_wanted(&Record::note("a".into()), &[], &keys));
    }
}
