//! Sets of addresses, networks and ports.

use std::collections::HashMap;

/// The id of a set of a filter; equal sets have equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetId(pub u16);

impl std::fmt::Display for SetId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "set {}", self.0)
    }
}

/// Words in the longest key: an IPv6 address.
pub const MAX_KEY_WORDS: usize = 4;

/// A list of hosts, networks or ports, as a set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    /// Inclusive ranges of numbers, sorted, not adjacent.
    Ranges(Vec<(u32, u32)>),
    /// Keys of this many words (2 to [`MAX_KEY_WORDS`]), sorted, without duplicates. Unused words
    /// are 0.
    Keys(usize, Vec<[u32; MAX_KEY_WORDS]>),
}

impl Set {
    /// The set of numbers in `ranges`, in any order.
    pub(crate) fn of_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (least, most) in ranges {
            match merged.last_mut() {
                Some(last) if least <= last.1.saturating_add(1) => last.1 = last.1.max(most),
                _ => merged.push((least, most)),
            }
        }
        Self::Ranges(merged)
    }

    /// The set of keys of `words` words, in any order.
    pub(crate) fn of_keys(words: usize, mut keys: Vec<[u32; MAX_KEY_WORDS]>) -> Self {
        keys.sort_unstable();
        keys.dedup();
        Self::Keys(words, keys)
    }

    /// Number of ranges or keys.
    pub fn len(&self) -> usize {
        match self {
            Self::Ranges(ranges) => ranges.len(),
            Self::Keys(_, keys) => keys.len(),
        }
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Words in a key.
    pub fn words(&self) -> usize {
        match self {
            Self::Ranges(_) => 1,
            Self::Keys(words, _) => *words,
        }
    }

    /// Whether `key` is in the set; words after [`Set::words`] must be 0.
    pub fn contains(&self, key: &[u32; MAX_KEY_WORDS]) -> bool {
        match self {
            Self::Ranges(ranges) => {
                let behind = ranges.partition_point(|range| range.0 <= key[0]);
                behind > 0 && key[0] <= ranges[behind - 1].1
            }
            Self::Keys(_, keys) => keys.binary_search(key).is_ok(),
        }
    }
}

/// The sets of a filter, without duplicates.
#[derive(Default)]
pub(crate) struct Sets {
    sets: Vec<Set>,
    ids: HashMap<Set, SetId>,
}

impl Sets {
    /// The id of the set; `None` if there are too many sets.
    pub(crate) fn add(&mut self, set: Set) -> Option<SetId> {
        if let Some(&id) = self.ids.get(&set) {
            return Some(id);
        }
        let id = SetId(u16::try_from(self.sets.len()).ok()?);
        self.sets.push(set.clone());
        self.ids.insert(set, id);
        Some(id)
    }

    pub(crate) fn into_vec(self) -> Vec<Set> {
        self.sets
    }
}
