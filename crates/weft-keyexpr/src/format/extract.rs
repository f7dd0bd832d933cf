//! Taking a key expression apart.
//!
//! Each element, from left to right, takes a piece of the chunks that its pattern intersects, such
//! that what the elements behind it denote intersects the chunks that remain. A piece that ends
//! with `**` leaves that `**` to the next element too, since it may stand for chunks of both.

use super::{Content, KeFormat};
use crate::{Ke, relation};
use alloc::vec::Vec;

/// What each spec of a format took of a key expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatFields<'f, 'k> {
    format: &'f KeFormat,
    /// One per spec, in order.
    values: Vec<&'k str>,
}

impl<'k> FormatFields<'_, 'k> {
    /// What the spec `id` took: a key expression, or nothing (a pattern `**` only). `None` if there
    /// is no such spec.
    pub fn get(&self, id: &str) -> Option<&'k str> {
        self.format.spec_index(id).map(|index| self.values[index])
    }

    /// Ids and values, in the order of the specs.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'k str)> {
        self.format.specs().map(super::FormatSpec::id).zip(self.values.iter().copied())
    }
}

pub(super) fn fields<'f, 'k>(format: &'f KeFormat, key: Ke<'k>) -> Option<FormatFields<'f, 'k>> {
    let key = Chunks::new(key.as_str());
    let mut values = Vec::new();
    let mut start = 0;
    for element in &format.elements {
        let pattern = element.content.pattern();
        let fits = |&end: &usize| {
            relation::intersects(key.piece(start, end), pattern)
                && relation::intersects(
                    key.piece(key.next_start(start, end), key.count()),
                    &element.rest,
                )
        };
        let mut ends = start..=key.count();
        let end = match element.content {
            // A short literal leaves more to the specs behind it.
            Content::Literal(_) => ends.find(fits)?,
            Content::Spec(_) => ends.rev().find(fits)?,
        };
        if let Content::Spec(_) = element.content {
            values.push(key.piece(start, end));
        }
        start = key.next_start(start, end);
    }
    Some(FormatFields { format, values })
}

/// A key expression with the places where its chunks start.
struct Chunks<'k> {
    text: &'k str,
    /// The start of each chunk, and where one behind the last would start.
    starts: Vec<usize>,
}

impl<'k> Chunks<'k> {
    fn new(text: &'k str) -> Self {
        let mut starts = alloc::vec![0];
        starts.extend(text.match_indices('/').map(|(slash, _)| slash + 1));
        starts.push(text.len() + 1);
        Self { text, starts }
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The chunks from `start` up to, but without, `end`.
    fn piece(&self, start: usize, end: usize) -> &'k str {
        if start == end { "" } else { &self.text[self.starts[start]..self.starts[end] - 1] }
    }

    /// Where the piece behind `start..end` starts: at `end`, or at a `**` just before it.
    fn next_start(&self, start: usize, end: usize) -> usize {
        if end > start && self.piece(end - 1, end) == "**" { end - 1 } else { end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle;
    use crate::testing::Random;
    use alloc::format;
    use alloc::string::String;

    #[test]
    fn a_key_is_taken_apart_if_and_only_if_it_intersects_the_format() {
        let mut random = Random::new(3);
        let mut matched_count = 0;
        for _ in 0..10_000 {
            let (first, second) = (random.key_expr(2), random.key_expr(2));
            let literal = random.pick(&["a", "b", "@a"]);
            let format =
                KeFormat::new(&format!("${{x:{first}}}/{literal}/${{y:{second}}}")).unwrap();
            let key: String = random.key_expr(6);
            let whole = format!("{first}/{literal}/{second}");
            let fields = format.parse(Ke::new(&key).unwrap());
            assert_eq!(fields.is_some(), oracle::intersects(&key, &whole), "{format} {key}");
            let Some(fields) = fields else { continue };
            matched_count += 1;
            for (value, pattern) in
                [(fields.get("x").unwrap(), first), (fields.get("y").unwrap(), second)]
            {
                let is_matched = if value.is_empty() {
                    pattern == "**"
                } else {
                    oracle::intersects(value, &pattern)
                };
                assert!(is_matched, "{format} {key}: {value}");
            }
        }
        assert!(matched_count > 200, "{matched_count}");
    }

    #[test]
    fn the_leftmost_spec_takes_most() {
        let format = KeFormat::new("${a:**}/x/${b:**}/x/${c:**}").unwrap();
        let fields = format.parse(Ke::new("1/x/2/x/3/x/4").unwrap()).unwrap();
        assert_eq!(fields.iter().collect::<Vec<_>>(), [("a", "1/x/2"), ("b", "3"), ("c", "4")]);
        assert_eq!(fields.get("d"), None);
    }

    #[test]
    fn a_literal_leaves_a_shared_double_star_to_the_next_spec() {
        let format = KeFormat::new("a/${x:*}").unwrap();
        assert_eq!(format.parse(Ke::new("**").unwrap()).unwrap().get("x"), Some("**"));
        assert_eq!(format.parse(Ke::new("**/a/x").unwrap()).unwrap().get("x"), Some("x"));
    }
}
