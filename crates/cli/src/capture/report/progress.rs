//! Progress of a capture: a status line on a terminal, statistics at an interval; and the printer of packets.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use tapline::Packet;
use tapline::capture::{Account, CaptureError, Consumer, ConsumerError, FileOwner, LiveCounters};
use tapline::control::ServiceManager;
use tapline::file::model::{Interface, Statistics};
use tapline::file::write::CaptureFile;

use super::account::lost_json;
use crate::args::CaptureArgs;
use crate::failure::chain;
use crate::metrics;
use crate::output::{self, json};
use crate::packet_line::Printer;
use crate::screen::{Status, printable};
use crate::values::units::{amount, grouped, span};

/// The capture's tick interval, and the ticks between two reports.
pub fn ticks(args: &CaptureArgs) -> (Duration, u32) {
    let interval = args.stats_interval.unwrap_or(Duration::from_secs(1));
    // A tick also tells the watchdog of a service manager that the capture is alive.
    let is_watched = std::env::var_os("WATCHDOG_USEC").is_some();
    metrics::ticks(interval, args.metrics.is_some() || is_watched)
}

/// How progress is reported.
#[derive(Debug)]
enum Report {
    None,
    /// A status line on standard error, rewritten each time.
    Status(Status),
    /// A line on standard error each time.
    Lines,
    /// A JSON object on standard output each time.
    Json,
}

/// How interfaces that join are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Announcements {
    None,
    /// A line on standard error.
    Lines,
    /// A JSON object on standard output.
    Json,
}

pub struct Progress {
    report: Report,
    announcements: Announcements,
    live: LiveCounters,
    ticks: u32,
    manager: Option<ServiceManager>,
}

impl Progress {
    /// Selects the report by flags and terminal; `live` are the counters of the capture.
    ///
    /// # Errors
    /// The service manager has no valid address.
    pub fn new(args: &CaptureArgs, live: LiveCounters) -> io::Result<Self> {
        let report = match (args.stats_interval, &args.output.write) {
            (Some(_), _) if args.json => Report::Json,
            (Some(_), _) => Report::Lines,
            (None, Some(_)) if !args.quiet => Status::open().map_or(Report::None, Report::Status),
            _ => Report::None,
        };
        let (_, ticks) = ticks(args);
        Ok(Self {
            report,
            announcements: match (args.json, args.quiet) {
                (true, _) => Announcements::Json,
                (false, true) => Announcements::None,
                (false, false) => Announcements::Lines,
            },
            live,
            ticks,
            manager: ServiceManager::from_environment()?,
        })
    }

    /// Reports to the service manager, if there is one, that the capture runs.
    pub fn ready(&self) {
        if let Some(manager) = &self.manager {
            // A manager that does not listen is no reason to end.
            let _ = manager.ready();
        }
    }

    /// Reports the progress of what `inner` receives.
    pub fn around<C>(self, inner: C) -> WithProgress<C> {
        let now = Instant::now();
        WithProgress {
            inner,
            live: self.live,
            manager: self.manager,
            report: self.report,
            announcements: self.announcements,
            ticks: self.ticks,
            ticks_left: self.ticks,
            start: now,
            last: now,
            reported: (0, 0),
        }
    }
}

/// A consumer whose progress is reported.
pub struct WithProgress<C> {
    inner: C,
    live: LiveCounters,
    manager: Option<ServiceManager>,
    report: Report,
    announcements: Announcements,
    /// Ticks between two reports, and left to the next one.
    ticks: u32,
    ticks_left: u32,
    start: Instant,
    last: Instant,
    /// Packets and their bytes on the wire at the last report.
    reported: (u64, u64),
}

impl<C> WithProgress<C> {
    pub fn inner(&self) -> &C {
        &self.inner
    }

