//! What the machine gives without any protocol: bare loopback TCP, blocking, one thread per process.
//!
//! The pairs of roles are `pingpong-server` and `pingpong-client` (one frame back and forth), and `batch-sender`,
//! optionally `batch-relay`, and `batch-receiver` (bytes in one direction). Flags and output: `bench/README.md`.

use bench_limits::{Arguments, Failure, Outcome, RoundTrips, Window, ready, run_role};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    run_role(|role, arguments| match role {
        "pingpong-server" => pingpong_server(arguments),
        "pingpong-client" => pingpong_client(arguments),
        "batch-receiver" => batch_receiver(arguments),
        "batch-relay" => batch_relay(arguments),
        "batch-sender" => batch_sender(arguments),
        _ => Err(Failure::Usage(format!("no role `{role}`"))),
    })
}

/// What a Zenoh batch can hold, and so what one write of a simple sender carries.
const WRITE_LEN: usize = 64 * 1024;
const READ_LEN: usize = 256 * 1024;

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
    arguments.finish()?;
    let mut stream = connect(&endpoint)?;
    let request = [&size.to_le_bytes()[..], &vec![7; size.into()]].concat();
    let mut answer = vec![0; FRAME_LEN_MAX];
    let mut round_trips = RoundTrips::new(warmup, count);
    loop {
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

/// Counts bytes until the window closes.
fn batch_receiver(mut arguments: Arguments) -> Outcome {
    let endpoint: String = arguments.required("--listen")?;
    let warmup = arguments.seconds("--warmup", 1.0)?;
    let duration = arguments.seconds("--duration", 3.0)?;
    arguments.finish()?;
    let mut stream = accept(&endpoint)?;
    let mut window = Window::new(warmup, duration);
    let mut buffer = vec![0; READ_LEN];
    let mut count: u64 = 0;
    let rate = loop {
        let len = stream.read(&mut buffer)?;
        if len == 0 {
            return Err(Failure::Run("the sender hung up inside the window".to_owned()));
        }
        count += len as u64;
        if let Some(rate) = window.mark(count, Instant::now()) {
            break rate.per_second();
        }
    };
    let gbit = rate * 8.0 / 1e9;
    Ok(format!(r#"{{"role":"batch-receiver","bytes_per_s":{rate:.0},"gbit_per_s":{gbit:.3}}}"#))
}

/// Passes bytes on until either side hangs up.
fn batch_relay(mut arguments: Arguments) -> Outcome {
    let listen: String = arguments.required("--listen")?;
    let connect_to: String = arguments.required("--connect")?;
    arguments.finish()?;
    let mut to = connect(&connect_to)?;
    let mut from = accept(&listen)?;
    let mut buffer = vec![0; READ_LEN];
    let mut count: u64 = 0;
    loop {
        let len = until_hung_up(from.read(&mut buffer))?.unwrap_or(0);
        if len == 0 || until_hung_up(to.write_all(&buffer[..len]))?.is_none() {
            return Ok(format!(r#"{{"role":"batch-relay","bytes":{count}}}"#));
        }
        count += len as u64;
    }
}

/// Writes for `--duration`, or until the receiver hangs up.
fn batch_sender(mut arguments: Arguments) -> Outcome {
    let endpoint: String = arguments.required("--connect")?;
    let duration = arguments.seconds("--duration", 5.0)?;
    arguments.finish()?;
    let mut stream = connect(&endpoint)?;
    let batch = vec![7; WRITE_LEN];
    let mut count: u64 = 0;
    let start = Instant::now();
    while start.elapsed() < duration && until_hung_up(stream.write_all(&batch))?.is_some() {
        count += WRITE_LEN as u64;
    }
    Ok(format!(r#"{{"role":"batch-sender","bytes":{count}}}"#))
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

/// A receiver leaves when its window closes; to whoever feeds it that is the end, not an error.
fn until_hung_up<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) => match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Ok(None),
            _ => Err(error),
        },
    }
}
