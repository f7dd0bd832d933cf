//! What every link does.

use std::io::{ErrorKind, IoSlice};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use weft_link::{Dial, DialError, LinkError, LinkOptions, Listener, SLICES_MAX};

use crate::case::{
    Case, Pair, accept, connect, read, read_exact, read_to_end, target_of, wait, write_all,
};

pub(crate) fn both_ends_know_each_other<C: Case>(case: &C) {
    let Pair { listener, near, far } = Pair::new(&case.free());
    let locator = listener.local_locator();
    assert_eq!((near.dst(), far.src()), (locator.as_str(), locator.as_str()));
    for link in [&near, &far] {
        assert!(link.is_streamed() && link.is_reliable());
        assert_eq!(link.proto(), case.free().proto());
        let prefix = format!("{}/", link.proto());
        assert!(link.src().starts_with(&prefix) && link.dst().starts_with(&prefix));
        assert_ne!(link.src(), link.dst());
    }
    assert!(listener.accept().unwrap().is_none(), "there was one connection");
}

pub(crate) fn bytes_go_both_ways<C: Case>(case: &C) {
    let Pair { near, far, .. } = Pair::new(&case.free());
    write_all(&near, b"question");
    assert_eq!(read_exact(&far, 8), b"question");
    write_all(&far, b"answer");
    assert_eq!(read_exact(&near, 6), b"answer");
    assert_eq!(near.write(b"").unwrap(), 0);
}

