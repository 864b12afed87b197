//! How a capture is getting on: a live line on a terminal, counters at an interval.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use store::model::{Packet, Statistics};
use tapline::capture::{Account, Consumer, ConsumerError, Live};

use super::summary::lost_json;
use crate::args::CaptureArgs;
use crate::screen::Status;
use crate::units::{amount, grouped, span};
use crate::{json, metrics, output};

/// How often a capture is to tick, and how many ticks there are from one telling to the next.
pub fn ticks(args: &CaptureArgs) -> (Duration, u32) {
    let interval = args.stats_interval.unwrap_or(Duration::from_secs(1));
    metrics::ticks(interval, args.metrics.is_some())
}

/// How progress is told.
#[derive(Debug)]
enum Telling {
    /// Not at all.
    Nothing,
    /// A line on standard error that is written over and over.
    Live(Status),
    /// A line on standard error each time.
    Lines,
    /// A JSON object on standard output each time.
    Json,
}

pub struct Progress {
    telling: Telling,
    live: Live,
    ticks: u32,
}

impl Progress {
    /// Chooses by the flags and the terminal; `live` are the counters of the capture.
    pub fn new(args: &CaptureArgs, live: Live) -> Self {
        let telling = match (args.stats_interval, &args.output.write) {
            (Some(_), _) if args.json => Telling::Json,
            (Some(_), _) => Telling::Lines,
            (None, Some(_)) if !args.quiet => {
                Status::open().map_or(Telling::Nothing, Telling::Live)
            }
            _ => Telling::Nothing,
        };
        let (_, ticks) = ticks(args);
        Self {
            telling,
            live,
            ticks,
        }
    }

    /// Tells what passes to `inner`.
    pub fn around<C>(self, inner: C) -> Observed<C> {
        let now = Instant::now();
        Observed {
            inner,
            live: self.live,
            telling: self.telling,
            ticks: self.ticks,
            ticks_left: self.ticks,
            start: now,
            last: now,
            told: (0, 0),
        }
    }
}

/// A consumer whose progress is told.
pub struct Observed<C> {
    inner: C,
    live: Live,
    telling: Telling,
    /// Ticks from one telling to the next, and to the next one from now.
    ticks: u32,
    ticks_left: u32,
    start: Instant,
    last: Instant,
    /// Packets, and bytes that they had on the wire, when they were told last.
    told: (u64, u64),
}

impl<C> Observed<C> {
    pub fn inner(&self) -> &C {
        &self.inner
    }

    fn tell(&mut self, account: &Account) -> io::Result<()> {
        let now = Instant::now();
        let since = now.duration_since(self.last);
        let all = self.live.taken();
        let (packets, bytes) = (all.0 - self.told.0, all.1 - self.told.1);
        (self.last, self.told) = (now, all);
        match &self.telling {
            Telling::Nothing => Ok(()),
            Telling::Json => {
                let event = serde_json::json!({
                    "event": "stats",
                    "at_ns": abi::clock::realtime_ns(),
                    "span_ns": since.as_nanos() as u64,
                    "packets": packets,
                    "bytes": bytes,
                    "received": account.received(),
                    "delivered": account.delivered,
                    "filtered": account.filtered,
                    "sampled_out": account.sampled_out,
                    "lost": lost_json(&account.lost),
                });
                json::print(&event)
            }
            Telling::Live(status) => {
                status.show(&self.line(since, packets, bytes, account));
                Ok(())
            }
            Telling::Lines => {
                // A closed standard error ends nothing.
                let _ = writeln!(
                    io::stderr(),
                    "{}",
                    self.line(since, packets, bytes, account)
                );
                Ok(())
            }
        }
    }

    fn line(&self, since: Duration, packets: u64, bytes: u64, account: &Account) -> String {
        let rate = |count: u64| amount(count as f64 / since.as_secs_f64().max(1e-9));
        format!(
            "{}  {} packets  {}pps  {}bps  lost {}",
            span(self.start.elapsed()),
            grouped(self.told.0),
            rate(packets),
            rate(bytes * 8),
            grouped(account.lost.total()),
        )
    }
}

impl<C: Consumer> Consumer for Observed<C> {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to file"
    )]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        self.inner.packet(packet)
    }

    fn idle(&mut self, now_ns: u64) -> Result<(), ConsumerError> {
        self.inner.idle(now_ns)
    }

    fn tick(&mut self, now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        self.ticks_left -= 1;
        if self.ticks_left == 0 {
            self.ticks_left = self.ticks;
            self.tell(account).map_err(|error| output::named(&error))?;
        }
        self.inner.tick(now_ns, account)
    }

    fn finish(&mut self, statistics: &[Statistics]) -> Result<(), ConsumerError> {
        if let Telling::Live(status) = &self.telling {
            // The summary takes its place.
            status.clear();
        }
        self.inner.finish(statistics)
    }

    fn lost(&self) -> u64 {
        self.inner.lost()
    }
}
