//! The builder of a latency measurement, the measurement, and its summary.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use abi::clock::realtime_ns;
use abi::process::{ThreadUsage, thread_usage};
use abi::signal::with_signals_blocked;
use ring::DeliveryMode;

use super::delays::Delays;
use super::meter::{DelayMeter, DelayObserver};
use super::window::MeasurementWindow;
use crate::capture::{
    Backend, Capture, CaptureError, CaptureOptions, CaptureSummary, ConsumerError, Ended, Limits,
    PacketBatch, run_result,
};
use crate::packet::Packet;
use crate::packet_filter::Filter;
use crate::stop::{Stop, Stopper};

/// Starts to build a measurement of the packets of `interface`, with immediate delivery.
///
/// ```
/// let mut latency = tapline::latency("lo").filter("udp port 4434")?.packets(10).open()?;
/// # let traffic = std::net::UdpSocket::bind("127.0.0.1:0")?;
/// # for _ in 0..10 {
/// #     traffic.send_to(b"hello", "127.0.0.1:4434")?;
/// # }
/// while let Some(packet) = latency.next()? {
///     println!("{:?}", packet.delay);
/// }
/// let summary = latency.finish()?;
/// println!("p99: {:?} ns", summary.delays.quantile(0.99));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn latency(interface: impl Into<String>) -> LatencyBuilder {
    LatencyBuilder {
        options: CaptureOptions::default()
            .interface(interface)
            .delivery(DeliveryMode::Immediate),
        limits: Limits::default(),
    }
}

/// Builds a [`Latency`]. Created by [`latency`].
#[derive(Debug)]
#[must_use = "nothing is measured before `open`"]
pub struct LatencyBuilder {
    options: CaptureOptions,
    limits: Limits,
}

impl LatencyBuilder {
    /// Measures only packets that match `filter`.
    ///
    /// # Errors
    /// Those of the filter's syntax.
    pub fn filter<F: TryInto<Filter>>(mut self, filter: F) -> Result<Self, F::Error> {
        self.options = self.options.filter(filter)?;
        Ok(self)
    }

    /// When packets are delivered. Default: [`DeliveryMode::Immediate`].
    pub fn delivery(mut self, delivery: DeliveryMode) -> Self {
        self.options = self.options.delivery(delivery);
        self
    }

    /// All options of the capture that is measured, with its interfaces but without its limits.
    pub fn capture_options(mut self, options: CaptureOptions) -> Self {
        self.options = options;
        self
    }

    /// Ends after `packets` packets, including lost ones if measured by [`Latency::measure`]. Default: no limit.
    pub fn packets(mut self, packets: u64) -> Self {
        self.limits.packets = Some(packets);
        self
    }

    /// Ends after this time. Default: no limit.
    pub fn duration(mut self, duration: Duration) -> Self {
        self.limits.duration = Some(duration);
        self
    }

    /// Opens the capture.
    ///
    /// # Errors
    /// As [`Capture::open`].
    /// # Privileges
    /// As [`Capture::open`].
    pub fn open(self) -> Result<Latency, CaptureError> {
        let Self { options, limits } = self;
        Ok(Latency {
            capture: Capture::open(options.limits(Limits {
                packets: None,
                ..limits
            }))?,
            meter: DelayMeter::new(()),
            usage_at_open: thread_usage(),
            left: limits.packets.unwrap_or(u64::MAX),
            limits,
        })
    }
}

/// Runs the capture as a reader of the window.
pub(super) fn measure_window<O: DelayObserver>(
    capture: Capture,
    window: &MeasurementWindow,
    observer: O,
) -> (LatencySummary, O) {
    let (backend, buffer_bytes) = backend_and_memory(&capture);
    let mut meter = DelayMeter::within(window.reader(), observer);
    let capture = capture
        .run_consumer(&mut meter, window.stop())
        .or_else(CaptureError::into_summary)
        .expect("a capture that ran has a summary");
    let (cpu, sleeps) = meter.usage();
    let summary = LatencySummary {
        backend,
        buffer_bytes,
        lost: meter.lost,
        outside: meter.outside,
        duration: Duration::ZERO,
        cpu,
        sleeps,
        delays: meter.delays,
        capture,
    };
    (summary, meter.observer)
}

