//! Packets that have the same bytes as an earlier one.

use std::collections::{BTreeSet, VecDeque};
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
///
/// Cost per packet: O(log packets), whatever the times and bytes.
#[derive(Debug)]
pub(super) struct Recent {
    max_packets: usize,
    /// `None`: all packets that are remembered are in the window.
    max_ns: Option<u64>,
    hasher: RandomState,
    /// Number of the next packet.
    number: u64,
    /// Times and keys, oldest first.
    packets: VecDeque<(u64, Key)>,
    /// Keys, times and numbers. It does not have packets that a newer one makes superfluous: one with the same key, and the same or
    /// an earlier time.
    latest: BTreeSet<(Key, u64, u64)>,
    /// Numbers and times of the packets that are earlier than all newer ones, oldest first.
    earliest: VecDeque<(u64, u64)>,
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
            number: 0,
            packets: VecDeque::new(),
            latest: BTreeSet::new(),
            earliest: VecDeque::new(),
        }
    }

    /// Whether an earlier packet in the window has the same bytes. Remembers this one.
    pub(super) fn has(&mut self, time_ns: u64, bytes: &[u8]) -> bool {
        // In a window of packets, times do not matter.
        let time_ns = self.max_ns.map_or(0, |_| time_ns);
        let key = (bytes.len(), self.hasher.hash_one(bytes));
        while self.packets.len() > self.max_packets {
            self.forget_oldest();
        }
        // Packets with a later time do not count.
        let until = (key, time_ns, u64::MAX);
        let mut same = self.latest.range((key, 0, 0)..=until);
        let newest = same.next_back().map(|&(_, _, number)| number);
        let is_known = newest.is_some_and(|number| self.is_near(time_ns, number));
        self.remember(time_ns, key);
        is_known
    }

    /// Whether the packet with this number and all newer ones are in the window: a search from the newest one reaches it.
    fn is_near(&self, time_ns: u64, number: u64) -> bool {
        let max_ns = self.max_ns.unwrap_or(u64::MAX);
        let first = self.earliest.partition_point(|&(at, _)| at < number);
        let earliest = self.earliest.get(first);
        earliest.is_some_and(|&(_, earliest_ns)| time_ns.saturating_sub(earliest_ns) <= max_ns)
    }

    fn remember(&mut self, time_ns: u64, key: Key) {
        let later = (key, time_ns, 0)..=(key, u64::MAX, u64::MAX);
        while let Some(other) = self.latest.range(later.clone()).next().copied() {
            self.latest.remove(&other);
        }
        self.latest.insert((key, time_ns, self.number));
        while (self.earliest.back()).is_some_and(|&(_, earlier_ns)| earlier_ns >= time_ns) {
            self.earliest.pop_back();
        }
        self.earliest.push_back((self.number, time_ns));
        self.packets.push_back((time_ns, key));
        self.number += 1;
    }

    fn forget_oldest(&mut self) {
        let number = self.number - self.packets.len() as u64;
        let Some((time_ns, key)) = self.packets.pop_front() else {
            return;
        };
        self.latest.remove(&(key, time_ns, number));
        if (self.earliest.front()).is_some_and(|&(first, _)| first == number) {
            self.earliest.pop_front();
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
        let twice = (0..2).flat_map(|_| 0..100_000_u32);
        let known = twice.filter(|number| recent.has(0, &number.to_be_bytes()));
        assert_eq!(known.count(), 100_000);
    }

    /// A search before each of them would go back to the first one.
    #[test]
    fn packets_whose_times_go_back_are_no_duplicates() {
        let mut recent = Recent::new(DuplicateWindow::Nanoseconds(u64::MAX));
        let mut times = (1..=100_000_u64).rev();
        assert!(!times.any(|time_ns| recent.has(time_ns, b"the same")));
        assert!(recent.has(1, b"the same"));
    }

    #[test]
    fn a_window_has_what_a_search_finds() {
        const MOST: usize = 20;
        for window in [
            DuplicateWindow::Packets(1),
            DuplicateWindow::Packets(5),
            DuplicateWindow::Nanoseconds(0),
            DuplicateWindow::Nanoseconds(3),
            DuplicateWindow::Nanoseconds(10),
        ] {
            let mut recent = Recent::new(window);
            recent.max_packets = recent.max_packets.min(MOST);
            let mut before: Vec<(u64, u8)> = Vec::new();
            let (mut random, mut known) = (1_u64, 0);
            for number in 0..5000_usize {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let (time_ns, byte) = (random >> 60, (random >> 40) as u8 % 8);
                let near = before.iter().rev().take(MOST);
                let expected = match window {
                    DuplicateWindow::Packets(most) => {
                        near.take(most).any(|&(_, other)| other == byte)
                    }
                    DuplicateWindow::Nanoseconds(ns) => near
                        .take_while(|&&(earlier_ns, _)| time_ns.saturating_sub(earlier_ns) <= ns)
                        .any(|&(earlier_ns, other)| other == byte && earlier_ns <= time_ns),
                };
                assert_eq!(
                    recent.has(time_ns, &[byte]),
                    expected,
                    "{window:?} {number}"
                );
                known += usize::from(expected);
                before.push((time_ns, byte));
            }
            assert!((100..4900).contains(&known), "{window:?}: {known}");
        }
    }
}
