//! What a payload is: a MIME-like text, sent as a short id and an optional schema.
//!
//! Weft does not interpret encodings; they are metadata from end to end.
//!
//! Spec: 05 §A.6, 02 §3.2. Invariants: a schema has 1 to [`SCHEMA_LEN_MAX`] bytes.

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

/// Longest schema, in bytes.
pub const SCHEMA_LEN_MAX: usize = weft_wire::Encoding::SCHEMA_LEN_MAX;

/// The id of encodings that are not in the table: their schema is the whole text.
pub const CUSTOM_ID: u16 = 0xffff;

/// The encoding of a payload: one of the well-known ones or any text, with an optional schema.
///
/// Written `type/subtype` or `type/subtype;schema`. The default is [`Encoding::ZENOH_BYTES`]. Cloning never allocates.
///
/// ```
/// use weft::encoding::Encoding;
///
/// let json: Encoding = "application/json".parse()?;
/// assert_eq!(json, Encoding::APPLICATION_JSON);
/// assert_eq!(json.with_schema("geo")?.to_string(), "application/json;geo");
/// # Ok::<(), weft::encoding::EncodingError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Encoding {
    id: u16,
    /// Behind two pointers, because most encodings have none: every sample carries this one.
    schema: Option<Arc<Box<[u8]>>>,
}

impl Encoding {
    /// The encoding with this id and schema; an empty schema counts as none.
    ///
    /// # Errors
    /// If the schema is too long.
    pub fn from_wire(id: u16, schema: Option<&[u8]>) -> Result<Self, EncodingError> {
        let schema = schema.filter(|schema| !schema.is_empty());
        if let Some(schema) = schema
            && schema.len() > SCHEMA_LEN_MAX
        {
            return Err(EncodingError::SchemaTooLong { len: schema.len() });
        }
        let schema = schema.map(|schema| Arc::new(Box::from(schema)));
        Ok(Self { id, schema })
    }

    /// The encoding of a received message, whose decoding has checked the length.
    pub(crate) fn received(wire: weft_wire::Encoding<'_>) -> Self {
        Self::from_wire(wire.id, wire.schema).unwrap_or_default()
    }

    /// The encoding of a message.
    pub(crate) fn to_wire(&self) -> weft_wire::Encoding<'_> {
        weft_wire::Encoding { id: self.id, schema: self.schema() }
    }

    /// The number that is sent.
    pub const fn id(&self) -> u16 {
        self.id
    }

    /// The schema that is sent, 1 to [`SCHEMA_LEN_MAX`] bytes; for a custom encoding the whole text.
    pub fn schema(&self) -> Option<&[u8]> {
        self.schema.as_deref().map(AsRef::as_ref)
    }

    /// The same encoding with another schema; an empty one removes it.
    ///
    /// # Errors
    /// If the schema is too long. For a custom encoding its type counts too.
    pub fn with_schema(&self, schema: impl AsRef<[u8]>) -> Result<Self, EncodingError> {
        let schema = schema.as_ref();
        let Some(text) = self.schema().filter(|_| self.id == CUSTOM_ID) else {
            return Self::from_wire(self.id, Some(schema));
        };
        let kind = text.split(|byte| *byte == b';').next().unwrap_or_default();
        match schema {
            [] => Self::from_wire(CUSTOM_ID, Some(kind)),
            _ => Self::from_wire(CUSTOM_ID, Some(&[kind, b";", schema].concat())),
        }
    }

    /// The encoding `other` with this one's schema.
    pub(crate) fn with_id_of(&self, other: &Self) -> Self {
        let schema = self.schema.clone();
        Self { id: other.id, schema }
    }

    /// Whether this is the default encoding, which is not sent at all.
    pub const fn is_default(&self) -> bool {
        self.id == 0 && self.schema.is_none()
    }
}

impl FromStr for Encoding {
    type Err = EncodingError;

    fn from_str(text: &str) -> Result<Self, EncodingError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let (name, schema) = text.split_once(';').unwrap_or((text, ""));
        match NAMES.iter().position(|known| *known == name) {
            Some(id) => Self::from_wire(id as u16, Some(schema.as_bytes())),
            None => Self::from_wire(CUSTOM_ID, Some(text.as_bytes())),
        }
    }
}

impl TryFrom<&str> for Encoding {
    type Error = EncodingError;

    fn try_from(text: &str) -> Result<Self, EncodingError> {
        text.parse()
    }
}

impl TryFrom<String> for Encoding {
    type Error = EncodingError;

    fn try_from(text: String) -> Result<Self, EncodingError> {
        text.parse()
    }
}

