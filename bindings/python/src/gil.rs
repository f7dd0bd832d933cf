//! Who holds the interpreter lock (GIL) while the library works, and what may interrupt it.
//!
//! Two ways to call the library:
//! - [`quick`], for what hardly ever waits (publishing): the thread stays attached to the interpreter, for
//!   letting go of the GIL and taking it again costs more than the call, and where other threads want it, a
//!   whole switch interval. If the library has to wait all the same, it says so first
//!   ([`weft::WaitHooks::around`]), and the thread detaches for as long as that takes.
//! - [`blocking`], for everything that may wait: detached from the beginning.
//!
//! In both, the library asks every 100 ms of a wait whether to give up; then pending signals are handled, so
//! that Ctrl-C ends each of them. The exception waits in `PENDING` until the library has returned.
//!
//! No lock of the library is held by a thread that wants the GIL, so it may be held where the library locks.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::inherited;

/// How often a wait of this crate looks for signals.
pub(crate) const SIGNALS_EVERY: Duration = Duration::from_millis(100);

/// What the calling thread does with the GIL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// No call into the library is under way.
    Outside,
    /// It is attached, and in the library.
    Attached,
    /// It is detached, and in the library.
    Detached,
    /// The same, where no exception can be raised: in a destructor.
    Dropping,
}

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Outside) };
    static PENDING: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Sets the mode until it is dropped.
struct Entered(Mode);

impl Entered {
    fn new(mode: Mode) -> Self {
        Self(MODE.replace(mode))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        MODE.set(self.0);
    }
}

/// Installs what the library asks and says about waits.
pub(crate) fn install() {
    weft::set_wait_hooks(weft::WaitHooks { around, is_interrupted });
}

fn around(wait: &mut dyn FnMut()) {
    if MODE.get() != Mode::Attached {
        return wait();
    }
    let _mode = Entered::new(Mode::Detached);
    // SAFETY: `MODE` is `Attached` only inside of `quick`, whose caller is attached, and not where that
    // has detached again.
    let py = unsafe { Python::assume_attached() };
    let wait = AnyThread(wait);
    py.detach(move || wait.run());
}

/// Runs on the thread that made it, whatever its type says.
struct AnyThread<'a>(&'a mut dyn FnMut());

// SAFETY: `Python::detach` calls its argument on the calling thread. The bound is there to keep what is bound to
// the GIL out; what the library waits with is not.
unsafe impl Send for AnyThread<'_> {}

impl AnyThread<'_> {
    fn run(self) {
        (self.0)();
    }
}

fn is_interrupted() -> bool {
    if !matches!(MODE.get(), Mode::Attached | Mode::Detached) {
        return false;
    }
    if PENDING.with_borrow(Option::is_some) {
        return true;
    }
    let raised = Python::try_attach(|py| py.check_signals().err()).flatten();
    let is_raised = raised.is_some();
    PENDING.set(raised);
    is_raised
}

fn raise_pending() -> PyResult<()> {
    match PENDING.take() {
        Some(raised) => Err(raised),
        None => Ok(()),
    }
}

/// Calls the library with the GIL held, except where it waits.
///
/// # Errors
/// What a signal handler raised during a wait.
#[inline]
pub(crate) fn quick<T>(_: Python<'_>, call: impl FnOnce() -> T) -> PyResult<T> {
    let mode = Entered::new(Mode::Attached);
    let result = call();
    drop(mode);
    raise_pending()?;
    Ok(result)
}

/// Calls the library without the GIL.
///
/// # Errors
/// What a signal handler raised during a wait.
pub(crate) fn blocking<T: Send>(py: Python<'_>, call: impl FnOnce() -> T + Send) -> PyResult<T> {
    let result = py.detach(|| {
        let _mode = Entered::new(Mode::Detached);
        call()
    });
    raise_pending()?;
    Ok(result)
}

/// How often this process is a fork of one that had loaded the module.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Called in the child after each fork.
#[pyfunction]
pub(crate) fn _after_fork() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Something of the library, which belongs to the process that made it.
///
/// A fork has the memory of its parent but none of its threads. So what was inherited cannot be used there, and is
/// not dropped either: that would wait for threads that are not there.
pub(crate) struct Owned<T> {
    value: ManuallyDrop<T>,
    generation: u64,
}

impl<T> Owned<T> {
    pub(crate) fn new(value: T) -> Self {
        let generation = GENERATION.load(Ordering::Relaxed);
        Self { value: ManuallyDrop::new(value), generation }
    }

    /// Whether this process made it.
    #[inline]
    pub(crate) fn is_own(&self) -> bool {
        self.generation == GENERATION.load(Ordering::Relaxed)
    }

    /// The value.
    ///
    /// # Errors
    /// In a fork.
    #[inline]
    pub(crate) fn get(&self) -> PyResult<&T> {
        if self.is_own() { Ok(&self.value) } else { Err(inherited()) }
    }

    /// The value even in a fork, for what does not touch threads or locks.
    pub(crate) fn peek(&self) -> &T {
        &self.value
    }

    /// Takes the value out.
    ///
    /// # Errors
    /// In a fork.
    pub(crate) fn into_inner(mut self) -> PyResult<T> {
        if !self.is_own() {
            return Err(inherited());
        }
        // SAFETY: the value is not used again: `self` is forgotten at once.
        let value = unsafe { ManuallyDrop::take(&mut self.value) };
        std::mem::forget(self);
        Ok(value)
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.is_own() {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

/// A field of a Python object that is dropped without the GIL: what its end waits for may need it.
pub(crate) struct Held<T: Send>(ManuallyDrop<T>);

impl<T: Send> Held<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }
}

impl<T: Send> Deref for Held<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send> Drop for Held<T> {
    fn drop(&mut self) {
        // SAFETY: it is not used again.
        let value = unsafe { ManuallyDrop::take(&mut self.0) };
        if MODE.get() == Mode::Detached {
            return drop(value);
        }
        Python::attach(|py| {
            py.detach(|| {
                let _mode = Entered::new(Mode::Dropping);
                drop(value);
            });
        });
    }
}
