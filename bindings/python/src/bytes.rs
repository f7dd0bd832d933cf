//! `ZBytes`, and what is taken for one as an argument.
//!
//! In: `bytes` are not copied but kept alive, for they never change; any other buffer is read in place where the
//! library is done with it when the call returns, and copied where it is kept. Out: a `ZBytes` is a read-only
//! buffer over the library's own memory.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyUnicodeDecodeError;
use pyo3::ffi;
use pyo3::impl_::pyclass::{PyClassImpl, PyClassItems};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString};
use weft::zbytes::INLINE_LEN_MAX;

use crate::buffer;

/// Bytes of a payload or an attachment: immutable, shared, perhaps in several pieces.
///
/// Made from `bytes`, `bytearray`, `str` (as UTF-8), another `ZBytes` or any C-contiguous buffer; `bytes` are not copied.
/// It is a buffer itself: `memoryview(z)` and `numpy.frombuffer(z, ...)` look at the received bytes
/// without a copy.
#[pyclass(frozen, module = "weft", name = "ZBytes")]
pub(crate) struct PyZBytes {
    bytes: weft::ZBytes,
    /// The bytes in one piece, for buffers, once they were wanted and are in several.
    joined: OnceLock<Vec<u8>>,
}

impl From<weft::ZBytes> for PyZBytes {
    fn from(bytes: weft::ZBytes) -> Self {
        Self { bytes, joined: OnceLock::new() }
    }
}

/// A `bytes` object as the owner of what it holds.
struct BytesOwner {
    data: *const u8,
    len: usize,
    _object: Py<PyBytes>,
}

// SAFETY: the bytes of a `bytes` object never change nor move, and the object is kept alive.
unsafe impl Send for BytesOwner {}
// SAFETY: as above.
unsafe impl Sync for BytesOwner {}

impl AsRef<[u8]> for BytesOwner {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: pointer and length are those of the `bytes` object, which lives as long as this.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}

fn shared(bytes: &Bound<'_, PyBytes>) -> weft::ZBytes {
    let slice = bytes.as_bytes();
    if slice.len() <= INLINE_LEN_MAX {
        return slice.into();
    }
    let (data, len) = (slice.as_ptr(), slice.len());
    let owner = BytesOwner { data, len, _object: bytes.clone().unbind() };
    weft::ZBytes::from_owner(Arc::new(owner), 0..len)
}

/// An argument that is a payload or an attachment, to be kept.
pub(crate) struct Bytes(pub(crate) weft::ZBytes);

impl FromPyObject<'_, '_> for Bytes {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self(shared(&bytes)));
        }
        if let Ok(bytes) = object.cast::<PyZBytes>() {
            return Ok(Self(bytes.get().bytes.clone()));
        }
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Self(text.to_cow()?.as_ref().into()));
        }
        buffer::read(&object, |bytes| Ok(Self(bytes.into())))
    }
}

/// The bytes of an argument that may be missing.
pub(crate) fn value(argument: Option<Bytes>) -> Option<weft::ZBytes> {
    argument.map(|Bytes(bytes)| bytes)
}

/// Lends the bytes of a payload to `call`, without a copy if they are in one piece.
///
/// # Errors
/// `TypeError` if it is no payload.
#[inline]
pub(crate) fn lend<T>(
    object: &Bound<'_, PyAny>,
    call: impl FnOnce(&[u8]) -> PyResult<T>,
) -> PyResult<T> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return call(bytes.as_bytes());
    }
    if let Ok(bytes) = object.cast::<PyZBytes>() {
        return call(&bytes.get().bytes.to_bytes());
    }
    if let Ok(text) = object.cast::<PyString>() {
        return call(text.to_cow()?.as_bytes());
    }
    buffer::read(object, call)
}

impl PyZBytes {
    /// Lends the bytes in one piece.
    pub(crate) fn lend<T>(&self, call: impl FnOnce(&[u8]) -> T) -> T {
        call(&self.bytes.to_bytes())
    }

