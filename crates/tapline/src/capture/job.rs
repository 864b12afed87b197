//! An open capture, and its push interface: a closure or a [`Consumer`] receives the packets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use abi::clock::monotonic_ns;
use filter::FilterWarning;
use filter::classic::ClassicProgram;
use ring::{Frames, RingCounters};
use rustix::net::SendFlags;
use store::model::{Interface as Description, Statistics};
use store::write::StatisticsSource;

use super::account::counters::LiveCounters;
use super::account::summary::{CaptureSummary, Ended, OpenInterface};
use super::control::handle::Control;
use super::engine::{Engine, Run};
use super::error::{CaptureError, run_result};
use super::plan::description;
use super::plan::options::{CaptureOptions, Limits};
use super::pull::Pull;
use super::read::consumer::{Closure, Consumer, ConsumerError};
use super::read::dispatcher::{Dispatcher, Round};
use super::read::poller::nanoseconds;
use super::read::queue::RxQueue;
use super::read::ring::RingReader;
use crate::packet::Packet;
use crate::stop::{Stop, Stopper};

/// Configures a capture of interface `interface`; [`open`](CaptureOptions::open) starts it.
///
/// ```
/// let mut capture = tapline::capture("lo").filter("udp port 4432")?.packets(10).open()?;
/// # let traffic = std::net::UdpSocket::bind("127.0.0.1:0")?;
/// # for _ in 0..10 {
/// #     traffic.send_to(b"hello", "127.0.0.1:4432")?;
/// # }
/// while let Some(packet) = capture.next()? {
///     println!("{} {}", packet.time(), packet.len());
/// }
/// println!("{}", capture.finish()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn capture(interface: impl Into<String>) -> CaptureOptions {
    CaptureOptions::default().interface(interface)
}

impl CaptureOptions {
    /// Opens the capture: packets gather in its rings from here on.
    ///
    /// # Errors
    /// As [`Capture::open`].
    /// # Privileges
    /// As [`Capture::open`].
    pub fn open(self) -> Result<Capture, CaptureError> {
        Capture::open(self)
    }
}

/// An open capture: packets gather in its rings.
///
/// Packets are pulled ([`next`](Self::next), [`next_batch`](Self::next_batch)) or pushed
/// ([`run`](Self::run), [`run_consumer`](Self::run_consumer)). Both use the same engine and give the same
/// account.
#[must_use = "packets gather until the capture is run or finished"]
pub struct Capture {
    pub(super) engine: Engine,
    pub(super) stop: Stop,
    pub(super) pull: Pull,
}

impl Capture {
    /// Opens a ring on every interface of `options`; in drop mode one per receive queue. Waits up to half a
    /// second for queues that are still bound to a socket being closed.
    ///
    /// A filter expression is compiled for each interface before any ring is opened.
    ///
    /// # Errors
    /// [`CaptureError`] names the interface and the step.
    /// # Privileges
    /// `CAP_NET_RAW`; with `CAP_BPF` the filter counts refused packets. Drop mode also requires `CAP_BPF` and
    /// `CAP_NET_ADMIN`, and `CAP_PERFMON` for shared memory and for filters with variable offsets.
    /// `CAP_SYS_ADMIN` to enter a network namespace.
    /// # Kernel
    /// Linux 4.20; 5.9 in drop mode.
    pub fn open(options: CaptureOptions) -> Result<Self, CaptureError> {
        let mut engine = match options.namespace.clone() {
            Some(namespace) => namespace.run(|| Engine::open(options))??,
            None => Engine::open(options)?,
        };
        let wait = |source| CaptureError::Wait { source };
        let stop = Stop::new().map_err(wait)?;
        engine.poller.add_stop(&stop).map_err(wait)?;
        engine.add_limit().map_err(wait)?;
        let pull = Pull::new(&engine);
        Ok(Self { engine, stop, pull })
    }

    /// The interfaces as a capture file describes them. [`Packet::interface`] is a position in this list.
    pub fn interfaces(&self) -> &[Description] {
        self.engine.descriptions()
    }

