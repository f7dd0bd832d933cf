//! The mode of a node, and sets of modes.
//!
//! Spec: 01 §1.5. A mode has a two-bit code (HELLO, INIT, JOIN) and a bit in masks (SCOUT, link states,
//! configuration).

use core::{fmt, ops, str::FromStr};

/// The mode of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WhatAmI {
    /// Routes between others.
    Router,
    /// Talks to other peers directly.
    Peer,
    /// Has one neighbour, which does everything for it.
    Client,
}

impl WhatAmI {
    /// All modes, in the order of their codes.
    pub const ALL: [Self; 3] = [Self::Router, Self::Peer, Self::Client];

    /// The two-bit code: 0, 1 or 2.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The mode of a two-bit code; `None` for the reserved 3 and above.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The bit in a mask: 1, 2 or 4.
    #[must_use]
    pub const fn mask(self) -> u8 {
        1 << self.code()
    }

    /// The mode of a mask with exactly one bit; `None` for any other value.
    #[must_use]
    pub fn from_mask(mask: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.mask() == mask)
    }

    /// `router`, `peer` or `client`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Router => "router",
            Self::Peer => "peer",
            Self::Client => "client",
        }
    }
}

impl fmt::Display for WhatAmI {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for WhatAmI {
    type Err = InvalidWhatAmI;

    fn from_str(text: &str) -> Result<Self, InvalidWhatAmI> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text).ok_or(InvalidWhatAmI)
    }
}

/// A set of modes. The text form is `router|peer|client`; the empty text is the empty set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WhatAmIMatcher(u8);

impl WhatAmIMatcher {
    /// Matches nobody.
    pub const EMPTY: Self = Self(0);
    /// Matches everybody.
    pub const ALL: Self = Self(0b111);

    /// The set of the low three bits; others are ignored.
    #[must_use]
    pub const fn from_bits_truncated(bits: u8) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// The mask: 1 for router, 2 for peer, 4 for client.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// True if `mode` is in the set.
    #[must_use]
    pub const fn matches(self, mode: WhatAmI) -> bool {
        self.0 & mode.mask() != 0
    }

    /// True if nobody is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl From<WhatAmI> for WhatAmIMatcher {
    fn from(mode: WhatAmI) -> Self {
        Self(mode.mask())
    }
}

impl<T: Into<WhatAmIMatcher>> ops::BitOr<T> for WhatAmIMatcher {
    type Output = Self;

    fn bitor(self, other: T) -> Self {
        Self(self.0 | other.into().0)
    }
}

impl fmt::Display for WhatAmIMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for mode in WhatAmI::ALL.into_iter().filter(|&mode| self.matches(mode)) {
            write!(f, "{separator}{mode}")?;
            separator = "|";
        }
        Ok(())
    }
}

impl FromStr for WhatAmIMatcher {
    type Err = InvalidWhatAmI;

    fn from_str(text: &str) -> Result<Self, InvalidWhatAmI> {
        if text.is_empty() {
            return Ok(Self::EMPTY);
        }
        text.split('|').try_fold(Self::EMPTY, |set, mode| Ok(set | mode.parse::<WhatAmI>()?))
    }
}

/// Text that names no mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidWhatAmI;

impl fmt::Display for InvalidWhatAmI {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mode is `router`, `peer` or `client`")
    }
}

impl core::error::Error for InvalidWhatAmI {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn code_mask_and_text_agree() {
        for (index, mode) in WhatAmI::ALL.into_iter().enumerate() {
            assert_eq!(WhatAmI::from_code(index as u8), Some(mode));
            assert_eq!(WhatAmI::from_mask(1 << index), Some(mode));
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        assert_eq!(WhatAmI::from_code(3), None);
        assert_eq!(WhatAmI::from_mask(3), None);
        assert_eq!("Router".parse::<WhatAmI>(), Err(InvalidWhatAmI));
    }

    #[test]
    fn sets_round_trip_as_text() {
        for bits in 0..8 {
            let set = WhatAmIMatcher::from_bits_truncated(bits);
            assert_eq!(set.to_string().parse(), Ok(set));
        }
        assert_eq!(WhatAmIMatcher::ALL.to_string(), "router|peer|client");
        assert_eq!("peer|router".parse(), Ok(WhatAmIMatcher::from_bits_truncated(3)));
        assert_eq!("peer|".parse::<WhatAmIMatcher>(), Err(InvalidWhatAmI));
        assert!(WhatAmIMatcher::from(WhatAmI::Peer).matches(WhatAmI::Peer));
        assert!(!WhatAmIMatcher::from(WhatAmI::Peer).matches(WhatAmI::Client));
        assert!(WhatAmIMatcher::EMPTY.is_empty());
    }
}
