//! Parses and prints sizes, durations, rates and numbers.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::time::Duration;

use jiff::SignedDuration;

/// Parses a size: bytes, or with `k`, `M`, `G` powers of 1024.
pub fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor: u64 = match unit {
        "" | "B" => 1,
        "k" | "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        _ => return Err(format!("unknown unit '{unit}', use k, M or G")),
    };
    scaled(number, factor).ok_or_else(|| format!("'{number}' is not a size"))
}

/// Parses a duration with units from `ns` to `h`: `10ms`, `1.5h`, `1h30m`.
pub fn time(text: &str) -> Result<Duration, String> {
    if text.parse::<f64>().is_ok() {
        return Err("a time needs a unit: ns, us, ms, s, m or h".into());
    }
    let time: SignedDuration = text.parse().map_err(|_| {
        format!(
            "'{text}' is not a time, use a number and ns, us, ms, s, m or h, as in 10ms or 1h30m"
        )
    })?;
    let time = Duration::try_from(time).map_err(|_| format!("'{text}' is negative"))?;
    // Times are counted in nanoseconds.
    u64::try_from(time.as_nanos()).map_err(|_| format!("'{text}' is too long"))?;
    Ok(time)
}

/// Parses a duration like [`time`], or a plain number of seconds. `.2` is `0.2`, as in ping(8).
pub fn seconds(text: &str) -> Result<Duration, String> {
    let whole = if text.starts_with('.') { "0" } else { "" };
    let text = &format!("{whole}{text}");
    match split(text) {
        (number, "") if !number.is_empty() => time(&format!("{number}s")),
        _ => time(text),
    }
}

/// Parses a packet rate: packets per second, or with `k`, `M`, `pps`, `kpps`, `Mpps` in either case powers of 1000.
pub fn rate_pps(text: &str) -> Result<u32, String> {
    let (number, unit) = split(text);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "pps" => 1,
        "k" | "kpps" => 1_000,
        "m" | "mpps" => 1_000_000,
        _ => return Err(format!("unknown unit '{unit}', use pps, kpps or Mpps")),
    };
    let rate = scaled(number, factor).and_then(|rate| u32::try_from(rate).ok());
    match rate {
        Some(0) => Err("must not be 0".into()),
        Some(rate) => Ok(rate),
        None => Err(format!("'{number}' is not a rate")),
    }
}

/// Parses a number above 0, or with `k`, `m`, `g` in either case powers of 1000.
pub fn decimal(text: &str) -> Option<NonZeroU64> {
    let (number, unit) = split(text);
    let factor = match unit {
        "" => 1,
        "k" | "K" => 1_000,
        "m" | "M" => 1_000_000,
        "g" | "G" => 1_000_000_000,
        _ => return None,
    };
    NonZeroU64::new(scaled(number, factor)?)
}

/// A number of things: `1 file`, `2 000 files`.
pub fn counted(count: u64, noun: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{} {noun}{end}", grouped(count))
}

/// Numbers of a kind, with ranges: `CPU 3`, `queues 0-2,5`.
pub fn numbered(noun: &str, numbers: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let range = |&(first, last): &(u32, u32)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    let ranges: Vec<String> = ranges.iter().map(range).collect();
    let s = if numbers.len() == 1 { "" } else { "s" };
    format!("{noun}{s} {}", ranges.join(","))
}

/// Parses a size that is not 0.
pub fn nonzero_size(text: &str) -> Result<NonZeroU64, String> {
    NonZeroU64::new(size(text)?).ok_or_else(|| "must not be 0".into())
}

/// Parses a duration that is not 0.
pub fn nonzero_time(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("must not be 0".into()),
        time => Ok(time),
    }
}

/// Splits text into the number at its start and the unit after it.
fn split(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    text.split_at(end)
}

/// A decimal number times `factor`, exact.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || (number.contains('.') && fraction.is_empty()) || fraction.len() > 18 {
        return None;
    }
    let whole = u128::from(whole.parse::<u64>().ok()?) * u128::from(factor);
    let mut part = 0;
    if !fraction.is_empty() {
        let digits = u128::from(fraction.parse::<u64>().ok()?);
        part = digits * u128::from(factor) / 10_u128.pow(fraction.len() as u32);
    }
    u64::try_from(whole + part).ok()
}

/// A number with a decimal prefix and about three digits: `1.2 M`.
pub fn amount(value: f64) -> String {
    let mut value = value;
    for prefix in ["", "k", "M", "G"] {
        if value < 999.5 {
            let digits = usize::from(!prefix.is_empty() && value < 99.95);
            return format!("{value:.digits$} {prefix}");
        }
        value /= 1000.0;
    }
    format!("{value:.1} T")
}

/// A size in whole numbers of the largest binary unit that fits: `32 MiB`.
pub fn binary(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}

/// A number with digits in groups of three: `1 234 567`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// A duration for people: `1:02:03`, `12.3 s`.
pub fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        60..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!(
            "{}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(size("1514"), Ok(1514));
        assert_eq!(size("64k"), Ok(65_536));
        assert_eq!(size("1.5M"), Ok(1_572_864));
        assert_eq!(size("2G"), Ok(2 << 30));
        for wrong in ["", "k", "1x", "-1", "1.M", "99999999999G", "1.2.3"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_need_a_unit() {
        assert_eq!(time("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(time("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(time("2h"), Ok(Duration::from_hours(2)));
        assert_eq!(time("1h30m"), Ok(Duration::from_mins(90)));
        assert_eq!(time("100us"), Ok(Duration::from_micros(100)));
        assert_eq!(time("7ns"), Ok(Duration::from_nanos(7)));
        for wrong in ["5", "ms", "1d", "1e9s", "", "-1s", "1h ago", "6000000h"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn seconds_and_rates_need_no_unit() {
        assert_eq!(seconds("0.2"), Ok(Duration::from_millis(200)));
        assert_eq!(seconds(".2"), Ok(Duration::from_millis(200)));
        assert_eq!(seconds(".5ms"), Ok(Duration::from_micros(500)));
        assert_eq!(seconds("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(rate_pps("10kpps"), Ok(10_000));
        assert_eq!(rate_pps("1.5M"), Ok(1_500_000));
        assert_eq!(rate_pps("1mpps"), Ok(1_000_000));
        assert_eq!(rate_pps("7"), Ok(7));
        for wrong in ["", "0", "0.1", "5G", "-1", "10M10", "5000Mpps"] {
            assert!(rate_pps(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "x", "-1", "1d", ".", "..2", ".s"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(binary(8192), "8 KiB");
        assert_eq!(binary(32 << 20), "32 MiB");
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(counted(1, "packet"), "1 packet");
        assert_eq!(counted(2000, "packet"), "2 000 packets");
        assert_eq!(numbered("CPU", &BTreeSet::from([3])), "CPU 3");
        let numbers = BTreeSet::from([0, 1, 2, 5, 7, 8]);
        assert_eq!(numbered("queue", &numbers), "queues 0-2,5,7-8");
        assert_eq!(amount(0.0), "0 ");
        assert_eq!(amount(1_234_567.0), "1.2 M");
        assert_eq!(amount(999_700.0), "1.0 M");
        assert_eq!(span(Duration::from_secs(3723)), "1:02:03");
    }
}
