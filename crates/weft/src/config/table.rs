//! The one definition of every configuration key: path, type, default, meaning, and whether Weft acts on it.
//!
//! Validation, effective values, `print_config`, the list of keys and the suggestions for unknown keys all come from here.
//! Spec: 03 §10. Keys are grouped by their prefixes; no key is the beginning of another.

mod keys;

use super::kind::Kind;

pub(super) use keys::KEYS;

/// One configuration key.
#[derive(Debug)]
#[non_exhaustive]
pub struct Key {
    /// Members from the root, separated by `/`.
    pub path: &'static str,
    /// Its meaning, in one line.
    pub doc: &'static str,
    /// Whether Weft acts on it.
    pub status: Status,
    pub(super) kind: Kind,
    pub(super) scope: Scope,
    pub(super) default: Defaults,
}

impl Key {
    /// What values it takes, in words.
    pub fn expected(&self) -> String {
        self.kind.to_string()
    }

    /// Its default as JSON5, for a node of this mode; `null` where there is none.
    pub fn default_for(&self, mode: weft_wire::WhatAmI) -> &'static str {
        match self.default {
            Defaults::Same(text) => text,
            Defaults::PerMode(texts) => texts[usize::from(mode.code())],
        }
    }

    /// Whether its value is never displayed.
    pub const fn is_secret(&self) -> bool {
        matches!(self.kind, Kind::Secret)
    }
}

/// What setting a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// Weft acts on it.
    Acted,
    /// The reference knows it, and Weft accepts it, but it has no effect yet.
    Known,
}

/// What one value of a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The node.
    Node,
    /// One value for all modes, or an object with a value for some.
    PerMode,
    /// As `PerMode`, and each of those may be one value for all targets, or an object with a value for some.
    PerModeAndTarget,
}

/// Default values, as JSON5.
#[derive(Clone, Copy, Debug)]
pub(super) enum Defaults {
    Same(&'static str),
    /// For router, peer and client.
    PerMode([&'static str; 3]),
}

/// A key that Weft acts on.
const fn acted(path: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key {
        path,
        doc,
        status: Status::Acted,
        kind,
        scope: Scope::Node,
        default: Defaults::Same(default),
    }
}

/// A key that has no effect yet.
const fn known(path: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key { status: Status::Known, ..acted(path, kind, default, doc) }
}

/// A key that Weft acts on and whose default depends on the mode: router, peer, client.
const fn by_mode(
    path: &'static str,
    kind: Kind,
    defaults: [&'static str; 3],
    doc: &'static str,
) -> Key {
    let default = Defaults::PerMode(defaults);
    Key { default, ..acted(path, kind, "", doc) }.per_mode()
}

impl Key {
    /// Values may differ by mode.
    const fn per_mode(self) -> Self {
        let scope = Scope::PerMode;
        Self { scope, ..self }
    }

    /// Values may differ by mode and by the mode of the other node.
    const fn per_target(self) -> Self {
        let scope = Scope::PerModeAndTarget;
        Self { scope, ..self }
    }
}
