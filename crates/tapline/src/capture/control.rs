//! Changing a capture while it runs.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use ring::Delivery;

use super::change::{Change, ChangeError, Message};
use super::wish::Wish;

/// Changes how a capture delivers and how much it can hold, from any thread while it runs; clones change
/// the same capture. No packet is lost by a change, and none comes twice.
///
/// Where a ring has to be replaced for it, another is opened beside it, with its memory, and takes over.
/// Packets of the old one are handed over first; in TPACKET_V3 the last of them come when the time of
/// their block is over, and until then younger ones gather in the new ring.
///
/// | how packets cross the border | delivery, spin | buffer | stall |
/// |---|---|---|---|
/// | TPACKET_V2 | at once | a second ring of the fanout group takes over | the same |
/// | TPACKET_V3 | a second ring takes over | the same | the same |
/// | ring buffers of XDP | at once | the program goes on with other buffers | no effect |
/// | shared memory in drop mode | at once | a second program takes over in the link | no effect |
/// | AF_XDP | at once | [refused](ChangeError::Fixed) | no effect |
#[derive(Clone, Debug)]
pub struct Control {
    wish: Arc<Wish>,
    messages: Sender<Message>,
}

impl Control {
    pub(super) fn new(wish: Arc<Wish>, messages: Sender<Message>) -> Self {
        Self { wish, messages }
    }

    /// From now on packets are delivered as `delivery` says, after a `spin` as in
    /// [`Options`](super::Options). Packets that wait for a batch are handed over within a millisecond.
    ///
    /// A TPACKET_V3 ring is replaced, by one that suits the delivery if the backend was left open; this
    /// takes the kernel some ten milliseconds, for which it blocks.
    ///
    /// # Errors
    /// [`ChangeError`]; [`OpenError::Busy`](ring::OpenError::Busy) in it as long as the reader has not come to
    /// the end of a ring replaced before ([`Control::wait`]).
    pub fn set_delivery(&self, delivery: Delivery, spin: Duration) -> Result<(), ChangeError> {
        self.change(Change::Delivery(delivery, spin))
    }

    /// From now on there is room for as many bytes in the ring of each interface, as `buffer_bytes` in
    /// [`Options`](super::Options) says.
    ///
    /// It blocks as [`set_delivery`](Self::set_delivery) does, for ring buffers so long for each processor.
    ///
    /// # Errors
    /// As [`set_delivery`](Self::set_delivery), and [`ChangeError::Fixed`] for AF_XDP sockets.
    pub fn set_buffer(&self, bytes: usize) -> Result<(), ChangeError> {
        self.change(Change::Buffer(bytes))
    }

    /// From now on the rings last while the reader is away for as long, as `stall` in
    /// [`Options`](super::Options) says.
    ///
    /// It blocks as [`set_buffer`](Self::set_buffer) does.
    ///
    /// # Errors
    /// As [`set_delivery`](Self::set_delivery).
    pub fn set_stall(&self, stall: Option<Duration>) -> Result<(), ChangeError> {
        self.change(Change::Stall(stall))
    }

    /// Waits until no packet is left in a ring that was replaced, and its memory is free, or until the
    /// capture is over. Not for the thread that reads, since it would wait for itself.
    pub fn wait(&self) {
        self.wish.wait();
    }

    fn change(&self, change: Change) -> Result<(), ChangeError> {
        let (answer, answered) = channel();
        let message = Message::Change(change, answer);
        self.messages.send(message).map_err(|_| ChangeError::Over)?;
        answered.recv().unwrap_or(Err(ChangeError::Over))
    }
}
