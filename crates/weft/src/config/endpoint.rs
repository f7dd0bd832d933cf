//! Whether an endpoint of the configuration can work in this build: its protocol, its address and its socket options.
//!
//! Not here: whether a host name resolves and whether somebody answers there, which may change while the node runs; and
//! locators that other nodes tell about themselves, some of which are never for this build.

use weft_link::{Address, LinkError, LinkOptions, is_literal, resolve};
use weft_wire::Endpoint;

/// Keys of an endpoint that say how it is dialed or bound, not how its socket is made.
const NOT_FOR_LINKS: [&str; 4] = [
    "retry_period_init_ms",
    "retry_period_max_ms",
    "retry_period_increase_factor",
    "exit_on_failure",
];

/// Never blocks: host names are not looked up.
///
/// # Errors
/// What is wrong, if it is wrong for ever.
pub(super) fn check(endpoint: &Endpoint) -> Result<(), LinkError> {
    let locator = endpoint.locator();
    let address = Address { proto: locator.proto(), address: locator.address() };
    // Literal is everything but a well-formed host name and port.
    if is_literal(address) {
        match resolve(address) {
            // An interface that an address names may appear later.
            Ok(_) | Err(LinkError::UnknownInterface { .. } | LinkError::Interfaces { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    LinkOptions::parse(endpoint.config().filter(|(key, _)| !NOT_FOR_LINKS.contains(key))).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> Option<String> {
        check(&text.parse().unwrap()).err().map(|error| error.to_string())
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
            ("tcp/h:1#dscp=x", "`dscp`"),
        ] {
            let complaint = complaint(text).unwrap_or_else(|| panic!("{text}"));
            assert!(complaint.contains(part), "{text}: {complaint}");
        }
    }
}
