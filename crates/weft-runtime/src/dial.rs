//! Connecting: all addresses of a neighbour side by side, on a thread of its own.
//!
//! Names are resolved and addresses tried in parallel, so that one that does not answer delays
//! nobody: neither the other addresses of the same neighbour nor other neighbours. An address that
//! accepts connections and then does not answer delays by [`HEAD_START`].

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use weft_link::{Address, Dial, DialError, Link, LinkError, LinkOptions, Target, resolve};
use weft_node::{DialId, LinkOrigin};
use weft_wire::Endpoint;

use crate::options::LinkSettings;
use crate::shared::Shared;

/// How long the addresses of a neighbour may take to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a link that is up may take for its handshake before a further one may come up beside it.
const HEAD_START: Duration = Duration::from_millis(250);
/// How often a waiting attempt looks whether the node is closing and names have been resolved.
const LOOK_AROUND: Duration = Duration::from_millis(50);

/// Starts an attempt.
pub(crate) fn start(shared: &Arc<Shared>, dial: DialId, endpoints: Vec<Endpoint>) {
    let (shared_weak, links) = (Arc::downgrade(shared), Arc::clone(&shared.settings.links));
    let work = move || {
        if let Err(reason) = race(&shared_weak, dial, &endpoints, &links)
            && let Some(shared) = shared_weak.upgrade()
        {
            shared.dial_failed(dial, &reason);
        }
    };
    if let Err(error) = shared.span.spawn("weft-dial", work) {
        shared.dial_failed(dial, &format!("no thread to connect with: {error}"));
    }
}

/// Hands over the first link that any of the endpoints gives, and the next ones for as long as the
/// handshakes of those before are not complete.
///
/// # Errors
/// Why none of them could be connected.
fn race(
    shared: &Weak<Shared>,
    dial: DialId,
    endpoints: &[Endpoint],
    links: &Arc<LinkSettings>,
) -> Result<(), String> {
    let (found, targets) = mpsc::channel();
    for endpoint in endpoints {
        let (found, endpoint, links) = (found.clone(), endpoint.clone(), Arc::clone(links));
        let work = move || {
            let _ = found.send(look_up(&endpoint, &links));
        };
        if endpoints.len() == 1 {
            work();
        } else {
            std::thread::spawn(work);
        }
    }
    drop(found);

    let deadline = Instant::now() + CONNECT_TIMEOUT;
    let mut dials: Vec<Dial> = Vec::new();
    let mut failures: Vec<String> = Vec::new();
    let mut resolving = endpoints.len();
    let mut head_start: Option<Instant> = None;
    while Instant::now() < deadline && (resolving > 0 || !dials.is_empty()) {
        let shared = shared.upgrade().filter(|it| !it.stopping.load(Ordering::Acquire));
        let Some(shared) = shared else { return Err("the node is closing".into()) };
        if let Some(over) = head_start {
            if !shared.wants_another_link(dial) {
                return Ok(());
            }
            if Instant::now() < over {
                drop(shared);
                std::thread::sleep(LOOK_AROUND);
                continue;
            }
        }
        let next = if dials.is_empty() {
            targets.recv_timeout(LOOK_AROUND).ok()
        } else {
            targets.try_recv().ok()
        };
        if let Some(next) = next {
            resolving -= 1;
            match next {
                Ok((targets, options)) => {
                    for target in targets {
                        begin(&target, &options, &mut dials, &mut failures);
                    }
                }
                Err(failure) => failures.push(failure),
            }
            continue;
        }
        if let Some(link) = wait(&mut dials, &mut failures) {
            let tag = link.dst().as_bytes().to_vec();
            shared.link_up(link, LinkOrigin::Dialed(dial), tag);
            head_start = Some(Instant::now() + HEAD_START);
        }
    }
    if head_start.is_some() {
        return Ok(()); // What came up decides.
    }
    let waiting = dials
        .iter()
        .map(|dial| format!("{}: no answer within {} s", dial.target(), CONNECT_TIMEOUT.as_secs()));
    failures.extend(waiting);
    Err(failures.join("; "))
}

/// Where an endpoint leads to. May block.
fn look_up(
    endpoint: &Endpoint,
    links: &LinkSettings,
) -> Result<(Vec<Target>, LinkOptions), String> {
    if !links.allows(endpoint) {
        return Err(format!("{endpoint}: its protocol is not among transport/link/protocols"));
    }
    let text = |error: LinkError| error.to_string();
    let options = links.options(endpoint).map_err(text)?;
    let locator = endpoint.locator();
    let address = Address { proto: locator.proto(), address: locator.address() };
    Ok((resolve(address).map_err(text)?, options))
}

fn begin(
    target: &Target,
    options: &LinkOptions,
    dials: &mut Vec<Dial>,
    failures: &mut Vec<String>,
) {
    match Dial::start(target, options) {
        Ok(dial) => dials.push(dial),
        Err(error) => failures.push(error.to_string()),
    }
}

/// Waits a moment for any of the dials; takes the first that is connected.
fn wait(dials: &mut Vec<Dial>, failures: &mut Vec<String>) -> Option<Link> {
    let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK_AROUND.subsec_nanos()) };
    let mut fds: Vec<PollFd<'_>> =
        dials.iter().map(|dial| PollFd::from_borrowed_fd(dial.as_fd(), PollFlags::OUT)).collect();
    if poll(&mut fds, Some(&timeout)).is_err() {
        return None;
    }
    let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
    let mut connected = None;
    let mut waiting = Vec::new();
    for (dial, ready) in dials.drain(..).zip(ready) {
        if !ready || connected.is_some() {
            waiting.push(dial);
            continue;
        }
        match dial.finish() {
            Ok(link) => connected = Some(link),
            Err(DialError::Pending(dial)) => waiting.push(dial),
            Err(DialError::Failed(error)) => failures.push(error.to_string()),
        }
    }
    *dials = waiting;
    connected
}
