//! Key expressions as numbers: the two id tables of a face.
//!
//! Spec: 02 §2. Ids are allocated by whoever declares them; both sides may use an id once it was
//! declared. The *rx* table holds what the neighbour declared, the *tx* table what this node did.

use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;
use weft_keyexpr::KeyExpr;
use weft_wire::{Mapping, WireExpr};

use crate::limits::Limits;

/// A key expression as one neighbour writes it: an id it knows and the rest of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteExpr {
    key: KeyExpr,
    scope: u16,
    mapping: Mapping,
    suffix_start: usize,
}

impl RouteExpr {
    /// The whole expression as text, for a neighbour that knows no id for it.
    pub const fn full(key: KeyExpr) -> Self {
        Self { key, scope: 0, mapping: Mapping::Sender, suffix_start: 0 }
    }

    /// The form that goes into a message.
    #[inline]
    pub fn as_wire(&self) -> WireExpr<'_> {
        WireExpr {
            scope: self.scope,
            mapping: self.mapping,
            suffix: &self.key.as_str()[self.suffix_start..],
        }
    }

    /// The key expression it stands for.
    pub const fn key(&self) -> &KeyExpr {
        &self.key
    }
}

/// A wire expression that stands for no key expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResolveError {
    /// The id was never declared, or was undeclared.
    UnknownScope {
        /// The id.
        scope: u16,
        /// Whose table.
        mapping: Mapping,
    },
    /// Id and suffix together are no canonical key expression.
    NotCanonical,
    /// Longer than the node accepts.
    TooLong {
        /// The limit in bytes.
        max: usize,
    },
    /// With wildcards, and made of more chunks than the node accepts.
    TooManyChunks {
        /// The limit.
        max: usize,
    },
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownScope { scope, mapping } => {
                write!(f, "expression id {scope} ({mapping:?}) is not declared")
            }
            Self::NotCanonical => f.write_str("not a canonical key expression"),
            Self::TooLong { max } => write!(f, "key expression longer than {max} bytes"),
            Self::TooManyChunks { max } => {
                write!(f, "wildcards in a key expression of more than {max} chunks")
            }
        }
    }
}

impl core::error::Error for ResolveError {}

#[derive(Clone, Debug, Default)]
struct ExprTable {
    by_id: BTreeMap<u16, KeyExpr>,
    by_key: BTreeMap<KeyExpr, u16>,
}

impl ExprTable {
    fn insert(&mut self, id: u16, key: KeyExpr) {
        self.by_key.entry(key.clone()).or_insert(id);
        self.by_id.insert(id, key);
    }

    fn remove(&mut self, id: u16) -> Option<KeyExpr> {
        let key = self.by_id.remove(&id)?;
        if self.by_key.get(key.as_str()) == Some(&id) {
            self.by_key.remove(key.as_str());
        }
        Some(key)
    }
}

/// Bytes of all expressions together to which this node gives a number at one neighbour. Others
/// declare what is named, and an id is never freed.
const TX_TEXT_LEN_MAX: usize = 16 << 20;

/// The expression ids of one face, in both directions.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExprTables {
    rx: ExprTable,
    tx: ExprTable,
    tx_last: u16,
    /// Bytes of the expressions in `tx`.
    tx_text_len: usize,
}

impl ExprTables {
    /// Records what the neighbour declared. An id in use for another expression stays as it is
    /// (02 §2 rule 3); the result says whether the table changed.
    pub(crate) fn declared(&mut self, id: u16, key: KeyExpr) -> bool {
        if id == 0 || self.rx.by_id.contains_key(&id) {
            return false;
        }
        self.rx.insert(id, key);
        true
    }

    /// Frees an id of the neighbour; returns what it stood for.
    pub(crate) fn undeclared(&mut self, id: u16) -> Option<KeyExpr> {
        self.rx.remove(id)
    }

