//! Why an expression is refused, and where.

use core::fmt;

/// What is wrong with a `_filter` or a `_project`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SelectErrorKind {
    /// The filter does not follow the grammar.
    BadFilter,
    /// The projection does not follow the grammar.
    BadProjection,
    /// A `%` without two hexadecimal digits, or bytes that are not UTF-8.
    BadEscape,
    /// The parameter occurs more than once.
    DuplicateArgument,
    /// The parameter has no value.
    EmptyArgument,
    /// The expression exceeds a limit of this module.
    TooComplex,
}

impl SelectErrorKind {
    /// The name that is sent in error replies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadFilter => "bad_filter",
            Self::BadProjection => "bad_projection",
            Self::BadEscape => "bad_escape",
            Self::DuplicateArgument => "duplicate_argument",
            Self::EmptyArgument => "empty_argument",
            Self::TooComplex => "filter_too_complex",
        }
    }
}

impl fmt::Display for SelectErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An expression that is refused. `Display` is one line: what is wrong, where, and the text around the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectError {
    kind: SelectErrorKind,
    argument: &'static str,
    text: String,
    offset: usize,
    message: String,
}

impl SelectError {
    pub(super) fn new(
        kind: SelectErrorKind,
        argument: &'static str,
        text: &str,
        offset: usize,
        message: String,
    ) -> Self {
        let text = text.to_owned();
        Self { kind, argument, text, offset, message }
    }

    /// What is wrong.
    pub const fn kind(&self) -> SelectErrorKind {
        self.kind
    }

    /// `_filter` or `_project`.
    pub const fn argument(&self) -> &'static str {
        self.argument
    }

    /// Where, in bytes from the start of the expression: without surrounding quotes, and percent-decoded except for
    /// [`SelectErrorKind::BadEscape`].
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// What is wrong, in words.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The payload of the error reply that a responder sends; its encoding is `application/json`.
    pub fn to_json(&self) -> String {
        serde_json::json!({
            "error": self.kind.as_str(),
            "argument": self.argument,
            "offset": self.offset,
            "message": self.message,
        })
        .to_string()
    }

    /// The text before and after the place, both of limited length and on one line.
    fn surroundings(&self) -> (String, String) {
        const BEFORE_MAX: usize = 40;
        const AFTER_MAX: usize = 20;
        let (before, after) = self.text.split_at_checked(self.offset).unwrap_or((&self.text, ""));
        let skipped = before.chars().count().saturating_sub(BEFORE_MAX);
        let mut start = String::from(if skipped > 0 { "…" } else { "" });
        start.extend(before.chars().skip(skipped));
        let mut end: String = after.chars().take(AFTER_MAX).collect();
        end.push_str(if after.chars().nth(AFTER_MAX).is_some() { "…" } else { "" });
        (start.replace(char::is_control, " "), end.replace(char::is_control, " "))
    }
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, argument, offset, message, .. } = self;
        write!(f, "{kind}: {message} at byte {offset} of {argument}")?;
        let (before, after) = self.surroundings();
        match (before.is_empty(), after.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => write!(f, ", before `{after}`"),
            (false, true) => write!(f, ", after `{before}`"),
            (false, false) => write!(f, ", between `{before}` and `{after}`"),
        }
    }
}

impl core::error::Error for SelectError {}
