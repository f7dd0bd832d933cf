//! What only Unix sockets have: the files that they leave.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};
use weft_link::{Dial, LinkError, LinkOptions, Listener, OptionFault, Proto, Target};

use crate::case::{Directory, Pair, connect};

fn bind(path: &Path) -> Result<Listener, LinkError> {
    Listener::bind(&Target::UnixStream(path.to_owned()), &LinkOptions::default())
}

#[test]
fn a_listener_removes_its_files() {
    let directory = Directory::new();
    let path = directory.path("link.sock");
    let Pair { listener, near, far } = Pair::new(&Target::UnixStream(path.clone()));
    assert!(path.exists() && directory.path("link.sock.lock").exists());
    let locators = listener.locators().unwrap();
    assert_eq!(locators.len(), 1);
    assert_eq!((&locators[0].locator, locators[0].is_loopback), (&listener.local_locator(), true));
    for link in [near, far] {
        assert_eq!((link.mtu(), link.interfaces()), (65_535, Vec::new()));
    }
    drop(listener);
    assert_eq!(fs::read_dir(directory.path("")).unwrap().count(), 0);
}

#[test]
fn a_stale_socket_is_replaced() {
    let directory = Directory::new();
    let path = directory.path("link.sock");
    drop(UnixListener::bind(&path).unwrap());
    fs::write(directory.path("link.sock.lock"), "").unwrap();
    let _listener = bind(&path).unwrap();
    connect(&Target::UnixStream(path)).unwrap();
}

#[test]
fn a_held_lock_a_live_socket_and_another_file_stay() {
    let directory = Directory::new();
    let in_use =
        |path: &Path| assert_eq!(bind(path).unwrap_err().kind(), Some(ErrorKind::AddrInUse));

    let locked = directory.path("locked.sock");
    let lock = fs::File::create(directory.path("locked.sock.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    in_use(&locked);
    drop(lock);
    bind(&locked).unwrap();

    let live = directory.path("live.sock");
    let _foreign = UnixListener::bind(&live).unwrap();
    in_use(&live);
    connect(&Target::UnixStream(live)).unwrap();

    let file = directory.path("file");
    fs::write(&file, "precious").unwrap();
    in_use(&file);
    assert_eq!(fs::read(&file).unwrap(), b"precious");
}

/// Listeners that come and go at the same time, so that lock files vanish between being opened and
/// being locked.
#[test]
fn a_path_never_has_two_listeners() {
    let directory = Directory::new();
    let path = directory.path("link.sock");
    let holders = AtomicU32::new(0);
    let bound = std::thread::scope(|scope| {
        let attempts = || {
            let listeners = (0..2000).filter_map(|_| {
                let listener = bind(&path).ok()?;
                assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                std::thread::yield_now();
                assert_eq!(holders.fetch_sub(1, Ordering::SeqCst), 1);
                Some(listener)
            });
            listeners.count()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(attempts)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
    });
    assert!(bound > 0);
    assert_eq!(fs::read_dir(directory.path("")).unwrap().count(), 0);
}

#[test]
fn a_path_that_cannot_be_says_so() {
    let directory = Directory::new();
    let missing = Target::UnixStream(directory.path("missing.sock"));
    assert_eq!(connect(&missing).unwrap_err().kind(), Some(ErrorKind::NotFound));
    let error = connect(&Target::UnixStream(directory.path(&"x".repeat(108)))).unwrap_err();
    assert_eq!(error.kind(), Some(ErrorKind::InvalidFilename), "{error}");
    let error = bind(&directory.path("missing/link.sock")).unwrap_err();
    assert_eq!(error.kind(), Some(ErrorKind::NotFound), "{error}");
}

#[test]
fn ip_options_are_refused() {
    let directory = Directory::new();
    let target = Target::UnixStream(directory.path("link.sock"));
    for (key, value) in [("iface", "lo"), ("bind", "127.0.0.1:0"), ("dscp", "8")] {
        let options = LinkOptions::parse([(key, value)]).unwrap();
        let fault = OptionFault::NotFor { proto: Proto::UnixStream };
        let expected = LinkError::Option { key: key.into(), fault };
        assert_eq!(Dial::start(&target, &options).unwrap_err(), expected);
        assert_eq!(Listener::bind(&target, &options).unwrap_err(), expected);
    }
}
