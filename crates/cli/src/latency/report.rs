//! The start and the summary, as text and as JSON.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use serde_json::Value;
use tapline::capture::{Backend, OpenInterface, TimestampSource};
use tapline::latency::LatencySummary;

use super::bars::bars;
use super::delays::{delays_json, extend, percentiles, time};
use super::device::MeasurementResult;
use crate::args::{Delivery, LatencyArgs};
use crate::capture::{lost_json, stamps};
use crate::failure::chain;
use crate::output::json;
use crate::screen::printable;
use crate::values::units::{binary, counted, grouped, span};

/// Columns of the summary.
const WIDTH: usize = 68;

pub fn delivery_name(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::Immediate => "immediate",
        Delivery::Batch => "batch",
        Delivery::Adaptive => "adaptive",
    }
}

/// What the first line, or event `start`, says.
pub struct Start<'a> {
    args: &'a LatencyArgs,
    backend: Backend,
    buffer_bytes: usize,
    timestamps: TimestampSource,
    /// Why it is not the hardware, if that was tried.
    refusal: Option<String>,
    /// URL of the metrics.
    metrics: Option<String>,
}

impl<'a> Start<'a> {
    pub fn new(args: &'a LatencyArgs, opened: &OpenInterface<'_>, metrics: Option<String>) -> Self {
        Self {
            args,
            backend: opened.backend,
            buffer_bytes: opened.buffer_bytes,
            timestamps: opened.timestamps,
            refusal: opened.timestamp_refusal.map(|refusal| chain(refusal)),
            metrics,
        }
    }

    /// Prints that packets are measured from `at_ns` on.
    pub fn show(&self, at_ns: u64) -> io::Result<()> {
        let (name, ring) = (&self.args.interface, self.backend.name());
        if self.args.json {
            return json::print(&serde_json::json!({
                "event": "start",
                "at_ns": at_ns,
                "interface": name,
                "backend": ring,
                "buffer_bytes": self.buffer_bytes,
                "timestamp_source": self.timestamps.name(),
                "timestamp_refusal": self.refusal,
                "metrics": self.metrics,
            }));
        }
        let mut out = io::stderr();
        // If standard error is closed, the measurement goes on.
        if let Some(refusal) = &self.refusal {
            let _ = writeln!(out, "time stamps by the kernel: {}", printable(refusal));
        }
        let _ = writeln!(
            out,
            "measuring on {} ({ring}, {} ring, time stamps by {})",
            printable(name),
            binary(self.buffer_bytes),
            self.timestamps.name()
        );
        if let Some(url) = &self.metrics {
            let _ = writeln!(out, "metrics at {url}");
        }
        Ok(())
    }
}

/// Prints that settings are compared from `at_ns` on, and for how long.
pub fn start_comparison(
    args: &LatencyArgs,
    at_ns: u64,
    settings: usize,
    duration: Duration,
) -> io::Result<()> {
    if args.json {
        return json::print(&serde_json::json!({
            "event": "start",
            "at_ns": at_ns,
            "interface": args.interface,
        }));
    }
    // If standard error is closed, the measurement goes on.
    let name = printable(&args.interface);
    let time = span(duration);
    let _ = writeln!(
        io::stderr(),
        "comparing {settings} delivery settings on {name} for {time}"
    );
    Ok(())
}

/// Prints the result of a measurement.
pub fn summary(
    as_json: bool,
    setting: &str,
    summary: &LatencySummary,
    device: &MeasurementResult,
) -> io::Result<()> {
    if as_json {
        let mut event = serde_json::json!({ "event": "summary" });
        extend(&mut event, summary_json(setting, summary));
        let buckets: Vec<Value> = (summary.delays.histogram.buckets())
            .map(|(low, high, packets)| {
                serde_json::json!({ "from_ns": low, "to_ns": high, "packets": packets })
            })
            .collect();
        extend(&mut event, serde_json::json!({ "histogram": buckets }));
        extend(&mut event, device.json());
        return json::print(&event);
    }
    let mut out = io::stdout().lock();
    let delays = &summary.delays;
    writeln!(
        out,
        "{} in {}, {setting} delivery over {}, time stamps by {}, {} lost",
        counted(delays.histogram.count(), "packet"),
        span(summary.duration),
        summary.backend.name(),
        stamps::words(&summary.capture),
        grouped(summary.lost),
    )?;
    let unmeasured = [
        (summary.outside, "before the start or after the end"),
        (delays.ahead, "stamped ahead of this clock"),
        (delays.unstamped, "unstamped"),
    ];
    let unmeasured: Vec<String> = (unmeasured.iter())
        .filter(|(packets, _)| *packets > 0)
        .map(|(packets, why)| format!("{} {why}", grouped(*packets)))
        .collect();
    if !unmeasured.is_empty() {
        writeln!(out, "not measured: {}", unmeasured.join(", "))?;
    }
    if delays.histogram.count() > 0 {
        writeln!(out, "{}", percentiles(delays))?;
        for line in bars(delays, WIDTH) {
            writeln!(out, "{line}")?;
        }
    }
    drop(out);
    device.print()
}

fn summary_json(setting: &str, summary: &LatencySummary) -> Value {
    let account = &summary.capture.account;
    let mut value = serde_json::json!({
        "setting": setting,
        "backend": summary.backend.name(),
        "buffer_bytes": summary.buffer_bytes,
        "received": account.received(),
        "delivered": account.delivered,
        "filtered": account.filtered,
        "lost": lost_json(&account.lost),
        "packets_lost": summary.lost,
        "passed_over": summary.outside,
        "duration_ns": summary.duration.as_nanos() as u64,
        "reader_cpu_ns": summary.cpu.as_nanos() as u64,
        "reader_cpu_share": summary.cpu_share(),
        "sleeps_per_s": summary.sleeps_per_s(),
        "timestamp_source": stamps::source(summary.capture.timestamp_source()),
        "timestamps": stamps::counts(&summary.capture.timestamp_counts()),
    });
    extend(&mut value, delays_json(&summary.delays));
    value
}

/// Prints the compared settings with their results, one per line.
pub fn table(as_json: bool, rows: &[(String, LatencySummary)]) -> io::Result<()> {
    if as_json {
        for (setting, summary) in rows {
            let mut event = serde_json::json!({ "event": "setting" });
            extend(&mut event, summary_json(setting, summary));
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
            // Writing to a String cannot fail.
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

/// A row of the table of compared settings.
pub fn cells((setting, row): &(String, LatencySummary)) -> [String; 11] {
    let quantile = |share| row.delays.quantile(share).map_or("-".to_owned(), time);
    [
        setting.clone(),
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
