//! Values of flags that several commands share.

use std::time::Duration;

use clap::{Args, ValueEnum};
use weft::{
    CongestionControl, Consolidation, Cover, Encoding, Priority, QueryTarget, Reliability,
    SelectMode, WhatAmI,
};

/// A flag's words and the values of the library that they stand for.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident => $target:ty { $($(#[$attribute:meta])* $variant:ident => $value:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
        pub(crate) enum $name {
            $($(#[$attribute])* $variant,)*
        }

        impl From<$name> for $target {
            fn from(word: $name) -> Self {
                match word {
                    $($name::$variant => $value,)*
                }
            }
        }
    };
}

words! {
    /// What a node does for others.
    Mode => WhatAmI {
        /// Forwards for everybody
        Router => WhatAmI::Router,
        /// Talks to other peers directly
        Peer => WhatAmI::Peer,
        /// Leaves the network to the node that it is connected to
        Client => WhatAmI::Client,
    }
}

words! {
    /// Which samples go first.
    PriorityArg => Priority {
        #[value(alias = "real_time", alias = "1")]
        RealTime => Priority::RealTime,
        #[value(alias = "interactive_high", alias = "2")]
        InteractiveHigh => Priority::InteractiveHigh,
        #[value(alias = "interactive_low", alias = "3")]
        InteractiveLow => Priority::InteractiveLow,
        #[value(alias = "data_high", alias = "4")]
        DataHigh => Priority::DataHigh,
        #[value(alias = "5")]
        Data => Priority::Data,
        #[value(alias = "data_low", alias = "6")]
        DataLow => Priority::DataLow,
        #[value(alias = "7")]
        Background => Priority::Background,
    }
}

words! {
    /// What happens where there is no room.
    Congestion => CongestionControl {
        /// The sample is dropped
        Drop => CongestionControl::Drop,
        /// The sender waits
        Block => CongestionControl::Block,
        /// One sample waits, further ones are dropped
        #[value(alias = "block_first")]
        BlockFirst => CongestionControl::BlockFirst,
    }
}

words! {
    /// The channel of a sample.
    ReliabilityArg => Reliability {
        Reliable => Reliability::Reliable,
        #[value(alias = "best_effort")]
        BestEffort => Reliability::BestEffort,
    }
}

words! {
    /// Which queryables are asked.
    Target => QueryTarget {
        /// The nearest complete one, or else all
        #[value(alias = "best_matching")]
        BestMatching => QueryTarget::BestMatching,
        /// All that match
        All => QueryTarget::All,
        /// All that match and are complete
        #[value(alias = "all_complete")]
        AllComplete => QueryTarget::AllComplete,
    }
}

words! {
    /// Whom a get asks that has to be covered.
    CoverArg => Cover {
        /// The nearest complete queryable that covers it
        Nearest => Cover::NEAREST,
        /// All that match
        All => Cover::ALL,
    }
}

words! {
    /// Which of several replies on one key are shown.
    ConsolidationArg => Consolidation {
        /// The latest; all, if the selector has a `_time`
        Auto => Consolidation::Auto,
        /// All
        None => Consolidation::None,
        /// Each that is not older than those before
        Monotonic => Consolidation::Monotonic,
        /// The newest one, at the end
        Latest => Consolidation::Latest,
    }
}

words! {
    /// Where `_filter` and `_project` of a selector are applied.
    SelectArg => SelectMode {
        /// At the responders, and again here
        Pushdown => SelectMode::Pushdown,
        /// Here only
        Late => SelectMode::Late,
        /// Nowhere
        Off => SelectMode::Off,
    }
}

/// How samples are published.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Quality of service")]
pub(crate) struct Quality {
    /// Which samples go first
    #[arg(long, value_enum, default_value = "data", ignore_case = true)]
    pub(crate) priority: PriorityArg,
    /// What happens where there is no room
    #[arg(long, value_enum, default_value = "block", ignore_case = true)]
    pub(crate) congestion: Congestion,
    /// Sends at once, without waiting for company
    #[arg(long)]
    pub(crate) express: bool,
    /// The channel to use
    #[arg(long, value_enum, default_value = "reliable", ignore_case = true)]
    pub(crate) reliability: ReliabilityArg,
}

/// What travels beside a payload.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Beside {
    /// How the payload is to be read, such as text/plain or application/json
    #[arg(long, value_name = "ENCODING")]
    pub(crate) encoding: Option<Encoding>,
    /// Sends this along with the payload
    #[arg(long, value_name = "TEXT")]
    pub(crate) attachment: Option<String>,
}

/// Longest time on a command line: 30 years, which no clock overflows.
const SECONDS_MAX: f64 = 1e9;

/// Reads a length of time in seconds, with decimals.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=SECONDS_MAX).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(format!("not a number of seconds from 0 to {SECONDS_MAX}")),
    }
}

/// Reads a length of time as [`seconds`] does, but not none at all.
pub(crate) fn some_seconds(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        Duration::ZERO => Err("it must be more than 0".to_owned()),
        some => Ok(some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_decimals_and_no_sign() {
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        assert_eq!(seconds("3"), Ok(Duration::from_secs(3)));
        assert!(seconds("-1").is_err() && seconds("1e300").is_err() && seconds("x").is_err());
        assert!(seconds("NaN").is_err());
        assert!(some_seconds("0").is_err() && some_seconds("0.1").is_ok());
    }

    #[test]
    fn words_are_read_in_the_spelling_of_the_reference_too() {
        let target = |text| Target::from_str(text, true).map(QueryTarget::from);
        assert_eq!(target("BEST_MATCHING"), Ok(QueryTarget::BestMatching));
        assert_eq!(target("all-complete"), Ok(QueryTarget::AllComplete));
        assert_eq!(PriorityArg::from_str("7", true).map(Priority::from), Ok(Priority::Background));
        assert!(target("some").is_err());
    }
}
