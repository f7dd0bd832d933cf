//! What can be wrong with a configuration, and where.

use core::fmt;

use super::kind::{Misfit, Problem};
use super::schema;
use super::table::Key;
use crate::value::{Malformed, Position};

/// What is wrong.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigErrorKind {
    /// There is no such key.
    UnknownKey {
        /// The path that was given.
        path: String,
        /// The known path that is closest to it.
        nearest: String,
    },
    /// A value of the wrong type.
    WrongType {
        /// The path of the value.
        path: String,
        /// What its key takes.
        expected: String,
        /// What was given.
        found: &'static str,
    },
    /// A value of the right type that is not allowed.
    InvalidValue {
        /// The path of the value.
        path: String,
        /// What its key takes.
        expected: String,
        /// Why not.
        reason: String,
    },
    /// A value of the right form that can never work, or that does not fit to another one.
    Conflict {
        /// The path of the value that gives way.
        path: String,
        /// Why not.
        reason: String,
    },
    /// Text that is not JSON5, or not YAML.
    Malformed {
        /// What the parser says.
        message: String,
        /// What was probably meant.
        hint: Option<String>,
    },
    /// The file cannot be read.
    Unreadable {
        /// Why not.
        message: String,
    },
    /// Neither environment variable that names a file is set.
    NoFileInEnvironment,
}

impl fmt::Display for ConfigErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey { path, nearest } => {
                write!(f, "unknown key `{path}`; did you mean `{nearest}`?")
            }
            Self::WrongType { path, expected, found } if path.is_empty() => {
                write!(f, "the configuration is {found}; expected {expected}")
            }
            Self::WrongType { path, expected, found } => {
                write!(f, "`{path}` is {found}; expected {expected}")
            }
            Self::InvalidValue { path, expected, reason } => {
                write!(f, "invalid `{path}`: {reason}; expected {expected}")
            }
            Self::Conflict { path, reason } => write!(f, "invalid `{path}`: {reason}"),
            Self::Malformed { message, hint } => {
                f.write_str(message)?;
                hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
            }
            Self::Unreadable { message } => f.write_str(message),
            Self::NoFileInEnvironment => write!(
                f,
                "no configuration file: neither {} nor {} is set",
                super::CONFIG_PATH_ENV,
                super::CONFIG_PATH_ENV_REFERENCE
            ),
        }
    }
}

/// What is wrong with a configuration, and where. `Display` is one line: `file:line:column: what`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    kind: ConfigErrorKind,
    file: Option<String>,
    position: Option<Position>,
}

impl ConfigError {
    /// What is wrong.
    pub const fn kind(&self) -> &ConfigErrorKind {
        &self.kind
    }

    /// The file that it is in, if it is in one, and the environment variable that names it, if one does.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// Line and column of the value in the file or in the inserted text, if known; the first ones are 1.
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        self.position.map(|Position { line, column }| (line, column))
    }

    /// The path of the value, if it is about one.
    pub fn path(&self) -> Option<&str> {
        match &self.kind {
            ConfigErrorKind::UnknownKey { path, .. }
            | ConfigErrorKind::WrongType { path, .. }
            | ConfigErrorKind::InvalidValue { path, .. }
            | ConfigErrorKind::Conflict { path, .. } => Some(path),
            _ => None,
        }
    }

    pub(super) fn unknown_key(path: &str) -> Self {
        let nearest = schema::nearest(path, &[]);
        let path = path.to_owned();
        ConfigErrorKind::UnknownKey { path, nearest }.into()
    }

    pub(super) fn misfit(key: &Key, misfit: Misfit) -> Self {
        let path =
            misfit.path.iter().fold(key.path.to_owned(), |path, name| schema::join(&path, name));
        let expected = misfit.expected.unwrap_or_else(|| key.expected());
        match misfit.problem {
            Problem::WrongType(found) => ConfigErrorKind::WrongType { path, expected, found },
            Problem::Invalid(reason) => ConfigErrorKind::InvalidValue { path, expected, reason },
            Problem::UnknownMember(known) => {
                let nearest = schema::nearest(&path, &known);
                ConfigErrorKind::UnknownKey { path, nearest }
            }
        }
        .into()
    }

    pub(super) fn malformed(malformed: Malformed, hint: Option<String>) -> Self {
        let Malformed { message, position } = malformed;
        Self { position, ..ConfigErrorKind::Malformed { message, hint }.into() }
    }

    pub(super) fn unreadable(message: String) -> Self {
        ConfigErrorKind::Unreadable { message }.into()
    }

    pub(super) fn in_file(self, file: String) -> Self {
        let file = Some(file);
        Self { file, ..self }
    }

    /// Says that the environment variable `name` names the file.
    pub(super) fn named_by(self, name: &str) -> Self {
        let file = self.file.as_ref().map(|file| format!("{file} (named by {name})"));
        Self { file, ..self }
    }

    pub(super) fn at(self, position: Option<Position>) -> Self {
        Self { position, ..self }
    }
}

impl From<ConfigErrorKind> for ConfigError {
    fn from(kind: ConfigErrorKind) -> Self {
        Self { kind, file: None, position: None }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
        }
        if let Some(Position { line, column }) = self.position {
            write!(f, "{line}:{column}:")?;
        }
        let separator = if self.file.is_some() || self.position.is_some() { " " } else { "" };
        write!(f, "{separator}{}", self.kind)
    }
}

impl core::error::Error for ConfigError {}