    /// The interfaces as they were opened, in the same order.
    pub fn links(&self) -> impl Iterator<Item = OpenInterface<'_>> {
        self.engine.interfaces()
    }

    /// Warnings of the filter compiler, for any of the interfaces.
    pub fn filter_warnings(&self) -> &[FilterWarning] {
        self.engine.warnings()
    }

    /// The operating system, as a capture file names it.
    pub fn operating_system() -> String {
        description::operating_system()
    }

    /// Stops the capture from another thread or a signal handler.
    pub fn stopper(&self) -> Stopper {
        self.stop.stopper()
    }

    /// Changes the capture while it runs.
    ///
    /// The first call starts a thread, which opens rings in the configured network namespace, else in that of
    /// the calling thread, and with the calling thread's privileges: they must be those of [`open`](Self::open).
    pub fn control(&mut self) -> Control {
        self.engine.control()
    }

    /// Replaces the filter of a capture with one packet ring, at once. Packets that are in the ring have to pass the
    /// new filter, too. Needs no privilege, unlike [`control`](Self::control).
    ///
    /// A program that the kernel rejects runs in this process.
    ///
    /// # Errors
    /// [`CaptureError::FixedFilter`] if the capture has several rings or another back end.
    pub fn replace_filter(&mut self, program: &ClassicProgram) -> Result<(), CaptureError> {
        self.pull.stop_direct(&self.engine);
        self.engine.replace_filter(program)
    }

    /// Sends a frame on the interface of a capture with one packet ring. The capture itself does not receive it. Needs no
    /// privilege.
    ///
    /// # Errors
    /// EOPNOTSUPP if the capture has several rings or another back end, EAGAIN or ENOBUFS if the device has no room, EMSGSIZE
    /// if the frame exceeds the MTU, ENETDOWN if the interface is down.
    /// # Source
    /// `dev_queue_xmit_nit`, net/core/dev.c: no packet goes back to the socket that it came from.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        match &self.engine.queues[..] {
            [
                RxQueue {
                    reader: RingReader::Packet(ring),
                    ..
                },
            ] => {
                rustix::net::send(ring.as_fd(), frame, SendFlags::empty())?;
                Ok(())
            }
            _ => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        }
    }

    /// The packets of its rings so far. Costs a system call for each ring.
    pub fn ring_counters(&mut self) -> RingCounters {
        let queues = self.engine.queues.iter_mut();
        let counters = queues.map(|queue| {
            queue.refresh();
            queue.account()
        });
        counters.fold(RingCounters::default(), |sum, queue| sum + queue)
    }

    /// Packets that are in its rings and have not been lent, as of the last [`ring_counters`](Self::ring_counters).
    pub fn waiting(&self) -> u64 {
        let entered = |queue: &RxQueue| {
            let account = queue.account();
            let RingCounters {
                dropped,
                unreadable,
                ..
            } = account;
            account.accepted.saturating_sub(dropped + unreadable)
        };
        let passed_over = |queue: &RxQueue| queue.reading.refused + queue.reading.surplus;
        let queues = self.engine.queues.iter();
        let entered: u64 = queues.clone().map(entered).sum();
        let passed_over: u64 = queues.map(passed_over).sum();
        entered.saturating_sub(passed_over + self.engine.delivered())
    }

    /// Counters for capture files that end while the capture continues: delivered packets as of the call, the
    /// rest as of the last tick.
    pub fn statistics_source(&self) -> StatisticsSource {
        self.engine.statistics_source()
    }

    /// The counters by interface, for other threads.
    pub fn live(&mut self) -> LiveCounters {
        self.engine.live()
    }

    /// Removes the limits of the options.
    pub(crate) fn remove_limits(&mut self) {
        self.engine.options.limits = Limits::default();
        self.engine.poller.remove_limit();
    }

    /// Calls `receive` with each packet until a limit, a [`Stopper`], an interface or an error ends the capture.
    /// Then delivers the packets left in the rings and closes the account. Sleeps while there is nothing to do.
    ///
    /// # Errors
    /// [`CaptureError::Run`] if `receive` failed or waiting did; it holds the summary.
    pub fn run<F>(mut self, receive: F) -> Result<CaptureSummary, CaptureError>
    where
        F: FnMut(&Packet<'_>) -> Result<(), ConsumerError>,
    {
        run_result(run(&mut self.engine, &mut Closure(receive), &self.stop))
    }

    /// As [`run`](Self::run), with a [`Consumer`] and a stop of the caller instead of the capture's
    /// [`stopper`](Self::stopper).
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_consumer<C: Consumer>(
        mut self,
        consumer: &mut C,
        stop: &Stop,
    ) -> Result<CaptureSummary, CaptureError> {
        let poller = &self.engine.poller;
        poller.remove_stop(&self.stop);
        run_result(match poller.add_stop(stop) {
            Ok(()) => run(&mut self.engine, consumer, stop),
            Err(error) => {
                let dispatcher = Dispatcher {
                    consumer,
                    remaining: 0,
                    failure: None,
                };
                close(&mut self.engine, dispatcher, stop, None, Ended::Wait(error))
            }
        })
    }
}

