//! What is told while packets are measured.

use std::io::{self, IsTerminal, Write};

use jiff::tz::TimeZone;
use store::model::Packet;
use tapline::capture::{Account, ConsumerError};
use tapline::latency::{Delays, Observer};

use super::report::{delays_json, percentiles};
use crate::args::LatencyArgs;
use crate::json;
use crate::moment;

/// What a tick tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Telling {
    Nothing,
    /// A line on standard error that is written over and over.
    Live,
    /// A line on standard output each time.
    Lines,
    /// A JSON object on standard output each time.
    Json,
}

pub struct Watch {
    each: bool,
    json: bool,
    telling: Telling,
    zone: TimeZone,
}

impl Watch {
    pub fn new(args: &LatencyArgs) -> Self {
        let is_live = io::stderr().is_terminal() && !args.each && !args.json;
        let telling = match args.stats_interval {
            Some(_) if args.json => Telling::Json,
            Some(_) => Telling::Lines,
            None if is_live => Telling::Live,
            None => Telling::Nothing,
        };
        Self {
            each: args.each,
            json: args.json,
            telling,
            zone: TimeZone::system(),
        }
    }

    /// The summary takes the place of the live line.
    pub fn close(&self) {
        if self.telling == Telling::Live {
            // A closed standard error ends nothing.
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    fn tell(&self, packet: &Packet<'_>, now_ns: u64, delay_ns: Option<u64>) -> io::Result<()> {
        if self.json {
            return json::print(&serde_json::json!({
                "event": "packet",
                "kernel_ns": packet.timestamp_ns,
                "program_ns": now_ns,
                "delay_ns": delay_ns,
                "original_len": packet.original_len,
            }));
        }
        let mut out = io::stdout().lock();
        let time = |ns| moment::time_of_day(ns, &self.zone);
        let (stamp, now) = (
            packet.timestamp_ns.map_or("-".to_owned(), time),
            time(now_ns),
        );
        let delay = delay_ns.map_or("-".to_owned(), super::report::time);
        writeln!(
            out,
            "{stamp}  {now}  {delay:>9}  {} bytes",
            packet.original_len
        )
    }
}

impl Observer for Watch {
    fn packet(
        &mut self,
        packet: &Packet<'_>,
        now_ns: u64,
        delay_ns: Option<u64>,
    ) -> Result<(), ConsumerError> {
        if self.each {
            self.tell(packet, now_ns, delay_ns)?;
        }
        Ok(())
    }

    fn tick(&mut self, delays: &Delays, _account: &Account) -> Result<(), ConsumerError> {
        let line = || percentiles(delays);
        match self.telling {
            Telling::Nothing => {}
            Telling::Live => {
                // A closed standard error ends nothing.
                let _ = write!(io::stderr(), "\r\x1b[K{}", line());
            }
            Telling::Lines => writeln!(io::stdout(), "{}", line())?,
            Telling::Json => {
                let mut event = serde_json::json!({
                    "event": "interval",
                    "at_ns": abi::clock::realtime_ns(),
                });
                super::report::extend(&mut event, delays_json(delays));
                json::print(&event)?;
            }
        }
        Ok(())
    }
}
