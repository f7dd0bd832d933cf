//! Payload bytes: immutable, cheap to clone, in one or several slices.
//!
//! Not here: encoding of typed values, shared memory, and how payloads get on the wire.
//!
//! Spec: 05 §A.7. Invariants:
//! - A clone never copies more than [`INLINE_LEN_MAX`] bytes and never allocates.
//! - Equality and hash depend on the bytes only, not on how they are stored or split.
//!
//! ```text
//!              40 bytes                 on the heap
//!  inline   | len | 38 bytes        |
//!  shared   | pointer, len          | -> [u8] with its reference count
//!  owned    | pointer, range        | -> anything that holds bytes: a Vec, a receive buffer
//!  parts    | pointer, count, len   | -> contiguous ZBytes, in order
//! ```

mod io;
#[cfg(test)]
mod tests;

use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Range;
use core::str::Utf8Error;
use std::borrow::Cow;
use std::sync::Arc;

pub use io::{ZBytesReader, ZBytesWriter};

/// Payloads up to this many bytes are stored in the [`ZBytes`] itself, without allocation.
pub const INLINE_LEN_MAX: usize = 38;

/// Immutable bytes: a payload or an attachment.
///
/// 40 bytes in size. Cloning copies up to [`INLINE_LEN_MAX`] bytes or counts one reference. Made with `From` or `Into`
/// from byte and text types; `Vec`, `String` and `Arc<[u8]>` are taken over without copying their bytes.
#[derive(Clone)]
pub struct ZBytes(Repr);

/// Something that holds bytes at a fixed place for as long as it lives.
type Owner = dyn AsRef<[u8]> + Send + Sync;

#[derive(Clone)]
enum Repr {
    /// The first `len` bytes count.
    Inline {
        len: u8,
        bytes: [u8; INLINE_LEN_MAX],
    },
    Shared(Arc<[u8]>),
    Owned {
        owner: Arc<Owner>,
        start: usize,
        len: usize,
    },
    /// Two or more contiguous, non-empty parts, `len` bytes together.
    Parts {
        parts: Arc<[ZBytes]>,
        len: usize,
    },
}

impl ZBytes {
    /// No bytes.
    pub const fn new() -> Self {
        Self(Repr::Inline { len: 0, bytes: [0; INLINE_LEN_MAX] })
    }

    /// The bytes of `range` within what `owner` holds, without copying them, whatever their number.
    ///
    /// The bytes live as long as any clone of the result, so a short range pins a big buffer: prefer copying those.
    /// The owner must give the same slice each time it is asked.
    ///
    /// # Panics
    /// If `range` is not within the owner's bytes.
    pub fn from_owner(owner: Arc<dyn AsRef<[u8]> + Send + Sync>, range: Range<usize>) -> Self {
        let len = (*owner).as_ref()[range.clone()].len();
        let start = range.start;
        Self(Repr::Owned { owner, start, len })
    }

    /// The bytes of `slice`, which is part of `buffer`, without copying them. `None` if it is not part
    /// of it, or so little of it that it is better copied than pins the rest.
    pub(crate) fn within(buffer: &Arc<Vec<u8>>, slice: &[u8]) -> Option<Self> {
        let start = (slice.as_ptr() as usize).checked_sub(buffer.as_ptr() as usize)?;
        let range = start..start.checked_add(slice.len())?;
        let is_part = buffer.get(range.clone())?.as_ptr() == slice.as_ptr();
        let is_much = slice.len() >= buffer.capacity() / 2;
        (is_part && is_much).then(|| Self::from_owner(Arc::clone(buffer) as Arc<Owner>, range))
    }

    /// Bytes of a constant, without copying them.
    pub fn from_static(bytes: &'static [u8]) -> Self {
        if bytes.len() <= INLINE_LEN_MAX {
            return bytes.into();
        }
        Self::from_owner(Arc::new(bytes), 0..bytes.len())
    }

