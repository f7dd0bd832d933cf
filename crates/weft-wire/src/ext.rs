//! Extensions: the chain of tagged values that ends the fixed part of a message whose flag Z is set.
//!
//! Spec: 01 §1.8, 02 §0.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! |Z|ENC|M|  ID   |   Z: another follows   ENC: unit, zint, bytes, reserved   M: mandatory
//! ~ zint | <u8;z> ~   as ENC says
//! ```
//!
//! An extension is recognised by ENC, M and ID together: the header without Z, here called its *key*. The
//! last of several with the same key counts. Bytes of a known extension beyond its layout are ignored.

use crate::{DecodeError, NoSpace, Reader, Sink};

/// Header flag of messages and extensions: an extension follows.
pub(crate) const Z: u8 = 0x80;
/// Key bit: a receiver that does not know the extension refuses the message.
const MANDATORY: u8 = 0x10;
/// Key bits: how the value is encoded. The same in the headers of OAM messages.
pub(crate) const ENC: u8 = 0x60;
pub(crate) const ENC_UNIT: u8 = 0x00;
pub(crate) const ENC_Z64: u8 = 0x20;
pub(crate) const ENC_ZBUF: u8 = 0x40;

/// The flag Z of a message with `count` extensions.
#[inline]
pub(crate) fn flag(count: usize) -> u8 {
    if count == 0 { 0 } else { Z }
}

/// Reads the chain of a message with `header`, if it has one. `known` takes the value of an extension whose key
/// it knows and returns true, or leaves the reader alone and returns false; then the extension is skipped, or
/// refused if it is mandatory.
///
/// Returns the raw chain if something in it was unknown, else an empty slice.
#[expect(clippy::inline_always, reason = "hot path: without extensions, nothing is left of this")]
#[inline(always)]
pub(crate) fn read_chain<'a>(
    header: u8,
    r: &mut Reader<'a>,
    known: impl FnMut(u8, &mut Reader<'a>) -> Result<bool, DecodeError>,
) -> Result<&'a [u8], DecodeError> {
    if header & Z == 0 { Ok(&[]) } else { read_extensions(r, known) }
}

/// [`read_chain`] when there is one.
#[inline]
fn read_extensions<'a>(
    r: &mut Reader<'a>,
    mut known: impl FnMut(u8, &mut Reader<'a>) -> Result<bool, DecodeError>,
) -> Result<&'a [u8], DecodeError> {
    let start = r.pos();
    let mut unknown = false;
    loop {
        let offset = r.pos();
        let header = r.byte("extension header")?;
        let key = header & !Z;
        if !known(key, r)? {
            if key & MANDATORY != 0 {
                return Err(DecodeError::UnknownMandatoryExtension { id: key, offset });
            }
            skip_value(key, r)?;
            unknown = true;
        }
        if header & Z == 0 {
            return Ok(if unknown { r.since(start) } else { &[] });
        }
    }
}

/// Skips the chain of a message that knows no extensions; refuses mandatory ones.
pub(crate) fn skip_optional(header: u8, r: &mut Reader<'_>) -> Result<(), DecodeError> {
    read_chain(header, r, |_, _| Ok(false)).map(drop)
}

/// Skips the chain of a message with `header`, mandatory extensions included: what scouting does.
pub(crate) fn skip_chain(mut header: u8, r: &mut Reader<'_>) -> Result<(), DecodeError> {
    while header & Z != 0 {
        header = r.byte("extension header")?;
        skip_value(header & !Z, r)?;
    }
    Ok(())
}

/// Skips the value of an extension whose header was just read.
fn skip_value(key: u8, r: &mut Reader<'_>) -> Result<(), DecodeError> {
    match key & ENC {
        ENC_UNIT => {}
        ENC_Z64 => drop(r.zint("extension value")?),
        ENC_ZBUF => drop(r.zbuf("extension body")?),
        _ => return Err(DecodeError::ReservedEncoding { offset: r.pos() - 1 }),
    }
    Ok(())
}

/// Reads the value of a bytes extension.
#[inline]
pub(crate) fn read_bytes<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    r.zslice(u64::from(u32::MAX), "extension body")
}

