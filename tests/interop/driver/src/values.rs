//! From the protocol's values to those of the crate.

use std::str::FromStr;

use serde::{Deserialize, Deserializer};
use weft::timestamp::{TimestampInstrumentation, TimestampText};
use weft::{
    CongestionControl, Consolidation, Encoding, EntityGlobalId, InterceptionPoint, KeyExpr,
    Locality, Priority, QueryTarget, Reliability, ReplyKeyExpr, Session, SourceInfo, Timestamp,
    ZBytes,
};

use crate::driver::{Driver, Thing};
use crate::fields::{Failure, Fields};

/// The fill pattern's period.
const FILL_PERIOD: usize = 251;

/// Takes `NAME_hex`.
pub(crate) fn bytes(fields: &mut Fields, name: &str) -> Result<Option<ZBytes>, Failure> {
    let text: Option<String> = fields.take_if_any(&format!("{name}_hex"))?;
    text.map(|text| from_hex(&text)).transpose()
}

/// Takes a payload.
pub(crate) fn payload(fields: &mut Fields) -> Result<Option<ZBytes>, Failure> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Fill {
        len: usize,
        #[serde(default)]
        seed: usize,
    }

    match fields.take_if_any::<Fill>("payload_fill")? {
        None => bytes(fields, "payload"),
        Some(Fill { len, seed }) => {
            let period: Vec<u8> =
                (0..FILL_PERIOD).map(|i| ((i + seed) % FILL_PERIOD) as u8).collect();
            Ok(Some(period.iter().copied().cycle().take(len).collect::<Vec<u8>>().into()))
        }
    }
}

fn from_hex(text: &str) -> Result<ZBytes, Failure> {
    let wrong = || Failure::bad_request("not hexadecimal");
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return Err(wrong());
    }
    let octets = (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16));
    let octets: Vec<u8> = octets.collect::<Result<_, _>>().map_err(|_| wrong())?;
    Ok(octets.into())
}

/// A key expression as text, or one that was declared.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Key {
    Text(String),
    Declared { entity: u64 },
}

impl Key {
    pub(crate) fn resolve(self, driver: &Driver) -> Result<KeyExpr, Failure> {
        match self {
            Self::Text(text) => Ok(KeyExpr::new(text)?),
            Self::Declared { entity } => match &*driver.thing(entity)? {
                Thing::KeyExpr(key) => Ok(key.clone()),
                _ => Err(Failure::bad_request(format!("{entity} is no key expression"))),
            },
        }
    }
}

/// Takes `session` and `key`.
pub(crate) fn session_and_key(
    driver: &Driver,
    fields: &mut Fields,
) -> Result<(Session, KeyExpr), Failure> {
    let session = driver.session(fields.take("session")?)?;
    let key = fields.take::<Key>("key")?.resolve(driver)?;
    Ok((session, key))
}

/// Takes `encoding`.
pub(crate) fn encoding(fields: &mut Fields) -> Result<Option<Encoding>, Failure> {
    let text: Option<String> = fields.take_if_any("encoding")?;
    Ok(text.map(|text| Encoding::from_str(&text)).transpose()?)
}

/// Takes `timestamp`; `new` means one of the session's clock.
pub(crate) fn timestamp(
    fields: &mut Fields,
    session: Option<&Session>,
) -> Result<Option<Timestamp>, Failure> {
    let Some(text) = fields.take_if_any::<String>("timestamp")? else { return Ok(None) };
    match session {
        Some(session) if text == "new" => Ok(Some(session.new_timestamp())),
        _ => Timestamp::from_text(&text)
            .map(Some)
            .map_err(|error| Failure::bad_request(format!("`timestamp`: {error}"))),
    }
}

/// Takes `source_sn`.
pub(crate) fn source_info(
    fields: &mut Fields,
    id: EntityGlobalId,
) -> Result<Option<SourceInfo>, Failure> {
    Ok(fields.take_if_any("source_sn")?.map(|sn| SourceInfo { id, sn }))
}

