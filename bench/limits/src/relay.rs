//! What a router's data path would gain from `io_uring`: one relay, once as Weft's poller works and twice over a ring.
//!
//! The relay holds sessions in pairs and writes what comes in on one on its partner's connection, without a look inside.
//! Its load runs on the main thread of the same process. So the relay's share of processor time, with whatever the
//! kernel does for it in threads of its own, is that of the process without that of the main thread.

mod epoll;
mod load;
mod uring;

use bench_roles::{Arguments, Outcome};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const SESSIONS: [usize; 3] = [10, 100, 1_000];
const SIZES: [usize; 3] = [64, 1 << 10, 64 << 10];
/// Messages a second over all sessions where they are paced.
const PACED_RATE: f64 = 5_000.0;
/// A median is marked when (max - min) / median is above.
const SPREAD_MAX: f64 = 0.25;
/// Bytes of one write at most, as in Weft: longer ones are slow on loopback.
const WRITE_LEN_MAX: usize = 56 * 1024;

const HEAD: &str = "\
| load | sessions | size | messages a second | CPU µs a message | to epoll | calls a message | messages a wake-up |
|---|---|---|---|---|---|---|---|";

/// One line of the table.
#[derive(Clone, Copy)]
struct Case {
    sessions: usize,
    size: usize,
    /// Messages a second in all; without, every publisher has as many on the way as its window allows.
    rate: Option<f64>,
    warmup: Duration,
    duration: Duration,
}

#[derive(Clone, Copy)]
enum Way {
    Epoll,
    Uring { sqpoll: bool },
}

const WAYS: [Way; 3] = [Way::Epoll, Way::Uring { sqpoll: false }, Way::Uring { sqpoll: true }];

/// What the relay counts while it runs; its thread alone writes.
#[derive(Default)]
struct Counts {
    calls: AtomicU64,
    wake_ups: AtomicU64,
}

impl Counts {
    fn wake_up(&self, calls: u64) {
        let add = |counter: &AtomicU64, more| {
            counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        };
        add(&self.calls, calls);
        add(&self.wake_ups, 1);
    }
}

/// What one run found.
struct Figures {
    rate: f64,
    cpu_us: f64,
    calls: f64,
    per_wake_up: f64,
}

/// Runs every case, or those of `--sessions` and `--size`, in `--rounds` of all ways in turn; writes a table.
pub(crate) fn trial(mut arguments: Arguments) -> Outcome {
    let rounds = arguments.value("--rounds")?.unwrap_or(5_usize).max(1);
    let sessions = arguments.value("--sessions")?.map_or(SESSIONS.to_vec(), |it| vec![it]);
    let sizes = arguments.value("--size")?.map_or(SIZES.to_vec(), |it: usize| vec![it.max(1)]);
    let warmup = arguments.seconds("--warmup", 0.2)?;
    let duration = arguments.seconds("--duration", 0.5)?;
    let buffers = arguments.value("--buffers")?.unwrap_or(uring::BUFFERS);
    arguments.finish()?;
    let mut table = HEAD.to_owned();
    for rate in [None, Some(PACED_RATE)] {
        for &sessions in &sessions {
            for &size in &sizes {
                let case = Case { sessions: sessions.max(2) & !1, size, rate, warmup, duration };
                let line = compare(case, rounds, buffers)?;
                eprintln!("{line}");
                table = table + "\n" + &line;
            }
        }
    }
    Ok(table)
}

/// The line of one case: medians over the rounds, in which another way begins each time.
fn compare(case: Case, rounds: usize, buffers: u16) -> io::Result<String> {
    let mut found = WAYS.map(|_| Vec::new());
    for round in 0..rounds {
        for turn in 0..WAYS.len() {
            let way = (round + turn) % WAYS.len();
            found[way].push(measure(case, WAYS[way], buffers)?);
        }
    }
    let column = |digits, figure: fn(&Figures) -> f64| {
        let cells = found.iter().map(|runs| median(digits, runs.iter().map(figure).collect()));
        cells.collect::<Vec<_>>().join(" / ")
    };
    let to_epoll = found[1..].iter().map(|runs| {
        median(
            2,
            runs.iter().zip(&found[0]).map(|(uring, epoll)| uring.cpu_us / epoll.cpu_us).collect(),
        )
    });
    let load = if case.rate.is_some() { "paced" } else { "saturated" };
    Ok(format!(
        "| {load} | {} | {} | {} | {} | {} | {} | {} |",
        case.sessions,
        case.size,
        column(0, |it| it.rate),
        column(2, |it| it.cpu_us),
        to_epoll.collect::<Vec<_>>().join(" / "),
        column(2, |it| it.calls),
        column(1, |it| it.per_wake_up),
    ))
}

/// The median, marked if the others are far from it.
fn median(digits: usize, mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let median = values[values.len() / 2];
    let noisy = values.len() < 2 || values[values.len() - 1] - values[0] > SPREAD_MAX * median;
    format!("{}{median:.digits$}", if noisy { "~" } else { "" })
}

fn measure(case: Case, way: Way, buffers: u16) -> io::Result<Figures> {
    let (near, far) = connections(case.sessions)?;
    let counts = Counts::default();
    thread::scope(|scope| {
        let counts = &counts;
        let relay = scope.spawn(move || match way {
            Way::Epoll => epoll::relay(&far, counts),
            Way::Uring { sqpoll } => uring::relay(&far, sqpoll, buffers, counts),
        });
        let figures = load::run(near, case, counts);
        // If the relay could not, that is why the load could not either.
        relay.join().expect("the relay does not panic")?;
        figures
    })
}

/// Connections over loopback: the ends of the load, and those of the relay in the same order.
fn connections(count: usize) -> io::Result<(Vec<TcpStream>, Vec<TcpStream>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for _ in 0..count {
        near.push(TcpStream::connect(listener.local_addr()?)?);
        far.push(listener.accept()?.0);
    }
    for stream in near.iter().chain(&far) {
        stream.set_nodelay(true)?;
    }
    Ok((near, far))
}
