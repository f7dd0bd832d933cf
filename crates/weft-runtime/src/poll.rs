//! A level-triggered readiness poller over epoll: tokens in, tokens out.

use rustix::event::epoll;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::io;
use std::time::Duration;

/// The token of the poller's own waker; never handed out.
const WAKE: u64 = u64::MAX;
/// Events taken from the kernel in one call.
const EVENTS_MAX: usize = 256;

/// Waits shorter than this need another system call.
const EPOLL_RESOLUTION: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// Waits for readiness of many descriptors. May be shared: one thread waits, any registers.
#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
    wake: OwnedFd,
}

/// Where [`Poller::wait`] puts what is ready.
pub(crate) struct Events(Vec<epoll::Event>);

impl Events {
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(EVENTS_MAX))
    }
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let data = epoll::EventData::new_u64(WAKE);
        epoll::add(&epoll, &wake, data, epoll::EventFlags::IN)?;
        Ok(Self { epoll, wake })
    }

    /// Watches for readability.
    pub(crate) fn add_readable(&self, source: impl AsFd, token: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, source, data, epoll::EventFlags::IN | epoll::EventFlags::RDHUP)?)
    }

    /// Watches for writability, until the next report of it.
    pub(crate) fn add_writable_once(&self, source: impl AsFd, token: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        let flags = epoll::EventFlags::OUT | epoll::EventFlags::ONESHOT;
        match epoll::add(&self.epoll, &source, data, flags) {
            Err(Errno::EXIST) => Ok(epoll::modify(&self.epoll, source, data, flags)?),
            result => Ok(result?),
        }
    }

    /// Watches no more. Closing a descriptor has the same effect.
    pub(crate) fn remove(&self, source: impl AsFd) {
        let _ = epoll::delete(&self.epoll, source);
    }

    /// Ends the current or next wait at once.
    pub(crate) fn wake(&self) {
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Waits until something is ready, the poller is woken, or the time is over (`None`: for ever),
    /// and visits the tokens of what is ready: readable, writable, ended or in error, as it was registered for.
    pub(crate) fn wait(
        &self,
        events: &mut Events,
        timeout: Option<Duration>,
        mut visit: impl FnMut(u64),
    ) -> io::Result<()> {
        let mut timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs() as i64,
            tv_nsec: i64::from(timeout.subsec_nanos()),
        });
        events.0.clear();
        if let Some(short) = &mut timeout
            && *short < EPOLL_RESOLUTION
        {
            // epoll itself rounds up to milliseconds before Linux 5.11.
            match poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(short)) {
                Ok(0) | Err(Errno::INTR) => return Ok(()),
                Ok(_) => *short = Timespec { tv_sec: 0, tv_nsec: 0 },
                Err(error) => return Err(error.into()),
            }
        }
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut events.0),
            timeout.as_ref(),
        ) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        for event in &events.0 {
            let token = event.data.u64();
            if token == WAKE {
                let mut count = [0; 8];
                let _ = rustix::io::read(&self.wake, &mut count);
            } else {
                visit(token);
            }
        }
        Ok(())
    }
}
