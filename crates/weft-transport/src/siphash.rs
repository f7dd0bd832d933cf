//! SipHash-2-4 with a 128-bit tag: the authenticator of handshake cookies.
//!
//! Not here: what is signed (`cookie`). One call over one contiguous message is all that a cookie
//! needs, so there is no streaming interface. Reference: Aumasson and Bernstein, "SipHash: a fast
//! short-input PRF", 2012.

/// The tag of `message` under `key`. Costs about 1 ns a byte; no allocation.
#[must_use]
pub(crate) fn siphash128(key: &[u8; 16], message: &[u8]) -> [u8; 16] {
    let mut state = State::new(key);
    let (words, tail) = message.as_chunks::<8>();
    for word in words {
        state.absorb(u64::from_le_bytes(*word));
    }
    // The last word holds the rest of the message and, in its top byte, the length modulo 256.
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    last[7] = message.len() as u8;
    state.absorb(u64::from_le_bytes(last));
    state.finish()
}

/// Whether two tags are equal, in a time that does not depend on where they differ.
#[must_use]
pub(crate) fn tags_equal(a: &[u8; 16], b: &[u8; 16]) -> bool {
    let difference = a.iter().zip(b).fold(0, |seen, (a, b)| core::hint::black_box(seen | (a ^ b)));
    difference == 0
}

struct State([u64; 4]);

impl State {
    fn new(key: &[u8; 16]) -> Self {
        let key = u128::from_le_bytes(*key);
        let (k0, k1) = (key as u64, (key >> 64) as u64);
        Self([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d ^ 0xee, // 0xee and 0xdd below select the 128-bit variant
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ])
    }

    fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        self.rounds(2);
        self.0[0] ^= word;
    }

    fn finish(mut self) -> [u8; 16] {
        self.0[2] ^= 0xee;
        self.rounds(4);
        let low = self.fold();
        self.0[1] ^= 0xdd;
        self.rounds(4);
        let mut tag = [0; 16];
        tag[..8].copy_from_slice(&low.to_le_bytes());
        tag[8..].copy_from_slice(&self.fold().to_le_bytes());
        tag
    }

    fn fold(&self) -> u64 {
        self.0.iter().fold(0, |sum, v| sum ^ v)
    }

    fn rounds(&mut self, count: usize) {
        let v = &mut self.0;
        for _ in 0..count {
            v[0] = v[0].wrapping_add(v[1]);
            v[1] = v[1].rotate_left(13) ^ v[0];
            v[0] = v[0].rotate_left(32);
            v[2] = v[2].wrapping_add(v[3]);
            v[3] = v[3].rotate_left(16) ^ v[2];
            v[0] = v[0].wrapping_add(v[3]);
            v[3] = v[3].rotate_left(21) ^ v[0];
            v[2] = v[2].wrapping_add(v[1]);
            v[1] = v[1].rotate_left(17) ^ v[2];
            v[2] = v[2].rotate_left(32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Length of the message `00 01 02 …`, and its tag under the key `00 01 … 0f`.
    const VECTORS: [(usize, u128); 8] = [
        (0, 0xa3817f04ba25a8e66df67214c7550293),
        (1, 0xda87c1d86b99af44347659119b22fc45),
        (7, 0xa1f1ebbed8dbc153c0b84aa61ff08239),
        (8, 0x3b62a9ba6258f5610f83e264f31497b4),
        (9, 0x264499060ad9baabc47f8b02bb6d71ed),
        (15, 0x5493e99933b0a8117e08ec0f97cfc3d9),
        (63, 0x5150d1772f50834a503e069a973fbd7c),
        (256, 0x67a00304d3834c4612eaee7b5f579acb),
    ];

    #[test]
    fn matches_the_published_vectors() {
        let key = core::array::from_fn(|i| i as u8);
        for (len, tag) in VECTORS {
            let message: Vec<u8> = (0..len).map(|i| i as u8).collect();
            assert_eq!(siphash128(&key, &message), tag.to_be_bytes(), "length {len}");
        }
    }

    #[test]
    fn tags_are_equal_only_in_all_bytes() {
        let tag = siphash128(&[3; 16], b"weft");
        assert!(tags_equal(&tag, &tag));
        for i in 0..16 {
            let mut other = tag;
            other[i] ^= 0x80;
            assert!(!tags_equal(&tag, &other));
        }
    }
}
