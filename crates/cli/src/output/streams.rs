//! Figures of stamped streams, as text and as JSON.

use serde_json::{Value, json};
use tapline::count::{StreamFigures, StreamTotals};

use crate::latency::time;
use crate::values::units::grouped;

/// Two lines for each stream, and one for what is not counted.
pub fn lines(totals: &StreamTotals) -> Vec<String> {
    let mut lines: Vec<_> = totals.streams.iter().flat_map(of_stream).collect();
    if totals.uncounted > 0 {
        let packets = grouped(totals.uncounted);
        lines.push(format!(
            "{packets} packets of further streams are not counted"
        ));
    }
    if lines.is_empty() {
        lines.push("no packet with a stamp".to_owned());
    }
    lines
}

fn of_stream(figures: &StreamFigures) -> [String; 2] {
    let distance = match figures.reordered_distance {
        0 => String::new(),
        distance => format!(" by up to {}", grouped(distance)),
    };
    let late = match figures.late {
        0 => String::new(),
        late => format!(", {} too late to tell", grouped(late)),
    };
    let counts = format!(
        "stream {}: {} received, {} lost, {} reordered{distance}, {} duplicated{late}",
        figures.stream,
        grouped(figures.received),
        grouped(figures.lost),
        grouped(figures.reordered),
        grouped(figures.duplicated),
    );
    [counts, format!("  {}", delays(figures))]
}

/// Minimum, median, 99th percentile and maximum.
fn delays(figures: &StreamFigures) -> String {
    let Some((least, most)) = figures.delay_range_ns else {
        return "one-way delay unknown: no times of arrival".to_owned();
    };
    if figures.negative_delays > 0 {
        let packets = grouped(figures.negative_delays);
        return format!(
            "one-way delay unknown: the clocks differ, {packets} packets arrived up to {} before they were sent",
            time(least.unsigned_abs())
        );
    }
    let quantile = |quantile| figures.delay_ns(quantile).map_or("-".to_owned(), time);
    format!(
        "one-way delay min {}  p50 {}  p99 {}  max {}",
        time(least.unsigned_abs()),
        quantile(0.5),
        quantile(0.99),
        time(most.unsigned_abs()),
    )
}

/// One object for each stream.
pub fn json(totals: &StreamTotals) -> Value {
    totals.streams.iter().map(stream_json).collect()
}

fn stream_json(figures: &StreamFigures) -> Value {
    json!({
        "stream": figures.stream,
        "received": figures.received,
        "lost": figures.lost,
        "reordered": figures.reordered,
        "reordered_distance": figures.reordered_distance,
        "duplicated": figures.duplicated,
        "late": figures.late,
        "first_sequence": figures.first_sequence,
        "last_sequence": figures.last_sequence,
        "delay_min_ns": figures.delay_range_ns.map(|range| range.0),
        "delay_p50_ns": figures.delay_ns(0.5),
        "delay_p99_ns": figures.delay_ns(0.99),
        "delay_max_ns": figures.delay_range_ns.map(|range| range.1),
        "negative_delays": figures.negative_delays,
    })
}
