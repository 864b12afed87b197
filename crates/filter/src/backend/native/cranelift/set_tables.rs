//! Lookup tables for sets: bitmaps, hash tables, and indexes of sorted keys.

use crate::backend::native::program::NativeError;
use crate::graph::sets::{MAX_KEY_WORDS, Set};

/// A lookup table for a part of a set. Its words are in separate memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Bits(Bits),
    Hash(Hash),
    Index(Index),
    Keys(Keys),
}

/// Index of a word array among those of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Words(pub usize);

/// A bitmap of `count` numbers starting at `least`. One more bit, which is 0, stands for all other
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    pub least: u32,
    pub count: u32,
    pub words: Words,
}

/// A hash table with open addressing and multiplicative hashing, after a bitmap of hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hash {
    pub multiplier: u32,
    /// A bitmap indexed by the top `32 - filter_shift` bits of the hash.
    pub filter: Words,
    pub filter_shift: u32,
    /// The numbers, probed upwards from the top `32 - shift` bits of the hash.
    pub slots: Words,
    pub shift: u32,
    /// One of the numbers marks the free slots and is not stored in a slot. A search for another
    /// number ends at a free slot, and a search for this one finds it there.
    pub empty: u32,
}

/// Ranges, indexed by the top bits of the distance from the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Index {
    pub least: u32,
    pub most: u32,
    /// A bitmap of blocks of `1 << filter_shift` numbers from `least` that contain members.
    pub filter: Words,
    pub filter_shift: u32,
    /// For each block of `1 << shift` numbers from `least`, and one more: the first range that
    /// starts in the block or later.
    pub starts: Words,
    pub shift: u32,
    /// First numbers of the ranges.
    pub firsts: Words,
    /// Last numbers of the ranges.
    pub lasts: Words,
}

/// Keys of several words: a [`Hash`] without the bitmap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    pub multiplier: u32,
    /// Slots of `stride` words.
    pub slots: Words,
    pub stride: u32,
    pub shift: u32,
    pub empty: [u32; MAX_KEY_WORDS],
}

/// Sets with at most this span become bitmaps (32 KiB).
const MAX_BITS: u32 = 1 << 18;
/// Ranges with at most this many numbers are hashed number by number.
const MAX_IN_HASH: u32 = 16;
/// At least this many numbers get a hash table beside the range index.
const MIN_IN_HASH: usize = 16;
/// Maximum number of probed slots in one search.
const MAX_PROBES: usize = 64;
/// Odd multipliers: 2³² divided by the golden ratio, and digits of π.
const MULTIPLIERS: [u32; 8] = [
    0x9e37_79b9,
    0x243f_6a89,
    0x85a3_08d3,
    0x1319_8a2f,
    0x0370_7345,
    0xa409_3823,
    0x299f_31d1,
    0x082e_fa99,
];

/// The sets of a filter, each as one or two tables.
pub(super) struct Tables {
    pub sets: Vec<Vec<Table>>,
    words: Vec<Box<[u32]>>,
}

impl Tables {
    pub(super) fn of(sets: &[Set]) -> Result<Self, NativeError> {
        let mut tables = Self {
            sets: Vec::with_capacity(sets.len()),
            words: Vec::new(),
        };
        for set in sets {
            let parts = match set {
                Set::Ranges(ranges) => tables.ranges(ranges),
                Set::Keys(words, keys) => vec![tables.keys(*words, keys)?],
            };
            tables.sets.push(parts);
        }
        Ok(tables)
    }

    /// The address of the words, valid while the result of [`Tables::into_words`] lives.
    pub(super) fn address(&self, words: Words) -> *const u32 {
        self.words[words.0].as_ptr()
    }

    pub(super) fn into_words(self) -> Vec<Box<[u32]>> {
        self.words
    }

    fn add(&mut self, words: Vec<u32>) -> Words {
        self.words.push(words.into_boxed_slice());
        Words(self.words.len() - 1)
    }

