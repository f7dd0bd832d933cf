//! `weft dissect --live`: passes connections on to another node and shows what goes through.
//!
//! Each direction of a connection has a thread that reads, hands a copy to the one thread that shows, and writes. Handing
//! over comes before writing, so that an answer is never shown before its question. What is not shown yet is limited: a
//! reader of the output that is slow slows the connections, and nothing piles up or is left out. Nothing is added to what
//! passes: every byte goes on as it came, the end of one direction as the end of that direction.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use weft::Locator;

use super::connection::{Connection, Direction};
use super::limits::{Budget, CHUNK_LEN_MAX, CHUNKS_PENDING_MAX, CONNECTIONS_MAX, HELD_MAX};
use super::record::Place;
use super::show::Show;
use crate::failure::Failure;
use crate::output::say;

/// How long one address of the target may take to accept.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// From a failed attempt to accept to the next one: the system has no more sockets.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Between which addresses it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Route {
    listen: String,
    target: String,
}

impl Route {
    /// The addresses of `tcp/LISTEN` and `tcp/TARGET`, or of `tcp/LISTEN -> tcp/TARGET`.
    ///
    /// # Errors
    /// If one of them is missing, there twice, or not of TCP.
    pub(super) fn parse(listen: &str, target: Option<&str>) -> Result<Self, Failure> {
        let (listen, target) = match (listen.split_once("->"), target) {
            (Some((listen, target)), None) => (listen, target),
            (None, Some(target)) => (listen, target),
            (Some(_), Some(_)) => return Err(usage("--live has an arrow; leave out --to")),
            (None, None) => return Err(usage("--live needs --to, to pass connections on")),
        };
        Ok(Self { listen: tcp_address(listen.trim())?, target: tcp_address(target.trim())? })
    }
}

fn tcp_address(text: &str) -> Result<String, Failure> {
    let locator: Locator = text.parse().map_err(|error| usage(format!("'{text}': {error}")))?;
    if locator.proto() != "tcp" {
        return Err(usage(format!("'{text}': only tcp/HOST:PORT can be passed on")));
    }
    Ok(locator.address().to_owned())
}

fn usage(text: impl Into<String>) -> Failure {
    Failure::Usage(text.into())
}

/// Something that happened on a connection.
struct Event {
    connection: u64,
    direction: Direction,
    unix_ns: u64,
    what: What,
}

enum What {
    /// It begins; these are the ends as the target would see them without a proxy.
    Begin {
        client: SocketAddr,
        target: SocketAddr,
    },
    Bytes(Vec<u8>),
    /// The end of one direction.
    End,
    /// The end of both.
    Gone,
}

/// Listens, and says where.
///
/// # Errors
/// If the address cannot be listened on.
pub(super) fn listen(route: &Route) -> Result<TcpListener, Failure> {
    let failed = |error| Failure::Run(format!("cannot listen on tcp/{}: {error}", route.listen));
    let listener = TcpListener::bind(&route.listen).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    say(&format_args!("listening on tcp/{address}"));
    Ok(listener)
}

/// Accepts on this thread and passes on, for as long as the process lives.
///
/// # Errors
/// If there can be no thread that shows.
pub(super) fn serve(listener: &TcpListener, route: &Route, show: Show) -> Result<(), Failure> {
    let (events, queue) = sync_channel(CHUNKS_PENDING_MAX);
    std::thread::Builder::new().name("show".into()).spawn(move || show_all(&queue, show))?;
    let open = Arc::new(AtomicUsize::new(0));
    let mut connection = 0;
    loop {
        let (client, from) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("cannot accept: {error}");
                std::thread::sleep(ACCEPT_PAUSE);
                continue;
            }
        };
        if open.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
            tracing::warn!("{from} is refused: {CONNECTIONS_MAX} connections are open");
            continue;
        }
        connection += 1;
        let slot = Slot::take(&open);
        let (events, target) = (events.clone(), route.target.clone());
        let pass = move || {
            let _slot = slot;
            if let Err(error) = pass(connection, &client, &target, &events) {
                tracing::warn!("c{connection} from {from}: {error}");
            }
        };
        if let Err(error) = std::thread::Builder::new().name("pass".into()).spawn(pass) {
            tracing::warn!("{from} is refused: {error}");
        }
    }
}