    /// A writer that collects bytes and whole `ZBytes`.
    pub fn writer() -> ZBytesWriter {
        ZBytesWriter::default()
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Inline { len, .. } => usize::from(*len),
            Repr::Shared(bytes) => bytes.len(),
            Repr::Owned { len, .. } | Repr::Parts { len, .. } => *len,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes if they are in one piece; `None` if they are fragmented.
    #[inline]
    pub fn as_slice(&self) -> Option<&[u8]> {
        match &self.0 {
            Repr::Inline { len, bytes } => Some(&bytes[..usize::from(*len)]),
            Repr::Shared(bytes) => Some(bytes),
            // An owner that shrank against its contract yields no bytes instead of a panic.
            Repr::Owned { owner, start, len } => {
                let bytes = (**owner).as_ref();
                Some(bytes.get(*start..*start + *len).unwrap_or_default())
            }
            Repr::Parts { .. } => None,
        }
    }

    /// The bytes in one piece; copies them only if they are fragmented.
    pub fn to_bytes(&self) -> Cow<'_, [u8]> {
        match self.as_slice() {
            Some(bytes) => Cow::Borrowed(bytes),
            None => Cow::Owned(self.slices().collect::<Vec<_>>().concat()),
        }
    }

    /// The bytes as text; copies them only if they are fragmented.
    ///
    /// # Errors
    /// If they are not UTF-8; says where.
    pub fn try_to_str(&self) -> Result<Cow<'_, str>, Utf8Error> {
        match self.to_bytes() {
            Cow::Borrowed(bytes) => core::str::from_utf8(bytes).map(Cow::Borrowed),
            Cow::Owned(bytes) => {
                String::from_utf8(bytes).map(Cow::Owned).map_err(|error| error.utf8_error())
            }
        }
    }

    /// The pieces in order, none of them empty.
    pub fn slices(&self) -> Slices<'_> {
        match &self.0 {
            Repr::Parts { parts, .. } => Slices { first: None, parts: parts.iter() },
            _ => Slices {
                first: self.as_slice().filter(|bytes| !bytes.is_empty()),
                parts: [].iter(),
            },
        }
    }

    /// A reader over the bytes that can seek.
    pub fn reader(&self) -> ZBytesReader<'_> {
        ZBytesReader::new(self)
    }
}

impl Default for ZBytes {
    fn default() -> Self {
        Self::new()
    }
}

impl FromIterator<ZBytes> for ZBytes {
    /// Joins pieces in order without copying large ones.
    fn from_iter<I: IntoIterator<Item = ZBytes>>(pieces: I) -> Self {
        let mut writer = Self::writer();
        for piece in pieces {
            writer.append(piece);
        }
        writer.finish()
    }
}

/// Iterator over the contiguous pieces of a [`ZBytes`].
#[derive(Clone, Debug)]
pub struct Slices<'a> {
    first: Option<&'a [u8]>,
    parts: core::slice::Iter<'a, ZBytes>,
}

impl<'a> Iterator for Slices<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.first.take().or_else(|| self.parts.next().and_then(ZBytes::as_slice))
    }
}

impl From<&[u8]> for ZBytes {
    fn from(slice: &[u8]) -> Self {
        let mut bytes = [0; INLINE_LEN_MAX];
        match bytes.get_mut(..slice.len()) {
            Some(start) => {
                start.copy_from_slice(slice);
                let len = slice.len() as u8; // at most `INLINE_LEN_MAX`
                Self(Repr::Inline { len, bytes })
            }
            None => Self(Repr::Shared(slice.into())),
        }
    }
}

impl From<Vec<u8>> for ZBytes {
    fn from(bytes: Vec<u8>) -> Self {
        if bytes.len() <= INLINE_LEN_MAX {
            return bytes.as_slice().into();
        }
        let len = bytes.len();
        Self::from_owner(Arc::new(bytes), 0..len)
    }
}

impl From<Arc<[u8]>> for ZBytes {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self(Repr::Shared(bytes))
    }
}

impl From<Box<[u8]>> for ZBytes {
    fn from(bytes: Box<[u8]>) -> Self {
        bytes.into_vec().into()
    }
}

impl<const N: usize> From<[u8; N]> for ZBytes {
    fn from(bytes: [u8; N]) -> Self {
        bytes.as_slice().into()
    }
}

