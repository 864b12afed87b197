//! The end of a capture: no more packets come, and those in the rings are delivered.

use std::time::Duration;

use abi::clock::monotonic_ns;

use super::super::read::consumer::Consumer;
use super::super::read::dispatcher::Dispatcher;
use super::super::read::poller::nanoseconds;
use super::super::read::queue::RxQueue;
use super::{Engine, block_ns};
use crate::stop::Stop;

/// Longest time the end waits for packets on their way into the rings, in addition to the block time.
const SETTLE: Duration = Duration::from_secs(1);

/// Sleeps at the end within the time of a block.
const CLOSING_SLEEPS: u64 = 8;

/// Limits of such a sleep.
const MIN_CLOSING_SLEEP_NS: u64 = 1_000_000;
const MAX_CLOSING_SLEEP_NS: u64 = 20_000_000;

impl Engine {
    /// Ends the flow of packets. Returns when to stop waiting for those on their way.
    pub fn begin_closing<C: Consumer>(
        &mut self,
        dispatcher: &mut Dispatcher<'_, C>,
        stop: &Stop,
    ) -> u64 {
        // Completes a change that is being carried out.
        self.control = None;
        self.shared_control = None;
        self.pending.close();
        // Packets of a ring that cannot be waited for are read nevertheless.
        let _ = self.apply_pending(dispatcher, None);
        for interface in &mut self.interfaces {
            interface.stop(&mut self.queues);
        }
        self.poller.remove_stop(stop);
        self.poller.remove_limit();
        self.settle_deadline_ns()
    }

    /// When not to wait any longer for packets that are on their way into the rings now. A reader that lets packets gather does not
    /// delay them: they can be read.
    pub(super) fn settle_deadline_ns(&self) -> u64 {
        (monotonic_ns().saturating_add(self.invisible_ns())).saturating_add(nanoseconds(SETTLE))
    }

    /// After [`begin_closing`](Self::begin_closing): whether the rings are read on if they have packets. After the deadline, not if more
    /// packets came: the flow of a ring could not be ended.
    pub fn reads_on(&mut self, deadline_ns: u64) -> bool {
        if monotonic_ns() < deadline_ns {
            return true;
        }
        let accepted = |queue: &mut RxQueue| {
            queue.refresh();
            queue.account().accepted
        };
        let accepted: u64 = self.queues.iter_mut().map(accepted).sum();
        let before = self.accepted_late.replace(accepted);
        before.is_none_or(|before| before == accepted)
    }

    /// After the rings were found empty: whether another round is to follow.
    pub fn closing_step(&mut self, deadline_ns: u64) -> bool {
        // A ring whose counters cannot be read stays, and the account has what is left in it.
        if self.advance().unwrap_or(false) {
            return true;
        }
        let states = self.query();
        self.measure(&states, 0);
        let mut interfaces = self.interfaces.iter();
        let is_settled = interfaces.all(|interface| interface.is_settled(&self.queues));
        if !is_settled {
            // All rings, so that the next round has their packets in the order of their time stamps.
            let finished = self.queues.iter().filter(|queue| queue.ring().finish());
            if finished.count() > 0 {
                return true;
            }
        }
        if is_settled || monotonic_ns() >= deadline_ns {
            for interface in &mut self.interfaces {
                interface.abandon(&self.queues);
            }
            return false;
        }
        // The kernel hands a block over without a wake-up if the interface is gone, so the sleep is short.
        // An error returns at once: the queue is known to be down.
        let sleep_ns = block_ns(self.options.delivery) / CLOSING_SLEEPS;
        let sleep_ns = sleep_ns.clamp(MIN_CLOSING_SLEEP_NS, MAX_CLOSING_SLEEP_NS);
        let _ = self.poller.wait(sleep_ns, &self.queues);
        true
    }

    /// Delivers what is left in the rings after [`begin_closing`](Self::begin_closing).
    pub fn settle<C: Consumer>(&mut self, dispatcher: &mut Dispatcher<'_, C>, deadline_ns: u64) {
        loop {
            while !dispatcher.round(&mut self.queues).emptied && self.reads_on(deadline_ns) {}
            if !self.closing_step(deadline_ns) {
                break;
            }
        }
    }
}
