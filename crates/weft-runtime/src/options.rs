//! From endpoints to link options.

use weft_link::{LinkError, LinkOptions, Proto};
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

/// What applies to all links of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkSettings {
    /// Protocols that may be dialed; `None` means all.
    pub protocols: Option<Vec<String>>,
    /// `so_sndbuf` of TCP endpoints that don't say it themselves.
    pub tcp_so_sndbuf: Option<u32>,
    /// `so_rcvbuf` of TCP endpoints that don't say it themselves.
    pub tcp_so_rcvbuf: Option<u32>,
}

impl LinkSettings {
    pub(crate) fn allows(&self, endpoint: &Endpoint) -> bool {
        let proto = endpoint.locator().proto();
        self.protocols.as_ref().is_none_or(|allowed| allowed.iter().any(|it| it == proto))
    }

    /// The socket options of an endpoint: its own, and what is left to the general ones.
    pub(crate) fn options(&self, endpoint: &Endpoint) -> Result<LinkOptions, LinkError> {
        let own = endpoint.config().filter(|(key, _)| !ATTEMPT_KEYS.contains(key));
        let mut options = LinkOptions::parse(own)?;
        if endpoint.locator().proto() == Proto::Tcp.as_str() {
            options.so_sndbuf = options.so_sndbuf.or(self.tcp_so_sndbuf);
            options.so_rcvbuf = options.so_rcvbuf.or(self.tcp_so_rcvbuf);
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_override_the_buffers_of_tcp() {
        let settings = LinkSettings {
            tcp_so_sndbuf: Some(10_000),
            tcp_so_rcvbuf: Some(20_000),
            ..LinkSettings::default()
        };
        let buffers = |text: &str| {
            let options = settings.options(&text.parse().unwrap()).unwrap();
            (options.so_sndbuf, options.so_rcvbuf)
        };
        assert_eq!(buffers("tcp/a:1"), (Some(10_000), Some(20_000)));
        assert_eq!(buffers("tcp/a:1#so_sndbuf=5;exit_on_failure=true"), (Some(5), Some(20_000)));
        assert_eq!(buffers("unixsock-stream/a"), (None, None));
    }
}
