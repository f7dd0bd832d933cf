//! The reading threads: each polls its share of the links and handles what arrives.
//!
//! A sample goes from the socket to the subscriber's callback on one of these threads, without a
//! queue between. A callback or a full neighbour may make the thread wait; then another one takes
//! over the shard's other links (see [`crate::duty`]), so that one slow receiver stops the link that
//! feeds it and no other.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use weft_node::LinkId;

use crate::cell::LinkCell;
use crate::clock::now_us;
use crate::duty::{Duty, Post};
use crate::poll::{Events, Poller};
use crate::receive::{Reading, read};
use crate::reserve::Reserve;
use crate::shared::Shared;

/// A poller and the links registered with it.
///
/// Its thread writes it every turn, so it keeps away from the memory of others.
#[repr(align(128))]
pub(crate) struct Shard {
    poller: Poller,
    links: Mutex<HashMap<u64, Arc<LinkCell>>>,
    stop: AtomicBool,
    /// How long a thread looks for more before it sleeps, in microseconds.
    busy_poll_us: u64,
    /// Relieved threads that may be the next to take over.
    pub(crate) spares: Reserve<()>,
}

impl Shard {
    pub(crate) fn new(busy_poll: Duration) -> std::io::Result<Self> {
        Ok(Self {
            poller: Poller::new()?,
            links: Mutex::new(HashMap::new()),
            stop: AtomicBool::new(false),
            busy_poll_us: busy_poll.as_micros() as u64,
            spares: Reserve::default(),
        })
    }

    fn links(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<LinkCell>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to read a link. Returns whether it can be.
    pub(crate) fn add(&self, cell: &Arc<LinkCell>) -> bool {
        let mut links = self.links();
        links.insert(cell.id.0, Arc::clone(cell));
        let added = self.poller.add_readable(cell.link.as_fd(), cell.id.0).is_ok();
        if !added {
            links.remove(&cell.id.0);
        }
        added
    }

    /// Reads a link no more.
    pub(crate) fn remove(&self, id: LinkId) {
        let mut links = self.links();
        if let Some(cell) = links.remove(&id.0) {
            self.poller.remove(cell.link.as_fd());
            drop(links);
            drop(cell);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.links().len()
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.poller.wake();
        self.spares.close();
    }

    /// Polls a link no more while its reader is kept; [`Shard::resume`] goes on.
    pub(crate) fn pause(&self, cell: &LinkCell) {
        self.poller.remove(cell.link.as_fd());
    }

    /// Polls a link again, unless it was removed meanwhile.
    pub(crate) fn resume(&self, cell: &LinkCell) {
        let links = self.links();
        if links.contains_key(&cell.id.0) {
            let _ = self.poller.add_readable(cell.link.as_fd(), cell.id.0);
        }
    }

    /// A reading thread's work: until the shard stops, or another thread has taken over and this one
    /// is not needed again.
    ///
    /// It holds on to `shared` meanwhile: to ask every turn whether that is still there would write a
    /// count that all threads share.
    pub(crate) fn run(self: &Arc<Self>, shared: &Arc<Shared>, post: &Post) {
        let mut events = Events::new();
        let mut ready = Vec::new();
        let mut reading = Reading::new(shared, post);
        let mut awake_until_us = 0;
        while !self.stop.load(Ordering::Acquire) {
            ready.clear();
            let awake = awake_until_us > 0 && now_us() < awake_until_us;
            let timeout = awake.then_some(Duration::ZERO);
            if self.poller.wait(&mut events, timeout, |token| ready.push(token)).is_err() {
                return;
            }
            if self.busy_poll_us > 0 {
                if ready.is_empty() {
                    std::hint::spin_loop();
                    continue;
                }
                awake_until_us = now_us() + self.busy_poll_us;
            }
            for token in &ready {
                let (cell, others) = {
                    let links = self.links();
                    (links.get(token).cloned(), links.len() > 1)
                };
                let Some(cell) = cell else { continue };
                post.begin(Duty::Reading(Arc::clone(self), Arc::clone(&cell)));
                if others {
                    shared.service.watch();
                }
                read(shared, &cell, &mut reading);
                if post.end() {
                    // The rest of what was ready is still ready for the thread that took over.
                    self.resume(&cell);
                    drop(cell);
                    match self.spares.wait() {
                        Some(()) => break,
                        None => return,
                    }
                }
            }
        }
    }
}
