//! A consumer for each reader, such as a file.

use std::thread::ScopedJoinHandle;
use std::time::Duration;

use abi::clock::{monotonic_ns, realtime_ns};
use rustix::event::{PollFd, PollFlags};
use store::model::{Interface, Statistics};

use super::super::account::counters::LiveCounters;
use super::super::account::loss_account::Account;
use super::super::account::summary::{CaptureSummary, Ended};
use super::super::read::consumer::{Consumer, ConsumerError};
use super::channel::of_queue;
use crate::packet::Packet;
use crate::stop::{Stop, Stopper};
use crate::wait::wait;

/// Longest sleep: a reader that ends is noticed so late.
const PERIOD: Duration = Duration::from_millis(50);

/// The consumer of one reader.
pub struct ReaderFile<'f, F> {
    pub file: &'f mut F,
    /// Receive queue of packets that do not say so themselves.
    pub queue: Option<u32>,
}

impl<F: Consumer> Consumer for ReaderFile<'_, F> {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to file"
    )]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        self.file.packet(&of_queue(packet, self.queue))
    }

    fn interface(&mut self, interface: &Interface) -> Result<(), ConsumerError> {
        self.file.interface(interface)
    }

    fn idle(&mut self, now_ns: u64) -> Result<(), ConsumerError> {
        self.file.idle(now_ns)
    }

    fn tick(&mut self, now_ns: u64, account: &Account) -> Result<(), ConsumerError> {
        self.file.tick(now_ns, account)
    }

    fn finish(&mut self, statistics: &[Statistics]) -> Result<(), ConsumerError> {
        self.file.finish(statistics)
    }

    fn lost(&self) -> u64 {
        self.file.lost()
    }
}

/// Waits until all `readers` have ended, which it makes them do at `stop` and when one ends. Calls the tick of
/// `observer` meanwhile. Returns why the capture ends, unless a reader has a reason of its own.
pub fn watch<C: Consumer>(
    readers: &[ScopedJoinHandle<'_, CaptureSummary>],
    observer: &mut C,
    (stop, stopper): (&Stop, &Stopper),
    live: &LiveCounters,
    tick_ns: u64,
) -> Option<Ended> {
    let mut next_tick_ns = monotonic_ns().saturating_add(tick_ns);
    let mut ended = None;
    while !readers.iter().all(ScopedJoinHandle::is_finished) {
        if readers.iter().any(ScopedJoinHandle::is_finished) {
            stopper.stop();
        }
        if monotonic_ns() >= next_tick_ns && ended.is_none() {
            next_tick_ns = monotonic_ns().saturating_add(tick_ns);
            let account: Account = live.accounts().into_iter().map(|one| one.account).sum();
            if let Err(error) = observer.tick(realtime_ns(), &account) {
                ended = Some(Ended::Consumer(error));
                stopper.stop();
            }
        }
        // The stop stays readable.
        let mut polled = [PollFd::new(stop, PollFlags::IN)];
        let is_stopped = match wait(&mut polled, PERIOD) {
            Ok(is_ready) => is_ready,
            Err(error) => {
                ended = Some(Ended::Wait(error));
                true
            }
        };
        if is_stopped {
            stopper.stop();
            break;
        }
    }
    ended
}
