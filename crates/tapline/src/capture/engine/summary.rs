//! The result of a capture.

use store::model::Statistics;

use super::super::account::counters::statistics;
use super::super::account::summary::{CaptureSummary, Ended, InterfaceAccount};
use super::super::interface::Interface;
use super::{Engine, RunTime};

impl Engine {
    /// The final counters, as a capture file stores them.
    pub fn statistics(&self) -> Vec<Statistics> {
        let statistics = |number: u32| {
            let parts = self.parts(number);
            let account = parts.clone().map(|part| part.counters.account()).sum();
            let start_ns = parts.clone().next().map(|part| part.counters.start_ns());
            let untaken = parts.map(|part| part.untaken(&self.queues)).sum();
            statistics(number, &account, start_ns.unwrap_or(0), untaken)
        };
        (0..self.descriptions.len() as u32)
            .map(statistics)
            .collect()
    }

    /// The summary; the consumer lost `writer` packets.
    pub fn summary(&self, ended: Ended, time: RunTime, writer: u64) -> CaptureSummary {
        let numbers = 0..self.descriptions.len() as u32;
        let mut links: Vec<_> = (numbers)
            .filter_map(|number| {
                let accounts = self.parts(number).map(|part| self.interface_account(part));
                accounts.reduce(InterfaceAccount::followed_by)
            })
            .collect();
        if let [link] = &mut links[..] {
            link.account = self.account(writer);
        }
        CaptureSummary {
            ended,
            account: self.account(writer),
            links,
            duration: time.duration,
            reader_time: time.reader,
            readers: Vec::new(),
            unread_queues: Vec::new(),
            merge: None,
        }
    }

    /// Interface `number` with each of the back ends that it had.
    fn parts(&self, number: u32) -> impl Iterator<Item = &Interface> + Clone {
        let interfaces = self.interfaces.iter();
        interfaces.filter(move |interface| interface.number == number)
    }

    fn interface_account(&self, interface: &Interface) -> InterfaceAccount {
        let mut account = interface.counters.account();
        account.lost.writer = interface.unwritten(&self.queues);
        InterfaceAccount {
            name: interface.link.name.clone(),
            account,
            backend: interface.opened(&self.queues).backend,
            filter: interface.place,
            rings: interface.rings(),
            xdp_mode: interface.xdp_mode,
            sockets: interface.sockets,
            fall_back: interface.fall_back,
            native_refusal: interface.native_refusal.clone(),
            uncounted: interface.uncounted(),
            timestamps: interface.stamping.source,
            timestamp_counts: interface.stamps(&self.queues),
            timestamp_refusal: interface.stamping.refusal.clone(),
            device_clock: interface.device_clock(&self.queues),
        }
    }
}
