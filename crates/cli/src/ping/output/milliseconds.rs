//! Round trips in milliseconds, with the digits of ping and fping.

/// As in ping's lines: up to three decimals, fewer for longer times.
pub fn line_ms(ns: u64) -> String {
    let us = ns / 1000;
    match us {
        0..1_000 => format!("0.{us:03}"),
        1_000..9_995 => fixed_point((us + 5) / 10, 2),
        9_995..99_950 => fixed_point((us + 50) / 100, 1),
        _ => ((us + 500) / 1000).to_string(),
    }
}

/// As in ping's summary: always three decimals.
pub fn summary_ms(ns: u64) -> String {
    fixed_point(ns / 1000, 3)
}

/// As in fping's summary.
pub fn fping_ms(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    match ms {
        ..1.0 => format!("{ms:.3}"),
        ..10.0 => format!("{ms:.2}"),
        ..100.0 => format!("{ms:.1}"),
        _ => format!("{ms:.0}"),
    }
}

/// A fixed-point number with `digits` decimals.
fn fixed_point(number: u64, digits: usize) -> String {
    let unit = 10_u64.pow(digits as u32);
    format!("{}.{:0digits$}", number / unit, number % unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// iputils ping prints these for the same microseconds.
    #[test]
    fn digits_match_ping() {
        for (us, line) in [
            (0, "0.000"),
            (42, "0.042"),
            (999, "0.999"),
            (1000, "1.00"),
            (1234, "1.23"),
            (9994, "9.99"),
            (9995, "10.0"),
            (12_345, "12.3"),
            (99_949, "99.9"),
            (99_950, "100"),
            (1_234_567, "1235"),
        ] {
            assert_eq!(line_ms(us * 1000), line, "{us}");
        }
        assert_eq!(summary_ms(1_234_567_891), "1234.567");
        assert_eq!(summary_ms(42_999), "0.042");
    }

    #[test]
    fn digits_match_fping() {
        for (ns, text) in [
            (42_123, "0.042"),
            (1_234_567, "1.23"),
            (12_345_678, "12.3"),
            (123_456_789, "123"),
        ] {
            assert_eq!(fping_ms(ns), text);
        }
    }
}
