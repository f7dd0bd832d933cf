//! One open transport: its sending side, its receiving side, and who is behind it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use weft_keyexpr::KeyExpr;
use weft_node::{FaceId, Inbound, MessageClass, Received};
use weft_transport::{Negotiated, RxHalf};
use weft_wire::{WhatAmI, ZenohId};

use crate::meter::{Meter, Tally};
use crate::route::Route;
use crate::sender::Sender;

/// A connected neighbour.
pub(crate) struct Transport {
    pub(crate) face: FaceId,
    pub(crate) zid: ZenohId,
    pub(crate) whatami: WhatAmI,
    pub(crate) sender: Arc<Sender>,
    /// Held by the thread that reads one of the transport's links, while it handles what it read.
    inbound: Mutex<Inbound<Arc<Route>>>,
    /// What `inbound` has counted when its reader last let go of it, for those who may not wait.
    pub(crate) received: ReceivedCells,
    /// Sizes of payloads, if they count.
    pub(crate) meter: Option<Arc<Meter>>,
    /// The reader is to let go of routes that are out of date.
    purge: AtomicBool,
    /// The list of neighbours to flush that it is in (see [`Dirty`](crate::plane::Dirty)).
    pub(crate) dirty_mark: AtomicU64,
}

impl Transport {
    pub(crate) fn new(
        face: FaceId,
        negotiated: &Negotiated,
        sender: Arc<Sender>,
        rx: RxHalf,
        meter: Option<Arc<Meter>>,
    ) -> Self {
        Self {
            face,
            zid: negotiated.zid,
            whatami: negotiated.whatami,
            sender,
            inbound: Mutex::new(Inbound::new(face, rx)),
            received: ReceivedCells::default(),
            meter,
            purge: AtomicBool::new(false),
            dirty_mark: AtomicU64::new(0),
        }
    }

    /// Where messages on this key, to or from the neighbour, count, if they do.
    pub(crate) fn tally(&self, key: &KeyExpr) -> Option<Tally> {
        self.meter.as_ref().map(|meter| Tally::new(meter, key))
    }

    /// The same for an answer. Errors without a key count for no key expression of its own.
    pub(crate) fn tally_of_answer(&self, key: Option<&KeyExpr>) -> Option<Tally> {
        let meter = self.meter.as_ref()?;
        Some(key.map_or_else(|| Tally::without_key(meter), |key| Tally::new(meter, key)))
    }

    /// Lets go of routes that are out of date: at once, or if the transport is being read, when its
    /// reader is done.
    pub(crate) fn purge(&self) {
        self.purge.store(true, Ordering::SeqCst);
        self.purge_if_asked();
    }

    /// The same for the reader, after it has released `inbound`.
    ///
    /// Whoever asks and finds `inbound` locked has asked before the reader looks here.
    pub(crate) fn purge_if_asked(&self) {
        if !self.purge.load(Ordering::SeqCst) {
            return;
        }
        let mut inbound = match self.inbound.try_lock() {
            Ok(inbound) => inbound,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if self.purge.swap(false, Ordering::SeqCst) {
            inbound.purge();
        }
    }

    /// Frees what was kept for large messages, unless there were some since the last call.
    pub(crate) fn release_unused(&self) {
        // Whoever holds the lock is busy with it.
        if let Ok(mut inbound) = self.inbound.try_lock() {
            inbound.release_unused();
        }
    }

    /// Nobody else reads while the guard lives.
    pub(crate) fn lock_inbound(&self) -> std::sync::MutexGuard<'_, Inbound<Arc<Route>>> {
        self.inbound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A copy of [`Received`] with one writer at a time, who holds `inbound`: stores, and nothing that has to
/// be atomic with them.
#[derive(Default)]
pub(crate) struct ReceivedCells {
    messages: [AtomicU64; MessageClass::COUNT],
    batches: AtomicU64,
    bytes: AtomicU64,
    transport_messages: AtomicU64,
    discarded: AtomicU64,
}

impl ReceivedCells {
    pub(crate) fn store(&self, received: &Received) {
        for (cell, count) in self.messages.iter().zip(received.messages) {
            cell.store(count, Ordering::Relaxed);
        }
        self.batches.store(received.batches, Ordering::Relaxed);
        self.bytes.store(received.bytes, Ordering::Relaxed);
        self.transport_messages.store(received.transport_messages, Ordering::Relaxed);
        self.discarded.store(received.discarded, Ordering::Relaxed);
    }

    pub(crate) fn load(&self) -> Received {
        Received {
            messages: std::array::from_fn(|class| self.messages[class].load(Ordering::Relaxed)),
            batches: self.batches.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            transport_messages: self.transport_messages.load(Ordering::Relaxed),
            discarded: self.discarded.load(Ordering::Relaxed),
        }
    }
}
