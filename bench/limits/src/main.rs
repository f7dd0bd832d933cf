//! What the machine gives without any protocol: bare loopback TCP, blocking, one thread per process.
//!
//! The pairs of roles are `pingpong-server` and `pingpong-client` (one frame back and forth), and `batch-sender`,
//! optionally `batch-relay`, and `batch-receiver` (messages in one direction). `memcpy` copies, and `spinner` keeps a
//! core awake. With the feature `uring`, `relay-trial` compares two ways to poll. Flags and output: `bench/README.md`.

mod batch;
mod machine;
#[cfg(feature = "uring")]
mod relay;

use bench_roles::{Arguments, Failure, Outcome, Pace, RoundTrips, no_role, ready, run_role};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;

fn main() -> ExitCode {
    run_role(|role, arguments| match role {
        "pingpong-server" => pingpong_server(arguments),
        "pingpong-client" => pingpong_client(arguments),
        "batch-receiver" => batch::receive(arguments),
        "batch-relay" => batch::relay(arguments),
        "batch-sender" => batch::send(arguments),
        "memcpy" => machine::copy(arguments),
        "spinner" => machine::spin(arguments),
        #[cfg(feature = "uring")]
        "relay-trial" => relay::trial(arguments),
        _ => Err(no_role(role)),
    })
}

/// Sends every frame back until the client hangs up.
fn pingpong_server(mut arguments: Arguments) -> Outcome {
    let endpoint: String = arguments.required("--listen")?;
    arguments.finish()?;
    let mut stream = accept(&endpoint)?;
    let mut frame = vec![0; FRAME_LEN_MAX];
    let mut count: u64 = 0;
    while let Some(len) = read_frame(&mut stream, &mut frame)? {
        stream.write_all(&frame[..len])?;
        count += 1;
    }
    Ok(format!(r#"{{"role":"pingpong-server","count":{count}}}"#))
}

fn pingpong_client(mut arguments: Arguments) -> Outcome {
    let endpoint: String = arguments.required("--connect")?;
    let size: u16 = arguments.value("--size")?.unwrap_or(64);
    let count = arguments.value("--count")?.unwrap_or(10_000_usize).max(1);
    let warmup = arguments.value("--warmup")?.unwrap_or(1_000);
    let mut pace = Pace::new(arguments.value("--rate")?.unwrap_or(0.0));
    arguments.finish()?;
    let mut stream = connect(&endpoint)?;
    let request = [&size.to_le_bytes()[..], &vec![7; size.into()]].concat();
    let mut answer = vec![0; FRAME_LEN_MAX];
    let mut round_trips = RoundTrips::new(warmup, count);
    loop {
        pace.wait();
        round_trips.depart();
        stream.write_all(&request)?;
        let len = read_frame(&mut stream, &mut answer)?.ok_or("the server hung up")?;
        let more = round_trips.arrive();
        if answer[..len] != request {
            return Err(Failure::Run("the answer is not the request".to_owned()));
        }
        if !more {
            break;
        }
    }
    Ok(format!(r#"{{"role":"pingpong-client","size":{size},{}}}"#, round_trips.json_fields()))
}

/// The first connection to `tcp/ADDRESS:PORT`.
fn accept(endpoint: &str) -> io::Result<TcpStream> {
    let listener = TcpListener::bind(address(endpoint))?;
    ready();
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn connect(endpoint: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address(endpoint))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn address(endpoint: &str) -> &str {
    endpoint.strip_prefix("tcp/").unwrap_or(endpoint)
}

/// A length of two bytes, and as many bytes as it can say.
const FRAME_LEN_MAX: usize = 2 + u16::MAX as usize;

/// Reads one frame to the start of `frame` and returns its length with the prefix; `None` when the other side is done.
///
/// The other side waits for an answer before it sends the next frame, so nothing of the next one is ever read.
fn read_frame(stream: &mut TcpStream, frame: &mut [u8]) -> io::Result<Option<usize>> {
    let mut filled = 0;
    loop {
        let len = stream.read(&mut frame[filled..])?;
        if len == 0 {
            return if filled == 0 { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
        filled += len;
        if filled >= 2 {
            let len = 2 + usize::from(u16::from_le_bytes([frame[0], frame[1]]));
            if filled >= len {
                return Ok(Some(len));
            }
        }
    }
}
