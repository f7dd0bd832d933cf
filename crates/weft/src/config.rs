//! Configuration: one JSON5 or YAML document with the key paths of the reference.
//!
//! A [`Config`] holds the values that were set explicitly; every other key has its default, which may depend on the node's
//! mode. [`Config::effective`] resolves everything for a node. All keys, their types, defaults and meanings are defined in
//! one table: [`Config::keys`].
//!
//! Not here: command-line options other than `--cfg` (the command), and acting on the values (the session).
//!
//! Spec: 03 §10, 05 §A.16 and §B.3. Invariants: a `Config` holds only known keys with values that fit them; a rejected
//! insertion changes nothing.
//!
//! ```
//! use weft::config::Config;
//!
//! let mut config = Config::from_json5("{ mode: 'client', connect: { endpoints: ['tcp/localhost:7447'] } }")?;
//! config.insert_json5("scouting/multicast/enabled", "false")?;
//! assert_eq!(config.json("mode")?, "\"client\"");
//! assert_eq!(config.json("scouting/delay")?, "null");
//! assert_eq!(config.effective_json("scouting/delay")?, "500");
//!
//! let error = config.insert_json5("listen/endpoint", "[]").unwrap_err();
//! assert_eq!(error.to_string(), "unknown key `listen/endpoint`; did you mean `listen/endpoints`?");
//! # Ok::<(), weft::config::ConfigError>(())
//! ```

mod effective;
mod endpoint;
mod error;
mod gateway;
mod kind;
mod print;
mod publication;
mod resolve;
mod rules;
mod schema;
mod table;
#[cfg(test)]
mod tests;
mod yaml;

use core::fmt;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use weft_wire::WhatAmI;

use self::schema::Place;
use crate::value::{Malformed, Position, Shape, Value, json5_position};

pub use effective::{
    Adminspace, Attempts, AutoConnect, Connect, Effective, Gossip, Limits, Link, Listen,
    MulticastScouting, OpenConditions, Retry, Rx, Scouting, Stats, Strategy, Target, Timestamping,
    Tx, Unicast,
};
pub use error::{ConfigError, ConfigErrorKind};
pub use publication::Publication;
pub(crate) use resolve::PRIORITIES;
pub use rules::Remark;
pub use table::{Key, Status};
pub use weft_node::{Gateway, NeighbourFilter, SouthRegion};

/// The environment variable that names the configuration file.
pub const CONFIG_PATH_ENV: &str = "WEFT_CONFIG";

/// The variable of the reference, which is used if [`CONFIG_PATH_ENV`] is not set.
pub const CONFIG_PATH_ENV_REFERENCE: &str = "ZENOH_CONFIG";

/// A configuration. `Display` is the effective one as compact JSON, with secrets masked.
///
/// Opening a session takes a copy; later changes have no effect on it.
#[derive(Clone, Default, PartialEq)]
pub struct Config {
    /// What was set, by path; never null.
    explicit: BTreeMap<&'static str, Value>,
}

/// How a text is written.
#[derive(Clone, Copy)]
enum Syntax {
    Json5,
    Yaml,
}

