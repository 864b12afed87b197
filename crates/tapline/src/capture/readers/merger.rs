//! The merging thread: writes the chunks of all channels in the order of their time stamps.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use abi::clock::{monotonic_ns, realtime_ns};
use store::write::ChunkMerge;

use super::super::account::counters::LiveCounters;
use super::super::account::loss_account::Account;
use super::super::account::summary::Ended;
use super::super::read::consumer::{ConsumerError, FileOwner};
use super::channel::{ChunkReceiver, MergerWaker};
use super::interfaces::JoinedInterfaces;
use crate::stop::{Stop, Stopper};

/// When the merger works.
#[derive(Clone, Copy, Debug)]
pub struct MergerTimes {
    /// Longest sleep.
    pub period: Duration,
    /// Longest time for which a packet waits for older ones of a reader that is held up, in addition to twice the time for
    /// which a reader lets packets gather.
    pub max_delay_ns: u64,
    /// Interval of the consumer's tick.
    pub tick_ns: u64,
}

/// Merges channels into a file.
pub struct Merger<'m, C> {
    pub consumer: &'m mut C,
    pub channels: Vec<ChunkReceiver>,
    pub waker: Arc<MergerWaker>,
    pub merge: ChunkMerge,
    /// Packets left to the packet limit.
    pub remaining: u64,
    pub joined: JoinedInterfaces,
    /// Stops the readers.
    pub stopper: Stopper,
    /// Why the capture ends, unless a reader has a reason of its own.
    pub ended: Option<Ended>,
}

impl<C: FileOwner> Merger<'_, C> {
    /// Writes until all readers have ended, which it makes them do at `stop` and when the file is complete or fails. Returns the
    /// longest time for which a packet may have waited.
    pub fn run(&mut self, times: MergerTimes, stop: &Stop, live: &LiveCounters) -> u64 {
        let mut next_tick_ns = monotonic_ns().saturating_add(times.tick_ns);
        loop {
            let max_delay_ns = self.max_delay_ns(times);
            let is_over = self.merge_ready(max_delay_ns);
            let now_ns = realtime_ns();
            self.try_to(|consumer| consumer.idle(now_ns));
            if monotonic_ns() >= next_tick_ns {
                next_tick_ns = monotonic_ns().saturating_add(times.tick_ns);
                let account: Account = live.accounts().into_iter().map(|one| one.account).sum();
                self.try_to(|consumer| consumer.tick(now_ns, &account));
            }
            if is_over {
                return max_delay_ns;
            }
            let left = Duration::from_nanos(next_tick_ns.saturating_sub(monotonic_ns()));
            match self.wait(times.period.min(left), stop) {
                Ok(false) => {}
                Ok(true) => self.stopper.stop(),
                Err(error) => self.end(Ended::Wait(error)),
            }
        }
    }

    /// A change while the capture runs may let packets gather for longer.
    fn max_delay_ns(&self, times: MergerTimes) -> u64 {
        let batches = self.channels.iter().map(ChunkReceiver::batch_ns);
        let batch_ns = batches.max().unwrap_or(0);
        (times.max_delay_ns).saturating_add(batch_ns.saturating_mul(2))
    }

    fn wait(&self, time: Duration, stop: &Stop) -> io::Result<bool> {
        use std::os::fd::AsFd;
        let channels = &self.channels;
        let has_work = || channels.iter().any(ChunkReceiver::is_starved);
        self.waker.wait_for(time, stop.as_fd(), has_work)
    }

    /// Writes what no reader can precede any more. Returns whether all readers have ended.
    fn merge_ready(&mut self, max_delay_ns: u64) -> bool {
        // Marks first: the chunks before them are then there.
        let mut before_ns = u64::MAX;
        let mut has_ended = false;
        for channel in &self.channels {
            let mark_ns = channel.mark_ns();
            before_ns = before_ns.min(mark_ns);
            has_ended |= mark_ns == u64::MAX;
        }
        let is_over = before_ns == u64::MAX;
        if has_ended && !is_over {
            self.stopper.stop();
        }
        for (number, channel) in self.channels.iter().enumerate() {
            while let Some(chunk) = channel.next() {
                self.merge.add(number, chunk);
            }
        }
        // The chunks that were added have packets of no other interfaces.
        for interface in self.joined.take() {
            self.try_to(|consumer| consumer.interface(&interface));
        }
        before_ns = before_ns.max(realtime_ns().saturating_sub(max_delay_ns));
        for (number, channel) in self.channels.iter().enumerate() {
            if channel.is_starved()
                && let Some(freeing_ns) = self.merge.before_to_free(number)
            {
                before_ns = before_ns.max(freeing_ns);
            }
        }
        if self.ended.is_none() {
            let file = self.consumer.file();
            let written = (self.merge).write_before(before_ns, file, &mut self.remaining);
            match written {
                Err(error) => self.end(Ended::Consumer(error.into())),
                Ok(()) if self.remaining == 0 => self.end(Ended::Packets),
                Ok(()) => {}
            }
        }
        if self.ended.is_some() {
            self.merge.discard();
        }
        for (number, channel) in self.channels.iter().enumerate() {
            while let Some(chunk) = self.merge.take_free(number) {
                channel.give_back(chunk);
            }
        }
        is_over
    }

    fn try_to(&mut self, call: impl FnOnce(&mut C) -> Result<(), ConsumerError>) {
        if !self.ended.as_ref().is_some_and(Ended::is_failure)
            && let Err(error) = call(self.consumer)
        {
            self.end(Ended::Consumer(error));
        }
    }

    fn end(&mut self, ended: Ended) {
        self.ended = Some(ended);
        self.stopper.stop();
    }
}

#[cfg(test)]
mod tests;
