//! Reading one link: bytes to batches, batches to the handshake or to the data path.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use weft_node::{Hlc, Lane, Received};
use weft_transport::{Decompressor, RxError, next_batch};
use weft_wire::CloseReason;

use crate::cell::LinkCell;
use crate::clock::now_us;
use crate::duty::Post;
use crate::plane::{Dirty, RuntimePlane};
use crate::shared::Shared;
use crate::transport::Transport;

/// Bytes taken from a socket in one call at most.
const BUFFER_LEN: usize = 256 * 1024;
/// Bytes of a handshake batch at most. Nobody who is not known yet may make this node hold more.
const HANDSHAKE_BATCH_LEN_MAX: u16 = 16 * 1024;
/// Reads from one link before others have their turn.
const READS_PER_TURN: usize = 4;

/// What a reading thread keeps for all its links.
pub(crate) struct Reading<'a> {
    post: &'a Post,
    buffer: Box<[u8]>,
    decompressor: Decompressor,
    dirty: Dirty,
    /// Stamps samples, if the node does.
    lane: Option<Lane<'a>>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(shared: &'a Shared, post: &'a Post) -> Self {
        Self {
            post,
            buffer: vec![0; BUFFER_LEN].into_boxed_slice(),
            decompressor: Decompressor::new(),
            dirty: Dirty::default(),
            lane: shared.hlc.as_ref().map(Hlc::lane),
        }
    }
}

/// Why reading a link ends.
enum End {
    /// Nothing more for now.
    Later,
    /// The neighbour closed, broke the protocol, or the socket broke.
    Gone,
}

/// Handles what a link has to read.
///
/// Cost beyond the messages themselves: one system call, one clock read, two uncontended locks,
/// fifteen plain stores for counters.
pub(crate) fn read(shared: &Arc<Shared>, cell: &Arc<LinkCell>, reading: &mut Reading<'_>) {
    let mut tail = cell.tail.lock().unwrap_or_else(PoisonError::into_inner);
    let Reading { post, buffer, decompressor, dirty, lane } = reading;
    let mut plane = RuntimePlane { shared, post, dirty, lane: lane.as_mut() };
    let mut held = tail.len();
    buffer[..held].copy_from_slice(&tail);
    tail.clear();
    let mut end = End::Later;
    for _ in 0..READS_PER_TURN {
        let room = buffer.len() - held;
        let count = match cell.link.read(&mut buffer[held..]) {
            Ok(0) => {
                end = End::Gone;
                break;
            }
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(_) => {
                end = End::Gone;
                break;
            }
        };
        cell.last_rx_us.store(now_us(), Ordering::Relaxed);
        held += count;
        match take_batches(cell, &buffer[..held], decompressor, &mut plane) {
            Ok(taken) => {
                buffer.copy_within(taken..held, 0);
                held -= taken;
            }
            Err(()) => {
                end = End::Gone;
                break;
            }
        }
        if count < room {
            break;
        }
    }
    match end {
        // The buffer of the tail stays while the link is busy, see `LinkCell::release_idle`.
        End::Later => tail.extend_from_slice(&buffer[..held]),
        End::Gone => {
            drop(tail);
            shared.link_gone(cell);
        }
    }
}

/// Handles the whole batches in `bytes`; returns how many bytes they take, or an error when the
/// link is to be dropped.
fn take_batches(
    cell: &Arc<LinkCell>,
    bytes: &[u8],
    decompressor: &mut Decompressor,
    plane: &mut RuntimePlane<'_, '_>,
) -> Result<usize, ()> {
    let mut taken = 0;
    while !cell.closing.load(Ordering::Relaxed) {
        if let Some(transport) = cell.transport.get() {
            let content_max = cell.content_max.get().copied();
            let bytes = &bytes[taken..];
            let outcome = take_messages((cell, transport), content_max, bytes, decompressor, plane);
            plane.dirty.flush();
            transport.purge_if_asked();
            return outcome.map(|more| taken + more);
        }
        let next = next_batch(&bytes[taken..], HANDSHAKE_BATCH_LEN_MAX).map_err(|_| ())?;
        let Some((range, consumed)) = next else { return Ok(taken) };
        plane.shared.handshake_batch(cell, &bytes[taken..][range]);
        taken += consumed;
    }
    Ok(bytes.len())
}

/// The same for the link of an open transport. Its batches have the header of compression if there is
/// a `content_max`.
fn take_messages(
    (cell, transport): (&LinkCell, &Transport),
    content_max: Option<u16>,
    bytes: &[u8],
    decompressor: &mut Decompressor,
    plane: &mut RuntimePlane<'_, '_>,
) -> Result<usize, ()> {
    transport.sender.note_received();
    let mut inbound = transport.lock_inbound();
    let Received { batches, bytes: len, .. } = inbound.received();
    let broken = &plane.shared.broken;
    let outcome = read_batches((transport, broken), bytes, |batch| {
        let content = match content_max {
            None => batch,
            Some(max) => decompressor.batch(batch, max)?,
        };
        plane.begin_batch();
        inbound.batch(content, plane)
    });
    let received = inbound.received();
    transport.received.store(&received);
    cell.note_received(received.batches - batches, received.bytes - len);
    outcome
}

/// Hands all whole batches in `bytes` to `read`; returns as [`take_batches`] does. Counts if the neighbour
/// broke the protocol.
fn read_batches(
    (transport, broken): (&Transport, &AtomicU64),
    bytes: &[u8],
    mut read: impl FnMut(&[u8]) -> Result<Option<CloseReason>, RxError>,
) -> Result<usize, ()> {
    let mut taken = 0;
    let note_broken = || {
        broken.fetch_add(1, Ordering::Relaxed);
    };
    while let Some((range, consumed)) =
        next_batch(&bytes[taken..], u16::MAX).map_err(|_| note_broken())?
    {
        match read(&bytes[taken..][range]) {
            Ok(None) => taken += consumed,
            Ok(Some(_closed)) => return Err(()),
            Err(error) => {
                note_broken();
                tracing::debug!(zid = %transport.zid, %error, "dropping a link");
                return Err(());
            }
        }
    }
    Ok(taken)
}
