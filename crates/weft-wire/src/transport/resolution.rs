//! How wide sequence numbers and request ids are.
//!
//! Spec: 01 §4.1 (codes), §5.3 (masks).

/// A width in bits, as a two-bit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bits {
    /// 8 bits.
    U8,
    /// 16 bits.
    U16,
    /// 32 bits: the default.
    U32,
    /// 64 bits. Never negotiate it for sequence numbers: implementations disagree about the mask.
    U64,
}

impl Bits {
    /// The two-bit code.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The width of the low two bits of `code`.
    #[must_use]
    pub const fn from_code(code: u8) -> Self {
        match code & 0b11 {
            0 => Self::U8,
            1 => Self::U16,
            2 => Self::U32,
            _ => Self::U64,
        }
    }

    /// The greatest sequence number: as many bits as the variable-length integer of this many bytes holds.
    #[must_use]
    pub const fn sn_mask(self) -> u64 {
        match self {
            Self::U8 => 0x7f,
            Self::U16 => 0x3fff,
            Self::U32 => 0x0fff_ffff,
            Self::U64 => u64::MAX >> 1,
        }
    }
}

/// The resolution byte of INIT and JOIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Resolution {
    /// Sequence numbers of frames and fragments.
    pub fsn: Bits,
    /// Request ids.
    pub rid: Bits,
}

impl Resolution {
    /// 32 bits each: what an absent resolution means.
    pub const DEFAULT: Self = Self { fsn: Bits::U32, rid: Bits::U32 };

    /// The greatest sequence number of frames and fragments.
    #[must_use]
    pub const fn sn_mask(self) -> u64 {
        self.fsn.sn_mask()
    }

    pub(super) const fn from_byte(byte: u8) -> Self {
        Self { fsn: Bits::from_code(byte), rid: Bits::from_code(byte >> 2) }
    }

    pub(super) const fn byte(self) -> u8 {
        self.fsn.code() | self.rid.code() << 2
    }
}

impl Default for Resolution {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip_and_upper_bits_are_ignored() {
        for byte in 0..16 {
            assert_eq!(Resolution::from_byte(byte).byte(), byte);
            assert_eq!(Resolution::from_byte(byte | 0xf0).byte(), byte);
        }
        assert_eq!(Resolution::DEFAULT.byte(), 0x0a);
    }

    #[test]
    fn the_greatest_sequence_number_fills_its_bytes() {
        for (bits, bytes) in [(Bits::U8, 1), (Bits::U16, 2), (Bits::U32, 4), (Bits::U64, 9)] {
            assert_eq!(crate::zint::len(bits.sn_mask()), bytes);
        }
    }
}
