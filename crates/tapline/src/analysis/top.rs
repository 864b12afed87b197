//! The largest of many, in bounded memory.

use std::collections::HashMap;
use std::hash::Hash;

use super::remove_lower_half;

/// Traffic in two directions: of a host what it sent and received, of a flow from its first end and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets in each direction.
    pub packets: [u64; 2],
    /// Bytes on the wire in each direction.
    pub bytes: [u64; 2],
}

impl Traffic {
    /// Packets of both directions.
    pub fn all_packets(&self) -> u64 {
        self.packets.iter().sum()
    }

    /// Bytes of both directions.
    pub fn all_bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }
}

/// Traffic by key. When there are too many keys, the half with fewest bytes is forgotten.
///
/// A key that comes back afterwards starts at 0. So a figure may lack up to [`Self::missing_bytes`], and every key with more
/// bytes than that is present.
#[derive(Clone, Debug)]
pub struct Top<K> {
    keys: HashMap<K, Traffic>,
    most: usize,
    forgotten: u64,
    missing_bytes: u64,
}

impl<K: Copy + Eq + Hash + Ord> Top<K> {
    pub(super) fn new(most: usize) -> Self {
        Self {
            keys: HashMap::new(),
            most,
            forgotten: 0,
            missing_bytes: 0,
        }
    }

    pub(super) fn add(&mut self, key: K, direction: usize, bytes: u64) {
        if self.keys.len() >= self.most && !self.keys.contains_key(&key) {
            let (forgotten, limit) = remove_lower_half(&mut self.keys, Traffic::all_bytes);
            self.forgotten += forgotten;
            self.missing_bytes = self.missing_bytes.saturating_add(limit);
        }
        let traffic = self.keys.entry(key).or_default();
        traffic.packets[direction] += 1;
        traffic.bytes[direction] += bytes;
    }

    /// Number of keys, without those forgotten.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How often a key was forgotten.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The most bytes that a figure may lack.
    pub fn missing_bytes(&self) -> u64 {
        self.missing_bytes
    }

    /// The keys with most bytes, at most `most`; equal ones in the order of the keys.
    pub fn largest(&self, most: usize) -> Vec<(K, Traffic)> {
        let mut all: Vec<_> = self
            .keys
            .iter()
            .map(|(&key, &traffic)| (key, traffic))
            .collect();
        all.sort_unstable_by_key(|&(key, traffic)| (std::cmp::Reverse(traffic.all_bytes()), key));
        all.truncate(most);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_stay_among_many_small_ones() {
        let mut top = Top::new(64);
        for round in 0..1000_u32 {
            top.add(7, 0, 1000);
            top.add(9, 1, 500);
            // Each once.
            for number in 0..10 {
                top.add(1000 + round * 10 + number, 0, 60);
            }
        }
        let largest = top.largest(2);
        assert_eq!(largest.iter().map(|one| one.0).collect::<Vec<_>>(), [7, 9]);
        for ((_, traffic), exact) in largest.iter().zip([1_000_000, 500_000]) {
            let missing = exact - traffic.all_bytes();
            assert!(missing <= top.missing_bytes(), "{missing}");
        }
        assert!(top.len() <= 64);
        assert_eq!(top.len() as u64 + top.forgotten(), 10_002);
    }
}
