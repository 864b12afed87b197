//! Delays as text and as JSON.

use serde_json::Value;
use tapline::latency::Delays;

use crate::values::units::counted;

/// Number of packets and quantiles in one line.
pub fn percentiles(delays: &Delays) -> String {
    let packets = counted(delays.histogram.count(), "packet");
    format!("{packets}  {}", quantiles(delays).join("  "))
}

/// The shortest delay, the quantiles, and the longest delay.
pub fn quantiles(delays: &Delays) -> [String; 6] {
    let text =
        |name, delay_ns: Option<u64>| format!("{name} {}", delay_ns.map_or("-".to_owned(), time));
    [
        text("min", delays.min_ns),
        text("p50", delays.quantile(0.5)),
        text("p90", delays.quantile(0.9)),
        text("p99", delays.quantile(0.99)),
        text("p99.9", delays.quantile(0.999)),
        text("max", delays.max_ns),
    ]
}

pub fn delays_json(delays: &Delays) -> Value {
    serde_json::json!({
        "packets": delays.histogram.count(),
        "ahead": delays.ahead,
        "unstamped": delays.unstamped,
        "delay_min_ns": delays.min_ns,
        "delay_p50_ns": delays.quantile(0.5),
        "delay_p90_ns": delays.quantile(0.9),
        "delay_p99_ns": delays.quantile(0.99),
        "delay_p999_ns": delays.quantile(0.999),
        "delay_max_ns": delays.max_ns,
        "delay_mean_ns": delays.mean_ns(),
    })
}

/// Adds the fields of object `more` to object `value`.
pub fn extend(value: &mut Value, more: Value) {
    if let (Value::Object(value), Value::Object(more)) = (value, more) {
        value.extend(more);
    }
}

/// A time with three significant digits: `17.2 us`.
pub fn time(ns: u64) -> String {
    let value = ns as f64;
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (value / 1e3, "us"),
        1_000_000..1_000_000_000 => (value / 1e6, "ms"),
        _ => (value / 1e9, "s"),
    };
    let digits = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 us"),
            (17_240, "17.2 us"),
            (523_000, "523 us"),
            (1_090_000, "1.09 ms"),
            (2_500_000_000, "2.50 s"),
        ] {
            assert_eq!(time(ns), text);
        }
    }
}
