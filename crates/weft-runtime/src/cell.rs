//! One socket and what belongs to it, shared by those who read it, write it and watch it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use weft_link::Link;
use weft_node::LinkId;
use weft_transport::{write_batch, write_plain_batch};

use crate::clock::now_us;
use crate::transport::Transport;

/// A link of a neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkInfo {
    /// This end.
    pub src: String,
    /// The neighbour's end.
    pub dst: String,
    /// Bytes of a batch at most.
    pub mtu: u16,
    /// Whether it is a byte stream.
    pub streamed: bool,
    /// Whether nothing is lost on it.
    pub reliable: bool,
    /// Interfaces that carry it.
    pub interfaces: Vec<String>,
}

/// A connected link.
pub(crate) struct LinkCell {
    pub(crate) id: LinkId,
    pub(crate) link: Link,
    /// The shard that reads it.
    pub(crate) shard: usize,
    /// The transport it carries, once its handshake is done.
    pub(crate) transport: OnceLock<Arc<Transport>>,
    /// The most that the content of a compressed batch may be, if compression was agreed; set before
    /// `transport`.
    pub(crate) content_max: OnceLock<u16>,
    /// What was received of a batch that is not whole yet. Held while the link is read.
    pub(crate) tail: Mutex<Vec<u8>>,
    pub(crate) last_rx_us: AtomicU64,
    pub(crate) last_tx_us: AtomicU64,
    /// Batches and bytes of messages that came in; written by whoever holds `tail`.
    received: [AtomicU64; 2],
    /// Nothing that still arrives matters.
    pub(crate) closing: AtomicBool,
}

impl LinkCell {
    pub(crate) fn new(id: LinkId, link: Link, shard: usize) -> Self {
        let now = now_us();
        Self {
            id,
            link,
            shard,
            transport: OnceLock::new(),
            content_max: OnceLock::new(),
            tail: Mutex::new(Vec::new()),
            last_rx_us: AtomicU64::new(now),
            last_tx_us: AtomicU64::new(now),
            received: Default::default(),
            closing: AtomicBool::new(false),
        }
    }

    /// Writes one batch beside the transport: in a handshake, or on a link that carries no messages
    /// now.
    pub(crate) fn transmit(&self, batch: &[u8]) {
        let mut framed = Vec::with_capacity(batch.len() + 3);
        match self.content_max.get() {
            None => write_batch(batch, &mut framed),
            Some(_) => write_plain_batch(batch, &mut framed),
        }
        // So few bytes always fit the socket; if not, a timer ends the link.
        if self.link.write(&framed).is_ok() {
            self.last_tx_us.store(now_us(), Ordering::Relaxed);
        }
    }

    /// A description of it. Cost: system calls.
    pub(crate) fn info(&self) -> LinkInfo {
        LinkInfo {
            src: self.link.src().into(),
            dst: self.link.dst().into(),
            mtu: self.link.mtu(),
            streamed: self.link.is_streamed(),
            reliable: self.link.is_reliable(),
            interfaces: self.link.interfaces(),
        }
    }

    /// So many batches and bytes more have come in; for the thread that reads the link: no
    /// read-modify-write.
    pub(crate) fn note_received(&self, batches: u64, bytes: u64) {
        for (cell, more) in self.received.iter().zip([batches, bytes]) {
            cell.store(cell.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
        }
    }

    /// Batches and bytes that came in.
    pub(crate) fn received(&self) -> (u64, u64) {
        let [batches, bytes] = &self.received;
        (batches.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed))
    }

    /// Frees the buffer of the tail if it holds nothing: for a link that is quiet.
    pub(crate) fn release_idle(&self) {
        if let Ok(mut tail) = self.tail.try_lock()
            && tail.is_empty()
        {
            *tail = Vec::new();
        }
    }
}