impl<const N: usize> From<&[u8; N]> for ZBytes {
    fn from(bytes: &[u8; N]) -> Self {
        bytes.as_slice().into()
    }
}

impl From<&str> for ZBytes {
    fn from(text: &str) -> Self {
        text.as_bytes().into()
    }
}

impl From<String> for ZBytes {
    fn from(text: String) -> Self {
        text.into_bytes().into()
    }
}

impl From<&String> for ZBytes {
    fn from(text: &String) -> Self {
        text.as_bytes().into()
    }
}

impl From<&Vec<u8>> for ZBytes {
    fn from(bytes: &Vec<u8>) -> Self {
        bytes.as_slice().into()
    }
}

impl From<Cow<'_, [u8]>> for ZBytes {
    fn from(bytes: Cow<'_, [u8]>) -> Self {
        match bytes {
            Cow::Borrowed(bytes) => bytes.into(),
            Cow::Owned(bytes) => bytes.into(),
        }
    }
}

impl From<Cow<'_, str>> for ZBytes {
    fn from(text: Cow<'_, str>) -> Self {
        match text {
            Cow::Borrowed(text) => text.into(),
            Cow::Owned(text) => text.into(),
        }
    }
}

impl From<&ZBytes> for ZBytes {
    fn from(bytes: &ZBytes) -> Self {
        bytes.clone()
    }
}

impl PartialEq for ZBytes {
    fn eq(&self, other: &Self) -> bool {
        match (self.as_slice(), other.as_slice()) {
            (Some(a), Some(b)) => a == b,
            _ => self.len() == other.len() && self.to_bytes() == other.to_bytes(),
        }
    }
}

impl Eq for ZBytes {}

impl Hash for ZBytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // A hasher may tell two writes from one, so fragmented bytes are joined first.
        self.to_bytes().hash(state);
    }
}

impl PartialEq<[u8]> for ZBytes {
    fn eq(&self, other: &[u8]) -> bool {
        *self.to_bytes() == *other
    }
}

impl PartialEq<&[u8]> for ZBytes {
    fn eq(&self, other: &&[u8]) -> bool {
        *self == **other
    }
}

impl<const N: usize> PartialEq<[u8; N]> for ZBytes {
    fn eq(&self, other: &[u8; N]) -> bool {
        *self == *other.as_slice()
    }
}

impl<const N: usize> PartialEq<&[u8; N]> for ZBytes {
    fn eq(&self, other: &&[u8; N]) -> bool {
        *self == *other.as_slice()
    }
}

impl PartialEq<Vec<u8>> for ZBytes {
    fn eq(&self, other: &Vec<u8>) -> bool {
        *self == *other.as_slice()
    }
}

impl PartialEq<str> for ZBytes {
    fn eq(&self, other: &str) -> bool {
        *self == *other.as_bytes()
    }
}

impl PartialEq<&str> for ZBytes {
    fn eq(&self, other: &&str) -> bool {
        *self == *other.as_bytes()
    }
}

/// Shows the length and the beginning: as text if that is printable, else as hexadecimal digits.
impl fmt::Debug for ZBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN_LEN_MAX: usize = 64;
        let mut start = Vec::with_capacity(SHOWN_LEN_MAX);
        for slice in self.slices() {
            start.extend(slice.iter().take(SHOWN_LEN_MAX - start.len()));
        }
        let more = if self.len() > start.len() { "…" } else { "" };
        write!(f, "ZBytes({} B, ", self.len())?;
        // A character that the limit cuts in two does not make the rest binary.
        let text = match core::str::from_utf8(&start) {
            Ok(text) => Some(text),
            Err(error) if error.error_len().is_none() && !more.is_empty() => {
                core::str::from_utf8(&start[..error.valid_up_to()]).ok()
            }
            Err(_) => None,
        };
        match text.filter(|text| !text.contains(|c: char| c.is_control() && !c.is_whitespace())) {
            Some(text) => write!(f, "{text:?}{more})"),
            None => {
                f.write_str("0x")?;
                start.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                write!(f, "{more})")
            }
        }
    }
}
