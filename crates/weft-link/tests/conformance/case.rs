//! What the suite needs to know about a protocol, and the waiting that a runtime would do.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, SockAddr, Socket, Type};
use weft_link::{
    Address, Dial, DialError, Link, LinkError, LinkOptions, Listener, Target, resolve,
};

/// One protocol under test.
pub(crate) trait Case: Sized {
    /// `None`, and a line that says so, if this machine cannot run it.
    fn new() -> Option<Self>;
    /// An address to listen on that nobody else uses.
    fn free(&self) -> Target;
    /// An address that nobody listens on; the socket that comes with it keeps it.
    fn dead(&self) -> (Target, Socket);
    /// An address whose queue of waiting connections is full, as long as what comes with it lives.
    fn full(&self) -> (Target, [Socket; 2]);
}

pub(crate) struct TcpV4;
pub(crate) struct TcpV6;
pub(crate) struct UnixStream(Directory);

impl Case for TcpV4 {
    fn new() -> Option<Self> {
        Some(Self)
    }

    fn free(&self) -> Target {
        Target::Tcp("127.0.0.1:0".parse().unwrap())
    }

    fn dead(&self) -> (Target, Socket) {
        bound_tcp("127.0.0.1:0")
    }

    fn full(&self) -> (Target, [Socket; 2]) {
        let (target, listener) = bound_tcp("127.0.0.1:0");
        fill_queue(target, listener)
    }
}

impl Case for TcpV6 {
    fn new() -> Option<Self> {
        match TcpListener::bind("[::1]:0") {
            Ok(_) => Some(Self),
            Err(error) => {
                println!("skipped: this machine has no ::1 ({error})");
                None
            }
        }
    }

    fn free(&self) -> Target {
        Target::Tcp("[::1]:0".parse().unwrap())
    }

    fn dead(&self) -> (Target, Socket) {
        bound_tcp("[::1]:0")
    }

    fn full(&self) -> (Target, [Socket; 2]) {
        let (target, listener) = bound_tcp("[::1]:0");
        fill_queue(target, listener)
    }
}

impl Case for UnixStream {
    fn new() -> Option<Self> {
        Some(Self(Directory::new()))
    }

    fn free(&self) -> Target {
        Target::UnixStream(self.0.path("free.sock"))
    }

    fn dead(&self) -> (Target, Socket) {
        bound_unix(self.0.path("dead.sock"))
    }

    fn full(&self) -> (Target, [Socket; 2]) {
        let (target, listener) = bound_unix(self.0.path("full.sock"));
        fill_queue(target, listener)
    }
}

/// A socket that has the address to itself and does not listen.
pub(crate) fn bound_tcp(any_port: &str) -> (Target, Socket) {
    let any: SocketAddr = any_port.parse().unwrap();
    let socket = Socket::new(Domain::for_address(any), Type::STREAM, None).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.bind(&any.into()).unwrap();
    let target = Target::Tcp(socket.local_addr().unwrap().as_socket().unwrap());
    (target, socket)
}

fn bound_unix(path: PathBuf) -> (Target, Socket) {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    socket.bind(&SockAddr::unix(&path).unwrap()).unwrap();
    (Target::UnixStream(path), socket)
}

/// With a backlog of 0 one connection waits; the kernel does not answer further attempts.
fn fill_queue(target: Target, listener: Socket) -> (Target, [Socket; 2]) {
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let first = Socket::new(address.domain(), Type::STREAM, None).unwrap();
    first.connect(&address).unwrap();
    (target, [listener, first])
}

/// A directory of its own that is removed with everything in it.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("weft-link-{}-{count}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A listener, a link that was dialed to it, and the end that it accepted.
pub(crate) struct Pair {
    pub(crate) listener: Listener,
    pub(crate) near: Link,
    pub(crate) far: Link,
}

impl Pair {
    pub(crate) fn new(target: &Target) -> Self {
        Self::with_options(target, &LinkOptions::default())
    }

    /// Both the dial and the listener get `options`.
    pub(crate) fn with_options(target: &Target, options: &LinkOptions) -> Self {
        let listener = Listener::bind(target, options).unwrap();
        let near = connect_with(&target_of(&listener), options).unwrap();
        let far = accept(&listener);
        Self { listener, near, far }
    }
}

/// The address that `listener` has in fact.
pub(crate) fn target_of(listener: &Listener) -> Target {
    let locator = listener.local_locator();
    let (proto, address) = locator.split_once('/').unwrap();
    resolve(Address { proto, address }).unwrap().remove(0)
}

pub(crate) fn connect(target: &Target) -> Result<Link, LinkError> {
    connect_with(target, &LinkOptions::default())
}

pub(crate) fn connect_with(target: &Target, options: &LinkOptions) -> Result<Link, LinkError> {
    let dial = Dial::start(target, options)?;
    wait(&dial, PollFlags::OUT);
    match dial.finish() {
        Ok(link) => Ok(link),
        Err(DialError::Failed(error)) => Err(error),
        Err(pending @ DialError::Pending(_)) => panic!("{pending}, though it is writable"),
    }
}

pub(crate) fn accept(listener: &Listener) -> Link {
    wait(listener, PollFlags::IN);
    listener.accept().unwrap().expect("a readable listener has a connection")
}

/// Waits until `of` is ready, or fails the test after 20 seconds.
pub(crate) fn wait(of: impl AsFd, flags: PollFlags) {
    let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
    let mut fds = [PollFd::new(&of, flags)];
    assert_eq!(poll(&mut fds, Some(&limit)).unwrap(), 1, "not ready in time");
}

pub(crate) fn write_all(link: &Link, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match link.write(bytes) {
            Ok(len) => bytes = &bytes[len..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(link, PollFlags::OUT),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Reads once, as soon as there is something to read.
pub(crate) fn read(link: &Link, buffer: &mut [u8]) -> io::Result<usize> {
    wait(link, PollFlags::IN);
    link.read(buffer)
}

pub(crate) fn read_exact(link: &Link, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let mut filled = 0;
    while filled < len {
        let read = read(link, &mut bytes[filled..]).unwrap();
        assert_ne!(read, 0, "the stream ended after {filled} of {len} bytes");
        filled += read;
    }
    bytes
}

pub(crate) fn read_to_end(link: &Link) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 65_536];
    loop {
        match read(link, &mut buffer).unwrap() {
            0 => return bytes,
            len => bytes.extend_from_slice(&buffer[..len]),
        }
    }
}
