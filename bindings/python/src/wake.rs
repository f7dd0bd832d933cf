//! Waking tasks of async code: one thread for the process, so that no thread of the network ever waits for the GIL to do so.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use pyo3::prelude::*;

use crate::dispatch::log;
use crate::gil::call0;

/// What is to be called, once.
struct Call {
    function: Mutex<Option<Py<PyAny>>>,
    queue: Sender<Py<PyAny>>,
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        let function = self.function.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(function) = function {
            // Without the thread the process is ending, and the task with it.
            let _ = self.queue.send(function);
        }
    }
}

/// A waker that has `function` called without arguments, on the waking thread.
///
/// # Errors
/// If there is no thread to be had.
pub(crate) fn waker(function: Py<PyAny>) -> PyResult<Waker> {
    let function = Mutex::new(Some(function));
    Ok(Waker::from(Arc::new(Call { function, queue: queue()? })))
}

/// The queue of the thread of a process.
type Queue = Option<(u32, Sender<Py<PyAny>>)>;

/// The queue of the thread, which is started when it is first needed, and again after a fork.
fn queue() -> PyResult<Sender<Py<PyAny>>> {
    static QUEUE: Mutex<Queue> = Mutex::new(None);
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((_, sender)) = queue.as_ref().filter(|(started_in, _)| *started_in == process) {
        return Ok(sender.clone());
    }
    let (sender, receiver) = channel::<Py<PyAny>>();
    std::thread::Builder::new().name("weft-wake".into()).spawn(move || {
        while let Ok(function) = receiver.recv() {
            let attached = Python::try_attach(|py| {
                let more: Vec<_> = receiver.try_iter().collect();
                for function in std::iter::once(function).chain(more) {
                    if let Err(error) = call0(function.bind(py)) {
                        log(py, &error);
                    }
                }
            });
            if attached.is_none() {
                return;
            }
        }
    })?;
    *queue = Some((process, sender.clone()));
    Ok(sender)
}
