//! Timestamps: milliseconds since 1970, written as RFC 3339 in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// The number of milliseconds in a day.
pub const MILLIS_PER_DAY: u64 = 86_400_000;

/// A point in time, in milliseconds since 1970 (UTC).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct UtcTimestamp(pub u64);

impl UtcTimestamp {
    /// Returns the current time.
    #[must_use]
    pub fn now() -> Self {
        Self::from(SystemTime::now())
    }

    /// Parses `2026-11-22`, `2026-11-22T06:08:47Z` or `2026-11-22T06:08:47.123Z`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = match text.split_once('T') {
            Some((date, time)) => (date, parse_clock_time(time.strip_suffix('Z')?)?),
            None => (text, 0),
        };
        let mut parts = date.split('-');
        let mut next = |length| parse_digits(parts.next()?, length);
        let (year, month, day) = (next(4)?, next(2)?, next(2)?);
        let days = days_from_civil(year, month, day)?;
        // A day that does not exist in the month would become a different date.
        let same = parts.next().is_none() && civil_from_days(days) == (year, month, day);
        same.then_some(Self(days * MILLIS_PER_DAY + time))
    }

    /// Returns the number of days since 1970.
    #[must_use]
    pub const fn day_number(self) -> u64 {
        self.0 / MILLIS_PER_DAY
    }
}

impl From<SystemTime> for UtcTimestamp {
    /// Converts a system time. Times before 1970 become the start of 1970.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl std::fmt::Display for UtcTimestamp {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Years are limited to four digits, so that all timestamps have the same length.
        let millis = self.0.min(253_402_300_799_999);
        let (year, month, day) = civil_from_days(millis / MILLIS_PER_DAY);
        let (seconds, millis) = (millis % MILLIS_PER_DAY / 1_000, millis % 1_000);
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

fn parse_digits(text: &str, length: usize) -> Option<u64> {
    let digits = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

/// Parses `06:08:47` or `06:08:47.123`. Returns milliseconds.
fn parse_clock_time(text: &str) -> Option<u64> {
    let (text, millis) = match text.split_once('.') {
        Some((text, millis)) => (text, parse_digits(millis, 3)?),
        None => (text, 0),
    };
    let mut parts = text.split(':');
    let mut next = |below| parse_digits(parts.next()?, 2).filter(|number| *number < below);
    let seconds = next(24)? * 3_600 + next(60)? * 60 + next(60)?;
    parts.next().is_none().then_some(seconds * 1_000 + millis)
}

/// Returns the number of days from 1970 to this date in the proleptic Gregorian calendar. Years are
/// counted from March, so that the leap day is the last day of a year.
fn days_from_civil(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    // There are 719,468 days between 1 March of the year 0 and 1970.
    Some(year * 365 + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468)
}

fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (0, month + 3) } else { (1, month - 9) };
    (era * 400 + year_of_era + year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_calendar() {
        // date -u -d '…' +%s
        for (text, seconds) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2000-02-29T23:59:59.000Z", 951_868_799),
            ("2024-12-31T12:00:00.000Z", 1_735_646_400),
            ("2026-11-22T06:08:47.000Z", 1_795_327_727),
            ("2100-03-01T00:00:00.000Z", 4_107_542_400),
        ] {
            assert_eq!(UtcTimestamp(seconds * 1_000).to_string(), text);
            assert_eq!(UtcTimestamp::parse(text), Some(UtcTimestamp(seconds * 1_000)), "{text}");
        }
        assert_eq!(UtcTimestamp::parse("1970-01-02"), Some(UtcTimestamp(MILLIS_PER_DAY)));
        assert_eq!(UtcTimestamp(u64::MAX).to_string().len(), 24);
    }

    #[test]
    fn every_day_comes_back() {
        for day in 0..200_000 {
            let moment = UtcTimestamp(day * MILLIS_PER_DAY + 1);
            assert_eq!(UtcTimestamp::parse(&moment.to_string()), Some(moment));
        }
    }

    #[test]
    fn an_invalid_date_is_not_parsed() {
        for text in [
            "",
            "2026",
            "2026-02-29",
            "2026-13-01",
            "2026-1-1",
            "1969-12-31",
            "x",
            "2026-01-01T",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00",
            "+026-01-01",
        ] {
            assert_eq!(UtcTimestamp::parse(text), None, "{text}");
        }
    }
}