pub(crate) fn nothing_to_read_is_would_block<C: Case>(case: &C) {
    let Pair { near, far, .. } = Pair::new(&case.free());
    for link in [&near, &far] {
        assert_eq!(link.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

pub(crate) fn vectored_writes_keep_the_order<C: Case>(case: &C) {
    let Pair { near, far, .. } = Pair::new(&case.free());
    let slices = [&b"one "[..], b"", b"two ", b"three"].map(IoSlice::new);
    assert_eq!(near.write_vectored(&slices).unwrap(), 13);
    assert_eq!(read_exact(&far, 13), b"one two three");

    let bytes: Vec<u8> = (0..SLICES_MAX + 100).map(|n| n as u8).collect();
    let slices: Vec<_> = bytes.chunks(1).map(IoSlice::new).collect();
    assert_eq!(near.write_vectored(&slices).unwrap(), SLICES_MAX, "the rest is for the next call");
    assert_eq!(near.write_vectored(&slices[SLICES_MAX..]).unwrap(), 100);
    assert_eq!(read_exact(&far, bytes.len()), bytes);
}

pub(crate) fn a_peer_that_does_not_read_stops_the_writer_and_loses_nothing<C: Case>(case: &C) {
    let Pair { near, far, .. } = Pair::new(&case.free());
    let mut written = fill(&near);
    let first = read_exact(&far, written.len() / 2);
    let rest = read_exact(&far, written.len() - first.len());
    assert!([first, rest].concat() == written);

    wait(&near, PollFlags::OUT);
    written.truncate(1000);
    write_all(&near, &written);
    assert!(read_exact(&far, 1000) == written);
}

pub(crate) fn closing_does_not_wait_and_sends_what_was_written<C: Case>(case: &C) {
    let Pair { near, far, .. } = Pair::new(&case.free());
    let written = fill(&near);
    let start = Instant::now();
    drop(near);
    assert!(start.elapsed() < Duration::from_secs(5), "closing waited {:?}", start.elapsed());
    assert!(read_to_end(&far) == written);
}

pub(crate) fn half_close_leaves_the_other_direction_open<C: Case>(case: &C) {
    let Pair { near, far, .. } = Pair::new(&case.free());
    write_all(&near, b"last words");
    near.shutdown_write().unwrap();
    assert_eq!(near.write(b"more").unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert_eq!(read_to_end(&far), b"last words");
    write_all(&far, b"understood");
    drop(far);
    assert_eq!(read_to_end(&near), b"understood");
}

pub(crate) fn a_peer_that_closes_without_reading_is_a_reset<C: Case>(case: &C) {
    let Pair { near, far, .. } = Pair::new(&case.free());
    write_all(&near, b"unread");
    wait(&far, PollFlags::IN);
    drop(far);
    assert_eq!(read(&near, &mut [0; 8]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(near.write(b"more").unwrap_err().kind(), ErrorKind::BrokenPipe);
}

pub(crate) fn nobody_there_is_refused<C: Case>(case: &C) {
    let (dead, _keeps_it_free) = case.dead();
    let error = connect(&dead).unwrap_err();
    assert!(matches!(&error, LinkError::Connect { addr, .. } if *addr == dead.to_string()));
    assert_eq!(error.kind(), Some(ErrorKind::ConnectionRefused), "{error}");
}

pub(crate) fn an_address_has_one_listener_and_is_free_after_it<C: Case>(case: &C) {
    let Pair { listener, near, far } = Pair::new(&case.free());
    let target = target_of(&listener);
    let error = Listener::bind(&target, &LinkOptions::default()).unwrap_err();
    assert!(matches!(&error, LinkError::Bind { addr, .. } if *addr == target.to_string()));
    assert_eq!(error.kind(), Some(ErrorKind::AddrInUse), "{error}");

    // Our end closes first, which leaves a TCP connection in TIME_WAIT on the port.
    drop((far, near, listener));
    drop(Pair::new(&target));
}

pub(crate) fn an_early_finish_hands_the_dial_back<C: Case>(case: &C) {
    let listener = Listener::bind(&case.free(), &LinkOptions::default()).unwrap();
    let mut dial = Dial::start(&target_of(&listener), &LinkOptions::default()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let link = loop {
        assert!(Instant::now() < deadline);
        match dial.finish() {
            Ok(link) => break link,
            Err(DialError::Pending(same)) => dial = same,
            Err(DialError::Failed(error)) => panic!("{error}"),
        }
    };
    write_all(&link, b"hello");
    assert_eq!(read_exact(&accept(&listener), 5), b"hello");
}

/// A dial without an answer stays pending, or ends at once where the system says so, and 32 others
/// that were started after it get through meanwhile.
pub(crate) fn an_unreachable_peer_delays_no_other<C: Case>(case: &C) {
    let options = LinkOptions::default();
    let (full, _keeps_it_full) = case.full();
    let unanswered = match Dial::start(&full, &options) {
        Ok(dial) => Some(dial),
        Err(error) => {
            assert_eq!(error.kind(), Some(ErrorKind::WouldBlock), "{error}");
            None
        }
    };
    let listener = Listener::bind(&case.free(), &options).unwrap();
    let target = target_of(&listener);
    let dials: Vec<_> = (0..32).map(|_| Dial::start(&target, &options).unwrap()).collect();
    for (number, dial) in dials.into_iter().enumerate() {
        wait(&dial, PollFlags::OUT);
        write_all(&dial.finish().unwrap(), &[number as u8]);
    }
    let mut numbers: Vec<u8> = (0..32).flat_map(|_| read_to_end(&accept(&listener))).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..32).collect::<Vec<u8>>());
    if let Some(dial) = unanswered {
        assert!(matches!(dial.finish(), Err(DialError::Pending(same)) if *same.target() == full));
    }
}

pub(crate) fn a_read_and_a_write_at_the_same_time<C: Case>(case: &C) {
    let Pair { near, far, .. } = Pair::new(&case.free());
    let bytes: Vec<u8> = (0..4_000_000_u32).map(|n| (n % 251) as u8).collect();
    std::thread::scope(|scope| {
        for link in [&near, &far] {
            scope.spawn(|| write_all(link, &bytes));
            scope.spawn(|| assert!(read_exact(link, bytes.len()) == bytes));
        }
    });
}

/// Writes until the kernel takes no more, which must come before 64 MiB; returns what it took.
fn fill(link: &weft_link::Link) -> Vec<u8> {
    let chunk: Vec<u8> = (0..100_003_u32).map(|n| (n % 251) as u8).collect();
    let mut written = Vec::new();
    while written.len() < 64 << 20 {
        match link.write(&chunk) {
            Ok(len) => written.extend_from_slice(&chunk[..len]),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                return written;
            }
        }
    }
    panic!("the kernel never pushes back");
}