/// The text form. A schema that is not UTF-8 shows replacement characters; an id without a name shows as `unknown(id)`.
impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.schema().map(String::from_utf8_lossy);
        match (NAMES.get(usize::from(self.id)), schema) {
            (_, Some(text)) if self.id == CUSTOM_ID => f.write_str(&text),
            (Some(name), None) => f.write_str(name),
            (Some(name), Some(schema)) => write!(f, "{name};{schema}"),
            (None, None) => write!(f, "unknown({})", self.id),
            (None, Some(schema)) => write!(f, "unknown({});{schema}", self.id),
        }
    }
}

impl fmt::Debug for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encoding({self})")
    }
}

/// Why there is no such encoding.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodingError {
    /// The schema, or the text of a custom encoding, has `len` bytes: more than [`SCHEMA_LEN_MAX`].
    SchemaTooLong {
        /// Its length in bytes.
        len: usize,
    },
}

impl fmt::Display for EncodingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SchemaTooLong { len } => {
                write!(f, "encoding schema of {len} bytes; at most {SCHEMA_LEN_MAX} can be sent")
            }
        }
    }
}

impl core::error::Error for EncodingError {}

/// Declares the well-known encodings: a constant for each, and their names by id.
macro_rules! well_known {
    ($($constant:ident = $id:literal, $name:literal;)*) => {
        impl Encoding {
            $(
                #[doc = concat!("`", $name, "`, id ", stringify!($id), ".")]
                pub const $constant: Self = Self { id: $id, schema: None };
            )*
        }

        /// Names by id.
        const NAMES: &[&str] = &[$($name),*];

        #[cfg(test)]
        const CONSTANTS: &[(u16, &str, Encoding)] = &[$(($id, $name, Encoding::$constant)),*];
    };
}