    fn ranges(&mut self, ranges: &[(u32, u32)]) -> Vec<Table> {
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else {
            return Vec::new();
        };
        let span = last.1 - first.0;
        if span < MAX_BITS {
            return vec![self.bits(ranges, first.0, span + 1)];
        }
        let is_narrow = |range: &&(u32, u32)| range.1 - range.0 < MAX_IN_HASH;
        let narrow = ranges.iter().filter(is_narrow);
        let numbers: Vec<u32> = narrow.flat_map(|range| range.0..=range.1).collect();
        let hash = match numbers.len() {
            MIN_IN_HASH.. => self.hash(&numbers),
            _ => None,
        };
        match hash {
            Some(hash) => {
                let wide = ranges.iter().filter(|range| !is_narrow(range));
                let wide: Vec<_> = wide.copied().collect();
                let mut tables = vec![hash];
                tables.extend((!wide.is_empty()).then(|| self.index(&wide)));
                tables
            }
            None => vec![self.index(ranges)],
        }
    }

    fn bits(&mut self, ranges: &[(u32, u32)], least: u32, count: u32) -> Table {
        let mut words = vec![0; count as usize / 32 + 1];
        for range in ranges {
            for number in range.0 - least..=range.1 - least {
                set_bit(&mut words, number);
            }
        }
        Table::Bits(Bits {
            least,
            count,
            words: self.add(words),
        })
    }

    /// `None` if there are too many collisions.
    fn hash(&mut self, numbers: &[u32]) -> Option<Table> {
        let keys: Vec<_> = numbers.iter().map(|number| [*number, 0, 0, 0]).collect();
        let (multiplier, shift, slots) = hashed(1, &keys)?;
        let filter_shift = 32 - bits_for(numbers.len(), 16, 24);
        let mut filter = vec![0; 1 << (32 - filter_shift - 5)];
        for number in numbers {
            set_bit(&mut filter, number.wrapping_mul(multiplier) >> filter_shift);
        }
        Some(Table::Hash(Hash {
            multiplier,
            filter: self.add(filter),
            filter_shift,
            slots: self.add(slots),
            shift,
            empty: numbers[0],
        }))
    }

    fn keys(&mut self, words: usize, keys: &[[u32; MAX_KEY_WORDS]]) -> Result<Table, NativeError> {
        let error = NativeError::Set { keys: keys.len() };
        let (multiplier, shift, slots) = hashed(words, keys).ok_or(error)?;
        Ok(Table::Keys(Keys {
            multiplier,
            slots: self.add(slots),
            stride: stride(words) as u32,
            shift,
            empty: keys[0],
        }))
    }

    fn index(&mut self, ranges: &[(u32, u32)]) -> Table {
        let (least, most) = (ranges[0].0, ranges[ranges.len() - 1].1);
        let span_bits = u32::BITS - (most - least).leading_zeros();
        let filter_shift = span_bits - bits_for(ranges.len(), 16, 20).min(span_bits);
        let mut filter = vec![0; ((most - least) >> filter_shift) as usize / 32 + 1];
        for range in ranges {
            for bit in (range.0 - least) >> filter_shift..=(range.1 - least) >> filter_shift {
                set_bit(&mut filter, bit);
            }
        }
        let shift = span_bits - bits_for(ranges.len(), 2, 20).min(span_bits);
        let count = ((most - least) >> shift) as usize + 1;
        let mut starts = Vec::with_capacity(count + 1);
        for (at, range) in ranges.iter().enumerate() {
            let bucket = ((range.0 - least) >> shift) as usize;
            starts.resize(starts.len().max(bucket + 1), at as u32);
        }
        starts.resize(count + 1, ranges.len() as u32);
        Table::Index(Index {
            least,
            most,
            filter: self.add(filter),
            filter_shift,
            starts: self.add(starts),
            shift,
            firsts: self.add(ranges.iter().map(|range| range.0).collect()),
            lasts: self.add(ranges.iter().map(|range| range.1).collect()),
        })
    }
}

