//! Takes the time of each packet.

use abi::clock::realtime_ns;
use store::model::Packet;

use super::delays::Delays;
use crate::capture::{Account, Consumer, ConsumerError};

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

    /// Comes at the capture's interval, with all delays up to now.
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
#[derive(Debug, Default)]
pub struct Meter<O> {
    /// What was measured so far.
    pub delays: Delays,
    /// Who watches.
    pub observer: O,
}

impl<O: Observer> Meter<O> {
    /// A meter that has measured nothing, watched by `observer`.
    pub fn new(observer: O) -> Self {
        Self {
            delays: Delays::default(),
            observer,
        }
    }
}

impl<O: Observer> Consumer for Meter<O> {
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        let now_ns = realtime_ns();
        let delay_ns = if let Some(stamp_ns) = packet.timestamp_ns {
            self.delays.record(stamp_ns, now_ns)
        } else {
            self.delays.unstamped += 1;
            None
        };
        self.observer.packet(packet, now_ns, delay_ns)
    }

    fn tick(&mut self, _now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        self.observer.tick(&self.delays, account)
    }
}