/// One of the connections that may be open.
struct Slot(Arc<AtomicUsize>);

impl Slot {
    fn take(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(open))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Passes one connection on until both of its directions have ended.
fn pass(
    connection: u64,
    client: &TcpStream,
    target: &str,
    events: &SyncSender<Event>,
) -> std::io::Result<()> {
    let server = connect(target)?;
    // Whoever batches has done so already.
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ends = What::Begin { client: client.peer_addr()?, target: server.peer_addr()? };
    let event = |direction, what| Event { connection, direction, unix_ns: unix_ns(), what };
    if events.send(event(Direction::Forth, ends)).is_err() {
        return Ok(());
    }
    let outcome = std::thread::scope(|threads| {
        let back = std::thread::Builder::new().name("back".into());
        let pump_back = || pump(&server, client, |what| events.send(event(Direction::Back, what)));
        back.spawn_scoped(threads, pump_back)?;
        pump(client, &server, |what| events.send(event(Direction::Forth, what)));
        Ok(())
    });
    // Nobody is told if nobody shows any more.
    let _ = events.send(event(Direction::Forth, What::Gone));
    outcome
}

fn connect(target: &str) -> std::io::Result<TcpStream> {
    let mut outcome = Err(std::io::Error::other("the name has no address"));
    for address in target.to_socket_addrs()? {
        outcome = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

/// Passes one direction on until its end. Each piece is copied once, for the thread that shows.
fn pump<E>(mut from: &TcpStream, mut to: &TcpStream, hand_over: impl Fn(What) -> Result<(), E>) {
    let mut buffer = vec![0; CHUNK_LEN_MAX];
    let is_end = loop {
        match from.read(&mut buffer) {
            Ok(0) => break true,
            Ok(len) => {
                let bytes = &buffer[..len];
                if hand_over(What::Bytes(bytes.to_vec())).is_err() || to.write_all(bytes).is_err() {
                    break false;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break false,
        }
    };
    // What ends here ends there; a side that is gone has no use for the other direction either.
    if is_end {
        let _ = to.shutdown(Shutdown::Write);
    } else {
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    }
    let _ = hand_over(What::End);
}

/// Shows what happens, in the order in which it happened.
fn show_all(queue: &Receiver<Event>, mut show: Show) {
    let budget = Budget::new(HELD_MAX);
    let mut connections: HashMap<u64, Shown> = HashMap::new();
    for Event { connection, direction, unix_ns, what } in queue {
        if let What::Begin { client, target } = what {
            let mut state = Connection::new(&budget);
            state.begin(Direction::Forth);
            state.begin(Direction::Back);
            connections.insert(connection, Shown { state, client, target });
            continue;
        }
        let Some(shown) = connections.get_mut(&connection) else { continue };
        let (from, to) = match direction {
            Direction::Forth => (shown.client, shown.target),
            Direction::Back => (shown.target, shown.client),
        };
        let place = Place { unix_ns, connection: Some(connection), from, to };
        let mut emit = |record| show.record(&place, &record);
        match what {
            What::Bytes(bytes) => shown.state.bytes(direction, &bytes, &mut emit),
            What::End => shown.state.end(direction, &mut emit),
            What::Begin { .. } | What::Gone => drop(connections.remove(&connection)),
        }
    }
}

/// A connection that goes on.
struct Shown {
    state: Connection,
    client: SocketAddr,
    target: SocketAddr,
}

fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_written_in_two_ways() {
        let route = Route { listen: "127.0.0.1:1".into(), target: "h:2".into() };
        let parse = |listen, target| Route::parse(listen, target).ok();
        assert_eq!(parse("tcp/127.0.0.1:1", Some("tcp/h:2")), Some(route.clone()));
        assert_eq!(parse("tcp/127.0.0.1:1 -> tcp/h:2", None), Some(route.clone()));
        assert_eq!(parse("tcp/127.0.0.1:1->tcp/h:2", None), Some(route));
        assert_eq!(parse("tcp/127.0.0.1:1->tcp/h:2", Some("tcp/h:2")), None);
        assert_eq!(parse("tcp/127.0.0.1:1", None), None);
        assert_eq!(parse("udp/127.0.0.1:1", Some("tcp/h:2")), None);
        assert_eq!(parse("127.0.0.1:1", Some("tcp/h:2")), None);
    }
}