impl Config {
    /// Reads a file: JSON5 if its name ends with `.json5` or `.json`, YAML if it ends with `.yaml` or `.yml`.
    ///
    /// # Errors
    /// If it cannot be read, is empty, has another ending, or does not hold a valid configuration.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let in_file = |error: ConfigError| error.in_file(path.display().to_string());
        let syntax = match path.extension().and_then(|extension| extension.to_str()) {
            Some("json5" | "json") => Syntax::Json5,
            Some("yaml" | "yml") => Syntax::Yaml,
            _ => {
                let message = "a configuration file ends with .json5, .json, .yaml or .yml";
                return Err(in_file(ConfigError::unreadable(message.to_owned())));
            }
        };
        let text = std::fs::read_to_string(path)
            .map_err(|error| in_file(ConfigError::unreadable(error.to_string())))?;
        if text.trim().is_empty() {
            let message = "the file is empty; `{}` in it leaves everything at its default";
            return Err(in_file(ConfigError::unreadable(message.to_owned())));
        }
        Self::parse(&text, syntax).map_err(in_file)
    }

    /// Reads the file that `WEFT_CONFIG` or else `ZENOH_CONFIG` names. An empty variable counts as one that is not set.
    ///
    /// # Errors
    /// If neither is set, and as [`from_file`](Self::from_file).
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// Reads JSON5 text.
    ///
    /// # Errors
    /// If it is not JSON5 or not a valid configuration.
    pub fn from_json5(text: &str) -> Result<Self, ConfigError> {
        Self::parse(text, Syntax::Json5)
    }

    /// Reads YAML text.
    ///
    /// # Errors
    /// If it is not YAML or not a valid configuration.
    pub fn from_yaml(text: &str) -> Result<Self, ConfigError> {
        Self::parse(text, Syntax::Yaml)
    }

    /// What arguments of a command line say, in their order: see [`insert_cli`](Self::insert_cli).
    ///
    /// ```
    /// let config = weft::Config::from_cli(["mode:client", "connect/endpoints:['tcp/localhost:7447']"])?;
    /// assert_eq!(config.json("mode")?, "\"client\"");
    /// # Ok::<(), weft::config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// As [`insert_cli`](Self::insert_cli) for the first argument that cannot be used.
    pub fn from_cli(
        arguments: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for argument in arguments {
            config.insert_cli(argument.as_ref())?;
        }
        Ok(config)
    }

    /// Sets the value at `path`, or several values if the path is the common beginning of keys. Null unsets.
    ///
    /// # Errors
    /// If the key is unknown, the text is not JSON5 (a string needs quotes), or the value does not fit.
    pub fn insert_json5(&mut self, path: &str, text: &str) -> Result<(), ConfigError> {
        let key = match schema::find(path) {
            Place::Key(key, _) => Some(key),
            Place::Branch => None,
            Place::Unknown => return Err(ConfigError::unknown_key(path)),
        };
        let value = Syntax::Json5.parse(text).map_err(|malformed| {
            let takes_text = key.filter(|key| key.kind.is_text() || key.kind.is_open());
            let quoted = Value::from(text).to_json();
            let shown = |key: &Key| if key.is_secret() { "\"…\"" } else { quoted.as_str() };
            let hint = takes_text.map(|key| format!("a string needs quotes: {}", shown(key)));
            ConfigError::malformed(malformed, hint).in_file(format!("value of `{path}`"))
        })?;
        let inserted = self.insert(path, value);
        inserted.map_err(|error| Syntax::Json5.locate(error, path, text))
    }

    /// Sets a value from the command line: `KEY:VALUE`, where the value is JSON5, and a string needs no quotes if the key
    /// takes strings only. An empty key replaces the whole configuration.
    ///
    /// # Errors
    /// As [`insert_json5`](Self::insert_json5), and if there is no colon.
    pub fn insert_cli(&mut self, argument: &str) -> Result<(), ConfigError> {
        let Some((path, text)) = argument.split_once(':') else {
            let message = format!("`{argument}` is not KEY:VALUE");
            return Err(ConfigErrorKind::Malformed { message, hint: None }.into());
        };
        if path.is_empty() {
            *self = Self::from_json5(text)
                .map_err(|error| error.in_file("whole configuration".to_owned()))?;
            return Ok(());
        }
        let takes_text = matches!(schema::find(path), Place::Key(key, _) if key.kind.is_text());
        match Syntax::Json5.parse(text) {
            // `id:12`, `namespace:true` and `mode:client` are text all the same.
            Err(_) | Ok(Value::Bool(_) | Value::Uint(_) | Value::Nint(_) | Value::Float(_))
                if takes_text =>
            {
                self.insert(path, Value::from(text))
            }
            _ => self.insert_json5(path, text),
        }
    }

    /// Unsets what is at `path`: a key, several keys, or a part of a value. Nothing happens if it is not set.
    ///
    /// # Errors
    /// If the key is unknown.
    pub fn remove(&mut self, path: &str) -> Result<(), ConfigError> {
        self.insert(path, Value::Null)
    }

    /// What was set explicitly at `path`, as JSON; `null` if nothing was.
    ///
    /// # Errors
    /// If the key is unknown.
    pub fn json(&self, path: &str) -> Result<String, ConfigError> {
        let explicit = |key: &Key| self.explicit.get(key.path).cloned().unwrap_or(Value::Null);
        let value = match schema::find(path) {
            Place::Key(key, within) => {
                descend(&explicit(key), &within, schema::levels(key.scope).len())
            }
            Place::Branch => tree(path, explicit),
            Place::Unknown => return Err(ConfigError::unknown_key(path)),
        };
        Ok(value.to_json())
    }

    /// Everything that was set explicitly, as JSON to look at: secrets are masked.
    pub fn json_masked(&self) -> String {
        let explicit = |key: &Key| self.explicit.get(key.path).cloned().unwrap_or(Value::Null);
        tree("", |key| print::masked(key, explicit(key))).to_json()
    }

    /// What applies at `path` for this configuration's mode, as JSON: what was set, or the default.
    ///
    /// # Errors
    /// If the key is unknown.
    pub fn effective_json(&self, path: &str) -> Result<String, ConfigError> {
        let mode = self.mode();
        let value = match schema::find(path) {
            Place::Key(key, within) => match (schema::levels(key.scope).len(), &within[..]) {
                (levels @ 1.., [first, within @ ..]) => {
                    let mode = first.parse().unwrap_or(mode);
                    descend(&self.resolve(key, mode), within, levels - 1)
                }
                (_, within) => descend(&self.resolve(key, mode), within, 0),
            },
            Place::Branch => tree(path, |key| self.resolve(key, mode)),
            Place::Unknown => return Err(ConfigError::unknown_key(path)),
        };
        Ok(value.to_json())
    }

    /// The mode of the node; peer unless it was set.
    pub fn mode(&self) -> WhatAmI {
        let mode = self.explicit.get("mode").and_then(Value::as_text);
        mode.and_then(|mode| mode.parse().ok()).unwrap_or(WhatAmI::Peer)
    }

    /// Sets the mode of the node.
    pub fn set_mode(&mut self, mode: WhatAmI) {
        self.explicit.insert("mode", Value::from(mode.as_str()));
    }

    /// Whether the mode was set.
    pub fn has_mode(&self) -> bool {
        self.explicit.contains_key("mode")
    }

    /// One line for each key that was set to something else than its default and has no effect yet.
    pub fn warnings(&self) -> Vec<String> {
        let mode = self.mode();
        let set = table::KEYS.iter().filter(|key| self.explicit.contains_key(key.path));
        let inert = set.filter(|key| {
            key.status == Status::Known && self.resolve(key, mode) != default_for(key, mode)
        });
        inert
            .map(|key| format!("`{}` is known, but Weft does not act on it yet", key.path))
            .collect()
    }

    /// Every key there is, in the order of [`print_config`](Self::print_config).
    pub fn keys() -> &'static [Key] {
        table::KEYS
    }

    /// The effective configuration as JSON5 with a comment at each key. Secrets are masked; apart from those, reading it
    /// gives the same effective configuration.
    pub fn print_config(&self) -> String {
        print::commented(self)
    }

    /// The same as one line of JSON, without comments.
    pub fn print_json(&self) -> String {
        print::json(self)
    }

    /// Everything that Weft acts on, resolved for the mode.
    ///
    /// # Errors
    /// If values contradict each other, or an endpoint or the scouting group can never work: an unknown protocol or option,
    /// an address in the wrong form. Host names are not looked up.
    pub fn effective(&self) -> Result<Effective, ConfigError> {
        resolve::effective(self)
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, ConfigError> {
        let names = [CONFIG_PATH_ENV, CONFIG_PATH_ENV_REFERENCE];
        let value = |name| Some((name, variable(name).filter(|path| !path.is_empty())?));
        match names.into_iter().find_map(value) {
            Some((name, path)) => {
                Self::from_file(Path::new(&path)).map_err(|error| error.named_by(name))
            }
            None => Err(ConfigErrorKind::NoFileInEnvironment.into()),
        }
    }

    fn parse(text: &str, syntax: Syntax) -> Result<Self, ConfigError> {
        let value =
            syntax.parse(text).map_err(|malformed| ConfigError::malformed(malformed, None))?;
        let mut config = Self::default();
        let inserted = config.insert("", value);
        inserted.map_err(|error| syntax.locate(error, "", text))?;
        Ok(config)
    }

    /// Sets `value` at `path`, or changes nothing.
    fn insert(&mut self, path: &str, value: Value) -> Result<(), ConfigError> {
        let mut changed = self.clone();
        changed.set(path, value)?;
        *self = changed;
        Ok(())
    }

    fn set(&mut self, path: &str, value: Value) -> Result<(), ConfigError> {
        match schema::find(path) {
            Place::Key(key, within) => self.set_key(key, &within, value),
            Place::Branch => match value {
                Value::Map(members) => {
                    for (name, value) in members {
                        match name.as_text() {
                            None | Some("") => return Err(ConfigError::unknown_key(path)),
                            Some(name) => self.set(&schema::join(path, name), value)?,
                        }
                    }
                    Ok(())
                }
                Value::Null => {
                    self.explicit
                        .retain(|set, _| !path.is_empty() && schema::below(set, path).is_none());
                    Ok(())
                }
                value => Err(ConfigErrorKind::WrongType {
                    path: path.to_owned(),
                    expected: "an object".to_owned(),
                    found: value.kind(),
                }
                .into()),
            },
            Place::Unknown => Err(ConfigError::unknown_key(path)),
        }
    }

    fn set_key(
        &mut self,
        key: &'static Key,
        within: &[&str],
        value: Value,
    ) -> Result<(), ConfigError> {
        let current = self.explicit.remove(key.path).unwrap_or(Value::Null);
        let value = match value {
            Value::Null if !within.is_empty() => {
                with_member(current, within, None, schema::levels(key.scope))
            }
            value => with_member(current, within, Some(value), schema::levels(key.scope)),
        };
        schema::check(key, &value).map_err(|misfit| ConfigError::misfit(key, misfit))?;
        let value = without_empty_levels(value, schema::levels(key.scope).len());
        if value != Value::Null {
            self.explicit.insert(key.path, value);
        }
        Ok(())
    }

    /// The keys that are not set to the same in `other`.
    pub(crate) fn differences(&self, other: &Self) -> impl Iterator<Item = &'static str> {
        let keys = table::KEYS.iter().map(|key| key.path);
        keys.filter(|path| self.explicit.get(path) != other.explicit.get(path))
    }

    /// What applies to a node of `mode`: what was set, or the default. May still differ by target.
    fn resolve(&self, key: &Key, mode: WhatAmI) -> Value {
        let explicit = self.explicit.get(key.path);
        let by_mode = key.scope != table::Scope::Node;
        let value = match explicit {
            Some(Value::Map(members)) if by_mode && names_a_mode(members) => {
                explicit.and_then(|value| value.member(mode.as_str()))
            }
            value => value,
        };
        match value {
            Some(value) if *value != Value::Null => value.clone(),
            _ => default_for(key, mode),
        }
    }
}

