//! Why a command ends with another status than 0, in one line.

use std::process::ExitCode;

use weft::ErrorKind;

use crate::output::say;

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line or the configuration is wrong: status 2.
    Usage(String),
    /// It went wrong: status 1.
    Run(String),
    /// A signal came before the end: status 128 + its number.
    Signal(i32),
}

impl Failure {
    /// Says why on standard error, in one line, and gives the status of the process.
    pub(crate) fn report(&self) -> ExitCode {
        let (text, status) = match self {
            Self::Usage(text) => (text, 2),
            Self::Run(text) => (text, 1),
            // Whoever sent the signal knows.
            Self::Signal(signal) => return ExitCode::from(128 + *signal as u8),
        };
        say(&format_args!("error: {}", one_line(text)));
        ExitCode::from(status)
    }
}

impl From<weft::Error> for Failure {
    fn from(error: weft::Error) -> Self {
        let text = error.to_string();
        match error.kind() {
            ErrorKind::KeyExpr
            | ErrorKind::Config
            | ErrorKind::Select
            | ErrorKind::Encoding
            | ErrorKind::Argument => Self::Usage(text),
            _ => Self::Run(text),
        }
    }
}

impl From<weft::config::ConfigError> for Failure {
    fn from(error: weft::config::ConfigError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Run(error.to_string())
    }
}

impl From<clap::Error> for Failure {
    /// The complaint and the tips of the parser, without its usage text.
    fn from(error: clap::Error) -> Self {
        use clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand as Nothing;
        if error.kind() == Nothing {
            return Self::Usage("a command is missing; --help lists them".to_owned());
        }
        let text = error.render().to_string();
        let complaint = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
        let mut all = String::new();
        for line in complaint.filter(|line| !line.is_empty() && !line.starts_with("For more")) {
            let separator = match line {
                _ if all.is_empty() => "",
                _ if line.starts_with("tip:") || line.starts_with('[') => "; ",
                _ => " ",
            };
            all.push_str(separator);
            all.push_str(line);
        }
        Self::Usage(all.trim_start_matches("error: ").to_owned())
    }
}

/// The text with its line breaks as spaces.
fn one_line(text: &str) -> String {
    text.split(['\r', '\n'])
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_several_lines_becomes_one() {
        assert_eq!(one_line("a\n  b\r\n\nc"), "a b c");
    }

    #[test]
    fn the_parser_complains_in_one_line() {
        let command = || {
            clap::Command::new("weft")
                .arg(clap::Arg::new("key").long("key").required(true))
                .arg(clap::Arg::new("json").long("json"))
        };
        let complaint = |words: &[&str]| match command().try_get_matches_from(words) {
            Err(error) => match Failure::from(error) {
                Failure::Usage(text) => text,
                other => panic!("not a usage error: {other:?}"),
            },
            Ok(_) => panic!("accepted {words:?}"),
        };
        assert_eq!(
            complaint(&["weft"]),
            "the following required arguments were not provided: --key <key>"
        );
        assert_eq!(
            complaint(&["weft", "--key", "a", "--jsom"]),
            "unexpected argument '--jsom' found; tip: a similar argument exists: '--json'"
        );
    }
}