/// Writes the headers of a chain of known length, so that each but the last says that another follows.
pub(crate) struct ChainWriter {
    left: usize,
}

impl ChainWriter {
    #[inline]
    pub(crate) fn new(count: usize) -> Self {
        Self { left: count }
    }

    /// The header byte of the next extension.
    #[inline]
    pub(crate) fn header(&mut self, key: u8) -> u8 {
        debug_assert!(self.left > 0, "more extensions than announced");
        self.left -= 1;
        if self.left == 0 { key } else { key | Z }
    }

    /// A unit extension, if `present`.
    #[inline]
    pub(crate) fn unit<'s, S: Sink<'s> + ?Sized>(
        &mut self,
        key: u8,
        present: bool,
        sink: &mut S,
    ) -> Result<(), NoSpace> {
        if present { sink.byte(self.header(key)) } else { Ok(()) }
    }

    /// An integer extension, if there is a `value`.
    #[inline]
    pub(crate) fn z64<'s, S: Sink<'s> + ?Sized>(
        &mut self,
        key: u8,
        value: Option<u64>,
        sink: &mut S,
    ) -> Result<(), NoSpace> {
        let Some(value) = value else {
            return Ok(());
        };
        sink.byte(self.header(key))?;
        sink.zint(value)
    }

    /// A bytes extension, if there is a `body`.
    #[inline]
    pub(crate) fn zbuf<'s, S: Sink<'s> + ?Sized>(
        &mut self,
        key: u8,
        body: Option<&'s [u8]>,
        sink: &mut S,
    ) -> Result<(), NoSpace> {
        let Some(body) = body else {
            return Ok(());
        };
        self.zbuf_header(key, body.len(), sink)?;
        sink.payload(body)
    }

    /// The start of a bytes extension whose body of `len` bytes the caller writes.
    #[inline]
    pub(crate) fn zbuf_header<'s, S: Sink<'s> + ?Sized>(
        &mut self,
        key: u8,
        len: usize,
        sink: &mut S,
    ) -> Result<(), NoSpace> {
        sink.byte(self.header(key))?;
        sink.zint(len as u64)
    }
}

/// The extensions of a body that this version does not know, to be written again after those it knows.
///
/// Borrows the received chain; costs nothing if there are none. Equal if the unknown extensions are, in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnknownExts<'a> {
    /// A whole, well-formed chain, or nothing.
    chain: &'a [u8],
    /// The keys in `chain` that are known; zero is none.
    known: [u8; 4],
}

impl<'a> UnknownExts<'a> {
    /// No unknown extensions.
    pub const EMPTY: Self = Self { chain: &[], known: [0; 4] };

    /// The extensions of `chain`, as [`read_chain`] returned it, without those whose key is in `known`.
    #[inline]
    pub(crate) fn new(chain: &'a [u8], known: [u8; 4]) -> Self {
        Self { chain, known: if chain.is_empty() { [0; 4] } else { known } }
    }

    /// True if there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chain.is_empty()
    }

    /// The unknown extensions in order: for each its header without the top bit, and its value as it is on
    /// the wire (nothing, an integer, or a length and bytes).
    pub fn iter(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        let known = self.known;
        let mut r = Reader::new(self.chain);
        core::iter::from_fn(move || {
            let header = r.byte("extension header").ok()?;
            let start = r.pos();
            skip_value(header & !Z, &mut r).ok()?;
            Some((header & !Z, r.since(start)))
        })
        .filter(move |(key, _)| !known.contains(key))
    }

    /// How many there are.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        if self.is_empty() { 0 } else { self.iter().count() }
    }

    /// Writes them at the end of `chain`.
    #[inline]
    pub(crate) fn encode<'s, S: Sink<'s> + ?Sized>(
        &'s self,
        chain: &mut ChainWriter,
        sink: &mut S,
    ) -> Result<(), NoSpace> {
        for (key, value) in self.iter() {
            sink.byte(chain.header(key))?;
            sink.payload(value)?;
        }
        Ok(())
    }
}

impl PartialEq for UnknownExts<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for UnknownExts<'_> {}
