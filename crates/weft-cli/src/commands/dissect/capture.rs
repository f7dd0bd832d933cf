//! Capture files: pcap and pcapng, of any byte order and resolution of time.
//!
//! Not here: what the packets are (`packet`).

use std::fmt;
use std::io::Read;

use pcap_parser::pcapng::InterfaceDescriptionBlock;
use pcap_parser::traits::{PcapNGPacketBlock as _, PcapReaderIterator};
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError};

use super::limits::{BLOCK_LEN_MAX, INTERFACES_MAX};

const NS_PER_S: u64 = 1_000_000_000;

/// One packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet<'a> {
    /// When it was seen, in nanoseconds since 1970-01-01 UTC; 0 if the file does not tell.
    pub(super) unix_ns: u64,
    pub(super) link: Linktype,
    pub(super) bytes: &'a [u8],
    /// Bytes at its end that were not captured.
    pub(super) missing: usize,
}

/// Why a capture cannot be read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaptureError {
    /// It is neither pcap nor pcapng.
    NotACapture,
    /// It ends inside a block: what comes before was read.
    Truncated,
    /// A block is longer than [`BLOCK_LEN_MAX`].
    BlockTooLong,
    /// A section has more than [`INTERFACES_MAX`] interfaces.
    TooManyInterfaces,
    /// A block makes no sense.
    Malformed,
    /// The system does not give it.
    Unreadable,
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotACapture => f.write_str("neither a pcap nor a pcapng file"),
            Self::Truncated => f.write_str("the capture ends inside a block"),
            Self::BlockTooLong => write!(f, "a block of more than {BLOCK_LEN_MAX} bytes"),
            Self::TooManyInterfaces => write!(f, "more than {INTERFACES_MAX} interfaces"),
            Self::Malformed => f.write_str("a block that makes no sense"),
            Self::Unreadable => f.write_str("cannot be read"),
        }
    }
}

