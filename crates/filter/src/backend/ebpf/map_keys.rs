//! The BPF map of a set: its type and its keys.

use crate::graph::sets::Set;

/// The map type for a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// A hash table; the key is the words in host byte order.
    #[doc(alias = "BPF_MAP_TYPE_HASH")]
    Hash,
    /// A trie of prefixes; the key is the prefix length in bits, in host byte order, then the word
    /// in network byte order.
    #[doc(alias = "BPF_MAP_TYPE_LPM_TRIE")]
    LongestPrefix,
}

/// Bits in a word.
const WORD_BITS: u32 = 32;

impl MapKind {
    /// The map type in which the code of a fragment looks up `set`.
    pub fn of(set: &Set) -> Self {
        match set {
            Set::Ranges(ranges) if ranges.iter().any(|(least, most)| least != most) => {
                Self::LongestPrefix
            }
            _ => Self::Hash,
        }
    }
}

/// The concatenated keys of the map for `set`, and the length of a key in bytes. The values of the
/// map are unused.
///
/// A range becomes as few prefixes as possible, at most 62.
pub fn map_keys(set: &Set) -> (Vec<u8>, usize) {
    let key_bytes = match MapKind::of(set) {
        MapKind::Hash => 4 * set.words(),
        MapKind::LongestPrefix => 8,
    };
    let mut keys = Vec::with_capacity(key_bytes * set.len());
    match (MapKind::of(set), set) {
        (MapKind::Hash, Set::Ranges(ranges)) => {
            for (word, _) in ranges {
                keys.extend(word.to_ne_bytes());
            }
        }
        (MapKind::LongestPrefix, Set::Ranges(ranges)) => {
            for (word, bits) in ranges.iter().flat_map(|&range| Prefixes(Some(range))) {
                keys.extend(bits.to_ne_bytes());
                keys.extend(word.to_be_bytes());
            }
        }
        (_, Set::Keys(words, all)) => {
            for word in all.iter().flat_map(|key| &key[..*words]) {
                keys.extend(word.to_ne_bytes());
            }
        }
    }
    (keys, key_bytes)
}

/// Splits the remaining range into prefixes: the first word and the prefix length of each.
struct Prefixes(Option<(u32, u32)>);

impl Iterator for Prefixes {
    type Item = (u32, u32);

    fn next(&mut self) -> Option<Self::Item> {
        let (least, most) = self.0?;
        // The largest block that starts at `least` and ends at `most` or before.
        let mut free = least.trailing_zeros();
        while free > 0 && last(least, free) > most {
            free -= 1;
        }
        let end = last(least, free);
        self.0 = (end < most).then(|| (end + 1, most));
        Some((least, WORD_BITS - free))
    }
}

fn last(least: u32, free: u32) -> u32 {
    least | u32::MAX.checked_shr(WORD_BITS - free).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with the numbers themselves, one by one.
    #[test]
    fn prefixes_cover_a_range_and_nothing_else() {
        for (least, most) in [(0, 255), (1, 254), (5, 5), (6, 9), (0, 0), (128, 200)] {
            let prefixes: Vec<_> = Prefixes(Some((least, most))).collect();
            let covers = |word: u32| {
                let mut all = prefixes.iter();
                all.any(|(first, bits)| word >> (32 - bits) == first >> (32 - bits))
            };
            assert!((0..300).all(|word| covers(word) == (least..=most).contains(&word)));
        }
    }

    #[test]
    fn the_widest_range_is_one_prefix_and_the_worst_are_62() {
        let count = |range| Prefixes(Some(range)).count();
        assert_eq!(count((0, u32::MAX)), 1);
        assert_eq!(count((1, u32::MAX - 1)), 62);
        assert_eq!(Prefixes(Some((0, u32::MAX))).next(), Some((0, 0)));
    }
}
