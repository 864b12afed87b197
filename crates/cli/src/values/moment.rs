//! Parses and prints points in time.

use std::str::FromStr;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// A point in time, nanoseconds since 1970 UTC. Earlier times become 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

/// The time zone of the system, read once: at the first call, which a restricted program must have made before it is restricted.
/// Finding it can take a search through all time zones.
pub fn local_zone() -> &'static TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    ZONE.get_or_init(TimeZone::system)
}

/// The current time, nanoseconds since 1970 UTC.
pub fn now_ns() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |time| time.as_nanos() as u64)
}

impl FromStr for Moment {
    type Err = String;

    /// Parses `@SECONDS[.fraction]` since 1970, RFC 3339, or a local date and time.
    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text, local_zone)
    }
}

impl Moment {
    fn parse<'z>(text: &str, local: impl FnOnce() -> &'z TimeZone) -> Result<Self, String> {
        if let Some(seconds) = text.strip_prefix('@') {
            return since_1970(seconds).ok_or_else(|| invalid(text));
        }
        // First, because the other two parsers ignore a zone in brackets.
        let timestamp = text
            .parse::<Zoned>()
            .map(|zoned| zoned.timestamp())
            .or_else(|_| text.parse::<Timestamp>());
        let timestamp = timestamp.or_else(|_| {
            let civil = text.parse::<DateTime>()?;
            Ok::<_, jiff::Error>(local().to_zoned(civil)?.timestamp())
        });
        let timestamp = timestamp.map_err(|_| invalid(text))?;
        let ns = timestamp.as_nanosecond().max(0);
        u64::try_from(ns).map(Self).map_err(|_| invalid(text))
    }
}

fn invalid(text: &str) -> String {
    format!(
        "'{text}' is not a time, use 2026-11-21T08:30:00Z, '2026-11-21 08:30:00' or @1795249800"
    )
}

fn since_1970(text: &str) -> Option<Moment> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_fraction = is_number(fraction) && fraction.len() <= 9 && !text.ends_with('.');
    if seconds.is_empty() || !is_number(seconds) || !is_fraction {
        return None;
    }
    let seconds: u64 = seconds.parse().ok()?;
    let nanoseconds: u64 = format!("{fraction:0<9}").parse().ok()?;
    let ns = seconds
        .checked_mul(1_000_000_000)?
        .checked_add(nanoseconds)?;
    Some(Moment(ns))
}

/// Date and time in `zone`, with nanoseconds and the offset from UTC.
pub fn date_time(time_ns: u64, zone: &TimeZone) -> String {
    // A u64 of nanoseconds ends in the year 2554, which a Timestamp can hold.
    let time = Timestamp::from_nanosecond(i128::from(time_ns)).unwrap_or_default();
    let zoned = time.to_zoned(zone.clone());
    zoned.strftime("%Y-%m-%d %H:%M:%S.%9f %:z").to_string()
}

/// Time of day in `zone`, with nanoseconds.
pub fn time_of_day(time_ns: u64, zone: &TimeZone) -> String {
    let time = Timestamp::from_nanosecond(i128::from(time_ns)).unwrap_or_default();
    let zoned = time.to_zoned(zone.clone());
    zoned.strftime("%H:%M:%S.%9f").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Seconds of 2026-11-21 08:30:00 UTC, as `date -d '2026-11-21 08:30 UTC' +%s` prints them.
    const SECONDS: u64 = 1_795_249_800;

    #[test]
    fn every_form_of_time_is_parsed() {
        let kolkata = TimeZone::fixed(
            jiff::tz::offset(5).saturating_add(jiff::SignedDuration::from_mins(30)),
        );
        let at = |seconds: u64, ns: u64| Ok(Moment(seconds * 1_000_000_000 + ns));
        for (text, expected) in [
            ("@1795249800", at(SECONDS, 0)),
            ("@1795249800.5", at(SECONDS, 500_000_000)),
            ("@0.000000001", at(0, 1)),
            ("2026-11-21T08:30:00Z", at(SECONDS, 0)),
            ("2026-11-21T09:30:00.25+01:00", at(SECONDS, 250_000_000)),
            ("2026-11-21 14:00:00", at(SECONDS, 0)),
            ("2026-11-21 14:00:00.123456789", at(SECONDS, 123_456_789)),
            ("1969-12-31T23:59:59Z", at(0, 0)),
        ] {
            assert_eq!(Moment::parse(text, || &kolkata), expected, "{text}");
        }
    }

    #[test]
    fn invalid_times_are_rejected() {
        let utc = TimeZone::UTC;
        for text in [
            "",
            "@",
            "@-1",
            "@1.",
            "@+1",
            "@1.0000000001",
            "@18446744074",
            "yesterday",
            "12:00",
            "2026-13-01T00:00:00Z",
        ] {
            assert!(Moment::parse(text, || &utc).is_err(), "{text}");
        }
    }

    #[test]
    fn printed_times_have_their_zone() {
        let zone = TimeZone::fixed(jiff::tz::offset(-3));
        assert_eq!(
            date_time(SECONDS * 1_000_000_000 + 1, &zone),
            "2026-11-21 05:30:00.000000001 -03:00"
        );
    }
}
