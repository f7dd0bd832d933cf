//! Locators and endpoints: where a node can be reached.
//!
//! Not here: what the addresses of a protocol mean (`weft-link`). Spec: 01 §2.1.
//!
//! ```text
//! locator  = proto "/" address [ "?" metadata ]
//! endpoint = locator [ "#" config ]
//! metadata, config = key "=" value *( ";" key "=" value )
//! ```
//!
//! Both are kept in canonical form: items sorted by key, empty ones left out.

use alloc::{string::String, vec::Vec};
use core::{fmt, str::FromStr};

use crate::{DecodeError, NoSpace, Reader, Sink};

/// Where a node can be reached; at most [`LEN_MAX`](Self::LEN_MAX) bytes of text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Locator {
    text: String,
}

impl Locator {
    /// The longest locator, in bytes: HELLO carries the length in eight bits.
    pub const LEN_MAX: usize = 255;
    /// Most locators of one node, in a HELLO or a link state.
    pub const COUNT_MAX: usize = 1024;

    /// The whole text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The protocol: all before the first `/`; not empty.
    #[must_use]
    pub fn proto(&self) -> &str {
        split(&self.text).0
    }

    /// The address: from there to the `?`; not empty.
    #[must_use]
    pub fn address(&self) -> &str {
        split(&self.text).1
    }

    /// The metadata as keys and values, sorted by key. A key without `=` has an empty value.
    pub fn metadata(&self) -> impl Iterator<Item = (&str, &str)> {
        items(split(&self.text).2)
    }
}

impl FromStr for Locator {
    type Err = LocatorError;

    fn from_str(text: &str) -> Result<Self, LocatorError> {
        if text.contains('#') {
            return Err(LocatorError::HasConfig);
        }
        let (proto, address, metadata) = split(text);
        if proto.is_empty() {
            return Err(LocatorError::NoProtocol);
        }
        if address.is_empty() {
            return Err(LocatorError::NoAddress);
        }
        let mut canonical = String::with_capacity(text.len().min(Self::LEN_MAX));
        canonical.push_str(proto);
        canonical.push('/');
        canonical.push_str(address);
        let metadata = canonical_items(metadata)?;
        if !metadata.is_empty() {
            canonical.push('?');
            canonical.push_str(&metadata);
        }
        if canonical.len() > Self::LEN_MAX {
            return Err(LocatorError::TooLong { len: canonical.len() });
        }
        Ok(Self { text: canonical })
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

/// A locator and the configuration of the link there, which is local and never sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    locator: Locator,
    config: String,
}

impl Endpoint {
    /// The part before the `#`.
    #[must_use]
    pub fn locator(&self) -> &Locator {
        &self.locator
    }

    /// The configuration as keys and values, sorted by key. A key without `=` has an empty value.
    pub fn config(&self) -> impl Iterator<Item = (&str, &str)> {
        items(&self.config)
    }
}

impl From<Locator> for Endpoint {
    fn from(locator: Locator) -> Self {
        Self { locator, config: String::new() }
    }
}

impl FromStr for Endpoint {
    type Err = LocatorError;

    fn from_str(text: &str) -> Result<Self, LocatorError> {
        let (locator, config) = text.split_once('#').unwrap_or((text, ""));
        Ok(Self { locator: locator.parse()?, config: canonical_items(config)? })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.config.is_empty() { "" } else { "#" };
        write!(f, "{}{separator}{}", self.locator, self.config)
    }
}

/// Why text is not a [`Locator`] or an [`Endpoint`].
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocatorError {
    /// Nothing before the first `/`, or no `/`.
    NoProtocol,
    /// Nothing after the first `/`.
    NoAddress,
    /// An item of metadata or configuration with a value but no key.
    NoKey,
    /// A locator, which has no `#`.
    HasConfig,
    /// More than [`Locator::LEN_MAX`] bytes before the `#`.
    TooLong {
        /// The length of the canonical form, in bytes.
        len: usize,
    },
}

impl fmt::Display for LocatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProtocol => f.write_str("no protocol; expected `<proto>/<address>`"),
            Self::NoAddress => f.write_str("no address; expected `<proto>/<address>`"),
            Self::NoKey => f.write_str("a value without a key; expected `<key>=<value>`"),
            Self::HasConfig => f.write_str("a locator has no `#` part"),
            Self::TooLong { len } => {
                write!(f, "a locator has at most {} bytes, not {len}", Locator::LEN_MAX)
            }
        }
    }
}

impl core::error::Error for LocatorError {}

/// Reads a count and locators, as in HELLO and link states.
pub(crate) fn decode_locators(r: &mut Reader<'_>) -> Result<Vec<Locator>, DecodeError> {
    r.many(Locator::COUNT_MAX, "locator count", |r| {
        let text = r.zstr(Locator::LEN_MAX as u64, "locator")?;
        let offset = r.pos() - text.len();
        text.parse().map_err(|_| DecodeError::InvalidLocator { offset })
    })
}

/// Writes a count and locators.
pub(crate) fn encode_locators<'s, S: Sink<'s> + ?Sized>(
    locators: &'s [Locator],
    sink: &mut S,
) -> Result<(), NoSpace> {
    sink.zint(locators.len() as u64)?;
    locators.iter().try_for_each(|locator| {
        sink.zint(locator.text.len() as u64)?;
        sink.bytes(locator.text.as_bytes())
    })
}

