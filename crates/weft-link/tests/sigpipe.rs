//! A write to a peer that is gone must not kill a host program that has left `SIGPIPE` enabled, as
//! programs in C and other languages do. Rust's start-up code ignores that signal, so this program
//! does without it: if the link let the signal through, the process would die of it.

#![no_main]

use std::io::{ErrorKind, IoSlice};

use rustix::event::{PollFd, PollFlags, poll};
use weft_link::{Dial, Link, LinkOptions, Listener, Target};

// SAFETY: the only symbol of this name in the program, with the signature that C start-up code calls.
#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    let link = link_without_peer();
    assert_eq!(link.write(b"lost").unwrap_err().kind(), ErrorKind::BrokenPipe);
    let slices = [IoSlice::new(b"lost")];
    assert_eq!(link.write_vectored(&slices).unwrap_err().kind(), ErrorKind::BrokenPipe);
    0
}

fn link_without_peer() -> Link {
    let path = std::env::temp_dir().join(format!("weft-link-sigpipe-{}.sock", std::process::id()));
    let (target, options) = (Target::UnixStream(path), LinkOptions::default());
    let listener = Listener::bind(&target, &options).unwrap();
    let dial = Dial::start(&target, &options).unwrap();
    poll(&mut [PollFd::new(&listener, PollFlags::IN)], None).unwrap();
    drop(listener.accept().unwrap());
    dial.finish().unwrap()
}
