//! The value of the `_sn` parameter: a range of source sequence numbers.
//!
//! Spec: 04 §10.

use core::fmt;

/// A range of 32-bit sequence numbers that wrap around; both ends belong to it.
///
/// A number is at or after another one if it is less than 2^31 ahead of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SnRange {
    /// The first number; unbounded if absent.
    pub start: Option<u32>,
    /// The last number; unbounded if absent.
    pub end: Option<u32>,
}

impl SnRange {
    /// Reads `from..to`, either of which may be missing, or one number. What cannot be read is
    /// unbounded.
    pub fn parse(text: &str) -> Self {
        let number = |text: &str| text.parse().ok();
        match text.split_once("..") {
            Some((start, end)) => Self { start: number(start), end: number(end) },
            None => Self { start: number(text), end: number(text) },
        }
    }

    /// Whether a sample belongs to the range; one without a number belongs to the unbounded range
    /// only.
    pub fn contains(self, sn: Option<u32>) -> bool {
        let is_at_or_after = |a: u32, b: u32| a.wrapping_sub(b) < 1 << 31;
        match sn {
            None => self == Self::default(),
            Some(sn) => {
                self.start.is_none_or(|start| is_at_or_after(sn, start))
                    && self.end.is_none_or(|end| is_at_or_after(end, sn))
            }
        }
    }
}

impl fmt::Display for SnRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(start) = self.start {
            write!(f, "{start}")?;
        }
        f.write_str("..")?;
        if let Some(end) = self.end {
            write!(f, "{end}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn both_ends_belong_to_the_range_and_numbers_wrap() {
        let range = SnRange::parse("4294967295..1");
        for (sn, expected) in
            [(u32::MAX, true), (0, true), (1, true), (2, false), (u32::MAX - 1, false)]
        {
            assert_eq!(range.contains(Some(sn)), expected, "{sn}");
        }
        assert_eq!(range.to_string(), "4294967295..1");
    }

    #[test]
    fn missing_and_unreadable_ends_are_unbounded() {
        assert_eq!(SnRange::parse("3.."), SnRange { start: Some(3), end: None });
        assert_eq!(SnRange::parse("x..3"), SnRange { start: None, end: Some(3) });
        assert_eq!(SnRange::parse("7"), SnRange { start: Some(7), end: Some(7) });
        assert_eq!(SnRange::parse("x"), SnRange::default());
        assert!(SnRange::parse("..").contains(None) && !SnRange::parse("..3").contains(None));
    }
}