fn backend_and_memory(capture: &Capture) -> (Backend, usize) {
    let first = capture.links().next();
    let backend = first.map_or(Backend::PacketV3, |link| link.backend);
    (backend, capture.links().map(|link| link.buffer_bytes).sum())
}

/// The delay of one packet.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PacketDelay<'a> {
    /// The packet.
    pub packet: Packet<'a>,
    /// When it was delivered, in nanoseconds of `CLOCK_REALTIME`.
    pub delivered_ns: u64,
    /// From its time stamp to its delivery; `None` if it has no time stamp, or a later one.
    pub delay: Option<Duration>,
}

/// Measures how long after the kernel's time stamp packets are delivered.
///
/// Packets that arrive between [`open`](LatencyBuilder::open) and the first call of [`next`](Self::next) wait
/// for that call, and their delays include the wait.
#[must_use = "packets gather until they are measured"]
pub struct Latency {
    capture: Capture,
    meter: DelayMeter<()>,
    usage_at_open: ThreadUsage,
    /// Packets left to the packet limit.
    left: u64,
    limits: Limits,
}

impl Latency {
    /// Waits for the next packet and measures it; `None` at the end.
    ///
    /// # Errors
    /// As [`Capture::next`].
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend")]
    pub fn next(&mut self) -> Result<Option<PacketDelay<'_>>, CaptureError> {
        if self.left == 0 {
            return Ok(None);
        }
        let packet = self.capture.next()?;
        self.left -= u64::from(packet.is_some());
        Ok(packet.map(|packet| measure(&mut self.meter, packet)))
    }

    /// As [`Capture::next_batch`].
    ///
    /// # Errors
    /// As [`Capture::next_batch`].
    pub fn next_batch(
        &mut self,
        timeout: Duration,
    ) -> Result<Option<DelayBatch<'_>>, CaptureError> {
        if self.left == 0 {
            return Ok(None);
        }
        let batch = self.capture.next_batch(timeout)?;
        let (meter, left) = (&mut self.meter, &mut self.left);
        Ok(batch.map(|batch| DelayBatch { batch, meter, left }))
    }

    /// Calls `receive` with each packet until the end.
    ///
    /// # Errors
    /// Those of the capture, and [`CaptureError::Run`] if `receive` failed.
    pub fn run<F>(self, mut receive: F) -> Result<LatencySummary, CaptureError>
    where
        F: FnMut(PacketDelay<'_>) -> Result<(), ConsumerError>,
    {
        let mut latency = self;
        while let Some(packet) = latency.next()? {
            if let Err(error) = receive(packet) {
                let mut summary = latency.capture.finish()?;
                summary.ended = Ended::Consumer(error);
                return Err(run_result(summary).expect_err("it has failed"));
            }
        }
        latency.finish()
    }

    /// Measures in a thread of its own, until a limit or `stop` ends it. Packets that gathered before the thread had
    /// read its backlog are not measured. Calls `started` with the start of the measurement, in nanoseconds of
    /// `CLOCK_REALTIME`. If the capture fails meanwhile, [`LatencySummary::capture`] says so.
    ///
    /// # Errors
    /// Those of `started`, of starting a thread, and of poll(2).
    /// # Panics
    /// If `observer` panics.
    pub fn measure<O, E>(
        self,
        stop: &Stop,
        observer: O,
        started: impl FnOnce(u64) -> Result<(), E>,
    ) -> Result<(LatencySummary, O), E>
    where
        O: DelayObserver + Send,
        E: From<io::Error>,
    {
        let mut capture = self.capture;
        capture.remove_limits();
        let window = MeasurementWindow::new(1, self.limits)?;
        let (waited, (mut summary, observer)) = thread::scope(|scope| {
            let measure = || measure_window(capture, &window, observer);
            let start = || thread::Builder::new().spawn_scoped(scope, measure);
            let reader = with_signals_blocked(start)?;
            let waited = started(window.wait_for_start())
                .and_then(|()| window.wait_for_end(stop).map_err(E::from));
            window.end();
            match reader.join() {
                Ok(measured) => Ok::<_, E>((waited, measured)),
                Err(panic) => resume_unwind(panic),
            }
        })?;
        waited?;
        summary.duration = window.duration();
        Ok((summary, observer))
    }

    /// The open capture.
    pub fn capture(&self) -> &Capture {
        &self.capture
    }

    /// The delays so far.
    pub fn delays(&self) -> &Delays {
        &self.meter.delays
    }

    /// Ends the measurement from another thread or a signal handler.
    pub fn stopper(&self) -> Stopper {
        self.capture.stopper()
    }

    /// Ends the measurement and returns its summary.
    ///
    /// # Errors
    /// As [`Capture::finish`].
    pub fn finish(self) -> Result<LatencySummary, CaptureError> {
        let (backend, buffer_bytes) = backend_and_memory(&self.capture);
        let capture = self.capture.finish()?;
        let usage = thread_usage();
        Ok(LatencySummary {
            backend,
            buffer_bytes,
            delays: self.meter.delays,
            lost: capture.account.lost.ring,
            outside: 0,
            duration: capture.duration,
            cpu: usage.cpu.saturating_sub(self.usage_at_open.cpu),
            sleeps: usage.waits.saturating_sub(self.usage_at_open.waits),
            capture,
        })
    }
}

