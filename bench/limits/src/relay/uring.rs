//! The relay over `io_uring` in its best form: a receive per session that goes on for ever and takes its memory from a
//! ring of buffers, and sends from the same memory, which are handed over by the call that waits.
#![allow(unsafe_code, reason = "the kernel reads and writes memory that is named by pointers")]

use super::{Counts, WRITE_LEN_MAX};
use io_uring::squeue::{Entry, Flags, SubmissionQueue};
use io_uring::types::{BufRingEntry, Fixed};
use io_uring::{IoUring, Submitter, cqueue, opcode};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};

/// Buffers of [`WRITE_LEN_MAX`] bytes that all sessions share; a power of two.
pub(super) const BUFFERS: u16 = 64;
const GROUP: u16 = 0;
/// `IOU_PBUF_RING_INC`: a buffer is used until it is full.
const INCREMENTAL: u16 = 2;
const PAGE_LEN: usize = 4096;
/// Sends to one session that are handed over together.
const CHAIN_LEN_MAX: usize = 4;
/// The kernel goes on with a send until all is sent.
const MSG_WAITALL: i32 = 0x100;
/// How long the kernel's thread looks for submissions before it sleeps.
const SQPOLL_IDLE_MS: u32 = 1;
/// Marks the completions of sends; the rest is the index of the session.
const SEND: u64 = 1 << 32;

/// A session as a receiver.
#[derive(Default)]
struct Outgoing {
    waiting: VecDeque<Chunk>,
    /// How many of them, at the front, the kernel has. While it has some, others must wait: it keeps the order within
    /// a chain only.
    sending: usize,
}

/// Passes bytes on between neighbours in `streams` until all have hung up.
pub(super) fn relay(
    streams: &[TcpStream],
    sqpoll: bool,
    buffers: u16,
    counts: &Counts,
) -> io::Result<()> {
    let mut pool = Pool::new(buffers.next_power_of_two());
    let mut builder = IoUring::<Entry>::builder();
    builder.setup_single_issuer();
    if sqpoll {
        builder.setup_sqpoll(SQPOLL_IDLE_MS);
    } else {
        builder.setup_defer_taskrun().setup_no_sqarray();
    }
    // The kernel has one receive and one chain a session at most, so the queue is never full and no chain cut.
    let entries = (streams.len() * (1 + CHAIN_LEN_MAX)).next_power_of_two();
    let mut ring = builder.build(entries as u32)?;
    let (submitter, mut sq, mut cq) = ring.split();
    submitter.register_files(&streams.iter().map(AsRawFd::as_raw_fd).collect::<Vec<_>>())?;
    // SAFETY: ring and buffers outlive all receives: this function returns when each has ended.
    unsafe { pool.register(&submitter)? };
    let mut outgoing: Vec<Outgoing> = streams.iter().map(|_| Outgoing::default()).collect();
    let (mut open, mut sending) = (streams.len(), 0);
    // Sessions without a receive: those that the pool had no buffer for.
    let mut idle: Vec<usize> = (0..streams.len()).collect();
    let mut touched: Vec<usize> = Vec::new();
    loop {
        if pool.give_back() {
            for index in idle.drain(..) {
                let receive = opcode::RecvMulti::new(Fixed(index as u32), GROUP).build();
                push(&mut sq, receive.user_data(index as u64));
            }
        }
        for index in touched.drain(..) {
            sending += outgoing[index].submit(index, &pool, &mut sq);
        }
        if open == 0 && sending == 0 {
            return Ok(());
        }
        sq.sync();
        cq.sync();
        let mut calls = 0;
        if !sqpoll || cq.is_empty() || sq.need_wakeup() {
            calls = 1;
            submitter.submit_and_wait(1)?;
            cq.sync();
        }
        counts.wake_up(calls);
        for done in &mut cq {
            let index = (done.user_data() & !SEND) as usize;
            if done.user_data() & SEND != 0 {
                sending -= 1;
                outgoing[index].sent(&mut pool);
                touched.push(index);
                continue;
            }
            if let Some(buffer) = cqueue::buffer_select(done.flags()) {
                let len = usize::try_from(done.result()).unwrap_or(0);
                let more = cqueue::buffer_more(done.flags());
                outgoing[index ^ 1].waiting.push_back(pool.filled(buffer, len, more));
                touched.push(index ^ 1);
            }
            if !cqueue::more(done.flags()) {
                match done.result() {
                    1.. => idle.push(index),
                    error if error == -Errno::NOBUFS.raw_os_error() => idle.push(index),
                    _ => open -= 1,
                }
            }
        }
    }
}

