//! A process that runs out of file descriptors. Alone in its program, because the limit is the
//! process's.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use weft_link::{AcceptFault, Dial, LinkError, LinkOptions, Listener, Target};

/// The waiting connection is not lost: it is accepted once there are descriptors again.
#[test]
fn accept_without_descriptors_asks_for_a_pause() {
    let options = LinkOptions::default();
    let listener = Listener::bind(&Target::Tcp("127.0.0.1:0".parse().unwrap()), &options).unwrap();
    let locator = listener.local_locator();
    let address = locator.strip_prefix("tcp/").unwrap().parse().unwrap();
    let dial = Dial::start(&Target::Tcp(address), &options).unwrap();
    let mut fds = [PollFd::new(&listener, PollFlags::IN)];
    assert_eq!(poll(&mut fds, Some(&Timespec { tv_sec: 20, tv_nsec: 0 })).unwrap(), 1);

    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..limit }).unwrap();
    let accepted = listener.accept();
    let dialed = Dial::start(&Target::Tcp(address), &options);
    setrlimit(Resource::Nofile, limit).unwrap();

    let error = accepted.unwrap_err();
    assert!(matches!(error, LinkError::Accept { fault: AcceptFault::Exhausted, .. }), "{error}");
    let error = dialed.unwrap_err();
    assert!(
        matches!(error, LinkError::Connect { .. }) && error.to_string().contains("ulimit"),
        "{error}"
    );

    let link = listener.accept().unwrap().expect("the connection waits");
    assert_eq!(link.dst(), dial.finish().unwrap().src());
}
