//! The patterns of `like`: `*` is any run of characters, `?` any one, `\` takes the next one literally.

/// A pattern that a whole text must match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glob {
    /// The pieces between the stars; at least one, possibly empty.
    pieces: Vec<Piece>,
}

/// A piece without stars.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    /// `None` is a question mark.
    Characters(Vec<Option<char>>),
}

impl Glob {
    /// `None` if the pattern ends with a lone backslash.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        let mut pieces = vec![Vec::new()];
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            let last = pieces.len() - 1;
            match c {
                '*' => pieces.push(Vec::new()),
                '?' => pieces[last].push(None),
                '\\' => pieces[last].push(Some(chars.next()?)),
                _ => pieces[last].push(Some(c)),
            }
        }
        let pieces = pieces.into_iter().map(Piece::new).collect();
        Some(Self { pieces })
    }

    /// Whether the whole of `text` matches.
    ///
    /// Between stars the leftmost match of each piece is as good as any, so nothing is tried twice: linear in the text,
    /// for pieces with question marks times their length.
    pub(super) fn matches(&self, text: &str) -> bool {
        let [first, rest @ ..] = &self.pieces[..] else {
            return text.is_empty();
        };
        let Some(mut text) = first.strip(text) else {
            return false;
        };
        let [middle @ .., last] = rest else {
            return text.is_empty();
        };
        for piece in middle {
            match piece.find(text) {
                Some(after) => text = after,
                None => return false,
            }
        }
        last.ends(text)
    }
}

impl Piece {
    fn new(characters: Vec<Option<char>>) -> Self {
        match characters.iter().copied().collect() {
            Some(literal) => Self::Literal(literal),
            None => Self::Characters(characters),
        }
    }

    /// What follows the piece if `text` starts with it.
    fn strip<'t>(&self, text: &'t str) -> Option<&'t str> {
        match self {
            Self::Literal(literal) => text.strip_prefix(literal),
            Self::Characters(characters) => {
                let mut rest = text.chars();
                for character in characters {
                    let next = rest.next()?;
                    if character.is_some_and(|character| character != next) {
                        return None;
                    }
                }
                Some(rest.as_str())
            }
        }
    }

    /// What follows the leftmost place of the piece.
    fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        match self {
            Self::Literal(literal) => text.split_once(literal).map(|(_, after)| after),
            Self::Characters(_) => {
                let mut starts = text.char_indices();
                starts.find_map(|(start, _)| self.strip(&text[start..]))
            }
        }
    }

    fn ends(&self, text: &str) -> bool {
        match self {
            Self::Literal(literal) => text.ends_with(literal),
            Self::Characters(characters) => {
                let start = text.char_indices().rev().nth(characters.len() - 1);
                start.is_some_and(|(start, _)| self.strip(&text[start..]).is_some())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, without cleverness.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['*', rest @ ..] => (0..=text.len()).any(|skip| naive(rest, &text[skip..])),
            ['?', rest @ ..] => !text.is_empty() && naive(rest, &text[1..]),
            ['\\', c, rest @ ..] | [c, rest @ ..] => {
                text.first() == Some(c) && naive(rest, &text[1..])
            }
        }
    }

    #[test]
    fn a_backslash_needs_a_character() {
        assert_eq!(Glob::new("a\\"), None);
        assert!(Glob::new(r"\**\\").unwrap().matches(r"*x\"));
        assert!(!Glob::new(r"\*").unwrap().matches("x"));
    }

    #[test]
    fn question_marks_are_characters_not_bytes() {
        assert!(Glob::new("?").unwrap().matches("é"));
        assert!(Glob::new("*?é").unwrap().matches("éé"));
        assert!(!Glob::new("??").unwrap().matches("é"));
    }

    proptest! {
        #[test]
        fn matching_equals_the_definition(pattern in r"([ab?*]|\\[ab*?]){0,6}", text in "[ab*]{0,8}") {
            let pattern_chars: Vec<_> = pattern.chars().collect();
            let text_chars: Vec<_> = text.chars().collect();
            let glob = Glob::new(&pattern).unwrap();
            prop_assert_eq!(glob.matches(&text), naive(&pattern_chars, &text_chars));
        }
    }
}