    fn report(&mut self, account: &Account) -> io::Result<()> {
        let now = Instant::now();
        let since = now.duration_since(self.last);
        let all = self.live.delivered();
        let (packets, bytes) = (all.0 - self.reported.0, all.1 - self.reported.1);
        (self.last, self.reported) = (now, all);
        match &self.report {
            Report::None => Ok(()),
            Report::Json => {
                let event = serde_json::json!({
                    "event": "stats",
                    "at_ns": crate::values::moment::now_ns(),
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
            Report::Status(status) => {
                status.show(&self.line(since, packets, bytes, account));
                Ok(())
            }
            Report::Lines => {
                // A closed standard error is no reason to end.
                let _ = writeln!(
                    io::stderr(),
                    "{}",
                    self.line(since, packets, bytes, account)
                );
                Ok(())
            }
        }
    }

    /// Reports that interface `name` is captured from now on, or the reason why it is not.
    fn announce(
        &self,
        event: &str,
        name: &str,
        reason: Option<String>,
    ) -> Result<(), ConsumerError> {
        if self.announcements == Announcements::Json {
            let event = serde_json::json!({
                "event": event,
                "at_ns": crate::values::moment::now_ns(),
                "name": name,
                "reason": reason,
            });
            return json::print(&event).map_err(|error| output::named(&error).into());
        }
        let line = match reason {
            Some(reason) => format!("cannot capture on {name}: {reason}"),
            None if self.announcements == Announcements::None => return Ok(()),
            None => format!("capturing on {name}"),
        };
        // A closed standard error is no reason to end.
        let _ = writeln!(io::stderr(), "{}", printable(&line));
        Ok(())
    }

    fn line(&self, since: Duration, packets: u64, bytes: u64, account: &Account) -> String {
        let rate = |count: u64| amount(count as f64 / since.as_secs_f64().max(1e-9));
        format!(
            "{}  {} packets  {}pps  {}bps  lost {}",
            span(self.start.elapsed()),
            grouped(self.reported.0),
            rate(packets),
            rate(bytes * 8),
            grouped(account.lost.total()),
        )
    }
}

impl<C: Consumer> Consumer for WithProgress<C> {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to file"
    )]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        self.inner.packet(packet)
    }

    fn interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        self.inner.interface(interface)?;
        let name = interface.name.as_deref().unwrap_or_default();
        self.announce("interface", name, None)
    }

    fn refused(&mut self, name: &str, error: &CaptureError) {
        // A closed output ends the capture with its next packet.
        let _ = self.announce("interface_refused", name, Some(chain(error)));
    }

    fn idle(&mut self, now_ns: u64) -> Result<(), ConsumerError> {
        self.inner.idle(now_ns)
    }

    fn tick(&mut self, now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        if let Some(manager) = &self.manager
            && manager.watchdog_interval().is_some()
        {
            // As in `ready`.
            let _ = manager.alive();
        }
        self.ticks_left -= 1;
        if self.ticks_left == 0 {
            self.ticks_left = self.ticks;
            self.report(account)
                .map_err(|error| output::named(&error))?;
        }
        self.inner.tick(now_ns, account)
    }

    fn finish(&mut self, statistics: &[Statistics]) -> Result<(), ConsumerError> {
        if let Some(manager) = &self.manager {
            // As in `ready`.
            let _ = manager.stopping();
        }
        if let Report::Status(status) = &self.report {
            // The summary replaces it.
            status.clear();
        }
        self.inner.finish(statistics)
    }

    fn lost(&self) -> u64 {
        self.inner.lost()
    }
}

impl<C: FileOwner> FileOwner for WithProgress<C> {
    fn file(&mut self) -> &mut CaptureFile {
        self.inner.file()
    }

    fn identified(&self) -> Option<&[u16]> {
        self.inner.identified()
    }
}

/// Ignores packets, which readers write to their files: only progress is reported.
pub struct ProgressOnly;

impl Consumer for ProgressOnly {
    fn packet(&mut self, _packet: &Packet<'_>) -> Result<(), ConsumerError> {
        Ok(())
    }
}

/// Prints a line for each packet, and flushes when no packet is waiting.
impl Consumer for Printer {
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        Ok(self.print(packet.record())?)
    }

    fn interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        self.add_interface(interface);
        Ok(())
    }

    fn idle(&mut self, _now_ns: u64) -> Result<(), ConsumerError> {
        Ok(self.flush()?)
    }

    fn finish(&mut self, _statistics: &[Statistics]) -> Result<(), ConsumerError> {
        Ok(self.flush()?)
    }

    fn lost(&self) -> u64 {
        Printer::lost(self)
    }
}