impl Outgoing {
    /// Hands what waits to the kernel as one chain, unless it has some already; returns the number of sends.
    fn submit(&mut self, index: usize, pool: &Pool, sq: &mut SubmissionQueue) -> usize {
        if self.sending > 0 {
            return 0;
        }
        self.sending = self.waiting.len().min(CHAIN_LEN_MAX);
        for (at, chunk) in (1..=self.sending).zip(&self.waiting) {
            let bytes = &pool.bytes[chunk.at..][..chunk.len];
            let send = opcode::Send::new(Fixed(index as u32), bytes.as_ptr(), bytes.len() as u32);
            let send = send.flags(MSG_WAITALL).build();
            let link = if at < self.sending { Flags::IO_LINK } else { Flags::empty() };
            push(sq, send.flags(link).user_data(SEND | index as u64));
        }
        self.sending
    }

    /// Lets go of what the send that has ended was to send. Chains end in order; those that fail have nobody to go to.
    fn sent(&mut self, pool: &mut Pool) {
        self.sending -= 1;
        if let Some(chunk) = self.waiting.pop_front() {
            pool.release(&chunk);
        }
    }
}

fn push(sq: &mut SubmissionQueue, entry: Entry) {
    // SAFETY: receives use the pool, sends a buffer of it that is not given back before they have ended.
    unsafe { sq.push(&entry) }.expect("the queue holds what a turn submits");
}

/// Memory for receives, and the ring that names its buffers to the kernel. The kernel fills a buffer bit by bit, so that
/// short messages leave no gaps.
struct Pool {
    bytes: Vec<u8>,
    entries: Vec<u8>,
    tail: u16,
    buffers: Vec<Buffer>,
    /// Buffers that the ring does not name yet.
    free: Vec<u16>,
}

#[derive(Clone, Default)]
struct Buffer {
    filled: usize,
    /// Chunks that are still to be sent, and one more while the kernel fills it.
    users: usize,
}

/// What one receive has brought, in a buffer of the pool.
struct Chunk {
    buffer: u16,
    at: usize,
    len: usize,
}

impl Pool {
    /// `count` is a power of two.
    fn new(count: u16) -> Self {
        let entries_len = usize::from(count) * size_of::<BufRingEntry>();
        Self {
            bytes: vec![0; usize::from(count) * WRITE_LEN_MAX],
            entries: vec![0; entries_len + PAGE_LEN],
            tail: 0,
            buffers: vec![Buffer::default(); count.into()],
            free: (0..count).collect(),
        }
    }

    /// # Safety
    /// The pool must not be dropped before the last receive has ended.
    unsafe fn register(&mut self, submitter: &Submitter) -> io::Result<()> {
        let (ring, count) = (self.ring() as u64, self.buffers.len() as u16);
        // SAFETY: the memory holds `count` entries; the caller keeps it.
        unsafe { submitter.register_buf_ring_with_flags(ring, count, GROUP, INCREMENTAL) }
    }

    /// The kernel wants it to begin with a page.
    fn ring(&mut self) -> *mut BufRingEntry {
        let offset = self.entries.as_ptr().align_offset(PAGE_LEN);
        self.entries[offset..].as_mut_ptr().cast()
    }

    /// Offers free buffers to receives; returns whether there were any.
    fn give_back(&mut self) -> bool {
        let ring = self.ring();
        let any = !self.free.is_empty();
        for id in self.free.drain(..) {
            self.buffers[usize::from(id)] = Buffer { filled: 0, users: 1 };
            let at = usize::from(self.tail) % self.buffers.len();
            // SAFETY: within the ring, and the kernel leaves alone what is beyond the tail that it knows.
            let entry = unsafe { &mut *ring.add(at) };
            let from = &raw mut self.bytes[usize::from(id) * WRITE_LEN_MAX];
            entry.set_addr(from as u64);
            entry.set_len(WRITE_LEN_MAX as u32);
            entry.set_bid(id);
            self.tail = self.tail.wrapping_add(1);
        }
        // SAFETY: the tail is an aligned field of the first entry that only this thread writes.
        let tail = unsafe { &*BufRingEntry::tail(ring).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
        any
    }

    /// Notes what the kernel has put into a buffer, and whether it will put more there.
    fn filled(&mut self, id: u16, len: usize, more: bool) -> Chunk {
        let buffer = &mut self.buffers[usize::from(id)];
        let chunk = Chunk { buffer: id, at: usize::from(id) * WRITE_LEN_MAX + buffer.filled, len };
        buffer.filled += len;
        buffer.users += usize::from(more);
        chunk
    }

    fn release(&mut self, chunk: &Chunk) {
        let buffer = &mut self.buffers[usize::from(chunk.buffer)];
        buffer.users -= 1;
        if buffer.users == 0 {
            self.free.push(chunk.buffer);
        }
    }
}
