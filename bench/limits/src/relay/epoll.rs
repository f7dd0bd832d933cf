//! The relay as Weft's poller works: level-triggered, one read into a buffer that all sessions share, one write.

use super::{Counts, WRITE_LEN_MAX};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read, write};
use std::io;
use std::net::TcpStream;

const EVENTS_MAX: usize = 256;
const READ_LEN: usize = 256 * 1024;
const READS_PER_TURN: usize = 4;

/// Passes bytes on between neighbours in `streams` until all have hung up.
pub(super) fn relay(streams: &[TcpStream], counts: &Counts) -> io::Result<()> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    for (token, stream) in (0..).zip(streams) {
        stream.set_nonblocking(true)?;
        let data = EventData::new_u64(token);
        epoll::add(&epoll, stream, data, EventFlags::IN | EventFlags::RDHUP)?;
    }
    let mut events = Vec::with_capacity(EVENTS_MAX);
    let mut buffer = vec![0; READ_LEN];
    let mut open = streams.len();
    while open > 0 {
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), None)?;
        let mut calls = 1;
        for event in &events {
            let from = event.data.u64() as usize;
            if pass_on(&streams[from], &streams[from ^ 1], &mut buffer, &mut calls).is_err() {
                epoll::delete(&epoll, &streams[from])?;
                open -= 1;
            }
        }
        counts.wake_up(calls);
    }
    Ok(())
}

/// One session's turn; an error when it is over.
fn pass_on(
    from: &TcpStream,
    to: &TcpStream,
    buffer: &mut [u8],
    calls: &mut u64,
) -> Result<(), Errno> {
    for _ in 0..READS_PER_TURN {
        *calls += 1;
        let len = match read(from, &mut *buffer) {
            Ok(0) => return Err(Errno::PIPE),
            Err(Errno::AGAIN) => break,
            len => len?,
        };
        let mut rest = &buffer[..len];
        while !rest.is_empty() {
            *calls += 1;
            match write(to, &rest[..rest.len().min(WRITE_LEN_MAX)]) {
                Ok(len) => rest = &rest[len..],
                // The thread waits for a full receiver, as for one whose messages are not to be dropped.
                Err(Errno::AGAIN) => {
                    *calls += 1;
                    poll(&mut [PollFd::new(to, PollFlags::OUT)], None)?;
                }
                Err(error) => return Err(error),
            }
        }
        if len < buffer.len() {
            break;
        }
    }
    Ok(())
}