/// Protocol, address and metadata of `text`; each may be empty.
fn split(text: &str) -> (&str, &str, &str) {
    let (main, metadata) = text.split_once('?').unwrap_or((text, ""));
    let (proto, address) = main.split_once('/').unwrap_or(("", main));
    (proto, address, metadata)
}

/// The items of `key=value;key=value`, without the empty ones.
fn items(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.split(';')
        .filter(|item| !item.is_empty())
        .map(|item| item.split_once('=').unwrap_or((item, "")))
}

fn canonical_items(list: &str) -> Result<String, LocatorError> {
    let mut sorted: Vec<_> = items(list).collect();
    if sorted.iter().any(|(key, _)| key.is_empty()) {
        return Err(LocatorError::NoKey);
    }
    // Stable: several values of one key keep their order.
    sorted.sort_by_key(|(key, _)| *key);
    let mut canonical = String::with_capacity(list.len());
    for (key, value) in sorted {
        if !canonical.is_empty() {
            canonical.push(';');
        }
        canonical.push_str(key);
        if !value.is_empty() {
            canonical.push('=');
            canonical.push_str(value);
        }
    }
    Ok(canonical)
}

#[cfg(test)]
mod tests {
    use std::{string::ToString, vec};

    use super::*;

    fn locator(text: &str) -> Result<Locator, LocatorError> {
        text.parse()
    }

    #[test]
    fn a_locator_has_three_parts() {
        let locator = locator("tcp/[::1]:7447?rel=1;prio=1-3;x").unwrap();
        assert_eq!((locator.proto(), locator.address()), ("tcp", "[::1]:7447"));
        let metadata: Vec<_> = locator.metadata().collect();
        assert_eq!(metadata, [("prio", "1-3"), ("rel", "1"), ("x", "")]);
        assert_eq!(locator.to_string(), "tcp/[::1]:7447?prio=1-3;rel=1;x");
        assert_eq!(locator.as_str().parse(), Ok(locator.clone()));
    }

    #[test]
    fn an_address_keeps_its_slashes_and_a_value_its_equals() {
        let serial: Endpoint = "serial//dev/ttyUSB0#baudrate=115200;a=b=c".parse().unwrap();
        assert_eq!(serial.locator().address(), "/dev/ttyUSB0");
        let config: Vec<_> = serial.config().collect();
        assert_eq!(config, [("a", "b=c"), ("baudrate", "115200")]);
        assert_eq!(serial.to_string(), "serial//dev/ttyUSB0#a=b=c;baudrate=115200");
        assert_eq!(serial.to_string().parse(), Ok(serial));
    }

    #[test]
    fn empty_items_are_ignored_and_equal_keys_keep_their_order() {
        assert_eq!(locator("tcp/a?;;").unwrap(), locator("tcp/a").unwrap());
        assert_eq!(locator("tcp/a?k=").unwrap(), locator("tcp/a?k").unwrap());
        assert_eq!(locator("tcp/a?k=2;j;k=1").unwrap().as_str(), "tcp/a?j;k=2;k=1");
        let endpoint: Endpoint = "tcp/a#".parse().unwrap();
        assert_eq!(endpoint, Endpoint::from(locator("tcp/a").unwrap()));
        assert_eq!(endpoint.to_string(), "tcp/a");
    }

    #[test]
    fn what_is_no_locator_says_why() {
        assert_eq!(locator(""), Err(LocatorError::NoProtocol));
        assert_eq!(locator("tcp"), Err(LocatorError::NoProtocol));
        assert_eq!(locator("/a"), Err(LocatorError::NoProtocol));
        assert_eq!(locator("?a/b"), Err(LocatorError::NoProtocol));
        assert_eq!(locator("tcp/"), Err(LocatorError::NoAddress));
        assert_eq!(locator("tcp/?a"), Err(LocatorError::NoAddress));
        assert_eq!(locator("tcp/a?=v"), Err(LocatorError::NoKey));
        assert_eq!(locator("tcp/a#k=v"), Err(LocatorError::HasConfig));
        assert_eq!("tcp/a#=v".parse::<Endpoint>(), Err(LocatorError::NoKey));
    }

    #[test]
    fn a_locator_is_at_most_255_bytes() {
        let longest = ["tcp/", &"a".repeat(251)].concat();
        assert_eq!(locator(&longest).unwrap().as_str().len(), Locator::LEN_MAX);
        assert_eq!(locator(&(longest.clone() + "a")), Err(LocatorError::TooLong { len: 256 }));
        // Configuration is not sent and does not count.
        assert!((longest + "#k=v").parse::<Endpoint>().is_ok());
    }

    #[test]
    fn lists_of_locators_have_a_count() {
        let locators = vec![locator("tcp/a").unwrap(), locator("udp/b").unwrap()];
        let mut bytes = vec![];
        encode_locators(&locators, &mut bytes).unwrap();
        assert_eq!(bytes, b"\x02\x05tcp/a\x05udp/b");
        assert_eq!(decode_locators(&mut Reader::new(&bytes)), Ok(locators));
    }
}