/// The pull interface.
impl Capture {
    /// The next packet. Waits for it as configured by [`CaptureOptions::delivery`]; `None` when the capture has
    /// ended and its rings are empty. The packet is lent: nothing is copied.
    ///
    /// Packets of several interfaces come in the order of their time stamps, as far as they are ready together.
    ///
    /// # Errors
    /// [`CaptureError::Malformed`]; the next call continues.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend")]
    pub fn next(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        let Self { engine, stop, pull } = self;
        let ready = pull.ready(engine);
        let Some(queue) = ready.or_else(|| pull.wait(engine, stop, u64::MAX, false)) else {
            return Ok(None);
        };
        match pull.lend(engine, queue) {
            Some(packet) => Ok(Some(packet)),
            None => Err(CaptureError::Malformed),
        }
    }

    /// Waits at most `timeout` for packets and returns those that are ready: none if the time is over, `None`
    /// if the capture has ended and its rings are empty. With a zero timeout packets do not wait for their
    /// batch.
    ///
    /// # Errors
    /// None at present.
    pub fn next_batch(
        &mut self,
        timeout: Duration,
    ) -> Result<Option<PacketBatch<'_>>, CaptureError> {
        let Self { engine, stop, pull } = self;
        let until_ns = monotonic_ns().saturating_add(nanoseconds(timeout));
        if pull.ready(engine).is_none() {
            pull.wait(engine, stop, until_ns, timeout.is_zero());
        }
        if self.pull.ended().is_some() {
            return Ok(None);
        }
        Ok(Some(PacketBatch { capture: self }))
    }

    /// Why the capture ended; `None` before [`next`](Self::next) or [`next_batch`](Self::next_batch) has returned `None`.
    pub fn ended(&self) -> Option<&Ended> {
        self.pull.ended()
    }

    /// Whether an interface is down and the capture goes on, as [`CaptureOptions::outlast_link_down`] allows. The kernel does not
    /// report its removal: so whoever waits for the capture's descriptor has to call [`next_batch`](Self::next_batch) every
    /// few milliseconds meanwhile.
    pub fn has_down_link(&self) -> bool {
        self.engine.has_down_link()
    }

    /// Ends the capture and returns its summary. Packets still in the rings count as filtered, as packets
    /// beyond the packet limit do.
    ///
    /// # Errors
    /// [`CaptureError::Run`] if waiting for packets failed; it holds the summary.
    pub fn finish(self) -> Result<CaptureSummary, CaptureError> {
        let Self {
            mut engine,
            stop,
            pull,
        } = self;
        run_result(pull.finish(&mut engine, &stop))
    }
}

/// For a hotplug capture, which reads its members in turn.
impl Capture {
    /// The time of the next packet that is ready. Does not wait.
    pub(super) fn ready_time(&mut self) -> Option<u64> {
        let Self { engine, pull, .. } = self;
        let queue = pull.ready(engine)?;
        let packet = engine.queues[queue].reader.peek();
        // A malformed packet has no time: it comes first and is skipped.
        Some(packet.map_or(0, |packet| packet.timestamp_ns))
    }

    /// Takes the packet of [`ready_time`](Self::ready_time); `None` if it is malformed.
    pub(super) fn take_ready(&mut self) -> Option<Packet<'_>> {
        let Self { engine, pull, .. } = self;
        let queue = pull.ready(engine)?;
        pull.lend(engine, queue)
    }

    /// Ends the flow of packets. Those in the rings can still be read.
    pub(super) fn close(&mut self, ended: Ended) {
        let Self { engine, stop, pull } = self;
        pull.close(engine, stop, ended);
    }

    /// As [`finish`](Self::finish), with the final counters as a capture file stores them.
    pub(super) fn finish_with_statistics(mut self) -> (CaptureSummary, Vec<Statistics>) {
        let summary = self.pull.finish(&mut self.engine, &self.stop);
        (summary, self.engine.statistics())
    }
}

