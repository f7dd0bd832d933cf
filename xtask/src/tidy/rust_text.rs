//! Tells the code of a Rust file from its comments, without parsing it.

/// A source text twice, with the same lines and columns: where one shows a character, the other shows a blank.
pub(super) struct RustText {
    /// The code, with the content of strings and character literals blanked.
    pub(super) code: String,
    /// The comments, documentation included.
    pub(super) comments: String,
}

impl RustText {
    pub(super) fn split(source: &str) -> Self {
        let mut text = Self { code: String::new(), comments: String::new() };
        let mut rest = source;
        let mut after_word = false;
        while let Some(character) = rest.chars().next() {
            let (len, kind) = match comment_len(rest) {
                Some(len) => (len, Kind::Comment),
                None => match literal_len(rest, after_word) {
                    Some(len) => (len, Kind::Literal),
                    None => (character.len_utf8(), Kind::Code),
                },
            };
            let (piece, tail) = rest.split_at(len);
            text.push(piece, kind);
            after_word = kind == Kind::Code && is_word(character);
            rest = tail;
        }
        text
    }

    fn push(&mut self, piece: &str, kind: Kind) {
        for character in piece.chars() {
            let blank = if character == '\n' { '\n' } else { ' ' };
            self.code.push(if kind == Kind::Code { character } else { blank });
            self.comments.push(if kind == Kind::Comment { character } else { blank });
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

pub(super) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The length of the comment that `text` starts with. A line comment ends before its newline, block comments nest.
fn comment_len(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if !text.starts_with("/*") {
        return None;
    }
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
        if depth == 0 {
            return Some(at);
        }
    }
    Some(text.len())
}

/// The length of the string, byte string, raw string or character literal that `text` starts with. `after_word` tells
/// that `text` continues an identifier, which makes a leading `r` or `b` part of that.
fn literal_len(text: &str, after_word: bool) -> Option<usize> {
    let prefix = if after_word {
        ""
    } else {
        ["br", "cr", "r", "b", "c"].into_iter().find(|p| text.starts_with(p)).unwrap_or("")
    };
    let body = &text[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = body.len() - body.trim_start_matches('#').len();
        let end = format!("\"{}", "#".repeat(hashes));
        let content = body[hashes..].strip_prefix('"')?;
        return Some(
            content.find(&end).map_or(text.len(), |at| prefix.len() + hashes + 1 + at + end.len()),
        );
    }
    let len = match body.chars().next()? {
        '"' => quoted_len(body, '"'),
        '\'' if is_character(body) => quoted_len(body, '\''),
        _ => return None,
    };
    Some(prefix.len() + len)
}

/// Tells `'a'` and `'\n'` from the lifetime `'a`.
fn is_character(text: &str) -> bool {
    let mut characters = text.chars().skip(1);
    match (characters.next(), characters.next()) {
        (Some('\\'), _) => true,
        (Some(_), second) => second == Some('\''),
        (None, _) => false,
    }
}

/// The length of a literal between two `quote`s, where a backslash escapes.
fn quoted_len(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if character == quote {
            return at + 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code with runs of blanks made one.
    fn code(source: &str) -> String {
        RustText::split(source).code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_are_not_code() {
        assert_eq!(code("a // b\nc /* d /* e */ f */ g"), "a c g");
        assert_eq!(code("a /* never closed"), "a");
        let text = RustText::split("x(); // why\n/// Doc é.\n");
        assert_eq!(text.comments, "     // why\n/// Doc é.\n");
        assert_eq!(text.code, "x();       \n          \n");
    }

    #[test]
    fn what_strings_say_is_not_code() {
        assert_eq!(code(r#"f("todo!() // \" no", b"x", c"y") // c"#), "f( , , )");
        assert_eq!(code(r##"f(r#"unsafe " {"#, br"\", bar"z") + r#try"##), "f( , , bar ) + r#try");
        assert_eq!(code(r#"let s = "a // b"; g()"#), "let s = ; g()");
    }

    #[test]
    fn characters_are_not_lifetimes() {
        assert_eq!(code(r#"f('"', '\'', b'"', 'é', '{')"#), "f( , , , , )");
        assert_eq!(
            code("fn f<'a>(x: &'a str) -> &'static u8"),
            "fn f<'a>(x: &'a str) -> &'static u8"
        );
    }
}
