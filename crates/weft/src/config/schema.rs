//! From paths to keys of the table, and checks of whole values.

use super::kind::{Kind, Misfit};
use super::table::{KEYS, Key, Scope};
use crate::value::Value;

pub(super) const MODES: &[&str] = &["router", "peer", "client"];
pub(super) const TARGETS: &[&str] = &["to_router", "to_peer", "to_client"];

/// What a path leads to.
pub(super) enum Place<'p> {
    /// A key, or something within its value.
    Key(&'static Key, Vec<&'p str>),
    /// The common beginning of several keys; the empty path is that of all.
    Branch,
    Unknown,
}

pub(super) fn find(path: &str) -> Place<'_> {
    for key in KEYS {
        if path == key.path {
            return Place::Key(key, Vec::new());
        }
        if let Some(rest) = below(path, key.path) {
            let within: Vec<_> = rest.split('/').collect();
            return if accepts(key, &within) { Place::Key(key, within) } else { Place::Unknown };
        }
    }
    match keys_below(path).next() {
        Some(_) => Place::Branch,
        None => Place::Unknown,
    }
}

/// The keys whose paths start with `branch`.
pub(super) fn keys_below(branch: &str) -> impl Iterator<Item = &'static Key> {
    let is_root = branch.is_empty();
    KEYS.iter().filter(move |key| is_root || below(key.path, branch).is_some())
}

/// What follows `branch/` in `path`.
pub(super) fn below<'p>(path: &'p str, branch: &str) -> Option<&'p str> {
    path.strip_prefix(branch)?.strip_prefix('/')
}

/// The path of a member of `branch`, which is empty for the root.
pub(super) fn join(branch: &str, name: &str) -> String {
    match branch {
        "" => name.to_owned(),
        _ => format!("{branch}/{name}"),
    }
}

/// The names that may stand in an object around the values of a key, from the outside in.
pub(super) fn levels(scope: Scope) -> &'static [&'static [&'static str]] {
    match scope {
        Scope::Node => &[],
        Scope::PerMode => &[MODES],
        Scope::PerModeAndTarget => &[MODES, TARGETS],
    }
}

/// Checks the value of a key; null always fits.
pub(super) fn check(key: &Key, value: &Value) -> Result<(), Misfit> {
    check_at(key.kind, levels(key.scope), value)
}

/// Whether there can be something at `within` in the value of a key.
fn accepts(key: &Key, within: &[&str]) -> bool {
    let levels = levels(key.scope);
    let named = |(name, level): (&&str, &&[&str])| level.contains(name);
    key.kind.is_open() || (within.len() <= levels.len() && within.iter().zip(levels).all(named))
}

fn check_at(kind: Kind, levels: &[&'static [&'static str]], value: &Value) -> Result<(), Misfit> {
    let Some((names, inner)) = levels.split_first() else {
        return match value {
            Value::Null => Ok(()),
            _ => kind.check(value),
        };
    };
    let Value::Map(members) = value else {
        return check_at(kind, &[], value);
    };
    let names_of =
        |(key, _): &(Value, Value)| key.as_text().is_some_and(|name| names.contains(&name));
    if !inner.is_empty() && !members.iter().any(names_of) {
        // The outer level may be left out.
        return check_at(kind, inner, value);
    }
    for (key, value) in members {
        let name = key.as_text().unwrap_or_default();
        if !names.contains(&name) {
            return Err(Misfit::unknown_member(name, names));
        }
        check_at(kind, inner, value).map_err(|misfit| misfit.within(name))?;
    }
    Ok(())
}

/// The path that is closest to `path` among all keys, their branches, and `siblings` of its last part.
pub(super) fn nearest(path: &str, siblings: &[&str]) -> String {
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let mut known: Vec<String> = siblings.iter().map(|name| join(parent, name)).collect();
    if known.is_empty() {
        // A path that only lacks its beginning is closer than any spelling.
        let tail = format!("/{path}");
        if let Some(key) = KEYS.iter().find(|key| key.path.ends_with(&tail)) {
            return key.path.to_owned();
        }
        for key in KEYS {
            let ends = key.path.match_indices('/').map(|(at, _)| at);
            known.extend(ends.chain([key.path.len()]).map(|end| key.path[..end].to_owned()));
        }
    }
    let distances = known.into_iter().map(|known| (distance(path, &known), known));
    // The first of equals, which is the outermost.
    let nearest = distances.min_by_key(|(distance, _)| *distance);
    nearest.map(|(_, known)| known).unwrap_or_default()
}

/// Levenshtein distance: insertions, deletions and replacements of characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, b) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_edits() {
        for (a, b, edits) in
            [("", "abc", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("é", "e", 1)]
        {
            assert_eq!((distance(a, b), distance(b, a)), (edits, edits), "{a} {b}");
        }
    }

    #[test]
    fn the_nearest_path_is_a_key_or_a_branch() {
        assert_eq!(nearest("listen/endpoint", &[]), "listen/endpoints");
        assert_eq!(nearest("scoutin", &[]), "scouting");
        assert_eq!(nearest("scouting/multicast/enable", &[]), "scouting/multicast/enabled");
        assert_eq!(nearest("multicast/enabled", &[]), "scouting/multicast/enabled");
        assert_eq!(nearest("transport/link/tx/leese", &[]), "transport/link/tx/lease");
        assert_eq!(nearest("listen/endpoints/pier", MODES), "listen/endpoints/peer");
    }
}
