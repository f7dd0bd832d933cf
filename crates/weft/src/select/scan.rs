//! A cursor over the text of an expression, with the tokens that filters and projections share.
//!
//! Offsets are bytes and always on a character boundary.

use super::error::{SelectError, SelectErrorKind};
use super::{EXPRESSION_LEN_MAX, NESTING_MAX, NODE_COUNT_MAX};
use crate::value::{Step, Value};

/// Reads tokens; blanks before a token are skipped.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    argument: &'static str,
    /// The kind of syntax errors.
    kind: SelectErrorKind,
    nodes: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(
        text: &'a str,
        argument: &'static str,
        kind: SelectErrorKind,
    ) -> Result<Self, SelectError> {
        let scanner = Self { text, at: 0, argument, kind, nodes: 0 };
        if text.len() > EXPRESSION_LEN_MAX {
            return Err(scanner.too_complex(format!("more than {EXPRESSION_LEN_MAX} bytes")));
        }
        Ok(scanner)
    }

    /// A syntax error at the next token.
    pub(super) fn error(&mut self, expected: &str) -> SelectError {
        self.skip_blanks();
        let message = match self.rest().chars().next() {
            Some(c) => format!("expected {expected}, found `{c}`"),
            None => format!("expected {expected}, found the end"),
        };
        self.error_here(message)
    }

    pub(super) fn too_complex(&self, message: String) -> SelectError {
        SelectError::new(SelectErrorKind::TooComplex, self.argument, self.text, self.at, message)
    }

    /// Counts one more part of the expression.
    pub(super) fn count_node(&mut self) -> Result<(), SelectError> {
        self.nodes += 1;
        if self.nodes > NODE_COUNT_MAX {
            return Err(self.too_complex(format!("more than {NODE_COUNT_MAX} parts")));
        }
        Ok(())
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.skip_blanks();
        self.rest().is_empty()
    }

    /// Consumes `token` if it is next.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    /// Consumes the whole word `word` if it is next.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let before = self.at;
        let found = self.name() == Some(word);
        if !found {
            self.at = before;
        }
        found
    }

    /// A letter or underscore, then letters, digits, `_` and `-`.
    pub(super) fn name(&mut self) -> Option<&'a str> {
        self.skip_blanks();
        let rest = self.rest();
        rest.starts_with(|c: char| c.is_alphabetic() || c == '_').then_some(())?;
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')));
        let name = &rest[..end.unwrap_or(rest.len())];
        self.at += name.len();
        Some(name)
    }

    /// Consumes the word `word` and the parenthesis after it if both are next.
    pub(super) fn eat_call(&mut self, word: &str) -> bool {
        let before = self.at;
        let found = self.eat_word(word) && self.eat("(");
        if !found {
            self.at = before;
        }
        found
    }

    /// A JSON number. Letters right after it make it something else.
    pub(super) fn number(&mut self) -> Option<Value> {
        let run = self.number_run();
        let number = Value::from_number(run)?;
        self.at += run.len();
        Some(number)
    }

    /// An integer without a plus sign.
    fn integer(&mut self) -> Option<i64> {
        let run = self.number_run();
        let integer = run.parse().ok().filter(|_| !run.starts_with('+'))?;
        self.at += run.len();
        Some(integer)
    }

    /// The longest run of characters that can be in a number or a word; not consumed.
    fn number_run(&mut self) -> &'a str {
        self.skip_blanks();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '+' | '-' | '.' | '_')));
        &rest[..end.unwrap_or(rest.len())]
    }

    /// A quoted string with JSON escapes and `\'`; `None` if no quote is next.
    pub(super) fn string(&mut self) -> Result<Option<String>, SelectError> {
        self.skip_blanks();
        let Some(quote @ ('"' | '\'')) = self.rest().chars().next() else {
            return Ok(None);
        };
        self.at += 1;
        let mut string = String::new();
        loop {
            let start = self.at;
            let Some(c) = self.next_char() else {
                return Err(self.error_here(format!("expected the closing {quote} of a string")));
            };
            match c {
                _ if c == quote => return Ok(Some(string)),
                '\\' => match self.escape() {
                    Some(c) => string.push(c),
                    None => {
                        self.at = start;
                        return Err(self.error_here("unknown escape in a string".to_owned()));
                    }
                },
                _ => string.push(c),
            }
        }
    }

    /// Steps after the start of a path: `.name`, `["name"]`, `[*]`, and `[index]` if `indexes` allows them.
    pub(super) fn steps(&mut self, path: &mut Vec<Step>, indexes: bool) -> Result<(), SelectError> {
        loop {
            if self.eat(".") {
                let name = self.name().ok_or_else(|| self.error("a name after `.`"))?;
                path.push(Step::Member(name.to_owned()));
            } else if self.eat("[") {
                path.push(self.bracket(indexes)?);
                if !self.eat("]") {
                    return Err(self.error("`]`"));
                }
            } else {
                return Ok(());
            }
            if path.len() > NESTING_MAX {
                return Err(self.too_complex(format!("a path of more than {NESTING_MAX} steps")));
            }
        }
    }

    fn bracket(&mut self, indexes: bool) -> Result<Step, SelectError> {
        if self.eat("*") {
            return Ok(Step::Elements);
        }
        if let Some(name) = self.string()? {
            return Ok(Step::Member(name));
        }
        if !indexes {
            return Err(self.error("`*` or a quoted name (an index would not keep its meaning)"));
        }
        let index = self.integer().map(Step::Index);
        index.ok_or_else(|| self.error("an integer, a quoted name or `*`"))
    }

    /// What follows a backslash; `None` if it is no JSON escape.
    fn escape(&mut self) -> Option<char> {
        Some(match self.next_char()? {
            c @ ('"' | '\'' | '\\' | '/') => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => match self.unit()? {
                // The first half of a pair; the second must follow.
                first @ 0xd800..0xdc00 => {
                    let second = self.rest().strip_prefix("\\u")?;
                    self.at = self.text.len() - second.len();
                    char::decode_utf16([first, self.unit()?]).next()?.ok()?
                }
                unit => char::from_u32(u32::from(unit))?,
            },
            _ => return None,
        })
    }

    fn unit(&mut self) -> Option<u16> {
        let digits = self.rest().get(..4)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        self.at += 4;
        u16::from_str_radix(digits, 16).ok()
    }

    fn error_here(&self, message: String) -> SelectError {
        SelectError::new(self.kind, self.argument, self.text, self.at, message)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest().trim_start_matches([' ', '\t', '\r', '\n']);
        self.at = self.text.len() - rest.len();
    }
}
