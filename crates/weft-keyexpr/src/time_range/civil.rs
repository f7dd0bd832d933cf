//! Days and dates: the proleptic Gregorian calendar, in UTC.
//!
//! Years are counted from March, so that the leap day ends them, and grouped in eras of 400 years
//! of equal length.

use super::NS_PER_S;
use core::fmt;

const DAYS_PER_ERA: i64 = 146_097;
/// From 0000-03-01 to 1970-01-01.
const DAYS_TO_EPOCH: i64 = 719_468;
const S_PER_DAY: i64 = 86_400;

/// The days from 1970-01-01 to a date; `None` if there is no such date.
pub(super) fn days_from_date(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=days_in_month(year, month)).contains(&day) {
        return None;
    }
    let year = if month > 2 { year } else { year - 1 };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = days_before_month((month + 9) % 12) + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * DAYS_PER_ERA + day_of_era - DAYS_TO_EPOCH)
}

/// Prints an instant as RFC 3339 in UTC, with nine digits of fraction unless it is zero.
pub(super) fn write(f: &mut fmt::Formatter<'_>, unix_ns: i128) -> fmt::Result {
    let (unix_s, ns) = (unix_ns.div_euclid(NS_PER_S) as i64, unix_ns.rem_euclid(NS_PER_S));
    let (year, month, day) = date_from_days(unix_s.div_euclid(S_PER_DAY));
    let time_s = unix_s.rem_euclid(S_PER_DAY);
    let (hour, minute, second) = (time_s / 3600, time_s / 60 % 60, time_s % 60);
    write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
    if ns != 0 {
        write!(f, ".{ns:09}")?;
    }
    f.write_str("Z")
}

fn date_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_TO_EPOCH;
    let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    // Takes the leap days of the era out, so that each year has 365 days.
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (year_of_era * 365 + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - days_before_month(march_month) + 1;
    let month = (march_month + 2) % 12 + 1;
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// The days from 1 March to the first of a month counted from March as 0: the lengths 31 30 31 30
/// 31 repeat.
fn days_before_month(march_month: i64) -> i64 {
    (153 * march_month + 2) / 5
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the days one by one and compares with both formulas.
    #[test]
    fn agrees_with_a_calendar_counted_day_by_day() {
        let mut days = 0;
        for year in 1970..2500 {
            for month in 1..=12 {
                for day in 1..=days_in_month(year, month) {
                    assert_eq!(days_from_date(year, month, day), Some(days));
                    assert_eq!(date_from_days(days), (year, month, day));
                    days += 1;
                }
            }
        }
        assert_eq!(date_from_days(-1), (1969, 12, 31));
        assert_eq!(date_from_days(days_from_date(0, 2, 29).unwrap()), (0, 2, 29));
    }

    #[test]
    fn impossible_dates() {
        for (year, month, day) in
            [(2023, 2, 29), (1900, 2, 29), (2023, 13, 1), (2023, 0, 1), (2023, 4, 31), (2023, 1, 0)]
        {
            assert_eq!(days_from_date(year, month, day), None);
        }
    }
}