/// Takes `instrument`, a list of points.
pub(crate) fn instrumentation(
    fields: &mut Fields,
) -> Result<Option<TimestampInstrumentation>, Failure> {
    let points = fields.take_if_any::<Vec<Word<InterceptionPoint>>>("instrument")?;
    let points = points.unwrap_or_default().into_iter().map(|word| word.0);
    Ok(TimestampInstrumentation::new(points))
}

/// A value that a word stands for.
#[derive(Clone, Copy)]
pub(crate) struct Word<T>(pub(crate) T);

/// Takes a field whose values are words.
pub(crate) fn word<T>(fields: &mut Fields, name: &str) -> Result<Option<T>, Failure>
where
    Word<T>: for<'de> Deserialize<'de>,
{
    Ok(fields.take_if_any::<Word<T>>(name)?.map(|word| word.0))
}

macro_rules! words {
    ($($type:ty { $($word:literal => $value:expr),+ $(,)? })+) => {$(
        impl<'de> Deserialize<'de> for Word<$type> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = String::deserialize(deserializer)?;
                match word.as_str() {
                    $($word => Ok(Self($value)),)+
                    _ => Err(serde::de::Error::unknown_variant(&word, &[$($word),+])),
                }
            }
        }
    )+};
}

words! {
    CongestionControl {
        "drop" => CongestionControl::Drop,
        "block" => CongestionControl::Block,
        "block_first" => CongestionControl::BlockFirst,
    }
    Reliability {
        "reliable" => Reliability::Reliable,
        "best_effort" => Reliability::BestEffort,
    }
    Locality {
        "any" => Locality::Any,
        "remote" => Locality::Remote,
        "session_local" => Locality::SessionLocal,
    }
    QueryTarget {
        "best_matching" => QueryTarget::BestMatching,
        "all" => QueryTarget::All,
        "all_complete" => QueryTarget::AllComplete,
    }
    Consolidation {
        "auto" => Consolidation::Auto,
        "none" => Consolidation::None,
        "monotonic" => Consolidation::Monotonic,
        "latest" => Consolidation::Latest,
    }
    InterceptionPoint {
        "send" => InterceptionPoint::Send,
        "route" => InterceptionPoint::Route,
        "receive" => InterceptionPoint::Receive,
    }
    ReplyKeyExpr {
        "matching_query" => ReplyKeyExpr::MatchingQuery,
        "any" => ReplyKeyExpr::Any,
    }
}

impl<'de> Deserialize<'de> for Word<Priority> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u8::deserialize(deserializer)?;
        if (1..=7).contains(&number) {
            return Ok(Self(Priority::from_bits(number)));
        }
        let given = serde::de::Unexpected::Unsigned(number.into());
        Err(serde::de::Error::invalid_value(given, &"a priority from 1 to 7"))
    }
}

/// How something is sent, as far as the request says so.
#[derive(Clone, Copy)]
pub(crate) struct Quality {
    pub(crate) congestion: Option<CongestionControl>,
    pub(crate) priority: Option<Priority>,
    pub(crate) express: Option<bool>,
    pub(crate) destination: Option<Locality>,
}

impl Quality {
    pub(crate) fn take(fields: &mut Fields) -> Result<Self, Failure> {
        Ok(Self {
            congestion: word(fields, "congestion")?,
            priority: word(fields, "priority")?,
            express: fields.take_if_any("express")?,
            destination: word(fields, "destination")?,
        })
    }
}

/// Calls each method of the builder whose value is there: what a request leaves out keeps the library's default.
macro_rules! set {
    ($builder:ident . $($method:ident = $value:expr),+ $(,)?) => {$(
        let $builder = match $value {
            Some(value) => $builder.$method(value),
            None => $builder,
        };
    )+};
}
pub(crate) use set;
