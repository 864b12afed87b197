//! Takes the time of each packet.

use std::time::Duration;

use abi::clock::realtime_ns;
use store::model::Statistics;

use super::delays::Delays;
use super::seat::Seat;
use crate::capture::{Account, Consumer, ConsumerError};
use crate::packet::Packet;

/// Watches a measurement as it goes on. Its own work delays the packets that come after.
pub trait Observer {
    /// A packet was handed over at `now_ns` (`CLOCK_REALTIME`), `delay_ns` after its stamp; `None` if it
    /// has no stamp, or one that is later.
    ///
    /// # Errors
    /// Why the capture is to end.
    fn packet(
        &mut self,
        _packet: &Packet<'_>,
        _now_ns: u64,
        _delay_ns: Option<u64>,
    ) -> Result<(), ConsumerError> {
        Ok(())
    }

    /// Comes at the capture's interval, with all delays up to now; not before they are measured.
    ///
    /// # Errors
    /// Why the capture is to end.
    fn tick(&mut self, _delays: &Delays, _account: &Account) -> Result<(), ConsumerError> {
        Ok(())
    }
}

/// Watches nothing.
impl Observer for () {}

/// A consumer of a capture that measures when it has each packet.
///
/// The stamps have to be the kernel's ([`TimestampSource::Kernel`](ring::TimestampSource::Kernel)), or of
/// a clock that shows the same time. Cost: a reading of the clock for each packet; no allocation.
#[derive(Debug)]
pub struct Meter<O> {
    /// What was measured so far.
    pub delays: Delays,
    /// Packets that came and were not measured, since they were stamped outside the span.
    pub passed_over: u64,
    /// Packets that the ring lost among those that were to be measured. The kernel tells of a loss with a
    /// packet that comes after it, so at the ends of the span this may be wrong by what was lost there at once.
    pub lost: u64,
    /// Who watches.
    pub observer: O,
    /// `None` where all packets count.
    seat: Option<Seat>,
    /// Losses that came with packets so far, of all packets.
    told: u64,
    /// A packet has come that was stamped after the end.
    is_past: bool,
}

impl<O: Observer> Meter<O> {
    /// A meter that has measured nothing, watched by `observer`; every packet counts.
    pub fn new(observer: O) -> Self {
        Self {
            delays: Delays::default(),
            passed_over: 0,
            lost: 0,
            observer,
            seat: None,
            told: 0,
            is_past: false,
        }
    }

    /// As [`new`](Self::new), of the packets of a span. The capture is to be ended by the span's
    /// [`stop`](super::Span::stop).
    pub fn within(seat: Seat, observer: O) -> Self {
        Self {
            seat: Some(seat),
            ..Self::new(observer)
        }
    }

    /// What its thread used in the span, once the capture has ended.
    pub(super) fn used(&self) -> (Duration, u64) {
        self.seat.as_ref().map_or_else(Default::default, Seat::used)
    }
}

impl<O: Observer> Consumer for Meter<O> {
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        let now_ns = realtime_ns();
        let lost = packet.drops_before();
        self.told += lost;
        if let Some(seat) = &mut self.seat {
            let stamp_ns = packet.time().as_nanos().unwrap_or(now_ns);
            if !seat.admits(stamp_ns, lost) {
                self.passed_over += 1;
                self.is_past |= seat.is_past(stamp_ns);
                return Ok(());
            }
        }
        self.lost += lost;
        let delay_ns = if let Some(stamp_ns) = packet.time().as_nanos() {
            self.delays.record(stamp_ns, now_ns)
        } else {
            self.delays.unstamped += 1;
            None
        };
        self.observer.packet(packet, now_ns, delay_ns)
    }

    fn idle(&mut self, _now_ns: u64) -> Result<(), ConsumerError> {
        if let Some(seat) = &mut self.seat {
            seat.rest();
        }
        Ok(())
    }

    fn tick(&mut self, now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        self.idle(now_ns)?;
        if self.seat.as_ref().is_none_or(Seat::has_begun) {
            self.observer.tick(&self.delays, account)?;
        }
        Ok(())
    }

    fn finish(&mut self, statistics: &[Statistics]) -> Result<(), ConsumerError> {
        if let Some(seat) = &mut self.seat {
            seat.leave();
        }
        if !self.is_past {
            // No packet came after the last loss.
            let lost = statistics.iter().filter_map(|one| one.os_dropped);
            self.lost += lost.sum::<u64>().saturating_sub(self.told);
        }
        Ok(())
    }
}