/// The rest of a batch, for a caller that cannot hold it.
impl Capture {
    /// The packets that are ready. Does not wait.
    pub fn ready_batch(&mut self) -> PacketBatch<'_> {
        PacketBatch { capture: self }
    }

    /// The next packet of the batch that [`next_batch`](Self::next_batch) began; `None` at its end. Does not wait.
    #[inline]
    pub fn next_ready(&mut self) -> Option<Packet<'_>> {
        let Self { engine, pull, .. } = self;
        let queue = pull.ready(engine)?;
        pull.lend(engine, queue)
    }
}

/// Packets that are ready, lent one by one.
pub struct PacketBatch<'c> {
    capture: &'c mut Capture,
}

impl PacketBatch<'_> {
    /// The next packet that is ready; `None` at the end of the batch. Does not wait.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend")]
    pub fn next(&mut self) -> Option<Packet<'_>> {
        self.capture.next_ready()
    }

    /// Lends up to `max` packets that are ready to `each`, in the order of [`next`](Self::next). Cheaper per packet for a
    /// caller that reads every field of each packet. Does not wait.
    #[inline]
    pub fn lend_each(&mut self, max: usize, each: impl FnMut(&Packet<'_>)) {
        let Capture { engine, pull, .. } = &mut *self.capture;
        pull.lend_each(engine, max, each);
    }

    /// The packets that are ready, as the kernel put them into a packet ring, and the position of their interface: for readers
    /// in other languages, which read only the fields that they need. They are not lent before
    /// [`skip_frames`](Self::skip_frames).
    ///
    /// `None` if packets have to be looked at before they are lent: then [`lend_each`](Self::lend_each) does that. So it is
    /// with all but one packet ring, and with VLAN tags, hardware time stamps and lost packets.
    pub fn frames(&mut self) -> Option<(Frames, u32)> {
        let Capture { engine, pull, .. } = &mut *self.capture;
        pull.frames(engine)
    }

    /// Counts the next `packets` of [`frames`](Self::frames), which had `wire_bytes` on the wire, as lent, and moves on, in a
    /// block by `bytes` of memory. If the caller is wrong, the account of bytes is, and packets are read wrongly, but only in the ring.
    pub fn skip_frames(&mut self, packets: u32, bytes: usize, wire_bytes: u64) {
        let Capture { engine, pull, .. } = &mut *self.capture;
        pull.skip_frames(engine, packets, bytes, wire_bytes);
    }
}

/// The epoll descriptor of the capture: readable when [`next_batch`](Capture::next_batch) has work, from the time limit on, and
/// for good once the capture has [`ended`](Capture::ended). Then call that with a timeout of zero until it lends nothing.
impl AsFd for Capture {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.engine.poller.as_fd()
    }
}

pub(super) fn run<C: Consumer>(
    engine: &mut Engine,
    consumer: &mut C,
    stop: &Stop,
) -> CaptureSummary {
    let remaining = engine.options.limits.packets.unwrap_or(u64::MAX);
    let mut dispatcher = Dispatcher {
        consumer,
        remaining,
        failure: None,
    };
    let mut run = engine.begin();
    let ended = read(engine, &mut run, &mut dispatcher, stop).unwrap_or_else(Ended::Wait);
    close(engine, dispatcher, stop, Some(run), ended)
}

/// Round after round until something ends the capture.
fn read<C: Consumer>(
    engine: &mut Engine,
    run: &mut Run,
    dispatcher: &mut Dispatcher<'_, C>,
    stop: &Stop,
) -> io::Result<Ended> {
    loop {
        let round = if engine.before_round(run, dispatcher)? {
            Round::EMPTY
        } else {
            dispatcher.round(&mut engine.queues)
        };
        if let Some(ended) = engine.after_round(run, round, dispatcher, stop, u64::MAX)? {
            return Ok(ended);
        }
    }
}

/// Delivers what is left in the rings, and closes the account.
pub(super) fn close<C: Consumer>(
    engine: &mut Engine,
    mut dispatcher: Dispatcher<'_, C>,
    stop: &Stop,
    run: Option<Run>,
    ended: Ended,
) -> CaptureSummary {
    let time = engine.run_time(run.as_ref());
    // The link poller and the thread's timer settings end here.
    drop(run);
    let deadline_ns = engine.begin_closing(&mut dispatcher, stop);
    engine.settle(&mut dispatcher, deadline_ns);
    let Dispatcher {
        failure, consumer, ..
    } = dispatcher;
    let unfinished = consumer.finish(&engine.statistics()).err();
    let ended = failure.or(unfinished).map_or(ended, Ended::Consumer);
    engine.summary(ended, time, consumer.lost())
}
