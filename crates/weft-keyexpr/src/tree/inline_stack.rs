//! A stack whose first items need no allocation.

use alloc::vec::Vec;

pub(super) struct InlineStack<T, const N: usize> {
    inline: [Option<T>; N],
    inline_count: usize,
    /// Holds items only while `inline` is full.
    spilled: Vec<T>,
}

impl<T, const N: usize> InlineStack<T, N> {
    pub(super) const fn new() -> Self {
        Self { inline: [const { None }; N], inline_count: 0, spilled: Vec::new() }
    }

    pub(super) fn push(&mut self, item: T) {
        match self.inline.get_mut(self.inline_count) {
            Some(place) => {
                *place = Some(item);
                self.inline_count += 1;
            }
            None => self.spilled.push(item),
        }
    }

    pub(super) fn pop(&mut self) {
        if self.spilled.pop().is_none() && self.inline_count > 0 {
            self.inline_count -= 1;
            self.inline[self.inline_count] = None;
        }
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut T> {
        match self.spilled.last_mut() {
            None => self.inline[..self.inline_count].last_mut()?.as_mut(),
            spilled => spilled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spills_and_comes_back() {
        let mut stack = InlineStack::<u32, 2>::new();
        assert_eq!(stack.last_mut(), None);
        (0..5).for_each(|item| stack.push(item));
        for item in (0..5).rev() {
            assert_eq!(stack.last_mut(), Some(&mut { item }));
            stack.pop();
        }
        stack.pop();
        assert_eq!(stack.last_mut(), None);
    }
}
