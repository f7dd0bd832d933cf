//! The variable-length integer: LEB128 whose ninth byte, if reached, carries eight bits.
//!
//! Spec: 01 §1.2. A `u64` takes 1 to 9 bytes. Encoding is minimal; decoding accepts longer forms.

/// The longest encoding, in bytes.
pub const LEN_MAX: usize = 9;

/// Bytes that `value` takes on the wire, 1 to 9.
#[inline]
#[must_use]
pub const fn len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    if bits > 56 { LEN_MAX } else { bits.div_ceil(7) }
}

/// Writes `value` to the start of `out` and returns the number of bytes used.
#[inline]
pub fn write(value: u64, out: &mut [u8; LEN_MAX]) -> usize {
    let mut rest = value;
    for (index, byte) in out.iter_mut().take(LEN_MAX - 1).enumerate() {
        if rest < 0x80 {
            *byte = rest as u8;
            return index + 1;
        }
        *byte = rest as u8 | 0x80;
        rest >>= 7;
    }
    out[LEN_MAX - 1] = rest as u8;
    LEN_MAX
}

/// Reads an integer from the start of `input`: its value and the bytes used, or `None` if `input` ends first.
#[inline]
#[must_use]
pub fn read(input: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (index, &byte) in input.iter().take(LEN_MAX - 1).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some((value, index + 1));
        }
    }
    let &last = input.get(LEN_MAX - 1)?;
    Some((value | u64::from(last) << 56, LEN_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_have_the_bytes_of_the_spec() {
        let cases: [(u64, &[u8]); 9] = [
            (0, &[0x00]),
            (127, &[0x7f]),
            (128, &[0x80, 0x01]),
            (300, &[0xac, 0x02]),
            (10_000, &[0x90, 0x4e]),
            ((1 << 28) - 1, &[0xff, 0xff, 0xff, 0x7f]),
            ((1 << 56) - 1, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
            (1 << 56, &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]),
            (u64::MAX, &[0xff; 9]),
        ];
        for (value, bytes) in cases {
            let mut out = [0; LEN_MAX];
            let used = write(value, &mut out);
            assert_eq!(&out[..used], bytes);
            assert_eq!(len(value), bytes.len());
            assert_eq!(read(bytes), Some((value, bytes.len())));
        }
    }

    #[test]
    fn every_bit_width_round_trips() {
        for bits in 0..64 {
            for value in [1 << bits, (1 << bits) - 1, u64::MAX >> bits] {
                let mut out = [0; LEN_MAX];
                let used = write(value, &mut out);
                assert_eq!(used, len(value));
                assert_eq!(read(&out[..used]), Some((value, used)));
                assert_eq!(read(&out[..used - 1]), None);
            }
        }
    }

    #[test]
    fn longer_forms_are_accepted() {
        assert_eq!(read(&[0x81, 0x00]), Some((1, 2)));
        assert_eq!(read(&[0x80; 8]), None);
    }
}
