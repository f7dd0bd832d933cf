//! A connected byte stream.
//!
//! Not here: what the bytes mean, buffers, and waiting until the descriptor is ready.
//! Spec: 01 §7.1, §7.2.

use std::io::{self, IoSlice};
use std::net::{IpAddr, Shutdown};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};
use socket2::Socket;

use crate::{Proto, Target, interfaces, tcp};

/// How long a closing node waits at most for its peer to close too.
pub const CLOSE_WAIT_MAX: Duration = Duration::from_secs(10);

/// The largest number of slices that one [`Link::write_vectored`] takes (the kernel's
/// `UIO_MAXIOV`).
pub const SLICES_MAX: usize = 1024;

/// A connected, non-blocking, ordered and reliable byte stream to one peer.
///
/// All methods take `&self`, and a reader and a writer may work at the same time; two writers would
/// interleave their bytes.
///
/// # Closing
///
/// Dropping a link closes its socket and returns at once; the kernel goes on to send what was
/// written and then ends the stream. The 10 s of `SO_LINGER` in the specification are not set: with
/// them Linux makes `close` itself *wait* until the peer has acknowledged everything or the time is
/// over, on a non-blocking socket too, and the thread that serves all links would stand still for
/// one dead peer.
///
/// One case loses data: if bytes from the peer are still unread at that moment, the kernel resets
/// the connection, and the peer may lose what it has not read yet. So a closing caller with data
/// that matters writes it, calls [`shutdown_write`](Self::shutdown_write), reads until the end of
/// the stream or for at most [`CLOSE_WAIT_MAX`], and then drops the link.
#[derive(Debug)]
pub struct Link {
    socket: Socket,
    proto: Proto,
    src: String,
    dst: String,
    local_ip: Option<IpAddr>,
    mtu: u16,
}

impl Link {
    /// Reads what is there, up to the length of `buffer`; 0 is the end of the stream (or an empty
    /// buffer). One system call, no allocation.
    ///
    /// # Errors
    /// `WouldBlock` if nothing is there: wait until the descriptor is readable. Anything else ends
    /// the link; `ConnectionReset` is a peer that is gone or has closed with our data unread.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let recv = || rustix::net::recv(&self.socket, &mut *buffer, RecvFlags::empty());
        let (len, _) = rustix::io::retry_on_intr(recv)?;
        Ok(len)
    }

    /// Hands over as many bytes as the kernel takes, at least one unless `bytes` is empty.
    /// One system call, no allocation.
    ///
    /// # Errors
    /// `WouldBlock` if the kernel takes none: wait until the descriptor is writable. Anything else
    /// ends the link; `BrokenPipe` and `ConnectionReset` are a peer that is gone.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| rustix::net::send(&self.socket, bytes, SEND_FLAGS))?)
    }

    /// Like [`write`](Self::write), from several slices in order. Takes the first [`SLICES_MAX`] of
    /// them.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let slices = &slices[..slices.len().min(SLICES_MAX)];
        let mut control = SendAncillaryBuffer::default();
        Ok(rustix::io::retry_on_intr(|| {
            rustix::net::sendmsg(&self.socket, slices, &mut control, SEND_FLAGS)
        })?)
    }

    /// Ends our direction once everything written is sent; the peer then reads the end of the
    /// stream.
    ///
    /// # Errors
    /// `NotConnected` if the peer is gone already.
    pub fn shutdown_write(&self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)
    }

    /// The protocol.
    pub fn proto(&self) -> Proto {
        self.proto
    }

    /// The locator of our end.
    ///
    /// The unnamed end of a Unix connection (`dst` where it was accepted, `src` where it was
    /// dialed) is `fd-` and the number of the descriptor, which is unique among the links of this
    /// process that are open.
    pub fn src(&self) -> &str {
        &self.src
    }

    /// The locator of the peer's end.
    pub fn dst(&self) -> &str {
        &self.dst
    }

    /// The names of the interfaces that have our end's address; none for a Unix socket. Lists the
    /// interfaces of the machine, so not for a hot path.
    pub fn interfaces(&self) -> Vec<String> {
        let Some(local) = self.local_ip else {
            return Vec::new();
        };
        let all = interfaces().unwrap_or_default();
        all.into_iter()
            .filter(|interface| interface.addresses.contains(&local))
            .map(|own| own.name)
            .collect()
    }

    /// The largest batch to send on this link, in bytes.
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// Whether batches need their length in front, because the link keeps no boundaries.
    pub fn is_streamed(&self) -> bool {
        match self.proto {
            Proto::Tcp | Proto::UnixStream => true,
        }
    }

    /// Whether what is written arrives, whole and in order, as long as the link lives.
    pub fn is_reliable(&self) -> bool {
        match self.proto {
            Proto::Tcp | Proto::UnixStream => true,
        }
    }

    /// A link over the connected, non-blocking `socket`, which was made by dialing or by listening
    /// on `named`.
    pub(crate) fn new(socket: Socket, named: &Target) -> io::Result<Self> {
        match named {
            Target::Tcp(_) => Self::tcp(socket),
            Target::UnixStream(_) => Self::unix(socket, named),
        }
    }

    fn tcp(socket: Socket) -> io::Result<Self> {
        // Not every system passes it on from the listener.
        socket.set_tcp_nodelay(true)?;
        let (local, remote) = tcp::ends(&socket)?;
        Ok(Self {
            proto: Proto::Tcp,
            src: Target::Tcp(local).to_string(),
            dst: Target::Tcp(remote).to_string(),
            local_ip: Some(local.ip()),
            mtu: tcp::mtu(local.ip(), socket.tcp_mss()?),
            socket,
        })
    }

    fn unix(socket: Socket, named: &Target) -> io::Result<Self> {
        let named = named.to_string();
        let unnamed = format!("{}/fd-{}", Proto::UnixStream, socket.as_raw_fd());
        // Only the listener's end has an address.
        let (src, dst) =
            if socket.local_addr()?.is_unnamed() { (unnamed, named) } else { (named, unnamed) };
        Ok(Self { socket, proto: Proto::UnixStream, src, dst, local_ip: None, mtu: u16::MAX })
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A host program that is not written in Rust has `SIGPIPE` enabled, and a write to a closed peer
/// would kill it. Apple's systems have a socket option instead, which `socket2` sets.
#[cfg(not(target_vendor = "apple"))]
const SEND_FLAGS: SendFlags = SendFlags::NOSIGNAL;
#[cfg(target_vendor = "apple")]
const SEND_FLAGS: SendFlags = SendFlags::empty();
