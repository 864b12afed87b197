//! Durations on a page: as text and as classes of a chart.

use std::time::Duration;

use tapline::analysis::Histogram;

use crate::page::{Bars, Page};
use crate::values::units::span;

/// Classes of a decade.
const PARTS: f64 = 4.0;

impl Page {
    /// A histogram of durations of `what`, and its quantiles; nothing without durations.
    pub fn durations(&mut self, title: &str, what: &str, times: &Histogram) {
        let Some(classes) = histogram(times) else {
            return;
        };
        self.heading(title);
        self.facts(figures(times));
        let bars = Bars {
            across: "duration",
            up: what,
            classes,
        };
        self.chart(title, &bars);
    }
}

/// A duration with three digits and a unit; hours, minutes and seconds from a minute on.
pub fn duration(ns: u64) -> String {
    if ns >= 60_000_000_000 {
        return span(Duration::from_nanos(ns));
    }
    let value = ns as f64;
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    let (unit, name) = *units
        .iter()
        .find(|(unit, _)| value >= *unit)
        .unwrap_or(&units[3]);
    let scaled = value / unit;
    let places = match scaled {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    let text = format!("{scaled:.places$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text} {name}")
}

/// Number, least, quantiles and most.
fn figures(times: &Histogram) -> Vec<(&'static str, String)> {
    let Some((least, most)) = times.range_ns() else {
        return Vec::new();
    };
    let quantile = |quantile| {
        times
            .quantile(quantile)
            .map_or(least, |ns| ns.clamp(least, most))
    };
    let named = [
        ("Least", least),
        ("Median", quantile(0.5)),
        ("90 %", quantile(0.9)),
        ("99 %", quantile(0.99)),
        ("99.9 %", quantile(0.999)),
        ("Most", most),
    ];
    named.map(|(name, ns)| (name, duration(ns))).into()
}

/// Classes of equal width on a logarithmic scale, named by their lower end; `None` without durations.
fn histogram(times: &Histogram) -> Option<Vec<(String, f64)>> {
    let (least, most) = times.range_ns()?;
    let class = |ns: u64| whole((ns.max(1) as f64).log10() * PARTS + 1e-9) as u32;
    let (first, last) = (class(least), class(most));
    let mut classes: Vec<_> = (first..=last)
        .map(|class| {
            let from = 10_f64.powf(f64::from(class) / PARTS);
            (duration(whole(from.round())), 0.0)
        })
        .collect();
    for (low, high, count) in times.buckets() {
        let middle = low.midpoint(high).clamp(least, most);
        classes[(class(middle) - first) as usize].1 += count as f64;
    }
    Some(classes)
}

#[expect(clippy::cast_sign_loss, reason = "durations are not negative")]
fn whole(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1500, "1.5 µs"),
            (12_340_000, "12.3 ms"),
            (60_000_000_000, "1:00"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn every_duration_is_in_a_class() {
        let mut times = Histogram::default();
        assert_eq!(histogram(&times), None);
        for ns in [0, 1, 9, 10, 1_000_000, 3_000_000_000, u64::MAX] {
            times.record(ns);
        }
        let classes = histogram(&times).unwrap();
        let count: f64 = classes.iter().map(|class| class.1).sum();
        assert_eq!((count, classes[0].0.as_str()), (7.0, "1 ns"));
        assert!(classes.len() < 80, "{}", classes.len());
    }
}
