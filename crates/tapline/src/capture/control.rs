//! Changing a capture while it runs.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ring::Delivery;

/// Changes how a capture delivers, from any thread while it runs; clones change the same capture.
#[derive(Clone, Debug)]
pub struct Control {
    wish: Arc<Wish>,
    /// Its rings gather packets by themselves, as they were told to when they were opened.
    is_fixed: bool,
}

/// What the capture is to do next.
#[derive(Debug, Default)]
pub(super) struct Wish {
    is_there: AtomicBool,
    delivery: Mutex<Option<(Delivery, Duration)>>,
}

/// Delivery cannot be changed while the capture runs: a TPACKET_V3 ring gathers packets in blocks whose
/// size and time are fixed when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FixedDelivery;

impl fmt::Display for FixedDelivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the blocks of a packet-v3 ring cannot be changed while it is read")
    }
}

impl Error for FixedDelivery {}

impl Control {
    pub(super) fn new(wish: Arc<Wish>, is_fixed: bool) -> Self {
        Self { wish, is_fixed }
    }

    /// From now on packets are delivered as `delivery` says, after a `spin` as in
    /// [`Options`](super::Options). Packets that wait for a batch are handed over within a millisecond; none
    /// is lost.
    ///
    /// # Errors
    /// [`FixedDelivery`] where a ring is TPACKET_V3.
    pub fn set_delivery(&self, delivery: Delivery, spin: Duration) -> Result<(), FixedDelivery> {
        if self.is_fixed {
            return Err(FixedDelivery);
        }
        let place = self.wish.delivery.lock();
        // A thread that panicked here left a value or none, both of which are whole.
        let mut place = place.unwrap_or_else(PoisonError::into_inner);
        *place = Some((delivery, spin));
        // Under the lock, as where it is taken back, so that it says of each wish that it is there. The
        // lock orders the wish itself, so `Relaxed` is enough.
        self.wish.is_there.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl Wish {
    /// Whether there is one. Costs a load.
    pub fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Relaxed)
    }

    /// The latest one.
    pub fn take(&self) -> Option<(Delivery, Duration)> {
        if !self.is_there() {
            return None;
        }
        let mut place = self.delivery.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_there.store(false, Ordering::Relaxed);
        place.take()
    }
}