    /// In one piece; joins several once.
    fn contiguous(&self) -> &[u8] {
        match self.bytes.as_slice() {
            Some(slice) => slice,
            None => self.joined.get_or_init(|| self.bytes.to_bytes().into_owned()),
        }
    }
}

#[pymethods]
impl PyZBytes {
    #[new]
    #[pyo3(signature = (bytes=None, *, obj=None), text_signature = "(bytes=None)")]
    fn new(bytes: Option<Bytes>, obj: Option<Bytes>) -> Self {
        value(bytes.or(obj)).unwrap_or_default().into()
    }

    /// Joins pieces without copying them: `bytes` and `ZBytes` are shared, other buffers copied.
    #[staticmethod]
    fn from_segments(segments: &Bound<'_, PyAny>) -> PyResult<Self> {
        let pieces = segments.try_iter()?.map(|piece| piece?.extract().map(|Bytes(it)| it));
        Ok(pieces.collect::<PyResult<weft::ZBytes>>()?.into())
    }

    /// The pieces that it is stored in, each as a `ZBytes` of its own. The bytes are copied.
    fn slices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let pieces = self.bytes.slices().map(|slice| Self::from(weft::ZBytes::from(slice)));
        let pieces: Vec<_> = pieces.map(|piece| Py::new(py, piece)).collect::<PyResult<_>>()?;
        PyList::new(py, pieces)
    }

    /// A copy as `bytes`.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes.to_bytes())
    }

    /// The bytes as text. Raises `UnicodeDecodeError`, a `ValueError`, if they are not UTF-8.
    fn to_string<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let bytes = self.bytes.to_bytes();
        match std::str::from_utf8(&bytes) {
            Ok(text) => Ok(PyString::new(py, text)),
            Err(error) => Err(PyUnicodeDecodeError::new_utf8(py, &bytes, error)?.into()),
        }
    }

    /// A view of shared memory, or `None`: this build receives none.
    #[allow(clippy::unused_self)] // a method of the surface
    fn as_shm(&self) -> Option<Py<PyAny>> {
        None
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.to_bytes(py)
    }

    fn __str__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.to_string(py)
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.bytes)
    }

    fn __len__(&self) -> usize {
        self.bytes.len()
    }

    fn __bool__(&self) -> bool {
        !self.bytes.is_empty()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(other) = other.cast::<Self>() {
            return Ok(self.bytes == other.get().bytes);
        }
        let is_bytes = other.is_instance_of::<PyBytes>() || other.is_instance_of::<PyByteArray>();
        if !is_bytes && !other.is_instance_of::<PyString>() {
            return Ok(false);
        }
        let Bytes(other) = other.extract()?;
        Ok(self.bytes == other)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.to_bytes(py).hash()
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> (Bound<'py, pyo3::types::PyType>, (Bound<'py, PyBytes>,)) {
        (slf.get_type(), (slf.get().to_bytes(slf.py()),))
    }
}

// What `__getbuffer__` among the methods would be, were it not hidden.
pyo3::inventory::submit! {
    type Inventory = <PyZBytes as PyClassImpl>::Inventory;
    Inventory::new(PyClassItems {
        methods: &[],
        slots: &[ffi::PyType_Slot { slot: ffi::Py_bf_getbuffer, pfunc: get_buffer as *mut c_void }],
    })
}

// SAFETY: only the interpreter calls it, attached, with an object of the type and a buffer to fill.
unsafe extern "C" fn get_buffer(
    object: *mut ffi::PyObject,
    view: *mut buffer::View,
    flags: c_int,
) -> c_int {
    // SAFETY: as above; the bytes neither move nor change as long as the object lives.
    unsafe {
        let py = Python::assume_attached();
        let object = Borrowed::from_ptr(py, object).cast_unchecked::<PyZBytes>();
        buffer::fill(view, object, object.get().contiguous(), flags)
    }
}
