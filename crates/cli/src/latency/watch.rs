//! What is told while packets are measured.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use jiff::tz::TimeZone;
use tapline::Packet;
use tapline::capture::{Account, ConsumerError};
use tapline::latency::{Delays, Observer};

use super::live::Live;
use super::report::{delays_json, percentiles};
use crate::args::LatencyArgs;
use crate::screen::Status;
use crate::{json, moment, paint};

/// What a tick tells.
#[derive(Debug)]
enum Telling {
    Nothing,
    /// Lines on standard output that are drawn over themselves.
    Live(Live),
    /// The same for a line on standard error.
    Status(Status),
    /// A line on standard output each time.
    Lines,
    /// A JSON object on standard output each time.
    Json,
}

pub struct Watch<'a> {
    /// The start is told first.
    is_told: &'a OnceLock<()>,
    each: bool,
    json: bool,
    telling: Telling,
    zone: TimeZone,
}

impl<'a> Watch<'a> {
    pub fn new(args: &LatencyArgs, is_told: &'a OnceLock<()>) -> Self {
        let is_screen = io::stdout().is_terminal() && !paint::is_terminal_dumb();
        let telling = match args.stats_interval {
            Some(_) if args.json => Telling::Json,
            Some(_) => Telling::Lines,
            None if args.each || args.json => Telling::Nothing,
            None if is_screen => Telling::Live(Live::default()),
            None => Status::open().map_or(Telling::Nothing, Telling::Status),
        };
        Self {
            is_told,
            each: args.each,
            json: args.json,
            telling,
            zone: TimeZone::system(),
        }
    }

    /// The summary takes the place of what is told live.
    pub fn close(&mut self) -> io::Result<()> {
        match &mut self.telling {
            Telling::Live(live) => live.end(),
            Telling::Status(status) => {
                status.clear();
                Ok(())
            }
            Telling::Nothing | Telling::Lines | Telling::Json => Ok(()),
        }
    }

    fn tell(&self, packet: &Packet<'_>, now_ns: u64, delay_ns: Option<u64>) -> io::Result<()> {
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
        let time = |ns| moment::time_of_day(ns, &self.zone);
        let (stamp, now) = (
            packet.time().as_nanos().map_or("-".to_owned(), time),
            time(now_ns),
        );
        let delay = delay_ns.map_or("-".to_owned(), super::report::time);
        writeln!(out, "{stamp}  {now}  {delay:>9}  {} bytes", packet.len())
    }
}

impl Observer for Watch<'_> {
    fn packet(
        &mut self,
        packet: &Packet<'_>,
        now_ns: u64,
        delay_ns: Option<u64>,
    ) -> Result<(), ConsumerError> {
        if self.each {
            self.is_told.wait();
            self.tell(packet, now_ns, delay_ns)?;
        }
        Ok(())
    }

    fn tick(&mut self, delays: &Delays, _account: &Account) -> Result<(), ConsumerError> {
        self.is_told.wait();
        let line = || percentiles(delays);
        match &mut self.telling {
            Telling::Nothing => {}
            Telling::Live(live) => live.draw(delays)?,
            Telling::Status(status) => status.show(&line()),
            Telling::Lines => writeln!(io::stdout(), "{}", line())?,
            Telling::Json => {
                let mut event = serde_json::json!({
                    "event": "interval",
                    "at_ns": crate::moment::now_ns(),
                });
                super::report::extend(&mut event, delays_json(delays));
                json::print(&event)?;
            }
        }
        Ok(())
    }
}
