//! `ZBytes`, and what is taken for one as an argument.
//!
//! In: `bytes` are not copied but kept alive, for they never change; any other buffer is read in place where the
//! library is done with it when the call returns, and copied where it is kept. Out: a `ZBytes` is a read-only
//! buffer over the library's own memory.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, OnceLock};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyUnicodeDecodeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString};
use weft::zbytes::INLINE_LEN_MAX;

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

/// A buffer's bytes in C order.
fn copied(buffer: &PyBuffer<u8>, py: Python<'_>) -> PyResult<Vec<u8>> {
    buffer.to_vec(py)
}

/// Any buffer as bytes, whatever its items are.
///
/// # Errors
/// `TypeError` if it is none.
fn buffer(object: &Bound<'_, PyAny>) -> PyResult<PyBuffer<u8>> {
    let view = || -> PyResult<PyBuffer<u8>> {
        let memory = object.py().get_type::<pyo3::types::PyMemoryView>().call1((object,))?;
        let is_contiguous: bool = memory.getattr("c_contiguous")?.extract()?;
        if !is_contiguous {
            return Err(PyBufferError::new_err("the buffer is not C-contiguous"));
        }
        // `cast` wants at least one dimension and no zero in the shape.
        if memory.getattr("nbytes")?.extract::<usize>()? == 0 {
            return PyBuffer::get(&PyBytes::new(object.py(), b""));
        }
        PyBuffer::get(&memory.call_method1("cast", ("B",))?)
    };
    view().map_err(|error| {
        if error.is_instance_of::<PyBufferError>(object.py()) {
            return PyTypeError::new_err(error.value(object.py()).to_string());
        }
        let given = object.get_type().name().map(|name| name.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!("expected ZBytes, str or bytes-like, not {given}"))
    })
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
        let buffer = buffer(&object)?;
        Ok(Self(copied(&buffer, object.py())?.into()))
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
    let buffer = buffer(object)?;
    let (data, len) = (buffer.buf_ptr().cast::<u8>(), buffer.len_bytes());
    if len == 0 {
        return call(&[]);
    }
    // SAFETY: a contiguous buffer of `len` bytes that is exported, so neither freed nor resized, until `buffer` is
    // dropped. Who writes to it meanwhile, from another thread, publishes a mixture of bytes, as with a
    // socket; nothing here depends on their values.
    let slice = unsafe { std::slice::from_raw_parts(data, len) };
    call(slice)
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

    // SAFETY: only the interpreter calls it, with a buffer to fill.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let bytes = slf.get().contiguous();
        let (data, len) = (bytes.as_ptr().cast_mut().cast::<c_void>(), bytes.len() as isize);
        // SAFETY: the interpreter's buffer to fill; the bytes neither move nor change as long as the object lives,
        // which the view keeps alive. Read-only is said, and asking for more is refused.
        let outcome = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), data, len, 1, flags) };
        if outcome == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}
