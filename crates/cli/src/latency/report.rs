//! What was measured, as text and as JSON.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use serde_json::Value;
use tapline::capture::{Backend, CaptureSummary};
use tapline::latency::{Delays, Row};

use super::bars::bars;
use super::device::Measured;
use crate::args::{Delivery, LatencyArgs};
use crate::capture::lost_json;
use crate::json;
use crate::units::{binary, grouped, span};

/// Columns of the summary.
const WIDTH: usize = 68;

pub fn delivery_name(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::Immediate => "immediate",
        Delivery::Batch => "batch",
        Delivery::Adaptive => "adaptive",
    }
}

/// What a reader took.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    pub cpu: Duration,
    pub cpu_share: f64,
    pub sleeps_per_s: f64,
}

/// One way of delivery and what it came to.
pub struct Summary<'a> {
    pub name: &'a str,
    pub backend: Backend,
    pub buffer_bytes: usize,
    pub delays: &'a Delays,
    /// Packets lost among those that were measured.
    pub lost: u64,
    /// Packets that came before the measurement began or after it had ended.
    pub passed_over: u64,
    /// How long it was measured.
    pub duration: Duration,
    pub outcome: &'a CaptureSummary,
    pub reader: Option<Reader>,
    /// The way before the kernel's stamp; `None` where settings are compared.
    pub device: Option<&'a Measured>,
}

/// Says that packets are measured from `at_ns` on.
pub fn start(
    args: &LatencyArgs,
    at_ns: u64,
    backend: Backend,
    buffer_bytes: usize,
) -> io::Result<()> {
    if args.json {
        return json::print(&serde_json::json!({
            "event": "start",
            "at_ns": at_ns,
            "interface": args.interface,
            "backend": backend.name(),
            "buffer_bytes": buffer_bytes,
        }));
    }
    let (name, ring) = (&args.interface, backend.name());
    // A closed standard error ends nothing.
    let _ = writeln!(
        io::stderr(),
        "measuring on {name} ({ring}, {} ring)",
        binary(buffer_bytes)
    );
    Ok(())
}

/// Says that so many settings are compared from `at_ns` on, and for how long.
pub fn start_comparison(
    args: &LatencyArgs,
    at_ns: u64,
    settings: usize,
    duration: Option<Duration>,
) -> io::Result<()> {
    if args.json {
        return json::print(&serde_json::json!({
            "event": "start",
            "at_ns": at_ns,
            "interface": args.interface,
        }));
    }
    // A closed standard error ends nothing.
    let name = &args.interface;
    let time = duration.map_or_else(String::new, |time| format!(" for {}", span(time)));
    let _ = writeln!(
        io::stderr(),
        "comparing {settings} ways of delivery on {name}{time}"
    );
    Ok(())
}

impl Summary<'_> {
    pub fn show(&self, as_json: bool) -> io::Result<()> {
        if as_json {
            let mut event = serde_json::json!({ "event": "summary" });
            extend(&mut event, self.json());
            return json::print(&event);
        }
        let mut out = io::stdout().lock();
        let Delays {
            histogram,
            ahead,
            unstamped,
            ..
        } = self.delays;
        writeln!(
            out,
            "{} packets in {}, {} delivery over {}, {} lost",
            grouped(histogram.count()),
            span(self.duration),
            self.name,
            self.backend.name(),
            grouped(self.lost),
        )?;
        let unmeasured = [
            (self.passed_over, "before the start or after the end"),
            (*ahead, "stamped ahead of this clock"),
            (*unstamped, "unstamped"),
        ];
        let unmeasured: Vec<String> = (unmeasured.iter())
            .filter(|(packets, _)| *packets > 0)
            .map(|(packets, why)| format!("{} {why}", grouped(*packets)))
            .collect();
        if !unmeasured.is_empty() {
            writeln!(out, "not measured: {}", unmeasured.join(", "))?;
        }
        if histogram.count() > 0 {
            writeln!(out, "{}", percentiles(self.delays))?;
            for line in bars(self.delays, WIDTH) {
                writeln!(out, "{line}")?;
            }
        }
        drop(out);
        self.device.map_or(Ok(()), Measured::show)
    }

    fn json(&self) -> Value {
        let account = &self.outcome.account;
        let mut value = serde_json::json!({
            "setting": self.name,
            "backend": self.backend.name(),
            "buffer_bytes": self.buffer_bytes,
            "received": account.received(),
            "delivered": account.delivered,
            "filtered": account.filtered,
            "lost": lost_json(&account.lost),
            "packets_lost": self.lost,
            "passed_over": self.passed_over,
            "duration_ns": self.duration.as_nanos() as u64,
        });
        extend(&mut value, delays_json(self.delays));
        if let Some(reader) = self.reader {
            let more = serde_json::json!({
                "reader_cpu_ns": reader.cpu.as_nanos() as u64,
                "reader_cpu_share": reader.cpu_share,
                "sleeps_per_s": reader.sleeps_per_s,
            });
            extend(&mut value, more);
        } else {
            let buckets: Vec<Value> = (self.delays.histogram.buckets())
                .map(|(low, high, packets)| {
                    serde_json::json!({ "from_ns": low, "to_ns": high, "packets": packets })
                })
                .collect();
            extend(&mut value, serde_json::json!({ "histogram": buckets }));
        }
        if let Some(device) = self.device {
            extend(&mut value, device.json());
        }
        value
    }
}