/// The effective configuration as compact JSON; secrets are masked.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = self.mode();
        let value = tree("", |key| print::masked(key, self.resolve(key, mode)));
        f.write_str(&value.to_json())
    }
}

/// What was set; secrets are masked.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = table::KEYS.iter().filter_map(|key| Some((key, self.explicit.get(key.path)?)));
        let masked =
            set.map(|(key, value)| (key.path, print::masked(key, value.clone()).to_json()));
        f.debug_map().entries(masked).finish()
    }
}

impl Syntax {
    fn parse(self, text: &str) -> Result<Value, Malformed> {
        match self {
            Self::Json5 => Value::from_json5(text, Shape::whole()),
            Self::Yaml => yaml::parse(text),
        }
    }

    /// Adds to an error in what was inserted from `text` at `base` where in the text it is.
    fn locate(self, error: ConfigError, base: &str, text: &str) -> ConfigError {
        let Some(path) = error.path() else { return error };
        let inner = if base.is_empty() { Some(path) } else { schema::below(path, base) };
        let inner = inner.filter(|inner| !inner.is_empty());
        let inner: Vec<&str> = inner.map(|inner| inner.split('/').collect()).unwrap_or_default();
        let position: Option<Position> = match self {
            Self::Json5 => json5_position(text, &inner),
            Self::Yaml => yaml::position(text, &inner),
        };
        error.at(position)
    }
}

