//! Whether an endpoint of the configuration can work in this build: its protocol, its address and its options.
//!
//! Not here: whether a host name resolves and whether somebody answers there, which may change while the node runs; and
//! locators that other nodes tell about themselves, some of which are never for this build.

use core::fmt;
use core::time::Duration;

use weft_link::{Address, LinkError, LinkOptions, is_literal, resolve};
use weft_runtime::{ATTEMPT_KEYS, OptionFault};
use weft_wire::Endpoint;

use super::effective::Attempts;

/// What is wrong with an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EndpointError {
    /// Its protocol, its address or an option of its socket.
    Link(LinkError),
    /// There is no such option.
    UnknownOption(String),
    /// An option that says how it is tried.
    Attempt { key: String, expected: &'static str },
    /// The longest delay is shorter than the first.
    Delays,
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(error) => error.fmt(f),
            Self::UnknownOption(key) => {
                let known = [&LinkOptions::KEYS[..], &ATTEMPT_KEYS].concat().join(", ");
                write!(f, "endpoint option `{key}` is not known; there are: {known}")
            }
            Self::Attempt { key, expected } => {
                write!(f, "endpoint option `{key}` needs {expected}")
            }
            Self::Delays => f.write_str("the longest delay is less than the first one"),
        }
    }
}

/// Never blocks: host names are not looked up.
///
/// # Errors
/// What is wrong, if it is wrong for ever.
pub(super) fn check(endpoint: &Endpoint) -> Result<(), EndpointError> {
    let locator = endpoint.locator();
    let address = Address { proto: locator.proto(), address: locator.address() };
    // Literal is everything but a well-formed host name and port.
    if is_literal(address) {
        match resolve(address) {
            // An interface that an address names may appear later.
            Ok(_) | Err(LinkError::UnknownInterface { .. } | LinkError::Interfaces { .. }) => {}
            Err(error) => return Err(EndpointError::Link(error)),
        }
    }
    let options = endpoint.config().filter(|(key, _)| !ATTEMPT_KEYS.contains(key));
    match LinkOptions::parse(options) {
        Ok(_) => Ok(()),
        Err(LinkError::Option { key, fault: OptionFault::Unknown }) => {
            Err(EndpointError::UnknownOption(key))
        }
        Err(error) => Err(EndpointError::Link(error)),
    }
}

/// How an endpoint is tried: as it says itself, and otherwise in general (03 §10.1).
///
/// # Errors
/// What is wrong with an option, or with the delays together.
pub(super) fn attempts(endpoint: &Endpoint, general: Attempts) -> Result<Attempts, EndpointError> {
    let mut own = general;
    for (key, value) in endpoint.config() {
        let needs = |expected| EndpointError::Attempt { key: key.to_owned(), expected };
        let ms = || {
            let ms = value.parse().ok().filter(|ms| *ms > 0).map(Duration::from_millis);
            ms.ok_or_else(|| needs("a whole number of milliseconds from 1"))
        };
        match key {
            "retry_period_init_ms" => own.retry.period_init = ms()?,
            "retry_period_max_ms" => own.retry.period_max = ms()?,
            "retry_period_increase_factor" => {
                let factor =
                    value.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor >= 1.0);
                own.retry.increase_factor = factor.ok_or_else(|| needs("a number from 1"))?;
            }
            "exit_on_failure" => {
                own.exit_on_failure = value.parse().map_err(|_| needs("true or false"))?;
            }
            _ => {}
        }
    }
    let is_own = own.retry != general.retry;
    if is_own && own.retry.period_max < own.retry.period_init {
        return Err(EndpointError::Delays);
    }
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::super::effective::Retry;
    use super::*;

    const GENERAL: Attempts = Attempts {
        timeout: None,
        exit_on_failure: false,
        retry: Retry {
            period_init: Duration::from_secs(1),
            period_max: Duration::from_secs(4),
            increase_factor: 2.0,
        },
    };

    fn complaint(text: &str) -> Option<String> {
        let endpoint = text.parse().unwrap();
        let checked = check(&endpoint).and_then(|()| attempts(&endpoint, GENERAL).map(drop));
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn an_endpoint_says_itself_how_it_is_tried() {
        let own = |text: &str| attempts(&text.parse().unwrap(), GENERAL).unwrap();
        assert_eq!(own("tcp/a:1#so_sndbuf=5"), GENERAL);
        assert_eq!(
            own(
                "tcp/a:1#retry_period_init_ms=20;retry_period_max_ms=30;retry_period_increase_factor=1.5;exit_on_failure=true"
            ),
            Attempts {
                exit_on_failure: true,
                retry: Retry {
                    period_init: Duration::from_millis(20),
                    period_max: Duration::from_millis(30),
                    increase_factor: 1.5,
                },
                ..GENERAL
            }
        );
    }

    #[test]
    fn what_may_work_one_day_passes_without_a_look_up() {
        for text in [
            "tcp/localhost:7447",
            "tcp/nowhere.invalid:7447",
            "tcp/[::1]:0",
            "tcp/[fe80::1%nowhere0]:7447",
            "unixsock-stream//run/weft.sock",
            "tcp/a:1?rel=1#so_sndbuf=5;retry_period_init_ms=9;exit_on_failure=true",
        ] {
            assert_eq!(complaint(text), None, "{text}");
        }
    }

    #[test]
    fn what_never_works_says_why() {
        for (text, part) in [
            ("tcp/localhost", "`localhost`"),
            ("tcp/localhost:99999", "`localhost:99999`"),
            ("tcp/127.0.0.1", "`127.0.0.1`"),
            ("udp/localhost:7447", "protocol `udp`"),
            ("tls/a:1", "protocol `tls`"),
            ("tcp/h:1#bogus=lo", "`bogus`"),
            ("tcp/h:1#bogus=lo", "so_rcvbuf, retry_period_init_ms"),
            ("tcp/h:1#retry_period_init_ms=0", "`retry_period_init_ms` needs"),
            ("tcp/h:1#retry_period_max_ms=soon", "`retry_period_max_ms` needs"),
            ("tcp/h:1#retry_period_max_ms=999", "longest delay"),
            ("tcp/h:1#retry_period_increase_factor=0.5", "`retry_period_increase_factor` needs"),
            ("tcp/h:1#exit_on_failure=yes", "`exit_on_failure` needs true or false"),
            ("tcp/h:1#dscp=x", "`dscp`"),
        ] {
            let complaint = complaint(text).unwrap_or_else(|| panic!("{text}"));
            assert!(complaint.contains(part), "{text}: {complaint}");
        }
    }
}