/// As for [`Capture`].
impl AsFd for Latency {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.capture.as_fd()
    }
}

/// Packets that are ready.
pub struct DelayBatch<'l> {
    batch: PacketBatch<'l>,
    meter: &'l mut DelayMeter<()>,
    left: &'l mut u64,
}

impl DelayBatch<'_> {
    /// Measures the next packet that is ready; `None` at the end of the batch. Does not wait.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend")]
    pub fn next(&mut self) -> Option<PacketDelay<'_>> {
        if *self.left == 0 {
            return None;
        }
        let packet = self.batch.next()?;
        *self.left -= 1;
        Some(measure(self.meter, packet))
    }
}

#[inline]
fn measure<'a>(meter: &mut DelayMeter<()>, packet: Packet<'a>) -> PacketDelay<'a> {
    let delivered_ns = realtime_ns();
    let delay_ns = meter.record(&packet, delivered_ns);
    PacketDelay {
        packet,
        delivered_ns,
        delay: delay_ns.map(Duration::from_nanos),
    }
}

/// The result of a measurement. Displayed: number of packets, quantiles and losses in one line.
#[derive(Debug)]
#[non_exhaustive]
#[must_use]
pub struct LatencySummary {
    /// How the packets crossed from the kernel to the program.
    pub backend: Backend,
    /// Memory of the rings, bytes.
    pub buffer_bytes: usize,
    /// The delays of the measured packets.
    pub delays: Delays,
    /// Packets that the ring lost meanwhile.
    pub lost: u64,
    /// Packets that came before the start or after the end, and are not in `delays`.
    pub outside: u64,
    /// Length of the measurement.
    pub duration: Duration,
    /// CPU time of the reading thread meanwhile.
    pub cpu: Duration,
    /// Number of times the reading thread slept meanwhile.
    pub sleeps: u64,
    /// The summary of the capture, with the account of all packets since it was opened.
    pub capture: CaptureSummary,
}

impl LatencySummary {
    /// CPU time of the reader as a fraction of a CPU, 0 to 1.
    pub fn cpu_share(&self) -> f64 {
        self.cpu.as_secs_f64() / self.duration.as_secs_f64().max(1e-9)
    }

    /// How often the reader slept, per second.
    pub fn sleeps_per_s(&self) -> f64 {
        self.sleeps as f64 / self.duration.as_secs_f64().max(1e-9)
    }

    /// Packets measured, or skipped because they had no time stamp.
    pub(super) fn packets(&self) -> u64 {
        self.delays.histogram.count() + self.delays.ahead + self.delays.unstamped
    }
}

impl fmt::Display for LatencySummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packets", self.delays.histogram.count())?;
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)] {
            if let Some(delay_ns) = self.delays.quantile(share) {
                write!(f, ", {name} {:?}", Duration::from_nanos(delay_ns))?;
            }
        }
        write!(f, ", {} lost", self.lost)
    }
}
