//! How every role opens its session: the endpoints that the flags name, and nothing found by itself.

use bench_limits::{Arguments, Failure};
use zenoh::{Config, Session, Wait as _};

/// Takes `--mode`, `--listen` and `--connect`. All else is the reference's default, but for multicast scouting.
pub(crate) fn config(arguments: &mut Arguments, default_mode: &str) -> Result<Config, Failure> {
    let mode: String = arguments.value("--mode")?.unwrap_or_else(|| default_mode.to_owned());
    if !["peer", "client", "router"].contains(&mode.as_str()) {
        return Err(Failure::Usage(format!("--mode {mode}: not peer, client or router")));
    }
    let mut config = Config::default();
    config.insert_json5("mode", &format!("{mode:?}"))?;
    config.insert_json5("scouting/multicast/enabled", "false")?;
    let mut endpoint_count = 0;
    for (flag, key) in [("--listen", "listen/endpoints"), ("--connect", "connect/endpoints")] {
        let endpoint: Option<String> = arguments.value(flag)?;
        endpoint_count += usize::from(endpoint.is_some());
        // An empty list as well: by default a peer listens on every interface.
        config.insert_json5(key, &format!("{:?}", Vec::from_iter(endpoint)))?;
    }
    if endpoint_count == 0 {
        return Err(Failure::Usage("--listen or --connect is missing".to_owned()));
    }
    Ok(config)
}

pub(crate) fn open(config: Config) -> Result<Session, Failure> {
    Ok(zenoh::open(config).wait()?)
}
