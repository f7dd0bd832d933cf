//! A request's fields, and why a request is refused.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of a request that nobody has taken yet.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Fields(BTreeMap<String, Box<RawValue>>);

impl Fields {
    /// The fields of an object.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        serde_json::from_str(text).map_err(|error| Failure::bad_request(error.to_string()))
    }

    /// Takes a field that must be there.
    pub(crate) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Failure> {
        self.take_if_any(name)?.ok_or_else(|| Failure::bad_request(format!("`{name}` is missing")))
    }

    /// Takes a field that may be left out or null.
    pub(crate) fn take_if_any<T: DeserializeOwned>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, Failure> {
        let Some(raw) = self.0.remove(name) else { return Ok(None) };
        serde_json::from_str(raw.get())
            .map_err(|error| Failure::bad_request(format!("`{name}`: {error}")))
    }

    /// Nothing may be left: what is not known is an error.
    pub(crate) fn end(self) -> Result<(), Failure> {
        if self.0.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = self.0.into_keys().collect();
        Err(Failure::bad_request(format!("unknown fields: {}", names.join(", "))))
    }
}

/// Names and JSON texts of an object's members, in the order given.
pub(crate) struct Members(pub(crate) Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

/// Why a request is refused.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It is not one of the protocol's.
    BadRequest(String),
    /// The library says no.
    Refused(weft::Error),
}

impl Failure {
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::BadRequest(message.into())
    }

    /// The library's kind of error in `snake_case`, or `bad_request`.
    pub(crate) fn kind(&self) -> String {
        let Self::Refused(error) = self else { return "bad_request".to_owned() };
        let mut kind = String::new();
        for letter in format!("{:?}", error.kind()).chars() {
            if letter.is_uppercase() && !kind.is_empty() {
                kind.push('_');
            }
            kind.push(letter.to_ascii_lowercase());
        }
        kind
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRequest(message) => f.write_str(message),
            Self::Refused(error) => write!(f, "{error}"),
        }
    }
}

impl<E: Into<weft::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}
