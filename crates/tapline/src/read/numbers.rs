//! Packets selected by their numbers.

use std::ops::RangeInclusive;

/// Numbers of packets, counted from 1 in the order in which the job reads them. Wireshark shows the same ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketNumbers {
    /// Sorted and disjoint.
    ranges: Vec<RangeInclusive<u64>>,
    /// Whether the packets with these numbers are selected, or all others.
    is_only: bool,
}

impl PacketNumbers {
    /// Only the packets in `ranges`. The job ends after the last of them.
    pub fn only(ranges: impl IntoIterator<Item = RangeInclusive<u64>>) -> Self {
        Self {
            ranges: disjoint(ranges),
            is_only: true,
        }
    }

    /// All packets but those in `ranges`.
    pub fn all_but(ranges: impl IntoIterator<Item = RangeInclusive<u64>>) -> Self {
        Self {
            ranges: disjoint(ranges),
            is_only: false,
        }
    }

    /// Whether the packet with this number is selected.
    #[inline]
    pub(super) fn contains(&self, number: u64) -> bool {
        let next = self.ranges.partition_point(|range| *range.end() < number);
        let is_named = self
            .ranges
            .get(next)
            .is_some_and(|range| range.contains(&number));
        is_named == self.is_only
    }

    /// The last number that can be selected.
    pub(super) fn last(&self) -> u64 {
        match self.ranges.last() {
            _ if !self.is_only => u64::MAX,
            Some(range) => *range.end(),
            None => 0,
        }
    }
}

/// The same numbers in ranges that are sorted and do not overlap.
fn disjoint(ranges: impl IntoIterator<Item = RangeInclusive<u64>>) -> Vec<RangeInclusive<u64>> {
    let mut sorted: Vec<_> = ranges
        .into_iter()
        .filter(|range| !range.is_empty())
        .collect();
    sorted.sort_unstable_by_key(|range| *range.start());
    let mut disjoint: Vec<RangeInclusive<u64>> = Vec::new();
    for range in sorted {
        match disjoint.last_mut() {
            Some(last) if range.start() <= last.end() => {
                *last = *last.start()..=*last.end().max(range.end());
            }
            _ => disjoint.push(range),
        }
    }
    disjoint
}
