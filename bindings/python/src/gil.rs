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
//!
//! Before 3.14, CPython ends a thread that asks for the GIL once the interpreter exits, from within and without returning.
//! That must not unwind through Rust: it would abort the process. Where this crate asks for the GIL, PyO3 keeps the thread
//! from ending. Where code of Python's asks for it that this crate has called, [`call`] and [`call1`] do: whatever may run
//! for a while is called with them.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

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

/// Refuses sub-interpreters: threads and sessions belong to the process. From 3.12 on, CPython does that by itself.
///
/// # Errors
/// `ImportError` in a sub-interpreter.
pub(crate) fn in_main_interpreter() -> PyResult<()> {
    // SAFETY: the thread is attached, as modules are made by attached threads. The main interpreter's number is 0.
    match unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) } {
        0 => Ok(()),
        _ => Err(PyImportError::new_err("weft does not support loading in subinterpreters")),
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
    let raised = enter(|py| py.check_signals().err()).flatten();
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

/// Calls Python from within the library: from a callback on the thread that delivers. What that calls of the library begins
/// anew, whatever the thread was doing with the GIL. `None` if the interpreter is ending.
pub(crate) fn enter<T>(call: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    Python::try_attach(|py| {
        let _mode = Entered::new(Mode::Outside);
        call(py)
    })
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

/// Python's functions, but for what PyO3 says of them: that they never unwind.
mod raw {
    use pyo3::ffi::PyObject;

    // SAFETY: both are of the stable ABI, with these arguments.
    unsafe extern "C-unwind" {
        pub(super) fn PyObject_Call(
            callable: *mut PyObject,
            args: *mut PyObject,
            kwargs: *mut PyObject,
        ) -> *mut PyObject;
        pub(super) fn PyObject_CallFunctionObjArgs(callable: *mut PyObject, ...) -> *mut PyObject;
    }
}

/// Calls a function that may run code of Python's for a while.
///
/// # Errors
/// What it raises.
pub(crate) fn call<'py>(
    function: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let keywords = keywords.map_or_else(ptr::null_mut, Bound::as_ptr);
    let stay = Stay;
    // SAFETY: the thread is attached, and the objects are alive. A new reference or an exception comes back.
    let returned = unsafe {
        let returned = raw::PyObject_Call(function.as_ptr(), args.as_ptr(), keywords);
        Bound::from_owned_ptr_or_err(function.py(), returned)
    };
    std::mem::forget(stay);
    returned
}

/// The same without arguments.
///
/// # Errors
/// What it raises.
pub(crate) fn call0<'py>(function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    call(function, &PyTuple::empty(function.py()), None)
}

/// The same with one argument. Allocates no tuple for it.
///
/// # Errors
/// What it raises.
#[inline]
pub(crate) fn call1<'py>(
    function: &Bound<'py, PyAny>,
    argument: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let end = ptr::null_mut::<ffi::PyObject>();
    let stay = Stay;
    // SAFETY: as in `call`; a null pointer ends the arguments.
    let returned = unsafe {
        let returned = raw::PyObject_CallFunctionObjArgs(function.as_ptr(), argument.as_ptr(), end);
        Bound::from_owned_ptr_or_err(function.py(), returned)
    };
    std::mem::forget(stay);
    returned
}

/// Keeps a thread that is being ended where it is, without the GIL, as CPython does from 3.14 on.
struct Stay;

impl Drop for Stay {
    fn drop(&mut self) {
        loop {
            std::thread::park();
        }
    }
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
