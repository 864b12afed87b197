//! The consumer that measures the delay of each packet.

use std::time::Duration;

use abi::clock::realtime_ns;
use store::model::Statistics;

use super::delays::Delays;
use super::window::WindowReader;
use crate::capture::{Account, Consumer, ConsumerError};
use crate::packet::Packet;

/// Receives the delays while they are measured. The time it takes delays the packets that follow.
pub trait DelayObserver {
    /// Called for each packet: delivered at `delivered_ns` (`CLOCK_REALTIME`), `delay_ns` after its time stamp;
    /// `None` if it has no time stamp, or a later one.
    ///
    /// # Errors
    /// Why the capture must end.
    fn packet(
        &mut self,
        _packet: &Packet<'_>,
        _delivered_ns: u64,
        _delay_ns: Option<u64>,
    ) -> Result<(), ConsumerError> {
        Ok(())
    }

    /// Called at the capture's interval, once the measurement has started, with all delays so far.
    ///
    /// # Errors
    /// Why the capture must end.
    fn tick(&mut self, _delays: &Delays, _account: &Account) -> Result<(), ConsumerError> {
        Ok(())
    }
}

/// Ignores everything.
impl DelayObserver for () {}

/// A consumer of a capture that measures how long after its time stamp each packet is delivered.
///
/// The time stamps must be the kernel's ([`TimestampSource::Kernel`](ring::TimestampSource::Kernel)), or of a
/// clock that shows the same time. Reads the clock once per packet; allocates nothing.
#[derive(Debug)]
pub struct DelayMeter<O> {
    /// The delays so far.
    pub delays: Delays,
    /// Packets that were not measured because their time stamps lie outside the window.
    pub outside: u64,
    /// Packets that the ring lost within the window. The kernel reports losses with the next packet, so losses at
    /// the start and the end of the window may be assigned to the wrong side.
    pub lost: u64,
    /// Receives the delays.
    pub observer: O,
    /// `None` if all packets are measured.
    window: Option<WindowReader>,
    /// Losses reported with packets so far, within the window or not.
    reported_lost: u64,
    /// A packet was stamped after the end of the window.
    has_seen_end: bool,
}

impl<O: DelayObserver> DelayMeter<O> {
    /// A meter that measures all packets.
    pub fn new(observer: O) -> Self {
        Self {
            delays: Delays::default(),
            outside: 0,
            lost: 0,
            observer,
            window: None,
            reported_lost: 0,
            has_seen_end: false,
        }
    }

    /// A meter that measures the packets of a window. Stop its capture with
    /// [`MeasurementWindow::stop`](super::MeasurementWindow::stop).
    pub fn within(window: WindowReader, observer: O) -> Self {
        Self {
            window: Some(window),
            ..Self::new(observer)
        }
    }

    /// CPU time and number of sleeps of its thread within the window. Known once the capture has ended.
    pub(super) fn usage(&self) -> (Duration, u64) {
        let window = self.window.as_ref();
        window.map_or_else(Default::default, WindowReader::usage)
    }

    /// Whether this packet is within the window.
    #[inline]
    fn is_within(&mut self, packet: &Packet<'_>, delivered_ns: u64) -> bool {
        let lost = packet.drops_before();
        self.reported_lost += lost;
        if let Some(window) = &mut self.window {
            let time_ns = packet.time().as_nanos().unwrap_or(delivered_ns);
            if !window.measures(time_ns, lost) {
                self.outside += 1;
                self.has_seen_end |= window.is_after_start(time_ns);
                return false;
            }
        }
        self.lost += lost;
        true
    }

    /// Records the delay of a packet; `None` if it has no time stamp, or a later one.
    #[inline]
    pub(super) fn record(&mut self, packet: &Packet<'_>, delivered_ns: u64) -> Option<u64> {
        let Some(time_ns) = packet.time().as_nanos() else {
            self.delays.unstamped += 1;
            return None;
        };
        self.delays.record(time_ns, delivered_ns)
    }
}

impl<O: DelayObserver> Consumer for DelayMeter<O> {
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        let delivered_ns = realtime_ns();
        if !self.is_within(packet, delivered_ns) {
            return Ok(());
        }
        let delay_ns = self.record(packet, delivered_ns);
        self.observer.packet(packet, delivered_ns, delay_ns)
    }

    fn idle(&mut self, _now_ns: u64) -> Result<(), ConsumerError> {
        if let Some(window) = &mut self.window {
            window.is_idle();
        }
        Ok(())
    }

    fn tick(&mut self, now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        self.idle(now_ns)?;
        if self.window.as_ref().is_none_or(WindowReader::has_started) {
            self.observer.tick(&self.delays, account)?;
        }
        Ok(())
    }

    fn finish(&mut self, statistics: &[Statistics]) -> Result<(), ConsumerError> {
        if let Some(window) = &mut self.window {
            window.end();
        }
        if !self.has_seen_end {
            // Losses after the last packet.
            let lost = statistics.iter().filter_map(|one| one.os_dropped);
            self.lost += lost.sum::<u64>().saturating_sub(self.reported_lost);
        }
        Ok(())
    }
}