/// The default of `key` for a node of `mode`.
fn default_for(key: &Key, mode: WhatAmI) -> Value {
    // The table's own texts parse, which a test makes sure of.
    Syntax::Json5.parse(key.default_for(mode)).unwrap_or(Value::Null)
}

/// The values of all keys below `branch` as one object, as it would be written.
fn tree(branch: &str, value: impl Fn(&Key) -> Value) -> Value {
    let mut root = Value::Null;
    for key in schema::keys_below(branch) {
        let inner = schema::below(key.path, branch).unwrap_or(key.path);
        let path: Vec<_> = inner.split('/').collect();
        root = with_member(root, &path, Some(value(key)), &[]);
    }
    root
}

/// A value without the modes and targets that say nothing: an object with no member sets nothing.
fn without_empty_levels(value: Value, levels: usize) -> Value {
    let Value::Map(members) = value else { return value };
    if levels == 0 {
        return Value::Map(members);
    }
    let members: Vec<_> = members
        .into_iter()
        .map(|(name, value)| (name, without_empty_levels(value, levels - 1)))
        .filter(|(_, value)| *value != Value::Null)
        .collect();
    if members.is_empty() { Value::Null } else { Value::Map(members) }
}

fn names_a_mode(members: &[(Value, Value)]) -> bool {
    let mut names = members.iter().filter_map(|(key, _)| key.as_text());
    names.any(|name| schema::MODES.contains(&name))
}

