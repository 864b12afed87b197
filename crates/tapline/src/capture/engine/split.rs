//! One capture for each of several readers of the same interfaces.

use std::os::fd::AsFd;
use std::sync::Arc;

use netlink::Netlink;

use super::super::account::counters::LiveCounters;
use super::super::control::pending::PendingChanges;
use super::super::error::CaptureError;
use super::super::interface::Interface;
use super::super::read::poller::{Poller, nanoseconds};
use super::super::read::queue::RxQueue;
use super::super::read::ring::{RingReader, RxRing};
use super::Engine;

impl Engine {
    /// Divides the queues among `readers` readers, at most as many as each interface has queues: this one and those
    /// that are returned. Call it in the network namespace of the interfaces.
    pub fn split(&mut self, readers: usize) -> Result<Vec<Self>, CaptureError> {
        let least = self.interfaces.iter().map(Interface::rings).min();
        let readers = readers.min(least.unwrap_or(1)).max(1);
        let mut dealt: Vec<Vec<RxQueue>> = (0..readers).map(|_| Vec::new()).collect();
        let mut parts: Vec<Vec<Interface>> = (1..readers).map(|_| Vec::new()).collect();
        let mut queues = std::mem::take(&mut self.queues).into_iter();
        for interface in &mut self.interfaces {
            let starts: Vec<usize> = dealt.iter().map(Vec::len).collect();
            let mut rings = vec![Vec::new(); readers];
            for (place, queue) in queues.by_ref().take(interface.rings()).enumerate() {
                dealt[place % readers].push(queue);
                rings[place % readers].push(place);
            }
            let ranges = starts.iter().zip(&dealt);
            let ranges: Vec<_> = ranges.map(|(&start, own)| start..own.len()).collect();
            let others = interface.share(&ranges, rings);
            for (part, other) in parts.iter_mut().zip(others) {
                part.push(other);
            }
        }
        let mut dealt = dealt.into_iter();
        self.take_queues(dealt.next().unwrap_or_default())?;
        let mut others = Vec::with_capacity(parts.len());
        for (interfaces, queues) in parts.into_iter().zip(dealt) {
            let wait = |source| CaptureError::Wait { source };
            let mut other = Self {
                control: None,
                shared_control: None,
                interfaces,
                queues: Vec::new(),
                descriptions: self.descriptions.clone(),
                netlink: Netlink::open()?,
                link_poller_netlink: None,
                poller: Poller::new().map_err(wait)?,
                options: self.options.clone(),
                warnings: Vec::new(),
                pending: Arc::new(PendingChanges::new().map_err(wait)?),
                start_ns: self.start_ns,
                live: LiveCounters::default(),
                leaving: Vec::new(),
                down: Vec::new(),
                accepted_late: None,
            };
            other.take_queues(queues)?;
            others.push(other);
        }
        Ok(others)
    }

    /// Reads `queues`, which are those of its interfaces, instead of those before.
    fn take_queues(&mut self, mut queues: Vec<RxQueue>) -> Result<(), CaptureError> {
        let wait = |source| CaptureError::Wait { source };
        for queue in &mut queues {
            let interface = &self.interfaces[queue.interface as usize];
            queue.counters = interface.counters.clone();
        }
        self.queues = queues;
        self.live = self.counters();
        self.poller = Poller::new().map_err(wait)?;
        for (number, queue) in self.queues.iter().enumerate() {
            self.poller.add(number, queue).map_err(wait)?;
        }
        self.poller.add_wake(self.pending.as_fd()).map_err(wait)
    }

    /// Its only queue, if it is one of AF_XDP.
    pub fn only_queue(&self) -> Option<u32> {
        match &self.queues[..] {
            [queue] => match &queue.reader {
                RingReader::Xdp(ring) => Some(ring.queue()),
                _ => None,
            },
            _ => None,
        }
    }

    /// After how many nanoseconds at most the reader sees a packet that the kernel has put into a ring, also into one that
    /// takes over.
    pub fn invisible_ns(&self) -> u64 {
        let next = self.queues.iter().filter_map(|queue| queue.next.as_ref());
        let rings = self.queues.iter().map(RxQueue::ring);
        let rings = rings.chain(next.map(RingReader::ring));
        let times = rings.filter_map(RxRing::block_time);
        times.max().map_or(0, nanoseconds)
    }

    /// A time stamp before which no packet waits in a ring, also in one that takes over, at `now_ns` by the time of day. The
    /// kernel may hand over a block later than its time, by `late_ns`. `u64::MAX` with a single ring, which is read in order.
    pub fn oldest_unread_ns(&self, now_ns: u64, late_ns: u64) -> u64 {
        if self.queues.len() < 2 {
            return u64::MAX;
        }
        let next = self.queues.iter().filter_map(|queue| queue.next.as_ref());
        let rings = self.queues.iter().map(RxQueue::ring);
        let rings = rings.chain(next.map(RingReader::ring));
        let age_ns = |ring: &dyn RxRing| {
            let of_block = |time| nanoseconds(time).saturating_add(late_ns);
            // Without a packet to see, a block that is not full may have some.
            let age_ns = ring.oldest_age_ns(now_ns);
            age_ns.or_else(|| ring.block_time().map(of_block))
        };
        now_ns.saturating_sub(rings.filter_map(age_ns).max().unwrap_or(0))
    }

    /// Whether an interface has time stamps of a clock that cannot be compared with the time of day.
    pub fn has_unconverted_stamps(&self) -> bool {
        let mut interfaces = self.interfaces.iter();
        interfaces.any(|interface| interface.stamping.is_unconverted())
    }

    /// Leaves the counters of the interfaces to another capture of them, whose account gets their losses.
    pub fn leave_link_poller(&mut self) {
        self.link_poller_netlink = None;
    }
}
