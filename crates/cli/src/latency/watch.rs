//! Output while packets are measured.

use std::io::{self, Write};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tapline::capture::{Account, ConsumerError};
use tapline::latency::{DelayObserver, Delays};
use tapline::{Packet, Stopper};

use super::delays::{delays_json, extend, percentiles, time};
use super::live::Live;
use crate::args::LatencyArgs;
use crate::metrics::{LatestMetrics, latency_families, ticks};
use crate::output::json;
use crate::screen::{Screen, Status};
use crate::values::moment;

/// Time between two keys at which they are handled, and between two drawings.
pub const KEYS: Duration = Duration::from_millis(200);
const DRAWING: Duration = Duration::from_secs(1);

/// Output of each interval.
enum IntervalOutput {
    Nothing,
    /// A screen on standard output.
    Live(Box<Live>),
    /// One line on standard error, redrawn in place.
    Status(Status),
    /// A new line on standard output.
    Lines,
    /// A JSON object on standard output.
    Json,
}

pub struct Watch<'a> {
    /// Set once the start has been printed, which comes first.
    start_is_printed: &'a OnceLock<()>,
    each: bool,
    json: bool,
    interval: IntervalOutput,
    /// When to draw next.
    next: Instant,
    /// Ticks of an interval, and those of the present one.
    ticks: (u32, u32),
    metrics: Option<(String, Arc<LatestMetrics>)>,
}

/// The time between two ticks, and how many of them are an interval.
pub fn tick(args: &LatencyArgs) -> (Duration, u32) {
    match args.stats_interval {
        Some(interval) => ticks(interval, args.metrics.is_some()),
        None => (KEYS, 1),
    }
}

impl<'a> Watch<'a> {
    pub fn new(args: &LatencyArgs, start_is_printed: &'a OnceLock<()>, stopper: Stopper) -> Self {
        let (_, of_interval) = tick(args);
        let interval = match args.stats_interval {
            Some(_) if args.json => IntervalOutput::Json,
            Some(_) => IntervalOutput::Lines,
            None if args.each || args.json => IntervalOutput::Nothing,
            None if Screen::is_possible() => IntervalOutput::Live(Box::new(Live::new(stopper))),
            None => Status::open().map_or(IntervalOutput::Nothing, IntervalOutput::Status),
        };
        Self {
            start_is_printed,
            each: args.each,
            json: args.json,
            interval,
            next: Instant::now(),
            ticks: (of_interval, 0),
            metrics: None,
        }
    }

    /// Also publishes the delays on `interface` as `latest`.
    pub fn publish_to(&mut self, interface: &str, latest: Arc<LatestMetrics>) {
        self.metrics = Some((interface.to_owned(), latest));
    }

    /// Whether an interval is over.
    fn is_interval(&mut self) -> bool {
        let (of_interval, ticks) = &mut self.ticks;
        *ticks += 1;
        let is_over = *ticks >= *of_interval;
        if is_over {
            *ticks = 0;
        }
        is_over
    }

    /// Removes live output, for the summary.
    pub fn close(&mut self) {
        match std::mem::replace(&mut self.interval, IntervalOutput::Nothing) {
            IntervalOutput::Status(status) => status.clear(),
            // The screen is left when it is dropped.
            IntervalOutput::Live(_)
            | IntervalOutput::Nothing
            | IntervalOutput::Lines
            | IntervalOutput::Json => {}
        }
    }

    /// Whether the time for a drawing has come.
    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = now >= self.next;
        if is_due {
            self.next = now + DRAWING;
        }
        is_due
    }

    fn print(&self, packet: &Packet<'_>, now_ns: u64, delay_ns: Option<u64>) -> io::Result<()> {
        if self.json {
            return json::print(&serde_json::json!({
                "event": "packet",
                "timestamp_ns": packet.time().as_nanos(),
                "program_ns": now_ns,
                "delay_ns": delay_ns,
                "original_len": packet.len(),
            }));
        }
        let mut out = io::stdout().lock();
        let time_of_day = |ns| moment::time_of_day(ns, moment::local_zone());
        let (stamp, now) = (
            packet.time().as_nanos().map_or("-".to_owned(), time_of_day),
            time_of_day(now_ns),
        );
        let delay = delay_ns.map_or("-".to_owned(), time);
        writeln!(out, "{stamp}  {now}  {delay:>9}  {} bytes", packet.len())
    }
}

impl DelayObserver for Watch<'_> {
    fn packet(
        &mut self,
        packet: &Packet<'_>,
        now_ns: u64,
        delay_ns: Option<u64>,
    ) -> Result<(), ConsumerError> {
        if self.each {
            self.start_is_printed.wait();
            self.print(packet, now_ns, delay_ns)?;
        }
        Ok(())
    }

    fn tick(&mut self, delays: &Delays, account: &Account) -> Result<(), ConsumerError> {
        self.start_is_printed.wait();
        let line = || percentiles(delays);
        let is_due = self.is_due();
        if let Some((interface, latest)) = &self.metrics {
            latest.publish(latency_families(interface, delays, account));
        }
        if !self.is_interval() {
            return Ok(());
        }
        match &mut self.interval {
            IntervalOutput::Live(live) if is_due => live.draw(delays)?,
            IntervalOutput::Live(live) => live.input()?,
            IntervalOutput::Status(status) if is_due => status.show(&line()),
            IntervalOutput::Nothing | IntervalOutput::Status(_) => {}
            IntervalOutput::Lines => writeln!(io::stdout(), "{}", line())?,
            IntervalOutput::Json => {
                let mut event = serde_json::json!({
                    "event": "interval",
                    "at_ns": crate::values::moment::now_ns(),
                });
                extend(&mut event, delays_json(delays));
                json::print(&event)?;
            }
        }
        Ok(())
    }
}
