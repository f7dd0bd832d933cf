//! Random choices taken from bytes, so that what is built can borrow them and failures shrink.

/// A supply of random bytes and of text. When the bytes are used up, every choice is the first.
pub(crate) struct Entropy<'a> {
    bytes: &'a [u8],
    text: &'a str,
}

impl<'a> Entropy<'a> {
    pub(crate) fn new(bytes: &'a [u8], text: &'a str) -> Self {
        Self { bytes, text }
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.bytes.split_first() else {
            return 0;
        };
        self.bytes = rest;
        first
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.byte() & 1 != 0
    }

    /// A number below `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// An integer with a random number of bits, so that all lengths on the wire are likely.
    pub(crate) fn integer(&mut self) -> u64 {
        let bits = u32::from(self.byte()) % 65;
        let all = (0..8).fold(0, |all, _| all << 8 | u64::from(self.byte()));
        all.checked_shr(64 - bits).unwrap_or(0)
    }

    /// Up to `max` bytes of the supply itself.
    pub(crate) fn slice(&mut self, max: usize) -> &'a [u8] {
        let len = self.below(max + 1).min(self.bytes.len());
        let (slice, rest) = self.bytes.split_at(len);
        self.bytes = rest;
        slice
    }

    /// A start of the text.
    pub(crate) fn text(&mut self) -> &'a str {
        let chars = self.below(self.text.chars().count() + 1);
        let end = self.text.char_indices().nth(chars).map_or(self.text.len(), |(index, _)| index);
        &self.text[..end]
    }

    pub(crate) fn option<T>(&mut self, some: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| some(self))
    }

    /// Up to `max` values.
    pub(crate) fn many<T>(&mut self, max: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(max + 1)).map(|_| one(self)).collect()
    }
}
