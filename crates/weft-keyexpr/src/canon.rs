//! Validation and canonization of key expression text.
//!
//! Spec: 04 §2 (grammar and errors), §3 (canonization).

use crate::{KeyExprError, KeyExprErrorKind};
use alloc::borrow::Cow;
use alloc::string::String;

/// Accepts canonical key expressions only.
///
/// Cost: one pass for text without wildcards, two with; allocates only to report an error.
#[inline]
pub(crate) fn validate(text: &str) -> Result<(), KeyExprError> {
    if is_plain(text.as_bytes()) {
        Ok(())
    } else {
        check(text).map_err(|fault| refusal(text, fault))
    }
}

/// Rewrites `text` by the rules of canonization, then accepts it only if it is valid.
pub(crate) fn autocanonize(text: &str) -> Result<String, KeyExprError> {
    let canonical = canonize(text);
    match check(&canonical) {
        Ok(()) => Ok(canonical),
        Err(Fault { kind, offset }) => {
            Err(KeyExprError { kind, offset, text: canonical.into_boxed_str(), hint: None })
        }
    }
}

/// A broken rule and the byte where it breaks.
struct Fault {
    kind: KeyExprErrorKind,
    offset: usize,
}

#[cold]
fn refusal(text: &str, Fault { kind, offset }: Fault) -> KeyExprError {
    let hint = autocanonize(text).ok().map(String::into_boxed_str);
    KeyExprError { kind, offset, text: text.into(), hint }
}

/// Whether the text is valid and has neither wildcards nor anything that needs a closer look.
///
/// The loop has no early exit, so that it compiles to vector instructions.
#[allow(clippy::needless_bitwise_bool)] // `||` is an early exit
fn is_plain(text: &[u8]) -> bool {
    let [first, rest @ ..] = text else { return false };
    let is_special = |byte: u8| matches!(byte, b'*' | b'$' | b'#' | b'?');
    let mut special = is_special(*first) | (*first == b'/');
    for (&before, &byte) in text.iter().zip(rest) {
        special |= is_special(byte) | ((before == b'/') & (byte == b'/'));
    }
    !special & (text[text.len() - 1] != b'/')
}

/// The strict check, from left to right.
fn check(text: &str) -> Result<(), Fault> {
    use KeyExprErrorKind::*;
    if text.is_empty() || text.ends_with('/') {
        return Err(Fault { kind: EmptyChunk, offset: text.len() });
    }
    let text = text.as_bytes();
    let (mut start, mut after_double_star) = (0, false);
    while start < text.len() {
        let end = check_chunk(text, start)?;
        let kind = match &text[start..end] {
            b"" => Some(EmptyChunk),
            b"$*" => Some(LoneDollarStar),
            b"*" if after_double_star => Some(SingleStarAfterDoubleStar),
            b"**" if after_double_star => Some(DoubleStarAfterDoubleStar),
            _ => None,
        };
        if let Some(kind) = kind {
            return Err(Fault { kind, offset: start });
        }
        after_double_star = &text[start..end] == b"**";
        start = end + 1;
    }
    Ok(())
}

/// Checks the bytes of the chunk at `start` by themselves, and returns its end.
fn check_chunk(text: &[u8], start: usize) -> Result<usize, Fault> {
    use KeyExprErrorKind::*;
    let mut index = start;
    while let Some(&byte) = text.get(index) {
        match byte {
            b'/' => break,
            b'$' => match text[index + 1..] {
                [b'*', b'$', ..] => {
                    return Err(Fault { kind: DollarAfterDollar, offset: index + 2 });
                }
                [b'*', ..] => index += 2,
                _ => return Err(Fault { kind: UnboundDollar, offset: index }),
            },
            b'*' => match text[index..] {
                [b'*'] | [b'*', b'/', ..] if index == start => index += 1,
                [b'*', b'*'] | [b'*', b'*', b'/', ..] if index == start => index += 2,
                _ => return Err(Fault { kind: StarInChunk, offset: index }),
            },
            b'#' | b'?' => return Err(Fault { kind: ForbiddenCharacter, offset: index }),
            _ => index += 1,
        }
    }
    Ok(index)
}

/// Collapses runs of `$*`, turns a lone `$*` into `*`, and moves every `**` behind the `*` chunks
/// next to it.
///
/// The result denotes the same keys and is never longer; it is still invalid if the text is beyond
/// repair.
pub(crate) fn canonize(text: &str) -> String {
    let mut canonical = String::with_capacity(text.len() + 1);
    let push = |canonical: &mut String, chunk: &str| {
        canonical.push_str(chunk);
        canonical.push('/');
    };
    let mut double_star_pending = false;
    for chunk in text.split('/') {
        let chunk = &*collapse_dollar_stars(chunk);
        match chunk {
            "**" => double_star_pending = true,
            "*" | "$*" => push(&mut canonical, "*"),
            _ => {
                if core::mem::take(&mut double_star_pending) {
                    push(&mut canonical, "**");
                }
                push(&mut canonical, chunk);
            }
        }
    }
    if double_star_pending {
        push(&mut canonical, "**");
    }
    canonical.pop();
    canonical
}

/// Every run of two or more `$*` becomes one.
fn collapse_dollar_stars(chunk: &str) -> Cow<'_, str> {
    if !chunk.contains("$*$*") {
        return chunk.into();
    }
    let mut collapsed = String::with_capacity(chunk.len());
    let mut rest = chunk;
    while let Some(index) = rest.find("$*$*") {
        let (before, run) = rest.split_at(index);
        collapsed.push_str(before);
        collapsed.push_str("$*");
        rest = run.trim_start_matches("$*");
    }
    (collapsed + rest).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyExprErrorKind::*;

    fn kind(text: &str) -> KeyExprErrorKind {
        validate(text).unwrap_err().kind
    }

    #[test]
    fn the_leftmost_problem_is_reported() {
        assert_eq!(kind("a#//b"), ForbiddenCharacter);
        assert_eq!(kind("a//b#"), EmptyChunk);
        assert_eq!(kind("a#/"), EmptyChunk);
        assert_eq!(kind("a/**/**b"), StarInChunk);
        assert_eq!(kind("$*$*/a*"), DollarAfterDollar);
        assert_eq!(validate("a/b$*$c").unwrap_err().offset, 5);
    }

    #[test]
    fn the_fast_path_agrees_with_the_full_check() {
        for text in [
            "",
            "/",
            "a",
            "a/b",
            "/a",
            "a/",
            "a//b",
            "é/ü",
            "a#",
            "?",
            "$",
            "a/*",
            "abcdefgh/ijklmnop//q",
        ] {
            let plain = is_plain(text.as_bytes());
            assert!(!plain || check(text).is_ok(), "{text}");
            assert_eq!(plain, check(text).is_ok() && !text.contains('*'), "{text}");
        }
    }

    #[test]
    fn the_hint_is_only_given_when_it_is_valid() {
        assert_eq!(validate("a/$*/**/*").unwrap_err().hint.as_deref(), Some("a/*/*/**"));
        assert_eq!(validate("a/$*/b#").unwrap_err().hint, None);
        assert_eq!(validate("$*$").unwrap_err().hint, None);
    }

    #[test]
    fn canonization_keeps_empty_chunks_and_their_error() {
        for text in ["", "/", "//", "a//b", "**//**", "/**/*"] {
            let error = autocanonize(text).unwrap_err();
            assert_eq!(error.kind, EmptyChunk, "{text}");
        }
        assert_eq!(canonize("**//*/**"), "**//*/**");
    }
}