/// Bits of an index with at least `each` slots per element, at most `most` bits.
fn bits_for(count: usize, each: usize, most: u32) -> u32 {
    let places = (count * each).next_power_of_two();
    places.trailing_zeros().clamp(5, most)
}

fn set_bit(words: &mut [u32], bit: u32) {
    words[bit as usize / 32] |= 1 << (bit % 32);
}

/// Words per slot: a power of two, so that an index is shifted into an offset.
fn stride(words: usize) -> usize {
    words.next_power_of_two()
}

/// The hash of a key; its top bits are the index.
fn hash_of(words: &[u32], multiplier: u32) -> u32 {
    words
        .iter()
        .fold(0, |hash: u32, word| (hash ^ word).wrapping_mul(multiplier))
}

/// Builds a hash table for distinct `keys`: the multiplier, the shift from hash to index, and the
/// slots.
fn hashed(words: usize, keys: &[[u32; MAX_KEY_WORDS]]) -> Option<(u32, u32, Vec<u32>)> {
    let bits = bits_for(keys.len(), 2, 24);
    let (shift, stride) = (32 - bits, stride(words));
    let empty = &keys[0][..words];
    let mut free = vec![0; stride];
    free[..words].copy_from_slice(empty);
    'multipliers: for multiplier in MULTIPLIERS {
        // A search may continue past the last index.
        let mut slots = free.repeat((1 << bits) + MAX_PROBES + 1);
        for key in &keys[1..] {
            let key = &key[..words];
            let home = (hash_of(key, multiplier) >> shift) as usize;
            let mut probed = slots[home * stride..].chunks_exact_mut(stride);
            let mut probed = probed.by_ref().take(MAX_PROBES);
            match probed.find(|slot| slot[..words] == *empty) {
                Some(slot) => slot[..words].copy_from_slice(key),
                None => continue 'multipliers,
            }
        }
        return Some((multiplier, shift, slots));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(set: Set) -> Vec<&'static str> {
        let tables = Tables::of(&[set]).expect("tables");
        let form = |table: &Table| match table {
            Table::Bits(_) => "bits",
            Table::Hash(_) => "hash",
            Table::Index(_) => "index",
            Table::Keys(_) => "keys",
        };
        tables.sets[0].iter().map(form).collect()
    }

    #[test]
    fn a_set_takes_the_form_that_suits_it() {
        let far = |count: u32, width: u32| {
            let ranges = (0..count).map(|at| (at << 20, (at << 20) + width));
            ranges.collect::<Vec<_>>()
        };
        assert_eq!(
            forms(Set::of_ranges(vec![(80, 80), (60_000, 65_535)])),
            ["bits"]
        );
        assert_eq!(forms(Set::of_ranges(far(100, 0))), ["hash"]);
        assert_eq!(forms(Set::of_ranges(far(100, 255))), ["index"]);
        let both = [far(100, 0), vec![(u32::MAX - 999, u32::MAX)]].concat();
        assert_eq!(forms(Set::of_ranges(both)), ["hash", "index"]);
        assert_eq!(
            forms(Set::of_ranges(vec![(0, 0), (u32::MAX, u32::MAX)])),
            ["index"]
        );
        assert_eq!(
            forms(Set::of_keys(3, vec![[1, 2, 3, 0], [1, 2, 4, 0]])),
            ["keys"]
        );
    }

    /// Numbers whose hashes by the first multiplier all collide.
    #[test]
    fn numbers_that_collide_are_hashed_otherwise() {
        // The inverse of an odd number modulo 2³² by Newton's steps, each of which doubles the bits.
        let first = MULTIPLIERS[0];
        let step =
            |inverse: u32| inverse.wrapping_mul(2u32.wrapping_sub(first.wrapping_mul(inverse)));
        let inverse = (0..5).fold(first, |inverse, _| step(inverse));
        let keys: Vec<_> = (0..1000u32)
            .map(|low| [low.wrapping_mul(inverse), 0, 0, 0])
            .collect();
        let (multiplier, _, _) = hashed(1, &keys).expect("another multiplier");
        assert_ne!(multiplier, first);
    }
}
