//! Values that keep away from what lies beside them in memory.
//!
//! Processors hand memory to each other by lines of 64 bytes, and fetch two of them at a time. What some
//! threads write often must not be in a line that others read for every message.

use std::ops::Deref;

/// A value in cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub(crate) T);

impl<T> Deref for Apart<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}