/// What is at `path` in `value`. On the first `levels` steps, a value that is no object stands for each of its members.
fn descend(value: &Value, path: &[&str], levels: usize) -> Value {
    let Some((name, path)) = path.split_first() else {
        return value.clone();
    };
    let inner = match value {
        Value::Map(_) => value.member(name),
        same if levels > 0 => Some(same),
        _ => None,
    };
    inner.map_or(Value::Null, |inner| descend(inner, path, levels.saturating_sub(1)))
}

/// `current` with another value at `path` in it, or none. Where `levels` names the members of an object, a value that is
/// no object is first spread over them.
fn with_member(current: Value, path: &[&str], value: Option<Value>, levels: &[&[&str]]) -> Value {
    let Some((first, path)) = path.split_first() else {
        return value.unwrap_or(Value::Null);
    };
    let (names, levels) =
        levels.split_first().map_or((&[][..], levels), |(names, inner)| (*names, inner));
    let mut members = match current {
        Value::Map(members) => members,
        Value::Null => Vec::new(),
        same => names.iter().map(|name| (Value::from(*name), same.clone())).collect(),
    };
    let index = members.iter().position(|(name, _)| name.as_text() == Some(first));
    match index {
        Some(index) if path.is_empty() && value.is_none() => drop(members.remove(index)),
        Some(index) => {
            let inner = std::mem::replace(&mut members[index].1, Value::Null);
            members[index].1 = with_member(inner, path, value, levels);
        }
        None if value.is_none() => {}
        None => members.push((Value::from(*first), with_member(Value::Null, path, value, levels))),
    }
    Value::Map(members)
}
