//! Relations between lists of chunks, and removal of a namespace.
//!
//! A list is a `/`-separated text; the empty text is the empty list. Lists need not be canonical.
//! Spec: 04 §5.1, §5.2, §8.
//!
//! Nothing here recurses or allocates. Two facts keep the time low:
//! - A `**` never absorbs a verbatim chunk, and only its twin matches one, so the verbatim chunks of
//!   two intersecting lists pair up in order and cut both into segments that are judged one by one.
//! - Two segments that both have a `**` intersect if their ends do: each middle fits into a `**` of
//!   the other.

use crate::chunk;

/// Whether the two lists denote a common key.
///
/// Cost: linear in the lengths, except that a block of chunks between two `**` is tried at each
/// place where it may start; at most the product of the two numbers of chunks.
pub(crate) fn intersects(mut a: &str, mut b: &str) -> bool {
    if a == b {
        return true;
    }
    if !has_star(a) && !has_star(b) {
        return false;
    }
    loop {
        if a.is_empty() || b.is_empty() {
            return denotes_nothing(a) && denotes_nothing(b);
        }
        let ((chunk_a, rest_a), (chunk_b, rest_b)) = (split_first(a), split_first(b));
        if chunk_a == "**" || chunk_b == "**" {
            break;
        }
        if !chunk::intersects(chunk_a, chunk_b) {
            return false;
        }
        (a, b) = (rest_a, rest_b);
    }
    places_either(a, b, segments_intersect)
}

/// Whether every key that `b` denotes is denoted by `a`.
///
/// Cost: as [`intersects`].
pub(crate) fn includes(a: &str, b: &str) -> bool {
    a == b || (has_star(a) && places(a, b, chunk::includes))
}

/// What remains of `list` when `namespace`, a list without wildcards, is taken from its front.
///
/// A `**` that absorbs the end of the namespace is kept. `None` if `namespace` is no prefix, or is
/// all there is.
pub(crate) fn strip<'a>(mut list: &'a str, mut namespace: &str) -> Option<&'a str> {
    // Up to the namespace's last verbatim chunk, segments pair up.
    loop {
        let (before, verbatim, after) = split_at_verbatim(namespace);
        if verbatim.is_empty() {
            break;
        }
        let (list_before, list_verbatim, list_after) = split_at_verbatim(list);
        if list_verbatim != verbatim || !places(list_before, before, chunk::intersects) {
            return None;
        }
        (list, namespace) = (list_after, after);
    }
    // Behind it, the first `**` absorbs everything that is left of the namespace.
    while !namespace.is_empty() && !list.is_empty() {
        let ((chunk, list_rest), (name, namespace_rest)) =
            (split_first(list), split_first(namespace));
        if chunk == "**" {
            return Some(list);
        }
        if !chunk::intersects(chunk, name) {
            return None;
        }
        (list, namespace) = (list_rest, namespace_rest);
    }
    (namespace.is_empty() && !list.is_empty()).then_some(list)
}

/// The first chunk and the list behind it; both empty for the empty list.
#[inline]
pub(crate) fn split_first(list: &str) -> (&str, &str) {
    match list.bytes().position(|byte| byte == b'/') {
        Some(slash) => (&list[..slash], &list[slash + 1..]),
        None => (list, ""),
    }
}

/// Whether the empty list matches.
fn denotes_nothing(list: &str) -> bool {
    list.is_empty() || list.split('/').all(|chunk| chunk == "**")
}

/// [`intersects`], where a `**` of one list can be placed on the other unless both have one; then
/// `both` decides.
fn places_either(a: &str, b: &str, both: fn(&str, &str) -> bool) -> bool {
    match (has_double_star(a), has_double_star(b)) {
        (true, true) => both(a, b),
        (_, false) => places(a, b, chunk::intersects),
        (false, true) => places(b, a, chunk::intersects),
    }
}

/// [`intersects`], one pair of segments after the other.
fn segments_intersect(mut a: &str, mut b: &str) -> bool {
    loop {
        let (before_a, verbatim_a, after_a) = split_at_verbatim(a);
        let (before_b, verbatim_b, after_b) = split_at_verbatim(b);
        if verbatim_a != verbatim_b || !places_either(before_a, before_b, ends_intersect) {
            return false;
        }
        if verbatim_a.is_empty() {
            return true;
        }
        (a, b) = (after_a, after_b);
    }
}

/// The chunks before the first verbatim chunk, that chunk (empty if there is none), and the chunks
/// behind it.
fn split_at_verbatim(list: &str) -> (&str, &str, &str) {
    let mut start = 0;
    while let Some(at) = list[start..].find('@') {
        start += at;
        if start == 0 || list.as_bytes()[start - 1] == b'/' {
            let (verbatim, after) = split_first(&list[start..]);
            return (&list[..start.saturating_sub(1)], verbatim, after);
        }
        start += 1;
    }
    (list, "", "")
}

/// Whether there is any wildcard. Without early exit, so that it compiles to vector instructions.
#[inline]
#[allow(clippy::needless_bitwise_bool)] // `||` is an early exit
pub(crate) fn has_star(list: &str) -> bool {
    list.bytes().fold(false, |found, byte| found | (byte == b'*'))
}