/// The settings that were compared, a line each.
pub fn table(as_json: bool, rows: &[Row]) -> io::Result<()> {
    let summary = |row| summary_of(row);
    if as_json {
        for row in rows {
            let mut event = serde_json::json!({ "event": "setting" });
            extend(&mut event, summary(row).json());
            json::print(&event)?;
        }
        return json::print(&serde_json::json!({ "event": "summary", "settings": rows.len() }));
    }
    let mut out = io::stdout().lock();
    let head = [
        "setting", "ring", "packets", "p50", "p90", "p99", "p99.9", "max", "CPU", "sleeps/s",
        "lost",
    ];
    let cells: Vec<[String; 11]> = rows.iter().map(cells).collect();
    let width = |column: usize| {
        let cells = cells.iter().map(|row| row[column].len());
        cells.chain([head[column].len()]).max().unwrap_or(0)
    };
    let line = |cells: [&str; 11]| {
        let mut line = String::new();
        for (column, cell) in cells.into_iter().enumerate() {
            let width = width(column);
            // A String takes whatever is written to it.
            let _ = match column {
                0 => write!(line, "{cell:<width$}"),
                1 => write!(line, "  {cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        line
    };
    writeln!(out, "{}", line(head))?;
    for row in &cells {
        writeln!(out, "{}", line(row.each_ref().map(String::as_str)))?;
    }
    Ok(())
}

fn summary_of(row: &Row) -> Summary<'_> {
    Summary {
        name: &row.name,
        backend: row.backend,
        buffer_bytes: row.buffer_bytes,
        delays: &row.delays,
        lost: row.lost,
        passed_over: row.passed_over,
        duration: row.duration,
        outcome: &row.outcome,
        reader: Some(Reader {
            cpu: row.cpu,
            cpu_share: row.cpu_share(),
            sleeps_per_s: row.sleeps_per_s(),
        }),
        device: None,
    }
}

fn cells(row: &Row) -> [String; 11] {
    let quantile = |share| row.delays.quantile(share).map_or("-".to_owned(), time);
    [
        row.name.clone(),
        row.backend.name().to_owned(),
        grouped(row.delays.histogram.count()),
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        quantile(0.999),
        row.delays.max_ns.map_or("-".to_owned(), time),
        format!("{:.1} %", row.cpu_share() * 100.0),
        format!("{:.0}", row.sleeps_per_s()),
        grouped(row.lost),
    ]
}

/// One line.
pub fn percentiles(delays: &Delays) -> String {
    let packets = grouped(delays.histogram.count());
    format!("{packets} packets  {}", quantiles(delays).join("  "))
}

/// The shortest delay, those that shares of the packets do not exceed, and the longest.
pub fn quantiles(delays: &Delays) -> [String; 6] {
    let told =
        |name, delay_ns: Option<u64>| format!("{name} {}", delay_ns.map_or("-".to_owned(), time));
    [
        told("min", delays.min_ns),
        told("p50", delays.quantile(0.5)),
        told("p90", delays.quantile(0.9)),
        told("p99", delays.quantile(0.99)),
        told("p99.9", delays.quantile(0.999)),
        told("max", delays.max_ns),
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

/// Adds the members of object `more` to object `value`.
pub fn extend(value: &mut Value, more: Value) {
    if let (Value::Object(value), Value::Object(more)) = (value, more) {
        value.extend(more);
    }
}

/// A time with three digits or so: `17.2 us`.
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
