//! One direction of a TCP connection: segments as they were captured in, bytes in order out.

use std::collections::BTreeMap;

use super::limits::{Budget, OUT_OF_ORDER_MAX, Reservation};

/// What comes out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// The next bytes.
    Bytes(&'a [u8]),
    /// So many bytes were never captured.
    Gap(u64),
}

/// One direction of a connection.
#[derive(Default)]
pub(super) struct Assembler {
    /// The sequence number of the first byte that has not come out; none before the first segment.
    next: Option<u32>,
    /// The same as a number that does not wrap, which is what `early` counts with.
    position: u64,
    /// Segments that came before others that belong before them.
    early: BTreeMap<u64, Early>,
    early_len: usize,
}

struct Early {
    bytes: Vec<u8>,
    /// Bytes after them that were not captured.
    missing: usize,
    _reserved: Reservation,
}

impl Assembler {
    /// The connection begins: the first byte has the number after `seq`.
    pub(super) fn begin(&mut self, seq: u32) {
        *self = Self { next: Some(seq.wrapping_add(1)), ..Self::default() };
    }

    /// Whether it has seen nothing.
    pub(super) const fn is_new(&self) -> bool {
        self.next.is_none()
    }

    /// Takes a segment, of which `missing` bytes at the end were not captured. What was seen before is left out.
    pub(super) fn push(
        &mut self,
        seq: u32,
        bytes: &[u8],
        missing: usize,
        budget: &Budget,
        out: &mut dyn FnMut(Piece<'_>),
    ) {
        if bytes.is_empty() && missing == 0 {
            return;
        }
        // Half of the circle lies ahead.
        let ahead = seq.wrapping_sub(*self.next.get_or_insert(seq)) as i32;
        if ahead <= 0 {
            self.deliver(ahead.unsigned_abs() as usize, bytes, missing, out);
        } else {
            let at = self.position + u64::from(ahead.unsigned_abs());
            while !self.keep(at, bytes, missing, budget) {
                if self.early.is_empty() {
                    // Too long to be kept at all: what is before it will not be waited for.
                    self.skip_to(at, out);
                    self.deliver(0, bytes, missing, out);
                    break;
                }
                self.give_up(out);
                if at <= self.position {
                    self.deliver((self.position - at) as usize, bytes, missing, out);
                    break;
                }
            }
        }
        self.release(out);
    }

    /// The other side has everything up to `ack`: what of it was not captured will not come any more.
    pub(super) fn acknowledged(&mut self, ack: u32, out: &mut dyn FnMut(Piece<'_>)) {
        let Some(next) = self.next else { return };
        let ahead = ack.wrapping_sub(next) as i32;
        let Ok(ahead) = u64::try_from(ahead) else { return };
        let up_to = self.position + ahead;
        while self.early.first_key_value().is_some_and(|(&at, _)| at < up_to) {
            self.give_up(out);
        }
    }

    /// There are no more segments.
    pub(super) fn end(&mut self, out: &mut dyn FnMut(Piece<'_>)) {
        while !self.early.is_empty() {
            self.give_up(out);
        }
    }

    /// Hands over all but the first `seen` bytes.
    fn deliver(
        &mut self,
        seen: usize,
        bytes: &[u8],
        missing: usize,
        out: &mut dyn FnMut(Piece<'_>),
    ) {
        if let Some(fresh) = bytes.get(seen..).filter(|fresh| !fresh.is_empty()) {
            self.advance(fresh.len() as u64);
            out(Piece::Bytes(fresh));
        }
        let lost = missing.saturating_sub(seen.saturating_sub(bytes.len()));
        if lost > 0 {
            self.advance(lost as u64);
            out(Piece::Gap(lost as u64));
        }
    }

    /// Keeps a segment for later, if there is room. Of two at the same place the longer one stays.
    fn keep(&mut self, at: u64, bytes: &[u8], missing: usize, budget: &Budget) -> bool {
        let len = bytes.len() + missing;
        if self.early.get(&at).is_some_and(|early| early.bytes.len() + early.missing >= len) {
            return true;
        }
        let mut reserved = budget.reserve();
        // An empty one has a price, too.
        let cost = bytes.len() + size_of::<Early>();
        if self.early_len + cost > OUT_OF_ORDER_MAX || !reserved.grow(cost) {
            return false;
        }
        let early = Early { bytes: bytes.to_vec(), missing, _reserved: reserved };
        self.early_len += cost;
        if let Some(shorter) = self.early.insert(at, early) {
            self.early_len -= shorter.bytes.len() + size_of::<Early>();
        }
        true
    }

    /// What is missing before the first early segment will not come.
    fn give_up(&mut self, out: &mut dyn FnMut(Piece<'_>)) {
        if let Some((&at, _)) = self.early.first_key_value() {
            self.skip_to(at, out);
        }
        self.release(out);
    }

    fn skip_to(&mut self, at: u64, out: &mut dyn FnMut(Piece<'_>)) {
        if let Some(lost) = at.checked_sub(self.position).filter(|lost| *lost > 0) {
            self.advance(lost);
            out(Piece::Gap(lost));
        }
    }

    /// Hands over the early segments whose turn it is.
    fn release(&mut self, out: &mut dyn FnMut(Piece<'_>)) {
        while let Some(first) = self.early.first_entry()
            && *first.key() <= self.position
        {
            let (at, early) = first.remove_entry();
            self.early_len -= early.bytes.len() + size_of::<Early>();
            let seen = (self.position - at) as usize;
            self.deliver(seen, &early.bytes, early.missing, out);
        }
    }

    fn advance(&mut self, len: u64) {
        self.position += len;
        self.next = self.next.map(|next| next.wrapping_add(len as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An assembler that has seen the beginning of a connection just before the numbers wrap.
    struct Harness(Assembler, Budget, Vec<String>);

    const FIRST: u32 = u32::MAX - 1;

    fn write(pieces: &mut Vec<String>, piece: &Piece<'_>) {
        pieces.push(match piece {
            Piece::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Piece::Gap(len) => format!("<{len}>"),
        });
    }

    impl Harness {
        fn new() -> Self {
            let mut assembler = Assembler::default();
            assembler.begin(FIRST.wrapping_sub(1));
            Self(assembler, Budget::new(1 << 20), Vec::new())
        }

        fn push(&mut self, at: u32, bytes: &[u8], missing: usize) {
            let Self(assembler, budget, pieces) = self;
            assembler.push(FIRST.wrapping_add(at), bytes, missing, budget, &mut |it| {
                write(pieces, &it);
            });
        }

        fn out(&mut self) -> String {
            std::mem::take(&mut self.2).concat()
        }
    }

    #[test]
    fn segments_come_out_once_and_in_order() {
        let mut harness = Harness::new();
        harness.push(0, b"ab", 0);
        harness.push(4, b"ef", 0);
        harness.push(0, b"ab", 0);
        assert_eq!(harness.out(), "ab");
        harness.push(1, b"bcde", 0);
        assert_eq!(harness.out(), "cdef");
        harness.push(3, b"defg", 0);
        assert_eq!(harness.out(), "g");
    }

    #[test]
    fn a_hole_that_the_receiver_does_not_have_is_a_gap() {
        let mut harness = Harness::new();
        harness.push(3, b"de", 0);
        let Harness(assembler, _, pieces) = &mut harness;
        assembler.acknowledged(FIRST, &mut |it| write(pieces, &it));
        assert!(pieces.is_empty());
        assembler.acknowledged(FIRST.wrapping_add(5), &mut |it| write(pieces, &it));
        assert_eq!(harness.out(), "<3>de");
        harness.push(6, b"g", 0);
        let Harness(assembler, _, pieces) = &mut harness;
        assembler.end(&mut |it| write(pieces, &it));
        assert_eq!(harness.out(), "<1>g");
    }

    #[test]
    fn bytes_that_were_cut_off_are_a_gap_unless_they_are_sent_again() {
        let mut harness = Harness::new();
        harness.push(0, b"ab", 2);
        harness.push(4, b"e", 0);
        assert_eq!(harness.out(), "ab<2>e");
        harness.push(2, b"cdef", 0);
        assert_eq!(harness.out(), "f");
    }

    #[test]
    fn early_segments_are_limited() {
        let mut harness = Harness::new();
        let segment = vec![b'x'; 60_000];
        for at in 0..6 {
            harness.push(1 + at * 60_000, &segment, 0);
            assert!(harness.0.early_len <= OUT_OF_ORDER_MAX);
        }
        assert!(harness.out().starts_with("<1>xx"));
        // Longer than what may be kept.
        let mut harness = Harness::new();
        harness.push(1, &vec![b'x'; OUT_OF_ORDER_MAX], 0);
        assert!(harness.out().starts_with("<1>xx"));
    }
}
