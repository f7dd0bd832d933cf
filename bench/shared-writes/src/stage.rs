//! The traced process and how it is spoken to.

use crate::subject::{Failure, Role};
use crate::symbols::Symbols;
use crate::trace::Trace;
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long anything may take before the run fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A node under valgrind.
pub(crate) struct Subject {
    process: Process,
    trace: JoinHandle<std::io::Result<Trace>>,
    marks: TcpStream,
    /// Where it listens.
    pub(crate) endpoint: String,
    /// What it is told, and says, of each flow.
    pub(crate) flows: [TcpStream; 2],
}

/// Ends with its owner.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Subject {
    /// Starts it and waits until it listens.
    pub(crate) fn start(role: Role) -> Result<Self, Failure> {
        let control = TcpListener::bind("127.0.0.1:0")?;
        let endpoint = free_endpoint()?;
        let mut child = Command::new("valgrind")
            .args(["--tool=lackey", "--trace-mem=yes"])
            .arg(std::env::current_exe()?)
            .args(["subject", role.word(), &endpoint, &control.local_addr()?.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("valgrind did not start: {error}"))?;
        let output = child.stderr.take().ok_or("valgrind has no standard error")?;
        let mut process = Process(child);
        let address = Arc::new(AtomicU64::new(0));
        let known = Arc::clone(&address);
        let trace = std::thread::spawn(move || {
            Trace::read(BufReader::with_capacity(1 << 20, output), &known)
        });
        let streams = || -> Result<_, Failure> {
            let mut connected = || process.connected(&control);
            let (mut marks, flows) = (connected()?, [connected()?, connected()?]);
            let mut bytes = [0; 8];
            marks.read_exact(&mut bytes)?;
            Ok((marks, flows, u64::from_le_bytes(bytes)))
        }();
        match streams {
            Ok((marks, flows, mark)) => {
                address.store(mark, Ordering::Relaxed);
                Ok(Self { process, trace, marks, endpoint, flows })
            }
            Err(error) => {
                drop(process);
                let said = trace.join().ok().and_then(Result::ok).unwrap_or_default().said;
                Err(format!("{error}; the traced process said:\n{said}").into())
            }
        }
    }

    /// Marks the beginning of a flow, or the end of the last one, in the trace.
    pub(crate) fn mark(&mut self, which: u8) -> Result<(), Failure> {
        self.marks.write_all(&[which])?;
        self.marks.read_exact(&mut [0])?;
        Ok(())
    }

    /// Ends it. Returns what it did, and the names for it.
    pub(crate) fn end(self) -> Result<(Trace, Symbols), Failure> {
        let symbols = Symbols::of(self.process.0.id())?;
        drop(self.process);
        let trace = self.trace.join().map_err(|_| "the trace was not understood")??;
        if trace.is_whole { Ok((trace, symbols)) } else { Err("the trace has no end".into()) }
    }
}

impl Process {
    /// The next stream that it connects.
    fn connected(&mut self, control: &TcpListener) -> Result<TcpStream, Failure> {
        control.set_nonblocking(true)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match control.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(PATIENCE))?;
                    return Ok(stream);
                }
                Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => {
                    return Err(error.into());
                }
                Err(_) => {}
            }
            if let Some(status) = self.0.try_wait()? {
                return Err(format!("the traced process ended with {status}").into());
            }
            if Instant::now() > deadline {
                return Err("the traced process did not begin".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn free_endpoint() -> Result<String, Failure> {
    Ok(format!("tcp/{}", TcpListener::bind("127.0.0.1:0")?.local_addr()?))
}
