//! `Encoding`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use weft::Encoding;

use crate::error::Raise;

/// What a payload is: MIME-like text such as `application/json;schema`. Empty text is `zenoh/bytes`.
///
/// Equal to the same `str`, with the same hash. Nothing is interpreted on the way.
#[pyclass(frozen, module = "weft", name = "Encoding")]
pub(crate) struct PyEncoding(pub(crate) Encoding);

/// An argument that is an `Encoding` or text.
pub(crate) struct EncodingArgument(pub(crate) Encoding);

impl FromPyObject<'_, '_> for EncodingArgument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(encoding) = object.cast::<PyEncoding>() {
            return Ok(Self(encoding.get().0.clone()));
        }
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Self(text.to_cow()?.parse().or_raise()?));
        }
        let given = object.get_type();
        Err(PyTypeError::new_err(format!("expected Encoding or str, not {}", given.name()?)))
    }
}

/// The encoding of an argument that may be missing.
pub(crate) fn value(argument: Option<EncodingArgument>) -> Option<Encoding> {
    argument.map(|EncodingArgument(encoding)| encoding)
}

#[pymethods]
impl PyEncoding {
    #[new]
    #[pyo3(signature = (encoding=None, *, s=None), text_signature = "(encoding=None)")]
    fn new(encoding: Option<EncodingArgument>, s: Option<EncodingArgument>) -> Self {
        Self(value(encoding.or(s)).unwrap_or_default())
    }

    /// The same with another schema, the part after the first `;`.
    fn with_schema(&self, schema: &str) -> PyResult<Self> {
        Ok(Self(self.0.with_schema(schema).or_raise()?))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Encoding({:?})", self.0.to_string())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.extract().is_ok_and(|EncodingArgument(other)| other == self.0)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::new(py, &self.0.to_string()).hash()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (String,)) {
        (slf.get_type(), (slf.get().0.to_string(),))
    }
}

macro_rules! constants {
    ($($name:ident)*) => {
        /// Puts the well-known encodings on the class.
        ///
        /// # Errors
        /// If memory runs out.
        pub(crate) fn add_constants(class: &Bound<'_, PyType>) -> PyResult<()> {
            $(class.setattr(stringify!($name), Py::new(class.py(), PyEncoding(Encoding::$name))?)?;)*
            Ok(())
        }
    };
}

constants! {
    ZENOH_BYTES ZENOH_STRING ZENOH_SERIALIZED APPLICATION_OCTET_STREAM TEXT_PLAIN APPLICATION_JSON
    TEXT_JSON APPLICATION_CDR APPLICATION_CBOR APPLICATION_YAML TEXT_YAML TEXT_JSON5
    APPLICATION_PYTHON_SERIALIZED_OBJECT APPLICATION_PROTOBUF APPLICATION_JAVA_SERIALIZED_OBJECT
    APPLICATION_OPENMETRICS_TEXT IMAGE_PNG IMAGE_JPEG IMAGE_GIF IMAGE_BMP IMAGE_WEBP
    APPLICATION_XML APPLICATION_X_WWW_FORM_URLENCODED TEXT_HTML TEXT_XML TEXT_CSS TEXT_JAVASCRIPT
    TEXT_MARKDOWN TEXT_CSV APPLICATION_SQL APPLICATION_COAP_PAYLOAD APPLICATION_JSON_PATCH_JSON
    APPLICATION_JSON_SEQ APPLICATION_JSONPATH APPLICATION_JWT APPLICATION_MP4 APPLICATION_SOAP_XML
    APPLICATION_YANG AUDIO_AAC AUDIO_FLAC AUDIO_MP4 AUDIO_OGG AUDIO_VORBIS VIDEO_H261 VIDEO_H263
    VIDEO_H264 VIDEO_H265 VIDEO_H266 VIDEO_MP4 VIDEO_OGG VIDEO_RAW VIDEO_VP8 VIDEO_VP9
}
