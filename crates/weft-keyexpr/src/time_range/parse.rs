//! Reading a time range.

use super::{NS_PER_S, TimeBound, TimeExpr, TimeRange, TimeRangeError, civil, shift};

pub(super) fn range(text: &str) -> Result<TimeRange, TimeRangeError> {
    let inner = text.strip_prefix(['[', ']']).ok_or(TimeRangeError::Delimiter { offset: 0 })?;
    let inner =
        inner.strip_suffix(['[', ']']).ok_or(TimeRangeError::Delimiter { offset: text.len() })?;
    let start_bound =
        if text.starts_with('[') { TimeBound::Inclusive } else { TimeBound::Exclusive };
    let end_bound = if text.ends_with(']') { TimeBound::Inclusive } else { TimeBound::Exclusive };
    let bound = |text: &str, kind: fn(TimeExpr) -> TimeBound, offset| match text {
        "" => Ok(TimeBound::Unbounded),
        _ => instant(text).map(kind).ok_or(TimeRangeError::Instant { offset }),
    };
    if let Some((start, end)) = inner.split_once("..") {
        let end_offset = 1 + start.len() + "..".len();
        return Ok(TimeRange {
            start: bound(start, start_bound, 1)?,
            end: bound(end, end_bound, end_offset)?,
        });
    }
    let parts = inner.split_once(';').or_else(|| inner.split_once(','));
    let (start, length) = parts.ok_or(TimeRangeError::Separator)?;
    let offset = 1 + start.len() + 1;
    let start = instant(start).ok_or(TimeRangeError::Instant { offset: 1 })?;
    let length_s = duration_s(length).ok_or(TimeRangeError::Duration { offset })?;
    let end = after(start, length_s).map_or(TimeBound::Unbounded, end_bound);
    Ok(TimeRange { start: start_bound(start), end })
}

/// The instant that follows another one by a number of seconds; `None` if the language cannot
/// express it.
fn after(instant: TimeExpr, length_s: f64) -> Option<TimeExpr> {
    match instant {
        TimeExpr::Now { offset_s } => {
            let offset_s = offset_s + length_s;
            offset_s.is_finite().then_some(TimeExpr::Now { offset_s })
        }
        TimeExpr::Fixed { unix_ns } => {
            let unix_ns = shift(unix_ns, length_s)?;
            (0..=UNIX_NS_MAX).contains(&unix_ns).then_some(TimeExpr::Fixed { unix_ns })
        }
    }
}

/// The last nanosecond of the year 9999.
const UNIX_NS_MAX: i128 = 253_402_300_800 * NS_PER_S - 1;

fn instant(text: &str) -> Option<TimeExpr> {
    let Some(offset) = text.strip_prefix("now(").and_then(|text| text.strip_suffix(')')) else {
        return date_time(text.as_bytes());
    };
    let offset_s = if offset.is_empty() { 0.0 } else { duration_s(offset)? };
    Some(TimeExpr::Now { offset_s })
}

/// A number and an optional unit, in seconds.
fn duration_s(text: &str) -> Option<f64> {
    // "ms" stands before its suffix "s".
    const MULTIPLES: [(&str, f64); 5] =
        [("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("d", 86_400.0), ("w", 604_800.0)];
    const FRACTIONS: [(&str, f64); 2] = [("ms", 1e3), ("u", 1e6)];
    for (unit, divisor) in FRACTIONS {
        if let Some(count) = text.strip_suffix(unit) {
            return Some(number(count)? / divisor);
        }
    }
    for (unit, factor) in MULTIPLES {
        if let Some(count) = text.strip_suffix(unit) {
            return Some(number(count)? * factor).filter(|seconds| seconds.is_finite());
        }
    }
    number(text)
}

/// A finite decimal number; not `inf` or `nan`, which `f64` reads too.
fn number(text: &str) -> Option<f64> {
    let is_decimal =
        text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    let value: f64 = if is_decimal { text.parse().ok()? } else { return None };
    value.is_finite().then_some(value)
}

/// `YYYY-MM-DD`, `T` or a space, `hh:mm:ss`, an optional fraction, an optional `Z`.
fn date_time(text: &[u8]) -> Option<TimeExpr> {
    let text = text.strip_suffix(b"Z").unwrap_or(text);
    let (date_time, fraction) = text.split_at_checked("YYYY-MM-DDThh:mm:ss".len())?;
    let separators = [4, 7, 10, 13, 16].map(|index| date_time[index]);
    if !matches!(&separators, b"--T::" | b"-- ::") {
        return None;
    }
    let field = |start, end| digits(&date_time[start..end]);
    let days = civil::days_from_date(field(0, 4)?, field(5, 7)?, field(8, 10)?)?;
    let (hour, minute, second) = (field(11, 13)?, field(14, 16)?, field(17, 19)?);
    if days < 0 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let unix_s = days * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(TimeExpr::Fixed {
        unix_ns: i128::from(unix_s) * NS_PER_S + i128::from(fraction_ns(fraction)?),
    })
}

/// The nanoseconds of `.123…`; further digits are checked and ignored.
fn fraction_ns(text: &[u8]) -> Option<i64> {
    let Some((point, fraction)) = text.split_first() else { return Some(0) };
    if *point != b'.' || fraction.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let kept = &fraction[..fraction.len().min(9)];
    Some(digits(kept)? * 10_i64.pow(9 - kept.len() as u32))
}

/// A short run of decimal digits.
fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_point_at_the_refused_part() {
        use TimeRangeError::*;
        for (text, expected) in [
            ("", Delimiter { offset: 0 }),
            ("[now()..", Delimiter { offset: 8 }),
            ("[now()]", Separator),
            ("[soon..]", Instant { offset: 1 }),
            ("[now()..soon]", Instant { offset: 8 }),
            ("[now();soon]", Duration { offset: 7 }),
            ("[;5s]", Instant { offset: 1 }),
        ] {
            assert_eq!(range(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn a_comma_separates_where_a_semicolon_cannot() {
        assert_eq!(range("[now(-1h),30m["), range("[now(-1h);30m["));
        assert!(range("[now(-1h),]").is_err() && range("[now(-1h),1,2]").is_err());
    }

    #[test]
    fn odd_dates_and_numbers_are_refused() {
        for text in [
            "2023-11-14T22:13:60Z",
            "2023-11-14T24:00:00Z",
            "2023-11-14t22:13:20Z",
            "2023-11-14T22:13:20.Z",
            "2023-11-14T22:13:20ZZ",
            "2023-11-14T22:13:2é",
            "+023-11-14T22:13:20Z",
            "now(1e999)",
            "now(infinity)",
            "now(1e308w)",
            "now(--1)",
            "now(.)",
            "now(s)",
        ] {
            assert_eq!(instant(text), None, "{text}");
        }
    }

    #[test]
    fn a_length_that_leaves_the_calendar_makes_the_end_unbounded() {
        for text in [
            "[1970-01-01T00:00:00Z;-1s]",
            "[9999-12-31T23:59:59Z;1s]",
            "[2023-11-14T22:13:20Z;1e300]",
        ] {
            assert_eq!(range(text).unwrap().end, TimeBound::Unbounded, "{text}");
        }
    }
}
