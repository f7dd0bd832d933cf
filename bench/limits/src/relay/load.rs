//! The load: every even session publishes, its neighbour receives, all on one thread.

use super::{Case, Counts, Figures, WRITE_LEN_MAX};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::{Errno, read, write};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::io;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const EVENTS_MAX: usize = 256;
const READ_LEN: usize = 256 * 1024;
/// What a publisher has on the way when the relay is saturated: so many bytes, within these numbers of messages.
const WINDOW_LEN: usize = 128 * 1024;
const WINDOW_MIN: usize = 2;
const WINDOW_MAX: usize = 16;
/// Byte `n` of every stream is `n` modulo this prime, so that lost and swapped bytes are found.
const PERIOD: usize = 251;

/// A publisher and the subscriber that gets its messages through the relay.
struct Pair {
    publisher: TcpStream,
    subscriber: TcpStream,
    /// Bytes that are due, written, and received, since the beginning.
    due: usize,
    written: usize,
    received: usize,
}

/// What has been done up to a moment.
struct Mark {
    at: Instant,
    cpu: Duration,
    calls: u64,
    wake_ups: u64,
    received: u64,
}

/// Loads the relay at the other end of `streams`, then hangs up.
pub(super) fn run(streams: Vec<TcpStream>, case: Case, counts: &Counts) -> io::Result<Figures> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let mut pairs = Vec::new();
    let mut streams = streams.into_iter();
    while let (Some(publisher), Some(subscriber)) = (streams.next(), streams.next()) {
        publisher.set_nonblocking(true)?;
        subscriber.set_nonblocking(true)?;
        let data = EventData::new_u64(pairs.len() as u64);
        epoll::add(&epoll, &publisher, data, EventFlags::OUT | EventFlags::ET)?;
        epoll::add(&epoll, &subscriber, data, EventFlags::IN)?;
        pairs.push(Pair { publisher, subscriber, due: 0, written: 0, received: 0 });
    }
    let window = case.size * (WINDOW_LEN / case.size).clamp(WINDOW_MIN, WINDOW_MAX);
    let payload: Vec<u8> = (0..WRITE_LEN_MAX + PERIOD).map(|n| (n % PERIOD) as u8).collect();
    let mut buffer = vec![0; READ_LEN];
    let mut events = Vec::with_capacity(EVENTS_MAX);
    let interval = case.rate.map(|rate| Duration::from_secs_f64(1.0 / rate));
    let start = Instant::now();
    let (mut next_at, mut next) = (start, 0);
    let (mut received, mut opened) = (0, None);
    loop {
        let now = Instant::now();
        if opened.is_none() && now >= start + case.warmup {
            opened = Some(Mark::new(now, counts, received));
        }
        if let Some(opened) = &opened
            && now >= opened.at + case.duration
        {
            return Ok(opened.until(&Mark::new(now, counts, received), case.size));
        }
        let mut timeout = None;
        if let Some(interval) = interval {
            while next_at <= now {
                pairs[next].due += case.size;
                pairs[next].publish(&payload)?;
                next = (next + 1) % pairs.len();
                next_at += interval;
            }
            timeout = Timespec::try_from(next_at - now).ok();
        }
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), timeout.as_ref())?;
        for event in &events {
            let pair = &mut pairs[event.data.u64() as usize];
            received += pair.receive(&mut buffer)?;
            // A whole window at once: several messages come together, in every way of the relay the same number.
            if interval.is_none() && pair.received == pair.due {
                pair.due += window;
            }
            pair.publish(&payload)?;
        }
    }
}

impl Pair {
    fn publish(&mut self, payload: &[u8]) -> io::Result<()> {
        while self.written < self.due {
            let len = (self.due - self.written).min(WRITE_LEN_MAX);
            match write(&self.publisher, &payload[self.written % PERIOD..][..len]) {
                Ok(len) => self.written += len,
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<u64> {
        let len = match read(&self.subscriber, &mut *buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(Errno::AGAIN) => return Ok(0),
            len => len?,
        };
        let end = self.received + len - 1;
        if [buffer[0], buffer[len - 1]] != [self.received, end].map(|n| (n % PERIOD) as u8) {
            return Err(io::Error::other("the relay does not pass on what it got"));
        }
        self.received += len;
        Ok(len as u64)
    }
}

impl Mark {
    fn new(at: Instant, counts: &Counts, received: u64) -> Self {
        let time = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
        let cpu = time(ClockId::ProcessCPUTime).saturating_sub(time(ClockId::ThreadCPUTime));
        let calls = counts.calls.load(Ordering::Relaxed);
        Self { at, cpu, calls, wake_ups: counts.wake_ups.load(Ordering::Relaxed), received }
    }

    fn until(&self, end: &Self, size: usize) -> Figures {
        let messages = (end.received - self.received) as f64 / size as f64;
        Figures {
            rate: messages / (end.at - self.at).as_secs_f64(),
            cpu_us: (end.cpu.saturating_sub(self.cpu)).as_secs_f64() * 1e6 / messages,
            calls: (end.calls - self.calls) as f64 / messages,
            per_wake_up: messages / (end.wake_ups - self.wake_ups) as f64,
        }
    }
}
