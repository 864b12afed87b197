//! Output while packets are measured.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use jiff::tz::TimeZone;
use tapline::Packet;
use tapline::capture::{Account, ConsumerError};
use tapline::latency::{DelayObserver, Delays};

use super::delays::{delays_json, extend, percentiles, time};
use super::live::Live;
use crate::args::LatencyArgs;
use crate::screen::Status;
use crate::{json, moment, paint};

/// Output of each interval.
#[derive(Debug)]
enum IntervalOutput {
    Nothing,
    /// Several lines on standard output, redrawn in place.
    Live(Live),
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
    zone: TimeZone,
}

impl<'a> Watch<'a> {
    pub fn new(args: &LatencyArgs, start_is_printed: &'a OnceLock<()>) -> Self {
        let is_screen = io::stdout().is_terminal() && !paint::is_terminal_dumb();
        let interval = match args.stats_interval {
            Some(_) if args.json => IntervalOutput::Json,
            Some(_) => IntervalOutput::Lines,
            None if args.each || args.json => IntervalOutput::Nothing,
            None if is_screen => IntervalOutput::Live(Live::default()),
            None => Status::open().map_or(IntervalOutput::Nothing, IntervalOutput::Status),
        };
        Self {
            start_is_printed,
            each: args.each,
            json: args.json,
            interval,
            zone: TimeZone::system(),
        }
    }

    /// Removes live output, for the summary.
    pub fn close(&mut self) -> io::Result<()> {
        match &mut self.interval {
            IntervalOutput::Live(live) => live.end(),
            IntervalOutput::Status(status) => {
                status.clear();
                Ok(())
            }
            IntervalOutput::Nothing | IntervalOutput::Lines | IntervalOutput::Json => Ok(()),
        }
    }

    fn print(&self, packet: &Packet<'_>, now_ns: u64, delay_ns: Option<u64>) -> io::Result<()> {
        if self.json {
            return json::print(&serde_json::json!({
                "event": "packet",
                "kernel_ns": packet.time().as_nanos(),
                "program_ns": now_ns,
                "delay_ns": delay_ns,
                "original_len": packet.len(),
            }));
        }
        let mut out = io::stdout().lock();
        let time_of_day = |ns| moment::time_of_day(ns, &self.zone);
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

    fn tick(&mut self, delays: &Delays, _account: &Account) -> Result<(), ConsumerError> {
        self.start_is_printed.wait();
        let line = || percentiles(delays);
        match &mut self.interval {
            IntervalOutput::Nothing => {}
            IntervalOutput::Live(live) => live.draw(delays)?,
            IntervalOutput::Status(status) => status.show(&line()),
            IntervalOutput::Lines => writeln!(io::stdout(), "{}", line())?,
            IntervalOutput::Json => {
                let mut event = serde_json::json!({
                    "event": "interval",
                    "at_ns": crate::moment::now_ns(),
                });
                extend(&mut event, delays_json(delays));
                json::print(&event)?;
            }
        }
        Ok(())
    }
}