well_known! {
    ZENOH_BYTES = 0, "zenoh/bytes";
    ZENOH_STRING = 1, "zenoh/string";
    ZENOH_SERIALIZED = 2, "zenoh/serialized";
    APPLICATION_OCTET_STREAM = 3, "application/octet-stream";
    TEXT_PLAIN = 4, "text/plain";
    APPLICATION_JSON = 5, "application/json";
    TEXT_JSON = 6, "text/json";
    APPLICATION_CDR = 7, "application/cdr";
    APPLICATION_CBOR = 8, "application/cbor";
    APPLICATION_YAML = 9, "application/yaml";
    TEXT_YAML = 10, "text/yaml";
    TEXT_JSON5 = 11, "text/json5";
    APPLICATION_PYTHON_SERIALIZED_OBJECT = 12, "application/python-serialized-object";
    APPLICATION_PROTOBUF = 13, "application/protobuf";
    APPLICATION_JAVA_SERIALIZED_OBJECT = 14, "application/java-serialized-object";
    APPLICATION_OPENMETRICS_TEXT = 15, "application/openmetrics-text";
    IMAGE_PNG = 16, "image/png";
    IMAGE_JPEG = 17, "image/jpeg";
    IMAGE_GIF = 18, "image/gif";
    IMAGE_BMP = 19, "image/bmp";
    IMAGE_WEBP = 20, "image/webp";
    APPLICATION_XML = 21, "application/xml";
    APPLICATION_X_WWW_FORM_URLENCODED = 22, "application/x-www-form-urlencoded";
    TEXT_HTML = 23, "text/html";
    TEXT_XML = 24, "text/xml";
    TEXT_CSS = 25, "text/css";
    TEXT_JAVASCRIPT = 26, "text/javascript";
    TEXT_MARKDOWN = 27, "text/markdown";
    TEXT_CSV = 28, "text/csv";
    APPLICATION_SQL = 29, "application/sql";
    APPLICATION_COAP_PAYLOAD = 30, "application/coap-payload";
    APPLICATION_JSON_PATCH_JSON = 31, "application/json-patch+json";
    APPLICATION_JSON_SEQ = 32, "application/json-seq";
    APPLICATION_JSONPATH = 33, "application/jsonpath";
    APPLICATION_JWT = 34, "application/jwt";
    APPLICATION_MP4 = 35, "application/mp4";
    APPLICATION_SOAP_XML = 36, "application/soap+xml";
    APPLICATION_YANG = 37, "application/yang";
    AUDIO_AAC = 38, "audio/aac";
    AUDIO_FLAC = 39, "audio/flac";
    AUDIO_MP4 = 40, "audio/mp4";
    AUDIO_OGG = 41, "audio/ogg";
    AUDIO_VORBIS = 42, "audio/vorbis";
    VIDEO_H261 = 43, "video/h261";
    VIDEO_H263 = 44, "video/h263";
    VIDEO_H264 = 45, "video/h264";
    VIDEO_H265 = 46, "video/h265";
    VIDEO_H266 = 47, "video/h266";
    VIDEO_MP4 = 48, "video/mp4";
    VIDEO_OGG = 49, "video/ogg";
    VIDEO_RAW = 50, "video/raw";
    VIDEO_VP8 = 51, "video/vp8";
    VIDEO_VP9 = 52, "video/vp9";
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_well_known_encoding_has_its_id_and_text() {
        assert_eq!(CONSTANTS.len(), 53);
        for (index, (id, name, constant)) in CONSTANTS.iter().enumerate() {
            assert_eq!((usize::from(*id), constant.id()), (index, *id));
            assert_eq!(constant.to_string(), *name);
            assert_eq!(name.parse::<Encoding>().unwrap(), *constant);
            assert_eq!(constant.schema(), None);
        }
        // Spot checks against the table of the specification.
        assert_eq!(Encoding::APPLICATION_PROTOBUF.id(), 13);
        assert_eq!(Encoding::APPLICATION_MP4.id(), 35);
        assert_eq!(Encoding::VIDEO_VP9.to_string(), "video/vp9");
    }

    #[test]
    fn text_splits_at_the_first_semicolon() {
        let parse = |text: &str| {
            let encoding = text.parse::<Encoding>().unwrap();
            (encoding.id(), encoding.schema().map(<[u8]>::to_vec))
        };
        let some = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(parse(""), (0, None));
        assert_eq!(parse("text/plain;"), (4, None));
        assert_eq!(parse("application/json;sch"), (5, some("sch")));
        assert_eq!(parse("application/json;a;b"), (5, some("a;b")));
        assert_eq!(parse("my/type"), (0xffff, some("my/type")));
        assert_eq!(parse("my/type;v=1"), (0xffff, some("my/type;v=1")));
        assert_eq!(parse(";x"), (0xffff, some(";x")));
    }

    #[test]
    fn ids_without_a_name_are_shown_as_unknown() {
        let custom = Encoding::from_wire(CUSTOM_ID, Some(b"")).unwrap();
        assert_eq!(custom.to_string(), "unknown(65535)");
        let bare = Encoding::from_wire(77, None).unwrap();
        let with_schema = Encoding::from_wire(77, Some(b"s\xff")).unwrap();
        assert_eq!(bare.to_string(), "unknown(77)");
        assert_eq!(with_schema.to_string(), "unknown(77);s\u{fffd}");
    }

    #[test]
    fn with_schema_replaces_the_schema_and_keeps_the_type() {
        let schema = |encoding: &str, schema: &str| {
            let encoding: Encoding = encoding.parse().unwrap();
            encoding.with_schema(schema).unwrap().to_string()
        };
        assert_eq!(schema("text/plain", "utf-8"), "text/plain;utf-8");
        assert_eq!(schema("text/plain;utf-8", ""), "text/plain");
        assert_eq!(schema("my/type", "a"), "my/type;a");
        assert_eq!(schema("my/type;a", "b"), "my/type;b");
        assert_eq!(schema("my/type;a", ""), "my/type");
    }

    #[test]
    fn only_the_bare_default_is_the_default() {
        assert!(Encoding::default().is_default());
        assert_eq!(Encoding::default(), Encoding::ZENOH_BYTES);
        assert!(!Encoding::ZENOH_BYTES.with_schema("s").unwrap().is_default());
        assert!(!Encoding::ZENOH_STRING.is_default());
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let longest = "x".repeat(SCHEMA_LEN_MAX);
        let too_long = format!("{longest}x");
        let error = EncodingError::SchemaTooLong { len: 256 };
        assert!(longest.parse::<Encoding>().is_ok());
        assert_eq!(too_long.parse::<Encoding>(), Err(error));
        assert_eq!(Encoding::TEXT_PLAIN.with_schema(&too_long), Err(error));
        assert!(Encoding::TEXT_PLAIN.with_schema(&longest).is_ok());
        let custom: Encoding = "a/b".parse().unwrap();
        assert_eq!(custom.with_schema(&longest), Err(EncodingError::SchemaTooLong { len: 259 }));
    }

    #[test]
    fn the_type_is_small() {
        assert_eq!(size_of::<Encoding>(), 16);
    }

    proptest! {
        /// Text and wire fields both come back, except that an empty schema disappears.
        #[test]
        fn text_and_wire_fields_round_trip(text in "[a-z/;]{0,12}|(text/plain|zenoh/string);[a-z;]{1,9}") {
            let encoding: Encoding = text.parse().unwrap();
            prop_assert_eq!(&encoding.to_string().parse::<Encoding>().unwrap(), &encoding);
            prop_assert_eq!(&Encoding::received(encoding.to_wire()), &encoding);
        }
    }
}
