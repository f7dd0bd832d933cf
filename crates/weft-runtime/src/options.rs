//! From endpoints to link options.

use weft_link::{LinkError, LinkOptions};
use weft_wire::Endpoint;

/// Keys of an endpoint that say how it is dialed or bound, not how its socket is made. They are for
/// whoever makes a [`DialTarget`](weft_node::DialTarget) or a [`ListenTarget`](crate::ListenTarget) of
/// the endpoint.
pub const ATTEMPT_KEYS: [&str; 4] = [
    "retry_period_init_ms",
    "retry_period_max_ms",
    "retry_period_increase_factor",
    "exit_on_failure",
];

/// The socket options in an endpoint's configuration part.
pub(crate) fn link_options(endpoint: &Endpoint) -> Result<LinkOptions, LinkError> {
    LinkOptions::parse(endpoint.config().filter(|(key, _)| !ATTEMPT_KEYS.contains(key)))
}
