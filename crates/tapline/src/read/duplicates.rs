//! Packets that have the same bytes as an earlier one.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

/// How far back a packet is compared with earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateWindow {
    /// With this many packets before it, at most 1 000 000.
    Packets(usize),
    /// With the packets before it, back to the first that is more than this many nanoseconds older, and at most
    /// 1 000 000 of them. Packets with a later time are left out of the comparison.
    Nanoseconds(u64),
}

/// Packets that are remembered at most.
const MAX_PACKETS: usize = 1_000_000;

/// Length and hash of a packet's bytes. Nobody can make two packets with the same hash, because its key is random.
type Key = (usize, u64);

/// The packets in a window.
#[derive(Debug)]
pub(super) struct Recent {
    max_packets: usize,
    /// `None`: all packets that are remembered are in the window.
    max_ns: Option<u64>,
    hasher: RandomState,
    /// Times and keys, oldest first.
    packets: VecDeque<(u64, Key)>,
    /// How many of them have a key: the others are not searched.
    counts: HashMap<Key, u32>,
}

impl Recent {
    pub(super) fn new(window: DuplicateWindow) -> Self {
        let (max_packets, max_ns) = match window {
            DuplicateWindow::Packets(packets) => (packets.min(MAX_PACKETS), None),
            DuplicateWindow::Nanoseconds(ns) => (MAX_PACKETS, Some(ns)),
        };
        Self {
            max_packets,
            max_ns,
            hasher: RandomState::new(),
            packets: VecDeque::new(),
            counts: HashMap::new(),
        }
    }

    /// Whether an earlier packet in the window has the same bytes. Remembers this one.
    pub(super) fn has(&mut self, time_ns: u64, bytes: &[u8]) -> bool {
        let key = (bytes.len(), self.hasher.hash_one(bytes));
        while self.packets.len() > self.max_packets {
            self.forget_oldest();
        }
        let is_near = |max_ns| self.is_near(time_ns, max_ns, key);
        let is_known = self.counts.contains_key(&key) && self.max_ns.is_none_or(is_near);
        self.packets.push_back((time_ns, key));
        *self.counts.entry(key).or_default() += 1;
        is_known
    }

    fn is_near(&self, time_ns: u64, max_ns: u64, key: Key) -> bool {
        let is_in_window =
            |&&(earlier_ns, _): &&(u64, Key)| time_ns.saturating_sub(earlier_ns) <= max_ns;
        // Packets that are later in time are no earlier ones.
        let is_same = |&(earlier_ns, other): &(u64, Key)| other == key && earlier_ns <= time_ns;
        let mut near = self.packets.iter().rev().take_while(is_in_window);
        near.any(is_same)
    }

    fn forget_oldest(&mut self) {
        let Some((_, key)) = self.packets.pop_front() else {
            return;
        };
        if let Some(count) = self.counts.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a search through the packets before each of them it would take hours.
    #[test]
    fn packets_that_come_again_after_many_others_are_duplicates() {
        let mut recent = Recent::new(DuplicateWindow::Packets(1_000_000));
        let twice = (0..2).flat_map(|_| 0..500_000_u32);
        let known = twice.filter(|number| recent.has(0, &number.to_be_bytes()));
        assert_eq!(known.count(), 500_000);
    }
}
