//! Several settings at once on the same traffic.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::Duration;

use abi::socket::packet_socket;
use abi::timestamp::tell_both_stamps;

use super::delays::Delays;
use super::meter::Meter;
use super::setting::Setting;
use super::span::Span;
use crate::capture::{Backend, Capture, CaptureError, CaptureSummary, Limits};
use crate::stop::Stop;

/// What one setting came to.
#[derive(Debug)]
#[non_exhaustive]
pub struct Row {
    /// The name of the setting.
    pub name: String,
    /// How the packets crossed the kernel border.
    pub backend: Backend,
    /// Size of the rings' memory, bytes.
    pub buffer_bytes: usize,
    /// The delays of its packets.
    pub delays: Delays,
    /// Packets that its ring lost meanwhile: with those of `delays` they are as many as in every other row,
    /// unless all rows lost some, as the kernel does not tell whether the first and the last of them belong here.
    pub lost: u64,
    /// Packets that came before the beginning or after the end, and are not in `delays`.
    pub passed_over: u64,
    /// How long it was measured, for all rows alike.
    pub duration: Duration,
    /// Processor time of its reader meanwhile, which sleeps when nothing comes.
    pub cpu: Duration,
    /// Times its reader slept meanwhile.
    pub sleeps: u64,
    /// How its capture ended, and its account: of all packets since it was opened.
    pub outcome: CaptureSummary,
}

impl Row {
    /// Packets that came while it was measured.
    fn came(&self) -> u64 {
        self.delays.histogram.count() + self.delays.ahead + self.delays.unstamped
    }

    /// The share of a processor that the reader took, 0 to 1.
    pub fn cpu_share(&self) -> f64 {
        self.cpu.as_secs_f64() / self.duration.as_secs_f64().max(1e-9)
    }

    /// Sleeps of the reader in a second.
    pub fn sleeps_per_s(&self) -> f64 {
        self.sleeps as f64 / self.duration.as_secs_f64().max(1e-9)
    }
}

/// Captures with different settings, all of them open.
///
/// Each costs the kernel the work of handing it every packet, which delays the others a little.
pub struct Comparison {
    open: Vec<(String, Capture)>,
    span: Span,
    /// Has the kernel stamp each packet once, before all rings. It would do so at each ring else, and the
    /// rows would differ by the way from one to the next.
    _stamps: OwnedFd,
}

impl Comparison {
    /// Opens a capture for each of `settings`, whose own limits do not count: packets gather in their rings
    /// from here on. `limits` are those of the comparison, with packets that were lost among the number.
    ///
    /// # Errors
    /// As [`Capture::open`].
    /// # Privileges
    /// As [`Capture::open`].
    pub fn open(settings: Vec<Setting>, limits: Limits) -> Result<Self, CaptureError> {
        let wait = |source| CaptureError::Wait { source };
        let span = Span::new(settings.len(), limits).map_err(wait)?;
        let open = |setting: Setting| {
            let options = setting.options.limits(Limits::default());
            Ok((setting.name, Capture::open(options)?))
        };
        let open: Result<Vec<_>, CaptureError> = settings.into_iter().map(open).collect();
        let open = open?;
        let stamps = packet_socket().and_then(|socket| {
            tell_both_stamps(socket.as_fd())?;
            Ok(socket)
        });
        Ok(Self {
            open,
            span,
            _stamps: stamps.map_err(wait)?,
        })
    }

    /// Has each capture read by a thread of its own until `stop` or the limits end it. Blocks until the
    /// threads have ended; their rows come in the order of the settings.
    ///
    /// All rows are of the same packets: those that were stamped between a moment at which all threads run and
    /// have read what had gathered, and one at which none has stopped. `begun` is called with the first, in
    /// nanoseconds of `CLOCK_REALTIME`.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn run(self, stop: &Stop, begun: impl FnOnce(u64)) -> io::Result<Vec<Row>> {
        let Self {
            open,
            span,
            _stamps,
        } = self;
        if open.is_empty() {
            return Ok(Vec::new());
        }
        thread::scope(|scope| {
            let start = |(name, capture)| {
                let span = &span;
                thread::Builder::new().spawn_scoped(scope, move || measure(name, capture, span))
            };
            let running: io::Result<Vec<_>> = open.into_iter().map(start).collect();
            // The others wait for the one that is missing.
            let running = running.inspect_err(|_| span.end())?;
            begun(span.begun());
            // When that fails, it is over.
            let _ = span.wait(stop);
            let duration = span.duration();
            // A reader that panics is not to look like one that saw nothing.
            let join = |reader: thread::ScopedJoinHandle<'_, Row>| match reader.join() {
                Ok(row) => Row { duration, ..row },
                Err(panic) => std::panic::resume_unwind(panic),
            };
            let mut rows: Vec<Row> = running.into_iter().map(join).collect();
            settle(&mut rows);
            Ok(rows)
        })
    }
}

/// A row that lost nothing knows how many packets there were.
fn settle(rows: &mut [Row]) {
    let whole = rows.iter().filter(|row| row.lost == 0);
    if let Some(all) = whole.map(Row::came).max() {
        for row in rows {
            row.lost = all.saturating_sub(row.came());
        }
    }
}

fn measure(name: String, capture: Capture, span: &Span) -> Row {
    let first = capture.links().next();
    let backend = first.map_or(Backend::PacketV3, |link| link.backend);
    let buffer_bytes = capture.links().map(|link| link.buffer_bytes).sum();
    let mut meter = Meter::within(span.seat(), ());
    let outcome = capture.run_consumer(&mut meter, span.stop());
    let outcome = outcome.unwrap_or_else(|error| {
        error
            .into_summary()
            .expect("a capture that ran has a summary")
    });
    let (cpu, sleeps) = meter.used();
    Row {
        name,
        backend,
        buffer_bytes,
        lost: meter.lost,
        passed_over: meter.passed_over,
        duration: Duration::ZERO,
        cpu,
        sleeps,
        delays: meter.delays,
        outcome,
    }
}