/// Hands the packets to `each` until it returns false. Holds one block at a time.
///
/// # Errors
/// With the offset in bytes where it happened; the packets before that were handed over.
pub(super) fn read(
    source: impl Read + Send,
    mut each: impl FnMut(Packet<'_>) -> bool,
) -> Result<(), (CaptureError, usize)> {
    let mut reader = pcap_parser::create_reader(BLOCK_LEN_MAX, source).map_err(|error| {
        let error = match error {
            PcapError::ReadError => CaptureError::Unreadable,
            _ => CaptureError::NotACapture,
        };
        (error, 0)
    })?;
    let mut interpreter = Interpreter::default();
    loop {
        let read = match reader.next() {
            Ok((len, block)) => {
                let goes_on = match interpreter.packet(&block) {
                    Ok(packet) => packet.is_none_or(&mut each),
                    Err(error) => return Err((error, reader.consumed())),
                };
                if !goes_on {
                    return Ok(());
                }
                Ok(len)
            }
            Err(PcapError::Eof) => return Ok(()),
            Err(PcapError::Incomplete(_)) => Err(None),
            Err(PcapError::UnexpectedEof) => Err(Some(CaptureError::Truncated)),
            Err(PcapError::BufferTooSmall) => Err(Some(CaptureError::BlockTooLong)),
            Err(PcapError::ReadError) => Err(Some(CaptureError::Unreadable)),
            Err(_) => Err(Some(CaptureError::Malformed)),
        };
        match read {
            Ok(len) => reader.consume(len),
            Err(None) => refill(reader.as_mut())?,
            Err(Some(error)) => return Err((error, reader.consumed())),
        }
    }
}

/// Reads on. A buffer that cannot take more holds the beginning of a block that is too long.
fn refill(reader: &mut dyn PcapReaderIterator) -> Result<(), (CaptureError, usize)> {
    let before = reader.data().len();
    let outcome = reader.refill().map_err(|_| CaptureError::Unreadable);
    outcome.map_err(|error| (error, reader.consumed()))?;
    if reader.data().len() == before && !reader.reader_exhausted() {
        return Err((CaptureError::BlockTooLong, reader.consumed()));
    }
    Ok(())
}

/// What the blocks so far say about those to come.
#[derive(Default)]
struct Interpreter {
    interfaces: Vec<Interface>,
}

#[derive(Clone, Copy)]
struct Interface {
    link: Linktype,
    /// Units of time in a second.
    units_per_s: u128,
    offset_s: i64,
}

impl Interface {
    fn of(block: &InterfaceDescriptionBlock<'_>) -> Self {
        const BINARY: u8 = 0x80;
        let exponent = u32::from(block.if_tsresol & !BINARY);
        let base: u128 = if block.if_tsresol & BINARY == 0 { 10 } else { 2 };
        // No clock is finer; what claims to be has the default.
        let units_per_s = base.checked_pow(exponent).unwrap_or(1_000_000);
        Self { link: block.linktype, units_per_s, offset_s: block.if_tsoffset }
    }

    fn unix_ns(&self, high: u32, low: u32) -> u64 {
        let units = u128::from(u64::from(high) << 32 | u64::from(low));
        let seconds = units / self.units_per_s;
        let rest = units % self.units_per_s;
        // At most 2^64 units remain of a second that has more.
        let ns = rest.saturating_mul(u128::from(NS_PER_S)) / self.units_per_s;
        let seconds = i128::try_from(seconds).unwrap_or(i128::MAX);
        let total = seconds
            .saturating_add(self.offset_s.into())
            .saturating_mul(NS_PER_S.into())
            .saturating_add(i128::try_from(ns).unwrap_or_default());
        u64::try_from(total.max(0)).unwrap_or(u64::MAX)
    }
}

impl Interpreter {
    /// The packet of a block, if it has one.
    fn packet<'b>(
        &mut self,
        block: &'b PcapBlockOwned<'b>,
    ) -> Result<Option<Packet<'b>>, CaptureError> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                let units_per_s =
                    if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
                // The upper half has other things to say.
                let link = Linktype(header.network.0 & 0xffff);
                self.interfaces = vec![Interface { link, units_per_s, offset_s: 0 }];
            }
            PcapBlockOwned::Legacy(block) => {
                let Some(interface) = self.interfaces.first() else { return Ok(None) };
                let fraction = u128::from(block.ts_usec) * u128::from(NS_PER_S);
                let ns = (fraction / interface.units_per_s) as u64;
                let unix_ns = (u64::from(block.ts_sec) * NS_PER_S).saturating_add(ns);
                return Ok(Some(packet(interface, unix_ns, block.data, block.origlen)));
            }
            PcapBlockOwned::NG(Block::SectionHeader(_)) => self.interfaces.clear(),
            PcapBlockOwned::NG(Block::InterfaceDescription(block)) => {
                if self.interfaces.len() >= INTERFACES_MAX {
                    return Err(CaptureError::TooManyInterfaces);
                }
                self.interfaces.push(Interface::of(block));
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(block)) => {
                let Some(interface) = self.interfaces.get(block.if_id as usize) else {
                    return Err(CaptureError::Malformed);
                };
                let unix_ns = interface.unix_ns(block.ts_high, block.ts_low);
                return Ok(Some(packet(interface, unix_ns, block.packet_data(), block.origlen)));
            }
            PcapBlockOwned::NG(Block::SimplePacket(block)) => {
                let Some(interface) = self.interfaces.first() else {
                    return Err(CaptureError::Malformed);
                };
                return Ok(Some(packet(interface, 0, block.packet_data(), block.origlen)));
            }
            PcapBlockOwned::NG(_) => {}
        }
        Ok(None)
    }
}

fn packet<'b>(interface: &Interface, unix_ns: u64, bytes: &'b [u8], len: u32) -> Packet<'b> {
    let missing = (len as usize).saturating_sub(bytes.len());
    Packet { unix_ns, link: interface.link, bytes, missing }
}
