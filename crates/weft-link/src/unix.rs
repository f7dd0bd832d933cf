//! Unix stream sockets: paths, and the files that a listener leaves and cleans up.
//!
//! A socket file outlives its process, so its presence says nothing. A listener therefore holds an
//! advisory lock (`flock`) on `<path>.lock` as long as it lives; the system drops the lock when the
//! process dies, and whoever gets it may remove a socket file that is left over. Both files are
//! removed when a listener is dropped.
//!
//! Not here: the life of a dial, a listener and a link, which is the same for every stream.
//! Spec: 01 §7.5.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use socket2::{Domain, SockAddr, Socket, Type};

use crate::{BACKLOG_MAX, LinkError, LinkOptions, OsError, Proto, Target};

/// The path in `address`, checked against what the socket interface can hold.
pub(crate) fn path(address: &str) -> Result<PathBuf, LinkError> {
    let invalid = |reason| LinkError::Address { address: address.to_owned(), reason };
    if address.is_empty() || address.contains('\0') {
        return Err(invalid("a path is not empty and has no NUL byte"));
    }
    SockAddr::unix(address).map_err(|_| invalid("a socket's path has at most 107 bytes"))?;
    Ok(PathBuf::from(address))
}

/// A non-blocking socket that is connected to `path`.
///
/// A Unix socket connects at once or fails: with a full queue at the listener that is `WouldBlock`,
/// and unlike TCP nothing ever becomes ready, so the caller tries again after its retry delay.
pub(crate) fn connect(path: &Path, options: &LinkOptions) -> Result<Socket, LinkError> {
    options.refuse_ip_keys(Proto::UnixStream)?;
    let socket = open().map_err(|error| connect_error(path, error))?;
    options.apply_buffers(&socket)?;
    let connected = SockAddr::unix(path).and_then(|addr| socket.connect(&addr));
    connected.map_err(|error| connect_error(path, error))?;
    Ok(socket)
}

/// A non-blocking socket that listens on `path`, and the hold on its files.
pub(crate) fn listen(path: &Path, options: &LinkOptions) -> Result<(Socket, Files), LinkError> {
    let failed =
        |cause| LinkError::Bind { addr: Target::UnixStream(path.to_owned()).to_string(), cause };
    options.refuse_ip_keys(Proto::UnixStream)?;
    let socket = open().map_err(|error| failed(error.into()))?;
    options.apply_buffers(&socket)?;
    let lock = Lock::take(path).map_err(failed)?;
    remove_stale(path).map_err(failed)?;
    let bound = SockAddr::unix(path).and_then(|addr| socket.bind(&addr));
    bound.map_err(|error| failed(error.into()))?;
    let files = Files { path: path.to_owned(), _lock: lock };
    socket.listen(BACKLOG_MAX).map_err(|error| failed(error.into()))?;
    Ok((socket, files))
}

/// The socket file and the lock file of a listener; dropping it removes both.
#[derive(Debug)]
pub(crate) struct Files {
    path: PathBuf,
    _lock: Lock,
}

impl Files {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // Nothing is left to do if somebody else has removed it.
        let _ = fs::remove_file(&self.path);
    }
}

/// A held lock file. Dropping it removes the file and then lets go of the lock.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    _file: OwnedFd,
}

impl Lock {
    /// Takes the lock of the socket at `socket_path`, or fails with `EADDRINUSE` if another process
    /// has it.
    fn take(socket_path: &Path) -> Result<Self, OsError> {
        let mut path = socket_path.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        for _ in 0..LOCK_ATTEMPTS_MAX {
            let flags = OFlags::CREATE | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR)?;
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => return Err(Errno::ADDRINUSE.into()),
                locked => locked?,
            }
            // The last holder removes the file; a lock on a file that is gone keeps nobody out.
            let held = rustix::fs::fstat(&file)?;
            if rustix::fs::stat(&path)
                .is_ok_and(|now| (now.st_dev, now.st_ino) == (held.st_dev, held.st_ino))
            {
                return Ok(Self { path, _file: file });
            }
        }
        Err(Errno::ADDRINUSE.into())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// How often the lock file may be taken away between opening and locking it before the path counts
/// as busy.
const LOCK_ATTEMPTS_MAX: usize = 16;

/// Removes a socket file that nobody answers on. Anything else at the path stays and is
/// `EADDRINUSE`.
fn remove_stale(path: &Path) -> Result<(), OsError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
        Ok(found) if !found.file_type().is_socket() => return Err(Errno::ADDRINUSE.into()),
        Ok(_) => {}
    }
    // A program that knows nothing of the lock file may be listening.
    match connect(path, &LinkOptions::default()) {
        Err(error) if error.kind() == Some(io::ErrorKind::ConnectionRefused) => {
            Ok(fs::remove_file(path)?)
        }
        _ => Err(Errno::ADDRINUSE.into()),
    }
}

fn open() -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn connect_error(path: &Path, error: io::Error) -> LinkError {
    LinkError::Connect {
        addr: Target::UnixStream(path.to_owned()).to_string(),
        cause: error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_bounded() {
        assert_eq!(path(&"x".repeat(107)), Ok(PathBuf::from("x".repeat(107))));
        for bad in ["", "a\0b", &"x".repeat(108)] {
            assert!(matches!(path(bad), Err(LinkError::Address { .. })), "{bad}");
        }
    }
}
