//! Buffers, other objects' and our own, on every CPython from 3.9 on.
//!
//! The stable ABI has buffers from 3.11 on, so PyO3 hides them from a wheel that also runs before. What this module needs is
//! there all the same: 3.9 and 3.10 export the functions below, their structure has the layout that 3.11 froze, and
//! `PyType_FromSpec` takes the slot from 3.9 on. It is declared here, for every build alike.

use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi::{Py_ssize_t, PyObject};
use pyo3::prelude::*;

/// `Py_buffer`. It points into itself, so it does not move while it is filled.
#[repr(C)]
pub(crate) struct View {
    data: *mut c_void,
    owner: *mut PyObject,
    len: Py_ssize_t,
    item_len: Py_ssize_t,
    is_readonly: c_int,
    dimensions: c_int,
    format: *mut c_char,
    shape: *mut Py_ssize_t,
    strides: *mut Py_ssize_t,
    suboffsets: *mut Py_ssize_t,
    internal: *mut c_void,
}

/// `PyBUF_SIMPLE`: bytes in one piece, whatever their shape and the format of their items.
const BYTES: c_int = 0;

// SAFETY: CPython exports them from 3.9 on, with these arguments.
unsafe extern "C" {
    fn PyObject_GetBuffer(object: *mut PyObject, view: *mut View, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut View);
    fn PyBuffer_FillInfo(
        view: *mut View,
        owner: *mut PyObject,
        data: *mut c_void,
        len: Py_ssize_t,
        is_readonly: c_int,
        flags: c_int,
    ) -> c_int;
}

/// Lends the bytes of a C-contiguous buffer to `call`, in place.
///
/// # Errors
/// `TypeError` if `object` is no such buffer; what `call` returns.
pub(crate) fn read<T>(
    object: &Bound<'_, PyAny>,
    call: impl FnOnce(&[u8]) -> PyResult<T>,
) -> PyResult<T> {
    let mut view = MaybeUninit::<View>::uninit();
    // SAFETY: the thread is attached, and `view` stays where it is until it is released.
    if unsafe { PyObject_GetBuffer(object.as_ptr(), view.as_mut_ptr(), BYTES) } != 0 {
        return Err(refused(object, PyErr::fetch(object.py())));
    }
    // SAFETY: the interpreter has filled it.
    let view = Filled(unsafe { view.assume_init_mut() });
    let (data, len) = (view.0.data.cast::<u8>(), view.0.len.unsigned_abs());
    if len == 0 {
        return call(&[]);
    }
    // SAFETY: `len` bytes in one piece that are exported, so neither freed nor resized, until `view` is dropped. Who
    // writes to them meanwhile, from another thread, publishes a mixture of bytes, as with a socket; nothing here
    // depends on their values.
    call(unsafe { std::slice::from_raw_parts(data, len) })
}

/// A view that is released when it is dropped.
struct Filled<'a>(&'a mut View);

impl Drop for Filled<'_> {
    fn drop(&mut self) {
        // SAFETY: it was filled, is released once, and only `read` makes one, whose caller is attached.
        unsafe { PyBuffer_Release(self.0) };
    }
}

/// What is said of an object that is no buffer, or none in one piece.
#[cold]
fn refused(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = object.py();
    if error.is_instance_of::<PyBufferError>(py) || error.is_instance_of::<PyValueError>(py) {
        return PyTypeError::new_err(error.value(py).to_string());
    }
    if !error.is_instance_of::<PyTypeError>(py) {
        return error;
    }
    let given = object.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    PyTypeError::new_err(format!("expected ZBytes, str or bytes-like, not {given}"))
}

/// Fills `view` with bytes of `owner` that cannot be written to; what the slot of its type returns.
///
/// # Safety
/// The interpreter asks for it with this `view`. The bytes neither move nor change while `owner` lives.
pub(crate) unsafe fn fill<T>(
    view: *mut View,
    owner: Borrowed<'_, '_, T>,
    bytes: &[u8],
    flags: c_int,
) -> c_int {
    let (data, len) = (bytes.as_ptr().cast_mut().cast(), bytes.len() as Py_ssize_t);
    // SAFETY: as promised by the caller; the view keeps `owner` alive, and asking for a writable one is refused.
    unsafe { PyBuffer_FillInfo(view, owner.as_ptr(), data, len, 1, flags) }
}