    /// Allocates an id of this node for `key`, one that the neighbour does not use either
    /// (02 §2 rule 2); `None` when all are taken, or together too long.
    pub(crate) fn allocate(&mut self, key: &KeyExpr) -> Option<u16> {
        let tx_text_len = self.tx_text_len + key.as_str().len();
        if tx_text_len > TX_TEXT_LEN_MAX {
            return None;
        }
        let mut id = self.tx_last.checked_add(1)?;
        while self.rx.by_id.contains_key(&id) {
            id = id.checked_add(1)?;
        }
        (self.tx_last, self.tx_text_len) = (id, tx_text_len);
        self.tx.insert(id, key.clone());
        Some(id)
    }

    /// Ids that this node has allocated.
    pub(crate) fn allocated(&self) -> usize {
        self.tx.by_id.len()
    }

    /// Ids in both tables.
    pub(crate) fn len(&self) -> usize {
        self.rx.by_id.len() + self.tx.by_id.len()
    }

    /// Whether either side has an id for exactly `text`.
    pub(crate) fn knows(&self, text: &str) -> bool {
        self.id_of(text).is_some()
    }

    fn id_of(&self, text: &str) -> Option<(u16, Mapping)> {
        let rx = self.rx.by_key.get(text).map(|id| (*id, Mapping::Receiver));
        rx.or_else(|| self.tx.by_key.get(text).map(|id| (*id, Mapping::Sender)))
    }

    /// `key` by the longest prefix that has an id, the neighbour's ids first.
    pub(crate) fn best(&self, key: &KeyExpr) -> RouteExpr {
        let text = key.as_str();
        let mut end = text.len();
        loop {
            if let Some((scope, mapping)) = self.id_of(&text[..end]) {
                return RouteExpr { key: key.clone(), scope, mapping, suffix_start: end };
            }
            match text[..end].rfind('/') {
                Some(slash) => end = slash,
                None => return RouteExpr::full(key.clone()),
            }
        }
    }

    /// The key expression that a received wire expression stands for.
    pub(crate) fn resolve(
        &self,
        expr: WireExpr<'_>,
        limits: &Limits,
    ) -> Result<KeyExpr, ResolveError> {
        let prefix = if expr.scope == 0 {
            None
        } else {
            let table = match expr.mapping {
                Mapping::Sender => &self.rx,
                Mapping::Receiver => &self.tx,
            };
            let key = table
                .by_id
                .get(&expr.scope)
                .ok_or(ResolveError::UnknownScope { scope: expr.scope, mapping: expr.mapping })?;
            if expr.suffix.is_empty() {
                return Ok(key.clone());
            }
            Some(key)
        };
        let start = prefix.map_or("", KeyExpr::as_str);
        let len = start.len() + expr.suffix.len();
        if len > limits.key_expr_len_max {
            return Err(ResolveError::TooLong { max: limits.key_expr_len_max });
        }
        // Only wildcards on both sides make a comparison dear: literals may be as deep as they like.
        let wild = start.contains('*') || expr.suffix.contains('*');
        if wild && slash_count(start) + slash_count(expr.suffix) >= limits.key_expr_chunks_max {
            return Err(ResolveError::TooManyChunks { max: limits.key_expr_chunks_max });
        }
        let key = match prefix {
            None => KeyExpr::new(expr.suffix),
            Some(_) => {
                let mut text = String::with_capacity(len);
                text.push_str(start);
                text.push_str(expr.suffix);
                KeyExpr::new(text)
            }
        };
        key.map_err(|_| ResolveError::NotCanonical)
    }
}

