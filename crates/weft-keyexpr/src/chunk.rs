//! One chunk against another: text, `*`, `$*` patterns and verbatim chunks.
//!
//! `**` is not a matter of single chunks and never reaches the relations here, except as the right
//! side of [`includes`]. Spec: 04 §5.1, §5.2.

/// What a chunk denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkKind {
    /// Text without wildcards that does not start with `@`.
    Literal,
    /// Text that starts with `@`: a `$*` in it has no effect.
    Verbatim,
    /// Text with at least one `$*`.
    Pattern,
    /// `*`
    Star,
    /// `**`
    DoubleStar,
}

impl ChunkKind {
    pub(crate) fn of(chunk: &str) -> Self {
        match chunk.as_bytes() {
            b"*" => Self::Star,
            b"**" => Self::DoubleStar,
            [b'@', ..] => Self::Verbatim,
            _ if first_dollar(chunk).is_some() => Self::Pattern,
            _ => Self::Literal,
        }
    }
}

/// Only an identical chunk matches a verbatim chunk.
pub(crate) fn is_verbatim(chunk: &str) -> bool {
    chunk.as_bytes().first() == Some(&b'@')
}

/// Whether some chunk matches both.
///
/// Cost: linear in the lengths; no allocation.
pub(crate) fn intersects(a: &str, b: &str) -> bool {
    debug_assert!(a != "**" && b != "**");
    if a == b {
        return true;
    }
    if ends_differ(a, b) || is_verbatim(a) || is_verbatim(b) {
        return false;
    }
    if a == "*" || b == "*" {
        return true;
    }
    match (first_dollar(a), first_dollar(b)) {
        (None, None) => false,
        (Some(_), None) => covers(a, b),
        (None, Some(_)) => covers(b, a),
        (Some(head_a), Some(head_b)) => ends_agree(a, head_a, b, head_b),
    }
}

/// Whether every chunk that matches `b` matches `a`. `b` may be `**`, which no single chunk
/// includes.
///
/// A `$*` in `b` is opaque text that only a `$*` in `a` covers.
/// Cost: linear in the lengths; no allocation.
pub(crate) fn includes(a: &str, b: &str) -> bool {
    debug_assert!(a != "**");
    if a == b {
        return true;
    }
    if ends_differ(a, b) || is_verbatim(a) || is_verbatim(b) || b == "**" {
        return false;
    }
    // A literal of `a` contains neither `$` nor `*`, so it cannot match the text of a wildcard of
    // `b`.
    a == "*" || (first_dollar(a).is_some() && covers(a, b))
}

/// Whether both chunks start, or both end, with a literal byte, and not with the same. Rejects most
/// pairs.
fn ends_differ(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let (first_a, first_b, last_a, last_b) = (a[0], b[0], a[a.len() - 1], b[b.len() - 1]);
    let is_wild = |byte| byte == b'$' || byte == b'*';
    (first_a != first_b && !is_wild(first_a) && !is_wild(first_b))
        || (last_a != last_b && last_a != b'*' && last_b != b'*')
}

/// A plain loop: chunks are short.
fn first_dollar(chunk: &str) -> Option<usize> {
    chunk.bytes().position(|byte| byte == b'$')
}

/// Whether `text`, taken literally, matches `pattern`, which has at least one `$*`.
///
/// Leftmost placement of each literal is enough: what follows a `$*` only gains from an earlier
/// start.
fn covers(pattern: &str, text: &str) -> bool {
    let Some((head, mut pattern)) = split_at_dollar_star(pattern) else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    while let Some((literal, rest)) = split_at_dollar_star(pattern) {
        let Some(index) = text.find(literal) else { return false };
        text = &text[index + literal.len()..];
        pattern = rest;
    }
    text.ends_with(pattern)
}

fn split_at_dollar_star(pattern: &str) -> Option<(&str, &str)> {
    let dollar = first_dollar(pattern)?;
    Some((&pattern[..dollar], &pattern[dollar + 2..]))
}

/// Whether two patterns, with a `$*` each, have compatible beginnings and compatible ends.
///
/// Then they have a common text: whatever one demands in its middle, a `$*` of the other absorbs.
fn ends_agree(a: &str, head_a: usize, b: &str, head_b: usize) -> bool {
    let (head_a, head_b) = (&a[..head_a], &b[..head_b]);
    let tail = |pattern: &str| pattern.rfind('*').map_or(0, |star| star + 1);
    let (tail_a, tail_b) = (&a[tail(a)..], &b[tail(b)..]);
    (head_a.starts_with(head_b) || head_b.starts_with(head_a))
        && (tail_a.ends_with(tail_b) || tail_b.ends_with(tail_a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_text() {
        for (pattern, text, expected) in [
            ("a$*", "a", true),
            ("a$*a", "a", false),
            ("a$*a", "aa", true),
            ("$*ab$*", "xaby", true),
            ("a$*b$*c", "acb", false),
            ("a$*b$*c", "abbc", true),
            ("ab$*b", "ab", false),
            ("$*é", "aé", true),
            ("$*@a", "x@a", true),
            ("$*@a", "@a", false),
        ] {
            assert_eq!(intersects(pattern, text), expected, "{pattern} {text}");
            assert_eq!(intersects(text, pattern), expected, "{pattern} {text}");
            assert_eq!(includes(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn patterns_and_patterns() {
        assert!(intersects("a$*b", "ax$*yb"));
        assert!(intersects("$*a$*", "$*b$*"));
        assert!(!intersects("a$*b", "b$*a"));
        assert!(includes("a$*", "a$*b"));
        assert!(!includes("$*ab$*", "$*a$*b$*"));
        assert!(!includes("a$*", "*"));
        assert!(includes("*", "a$*"));
        assert!(!includes("*", "**"));
    }

    #[test]
    fn a_dollar_star_has_no_effect_in_a_verbatim_chunk() {
        assert!(intersects("@a$*", "@a$*"));
        assert!(!intersects("@a$*", "@ab"));
        assert!(!includes("@$*", "@a"));
    }
}
