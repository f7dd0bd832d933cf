//! How the two expressions travel in the parameters of a selector.
//!
//! Spec: 04 §12.1. Only these two parameters are percent-decoded, once, after a pair of quotes around them is removed.

use std::borrow::Cow;
use std::fmt::Write;

use super::error::{SelectError, SelectErrorKind};

/// The decoded value of the parameter `name`, or `None` if it does not occur.
pub(super) fn find(parameters: &str, name: &'static str) -> Result<Option<String>, SelectError> {
    let entries = parameters.trim_end_matches([';', '=', '|']).split(';');
    let mut values = entries.filter_map(|entry| {
        let (key, value) = entry.split_once('=').unwrap_or((entry, ""));
        (key == name).then_some(value)
    });
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let error = |kind, offset, message: &str| {
        SelectError::new(kind, name, value, offset, message.to_owned())
    };
    if values.next().is_some() {
        let message = "the parameter occurs more than once";
        return Err(error(SelectErrorKind::DuplicateArgument, 0, message));
    }
    let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let inner = quoted.unwrap_or(value);
    if inner.is_empty() {
        let message = "the parameter has no value";
        return Err(error(SelectErrorKind::EmptyArgument, 0, message));
    }
    let decoded = percent_decode(inner).map_err(|(offset, message)| {
        SelectError::new(SelectErrorKind::BadEscape, name, inner, offset, message.to_owned())
    })?;
    Ok(Some(decoded))
}

/// Writes an expression so that it survives as the value of a `_filter` or `_project` parameter.
///
/// Escapes `;` and `%`, what the parameter code would trim from the end, and quotes that would be taken as a pair.
///
/// ```
/// use weft::select::escape_argument;
///
/// assert_eq!(escape_argument("name=='a;b'"), "name=='a%3Bb'");
/// assert_eq!(escape_argument("temp>25"), "temp>25");
/// ```
pub fn escape_argument(expression: &str) -> Cow<'_, str> {
    let trimmed = expression.trim_end_matches([';', '=', '|']).len();
    let quoted = expression.starts_with('"') && expression.ends_with('"');
    let escaped =
        |at: usize, c: char| matches!(c, ';' | '%') || at >= trimmed || (quoted && at == 0);
    if !expression.char_indices().any(|(at, c)| escaped(at, c)) {
        return Cow::Borrowed(expression);
    }
    let mut out = String::with_capacity(expression.len() + 8);
    for (at, c) in expression.char_indices() {
        if escaped(at, c) {
            // Only ASCII characters are escaped, so the code is the byte. Writing to a string cannot fail.
            let _ = write!(out, "%{:02X}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Replaces `%xx`; on failure the offset and what is wrong there.
fn percent_decode(text: &str) -> Result<String, (usize, &'static str)> {
    let digit = |at: usize| {
        let byte = text.as_bytes().get(at)?;
        char::from(*byte).to_digit(16)
    };
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        if *byte != b'%' {
            out.push(*byte);
            at += 1;
            continue;
        }
        let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2)) else {
            return Err((at, "`%` must be followed by two hexadecimal digits"));
        };
        out.push((high << 4 | low) as u8);
        at += 3;
    }
    String::from_utf8(out).map_err(|error| {
        let decoded = error.utf8_error().valid_up_to();
        (encoded_offset(text, decoded), "the escapes are not UTF-8")
    })
}

/// The place in `text` of the byte that is number `decoded` after percent-decoding.
fn encoded_offset(text: &str, decoded: usize) -> usize {
    let mut at = 0;
    for _ in 0..decoded {
        at += if text.as_bytes()[at] == b'%' { 3 } else { 1 };
    }
    at
}