/// In a valid chunk a `*` follows another one only in `**`.
fn has_double_star(list: &str) -> bool {
    list.as_bytes().windows(2).any(|pair| pair == b"**")
}

/// [`intersects`] for lists that both have a `**` and no verbatim chunk: whether the chunks before
/// the first `**` of either match, and likewise those behind the last.
fn ends_intersect(a: &str, b: &str) -> bool {
    let agree = |(chunk_a, chunk_b)| {
        if chunk_a == "**" || chunk_b == "**" {
            None
        } else {
            Some(chunk::intersects(chunk_a, chunk_b))
        }
    };
    let front = a.split('/').zip(b.split('/')).map_while(agree).all(|agreed| agreed);
    front && a.rsplit('/').zip(b.rsplit('/')).map_while(agree).all(|agreed| agreed)
}

/// Whether the chunks of `list` can be placed on `pattern`: each on one related chunk, or on a `**`
/// if not verbatim.
///
/// A `**` in `list` is a chunk like any other. Leftmost placement of each block between two `**` is
/// enough, so a mismatch only ever moves the latest block.
fn places(mut pattern: &str, mut list: &str, related: fn(&str, &str) -> bool) -> bool {
    let mut retry: Option<(&str, &str)> = None;
    loop {
        let (chunk, pattern_rest) = split_first(pattern);
        if chunk == "**" {
            if pattern_rest.is_empty() {
                return split_at_verbatim(list).1.is_empty();
            }
            pattern = pattern_rest;
            retry = Some((pattern, list));
            continue;
        }
        if list.is_empty() {
            return pattern.is_empty();
        }
        let (item, list_rest) = split_first(list);
        if !chunk.is_empty() && related(chunk, item) {
            (pattern, list) = (pattern_rest, list_rest);
            continue;
        }
        let Some((block, from)) = retry else { return false };
        let (absorbed, from) = split_first(from);
        if chunk::is_verbatim(absorbed) {
            return false;
        }
        (pattern, list) = (block, from);
        retry = Some((block, from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle;
    use crate::testing::Random;
    use alloc::format;

    #[test]
    fn relations_equal_their_definition() {
        let mut random = Random::new(1);
        for _ in 0..40_000 {
            let (a, b) = (random.key_expr(7), random.key_expr(7));
            let intersects_ab = intersects(&a, &b);
            assert_eq!(intersects_ab, oracle::intersects(&a, &b), "{a} {b}");
            assert_eq!(intersects_ab, intersects(&b, &a), "{a} {b}");
            assert_eq!(includes(&a, &b), oracle::includes(&a, &b), "{a} {b}");
        }
    }

    /// The chunks that are left over are the longest ones that complete the namespace to the list.
    #[test]
    fn strip_equals_its_definition() {
        let mut random = Random::new(2);
        let mut stripped_count = 0;
        for _ in 0..20_000 {
            let list = random.key_expr(6);
            let chunks = ["a", "b", "ab", "@a", "@b"];
            let namespace = format!("{}/{}", random.pick(&chunks), random.pick(&chunks));
            let starts =
                core::iter::once(0).chain(list.match_indices('/').map(|(slash, _)| slash + 1));
            let expected = starts.map(|start| &list[start..]).find(|remainder| {
                let taken = list.strip_suffix(remainder).unwrap().trim_end_matches('/');
                // A `**` in front of the remainder may also stand for the end of the namespace.
                let shared = if remainder.split('/').next() == Some("**") { "/**" } else { "" };
                let taken = format!("{taken}{shared}");
                oracle::intersects(taken.trim_start_matches('/'), &namespace)
            });
            assert_eq!(strip(&list, &namespace), expected, "{list} without {namespace}");
            stripped_count += usize::from(expected.is_some());
        }
        assert!(stripped_count > 1_000);
    }

    #[test]
    fn the_empty_list() {
        assert!(intersects("", "") && intersects("", "**") && intersects("**", ""));
        assert!(!intersects("", "*") && !intersects("*", "") && !intersects("**/@a", ""));
    }

    /// Each of these would never end if every way to place a wildcard were tried.
    #[test]
    fn ambiguous_patterns_end() {
        const COUNT: usize = 10_000;
        let keys = format!("{}b", "a/".repeat(COUNT));
        let pattern = format!("{}c", "**/a/".repeat(COUNT / 2));
        assert!(!intersects(&pattern, &keys) && !includes(&pattern, &keys));
        let pattern = format!("{}b", "**/a/".repeat(COUNT / 2));
        assert!(intersects(&pattern, &keys) && includes(&pattern, &keys));
        assert!(intersects(&pattern, &pattern[3..]));
        let (text, pattern) = (format!("{}b", "a".repeat(COUNT)), "a$*".repeat(COUNT / 2));
        for (last, expected) in [("c", false), ("b", true)] {
            let pattern = format!("{pattern}{last}");
            assert_eq!(intersects(&pattern, &text), expected);
            assert_eq!(includes(&pattern, &text), expected);
        }
        let pattern = format!("$*{}b$*", "a".repeat(COUNT / 2));
        assert!(!intersects(&pattern, &"a".repeat(COUNT)));
        // A block is tried at each place: quadratic in the number of chunks.
        let pattern = format!("**/{}b/**", "a/".repeat(COUNT / 2));
        assert!(!intersects(&pattern, &keys[..2 * COUNT - 1]));
    }
}
