//! The end of a capture: what is still in the rings, and the final account.

use std::time::Duration;

use abi::clock::monotonic_ns;
use ring::{Delivery as Policy, TimestampSource};
use store::model::Statistics;

use super::account::Account;
use super::consumer::Consumer;
use super::delivery::Delivery;
use super::job::Capture;
use super::outcome::{Ended, LinkAccount, Outcome};
use super::port::Port;
use super::reader_time::ReaderTime;
use super::survey::State;
use super::wait::nanoseconds;
use crate::stop::Stop;

/// After how long a block that is not full is handed over.
pub(super) fn block_ns(delivery: Policy) -> u64 {
    match delivery {
        Policy::Batch { timeout: block, .. }
        | Policy::Blocks { timeout: block, .. }
        | Policy::Adaptive { target: block } => nanoseconds(block),
        _ => 0,
    }
}

/// Longest time the end waits for packets that are on their way into the rings, beside the time
/// after which the kernel hands over a block.
const SETTLE: Duration = Duration::from_secs(1);

impl Capture {
    /// Closes the rings to new packets and hands over those that are in them or on their way.
    pub(super) fn settle<C: Consumer>(&mut self, delivery: &mut Delivery<'_, C>, stop: &Stop) {
        // A change that is under way is complete then.
        self.changer = None;
        self.take_wish();
        for port in &mut self.ports {
            port.stop(&mut self.lanes);
        }
        self.waiter.remove_stop(stop);
        let block_ns = self.block_ns.max(block_ns(self.options.delivery));
        let deadline_ns =
            (monotonic_ns().saturating_add(block_ns)).saturating_add(nanoseconds(SETTLE));
        loop {
            while !delivery.round(&mut self.lanes).emptied && monotonic_ns() < deadline_ns {}
            // A ring whose counters cannot be read stays, and the account tells what is left in it.
            if self.advance().unwrap_or(false) {
                continue;
            }
            let states = self.ask();
            self.measure(&states, 0);
            let is_settled = |port: &Port| port.is_settled(&self.lanes);
            if self.ports.iter().all(is_settled) || monotonic_ns() >= deadline_ns {
                break;
            }
            // The kernel hands a block over without a wake-up if its interface is gone, so this does
            // not rely on one. An error shows at once here and its lane is known to be down.
            let _ = self.wait(1_000_000);
        }
        for port in &mut self.ports {
            port.abandon(&self.lanes);
        }
    }

    /// Asks all interfaces, and waits for their answers.
    pub(super) fn ask(&mut self) -> Vec<State> {
        let ports = self.ports.iter();
        let ask = |port: &Port| State::ask(&mut self.netlink, port.index());
        ports.map(ask).collect()
    }

    /// Brings the account up to date, where `states` are what the interfaces answered last; `writer` is
    /// what the consumer lost.
    pub(super) fn measure(&mut self, states: &[State], writer: u64) -> Account {
        for (port, state) in self.ports.iter_mut().zip(states) {
            port.measure(&mut self.lanes, state.statistics);
        }
        self.account(writer)
    }

    /// The account of all interfaces. What the consumer took and then lost is not delivered.
    fn account(&self, writer: u64) -> Account {
        let mut account: Account = self.ports.iter().map(|port| port.counters.account()).sum();
        account.delivered = account.delivered.saturating_sub(writer);
        let unwritten = |port: &Port| port.unwritten(&self.lanes);
        account.lost.writer = writer + self.ports.iter().map(unwritten).sum::<u64>();
        account
    }

    /// The final counters, as a capture file tells them.
    pub(super) fn statistics(&self) -> Vec<Statistics> {
        (0..)
            .zip(&self.ports)
            .map(|(number, port)| port.counters.statistics(number, port.beyond(&self.lanes)))
            .collect()
    }

    pub(super) fn outcome(
        &self,
        ended: Ended,
        duration: Duration,
        reader_time: Option<ReaderTime>,
        writer: u64,
    ) -> Outcome {
        let link = |port: &Port| {
            let mut account = port.counters.account();
            account.lost.writer = port.unwritten(&self.lanes);
            if self.ports.len() == 1 {
                account = self.account(writer);
            }
            LinkAccount {
                name: port.link.name.clone(),
                account,
                filter: port.place,
                rings: port.rings(),
                xdp_mode: port.xdp_mode,
                sockets: port.sockets,
                fall_back: port.fall_back,
                native_refusal: port.native_refusal.clone(),
                uncounted: port.uncounted().cloned(),
            }
        };
        let asked = self.options.timestamps;
        let stamped = |port: &Port| port.timestamp_source(asked);
        let by_reader = |&source: &TimestampSource| source == TimestampSource::Reader;
        Outcome {
            ended,
            account: self.account(writer),
            links: self.ports.iter().map(link).collect(),
            duration,
            reader_time,
            timestamp_source: (self.ports.iter())
                .map(stamped)
                .find(by_reader)
                .unwrap_or(asked),
        }
    }
}