/// One less than the chunks of a key expression.
fn slash_count(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'/').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::vec::Vec;

    fn key(text: &str) -> KeyExpr {
        KeyExpr::new(text).unwrap()
    }

    fn wire(scope: u16, mapping: Mapping, suffix: &str) -> WireExpr<'_> {
        WireExpr { scope, mapping, suffix }
    }

    #[test]
    fn the_longest_known_prefix_is_used_and_resolves_back() {
        let mut ours = ExprTables::default();
        let mut theirs = ExprTables::default();
        let id = ours.allocate(&key("demo/s")).unwrap();
        theirs.declared(id, key("demo/s"));
        theirs.declared(9, key("unrelated"));

        let expr = ours.best(&key("demo/s/a/b"));
        assert_eq!(expr.as_wire(), wire(1, Mapping::Sender, "/a/b"));
        assert_eq!(theirs.resolve(expr.as_wire(), &Limits::default()), Ok(key("demo/s/a/b")));

        let back = theirs.best(&key("demo/s"));
        assert_eq!(back.as_wire(), wire(1, Mapping::Receiver, ""));
        assert_eq!(ours.resolve(back.as_wire(), &Limits::default()), Ok(key("demo/s")));
    }

    #[test]
    fn unknown_ids_bad_text_and_long_text_are_refused() {
        let tables = ExprTables::default();
        assert_eq!(
            tables.resolve(wire(3, Mapping::Sender, "/a"), &Limits::default()),
            Err(ResolveError::UnknownScope { scope: 3, mapping: Mapping::Sender })
        );
        assert_eq!(
            tables.resolve(wire(0, Mapping::Sender, "a//b"), &Limits::default()),
            Err(ResolveError::NotCanonical)
        );
        let short = Limits { key_expr_len_max: 4, ..Limits::default() };
        assert_eq!(
            tables.resolve(wire(0, Mapping::Sender, "a/b/c"), &short),
            Err(ResolveError::TooLong { max: 4 })
        );
    }

    #[test]
    fn the_chunks_of_id_and_suffix_count_together() {
        let mut tables = ExprTables::default();
        tables.declared(1, key("a/**"));
        let flat = Limits { key_expr_chunks_max: 3, ..Limits::default() };
        assert_eq!(tables.resolve(wire(1, Mapping::Sender, "/b"), &flat), Ok(key("a/**/b")));
        let refused = Err(ResolveError::TooManyChunks { max: 3 });
        assert_eq!(tables.resolve(wire(1, Mapping::Sender, "/b/c"), &flat), refused);
        assert_eq!(tables.resolve(wire(0, Mapping::Sender, "**/a/**/a"), &flat), refused);
        assert_eq!(tables.resolve(wire(0, Mapping::Sender, "a/b/c/d"), &flat), Ok(key("a/b/c/d")));
    }

    #[test]
    fn the_first_declaration_of_an_id_stays() {
        let mut tables = ExprTables::default();
        assert!(tables.declared(1, key("a")));
        assert!(!tables.declared(1, key("b")));
        assert_eq!(tables.resolve(wire(1, Mapping::Sender, ""), &Limits::default()), Ok(key("a")));
        assert_eq!(tables.undeclared(1), Some(key("a")));
        assert!(tables.resolve(wire(1, Mapping::Sender, ""), &Limits::default()).is_err());
    }

    #[test]
    fn ids_of_both_sides_differ_and_run_out_without_harm() {
        let mut tables = ExprTables::default();
        tables.declared(2, key("theirs"));
        let ids: Vec<u16> =
            (0..).map_while(|i| tables.allocate(&key(&format!("ours/{i}")))).collect();
        assert_eq!(ids.len(), 65_534);
        assert_eq!(ids[..3], [1, 3, 4]);
        assert_eq!(tables.best(&key("ours/late")).as_wire(), wire(0, Mapping::Sender, "ours/late"));
        assert_eq!(tables.best(&key("ours/7/x")).as_wire(), wire(9, Mapping::Sender, "/x"));
    }

    /// Neighbours cause most allocations, and nothing ever frees an id.
    #[test]
    fn long_expressions_run_out_of_room_before_they_run_out_of_ids() {
        let mut tables = ExprTables::default();
        let long = "x".repeat(60_000);
        let count = (0..).map_while(|i| tables.allocate(&key(&format!("{long}/{i}")))).count();
        assert!((1..=TX_TEXT_LEN_MAX / 60_000).contains(&count), "{count} of 60 kB each");
        assert!(tables.allocate(&key("short")).is_some(), "what fits still gets one");
    }
}
