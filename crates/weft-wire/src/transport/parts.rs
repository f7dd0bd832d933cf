//! Fields that several transport messages share.
//!
//! Spec: 01 §4.1, §4.3, §6.1.

use super::Resolution;
use crate::{DecodeError, NoSpace, Reader, Sink};

/// Resolution and batch size of INIT and JOIN: absent when both are at their defaults.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) resolution: Resolution,
    pub(super) batch_size: u16,
}

impl Sizes {
    /// What absent sizes mean for a message with the given default of the batch size.
    pub(super) fn of_default(batch_size: u16) -> Self {
        Self { resolution: Resolution::DEFAULT, batch_size }
    }

    pub(super) fn decode(
        present: bool,
        batch_size_default: u16,
        r: &mut Reader<'_>,
    ) -> Result<Self, DecodeError> {
        if !present {
            return Ok(Self::of_default(batch_size_default));
        }
        let resolution = Resolution::from_byte(r.byte("resolution")?);
        let batch_size = r.u16_le("batch size")?;
        Ok(Self { resolution, batch_size })
    }

    pub(super) fn encode<'s, S: Sink<'s> + ?Sized>(self, sink: &mut S) -> Result<(), NoSpace> {
        sink.byte(self.resolution.byte())?;
        sink.bytes(&self.batch_size.to_le_bytes())
    }
}

/// A lease of OPEN or JOIN: in seconds, with a flag, if it is a whole number of them; else in milliseconds.
pub(super) mod lease {
    use super::{DecodeError, NoSpace, Reader, Sink};

    const MS_PER_S: u64 = 1000;

    pub(in crate::transport) fn in_seconds(lease_ms: u64) -> bool {
        lease_ms.is_multiple_of(MS_PER_S)
    }

    /// Saturates: a lease that no `u64` of milliseconds holds never ends anyway.
    pub(in crate::transport) fn decode(
        in_seconds: bool,
        r: &mut Reader<'_>,
    ) -> Result<u64, DecodeError> {
        let lease = r.zint("lease")?;
        Ok(if in_seconds { lease.saturating_mul(MS_PER_S) } else { lease })
    }

    pub(in crate::transport) fn encode<'s, S: Sink<'s> + ?Sized>(
        lease_ms: u64,
        sink: &mut S,
    ) -> Result<(), NoSpace> {
        sink.zint(if in_seconds(lease_ms) { lease_ms / MS_PER_S } else { lease_ms })
    }
}

/// The patch extension of INIT and JOIN.
pub(super) mod patch {
    use super::{DecodeError, Reader};

    pub(in crate::transport) const KEY: u8 = 0x27;

    /// Saturates: nothing depends on which of the distant patches it is.
    pub(in crate::transport) fn decode(r: &mut Reader<'_>) -> Result<u8, DecodeError> {
        Ok(u8::try_from(r.zint("patch")?).unwrap_or(u8::MAX))
    }

    /// The value of the extension, if it is to be written.
    pub(in crate::transport) fn value(patch: u8) -> Option<u64> {
        (patch != 0).then_some(u64::from(patch))
    }
}
