//! The flags of everything that opens a session, and the configuration that they make.
//!
//! Spec: 03 §10.5. Order: the file, or what the environment names, or the defaults; then the flags of their own; then
//! `--cfg`.

use std::path::PathBuf;

use clap::Args;
use weft::config::{ConfigError, ConfigErrorKind};
use weft::{Config, Endpoint, WhatAmI, ZenohId};

use crate::arguments::Mode;

/// Where the configuration comes from.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Session")]
pub(crate) struct ConfigArgs {
    /// Configuration file, JSON5 or YAML [default: what WEFT_CONFIG or else ZENOH_CONFIG names, if anything]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Sets a configuration value, in JSON5; may be repeated
    #[arg(long, value_name = "KEY:VALUE")]
    cfg: Vec<String>,
}

/// How a session is opened.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Session")]
pub(crate) struct SessionArgs {
    /// What the node does for others [default: peer; of `weft router`: router; of put, delete, get and info, if they are
    /// told where to connect: client]
    #[arg(short, long, value_enum)]
    mode: Option<Mode>,
    /// Connects to this node; may be repeated
    #[arg(short = 'e', long, value_name = "ENDPOINT")]
    connect: Vec<Endpoint>,
    /// Listens here, such as tcp/127.0.0.1:0; may be repeated
    #[arg(short, long, value_name = "ENDPOINT")]
    listen: Vec<Endpoint>,
    /// Identity of the node, up to 32 hexadecimal digits [default: random]
    #[arg(short, long, value_name = "HEX")]
    id: Option<ZenohId>,
    /// Neither looks for nodes by multicast nor answers those that look
    #[arg(long)]
    no_multicast_scouting: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// The mode of a session if nobody says anything about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultMode {
    Router,
    Peer,
    /// A client if it is told where to connect, else a peer. A client that reaches nobody fails at once, where a peer
    /// would go on trying.
    ClientIfConnecting,
}

impl ConfigArgs {
    /// The configuration, with `dedicated` in between.
    ///
    /// # Errors
    /// If a file cannot be read, a key is unknown, or a value does not fit.
    pub(crate) fn config(
        &self,
        dedicated: impl FnOnce(&mut Config) -> Result<(), ConfigError>,
    ) -> Result<Config, ConfigError> {
        let (whole, keyed): (Vec<&String>, Vec<&String>) =
            self.cfg.iter().partition(|argument| argument.starts_with(':'));
        let mut config = match &self.config {
            Some(file) => Config::from_file(file)?,
            None => from_environment()?,
        };
        for argument in whole {
            config.insert_cli(argument)?;
        }
        dedicated(&mut config)?;
        for argument in keyed {
            config.insert_cli(argument)?;
        }
        Ok(config)
    }
}

impl SessionArgs {
    /// Sets a value as `--cfg` does, ahead of those that the user gave.
    pub(crate) fn set_first(&mut self, keyed: &str) {
        self.config.cfg.insert(0, keyed.to_owned());
    }

    /// The configuration that the flags make.
    ///
    /// # Errors
    /// As [`ConfigArgs::config`].
    pub(crate) fn config(&self, default: DefaultMode) -> Result<Config, ConfigError> {
        let mut config = self.config.config(|config| self.set(config))?;
        if !config.has_mode() {
            config.set_mode(default.of(&config)?);
        }
        Ok(config)
    }

    /// Sets what the flags stand for.
    fn set(&self, config: &mut Config) -> Result<(), ConfigError> {
        if let Some(mode) = self.mode {
            config.set_mode(mode.into());
        }
        if let Some(id) = self.id {
            config.insert_json5("id", &quoted(&id))?;
        }
        for (path, endpoints) in
            [("connect/endpoints", &self.connect), ("listen/endpoints", &self.listen)]
        {
            if !endpoints.is_empty() {
                let all: Vec<String> = endpoints.iter().map(quoted).collect();
                config.insert_json5(path, &format!("[{}]", all.join(",")))?;
            }
        }
        if self.no_multicast_scouting {
            config.insert_json5("scouting/multicast/enabled", "false")?;
        }
        Ok(())
    }
}

impl DefaultMode {
    fn of(self, config: &Config) -> Result<WhatAmI, ConfigError> {
        Ok(match self {
            Self::Router => WhatAmI::Router,
            Self::ClientIfConnecting if config.json("connect/endpoints")? != "null" => {
                WhatAmI::Client
            }
            Self::Peer | Self::ClientIfConnecting => WhatAmI::Peer,
        })
    }
}

fn from_environment() -> Result<Config, ConfigError> {
    match Config::from_env() {
        Err(error) if *error.kind() == ConfigErrorKind::NoFileInEnvironment => {
            Ok(Config::default())
        }
        other => other,
    }
}

/// The text as JSON.
fn quoted(text: &impl ToString) -> String {
    serde_json::Value::from(text.to_string()).to_string()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Parsed {
        #[command(flatten)]
        session: SessionArgs,
    }

    fn config(line: &str, default: DefaultMode) -> Config {
        let words = line.split_whitespace();
        Parsed::parse_from(["x"].into_iter().chain(words)).session.config(default).unwrap()
    }

    #[test]
    fn flags_set_the_keys_that_they_stand_for() {
        let config = config(
            "-m client -e tcp/a:1 -e tcp/b:2 -l tcp/[::]:0 -i 1f --no-multicast-scouting",
            DefaultMode::Router,
        );
        let is = |path, json| assert_eq!(config.json(path).unwrap(), json, "{path}");
        is("mode", r#""client""#);
        is("connect/endpoints", r#"["tcp/a:1","tcp/b:2"]"#);
        is("listen/endpoints", r#"["tcp/[::]:0"]"#);
        is("id", r#""1f""#);
        is("scouting/multicast/enabled", "false");
    }

    #[test]
    fn a_keyed_cfg_comes_last_and_a_whole_one_first() {
        let config = config(
            "--cfg mode:client -m peer -i 1 --cfg :{id:'2',namespace:'n'} --cfg scouting/delay:7",
            DefaultMode::Router,
        );
        assert_eq!(config.mode(), WhatAmI::Client);
        assert_eq!(config.json("id").unwrap(), r#""1""#);
        assert_eq!(config.json("namespace").unwrap(), r#""n""#);
        assert_eq!(config.json("scouting/delay").unwrap(), "7");
    }

    #[test]
    fn the_mode_defaults_to_what_suits_the_command() {
        let mode = |line, default| config(line, default).mode();
        assert_eq!(mode("", DefaultMode::Router), WhatAmI::Router);
        assert_eq!(mode("-m peer", DefaultMode::Router), WhatAmI::Peer);
        assert_eq!(mode("-e tcp/a:1", DefaultMode::Peer), WhatAmI::Peer);
        assert_eq!(mode("-e tcp/a:1", DefaultMode::ClientIfConnecting), WhatAmI::Client);
        assert_eq!(mode("", DefaultMode::ClientIfConnecting), WhatAmI::Peer);
    }
}
