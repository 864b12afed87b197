//! Binary fuse filters: sets of 64-bit hashes in about 9 bits each, with 1 of 256 other hashes taken for a member.
//!
//! # Source
//! Graf, Lemire: Binary Fuse Filters: Fast and Smaller Than Xor Filters. ACM JEA 27 (2022).

/// Tries to build a filter, each with other hash functions. One fails in less than a hundredth of the cases.
const TRIES: u64 = 64;

/// Longest segment.
const SEGMENT_MAX: u32 = 1 << 18;

/// A set of hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fuse {
    pub seed: u64,
    /// Power of 2.
    pub segment: u32,
    /// Number of segments in which a hash can begin; there are two more.
    pub segments: u32,
    pub fingerprints: Vec<u8>,
}

/// Segment length and number of segments for `count` hashes.
#[expect(
    clippy::cast_sign_loss,
    reason = "both logarithms are those of 2 or more"
)]
fn shape(count: usize) -> (u32, u32) {
    let count = (count.max(2)) as f64;
    let segment = 1_u32 << (count.ln() / 3.33_f64.ln() + 2.25).floor() as u32;
    let segment = segment.min(SEGMENT_MAX);
    let factor = (0.875 + 0.25 * 1e6_f64.ln() / count.ln()).max(1.125);
    let capacity = (count * factor).round() as u32;
    let segments = capacity.div_ceil(segment).saturating_sub(2).max(1);
    (segment, segments)
}

/// Bytes of the fingerprints of `count` hashes.
pub(super) fn bytes(count: usize) -> usize {
    let (segment, segments) = shape(count);
    segment as usize * (segments as usize + 2)
}

/// An upper bound of the hashes whose fingerprints fit into `bytes` bytes.
pub(super) fn capacity_at_most(bytes: usize) -> usize {
    // Each hash takes 1.125 places or more.
    bytes / 9 * 8 + 8
}

/// The finalizer of MurmurHash3: every bit of the input changes half of the output.
#[inline]
pub(super) fn mix(mut value: u64) -> u64 {
    value ^= value >> 33;
    value = value.wrapping_mul(0xff51_afd7_ed55_8ccd);
    value ^= value >> 33;
    value = value.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ (value >> 33)
}

/// The hashes that have a place, while a filter is built. Together, so that a look at a place takes one cache line.
#[derive(Clone, Copy, Default)]
struct Place {
    count: u32,
    /// Their exclusive or.
    sum: u64,
}

impl Fuse {
    /// The set of `hashes`. `None` if no try succeeds.
    ///
    /// Its shape is that for the number of `hashes`, unless some are equal.
    pub(super) fn new(mut hashes: Vec<u64>) -> Option<Self> {
        // No try succeeds with equal hashes. They are rare, and sorting takes as long as a try: so only after the first.
        Self::with_seed(&hashes, mix(1)).or_else(|| {
            hashes.sort_unstable();
            hashes.dedup();
            (0..TRIES).find_map(|seed| Self::with_seed(&hashes, mix(seed + 1)))
        })
    }

    /// The set of `hashes`, which differ from each other, if it exists with this seed.
    fn with_seed(hashes: &[u64], seed: u64) -> Option<Self> {
        let (segment, segments) = shape(hashes.len());
        let length = segment as usize * (segments as usize + 2);
        let mut filter = Self {
            seed,
            segment,
            segments,
            fingerprints: vec![0; length],
        };
        let mut places = vec![Place::default(); length];
        for &hash in hashes {
            let mixed = mix(hash ^ seed);
            for at in filter.places(mixed) {
                let place = &mut places[at];
                place.count += 1;
                place.sum ^= mixed;
            }
        }
        // A place with one hash decides about this hash; without it, other places have one. Each place is added at most once. A
        // place is always written behind the last one, and counts only if it has one hash: the CPU cannot predict a branch.
        let mut single = vec![0_u32; length + 1];
        let mut top = 0;
        for (at, place) in places.iter().enumerate() {
            single[top] = at as u32;
            top += usize::from(place.count == 1);
        }
        let mut order = Vec::with_capacity(hashes.len());
        while top > 0 {
            top -= 1;
            let at = single[top] as usize;
            let Place {
                count: 1,
                sum: mixed,
            } = places[at]
            else {
                continue;
            };
            order.push((mixed, at));
            for other in filter.places(mixed) {
                let place = &mut places[other];
                place.count -= 1;
                place.sum ^= mixed;
                single[top] = other as u32;
                top += usize::from(place.count == 1);
            }
        }
        if order.len() < hashes.len() {
            return None;
        }
        for &(mixed, place) in order.iter().rev() {
            let others = filter.places(mixed).map(|other| filter.fingerprints[other]);
            let own = filter.fingerprints[place];
            let [a, b, c] = others;
            filter.fingerprints[place] = fingerprint(mixed) ^ a ^ b ^ c ^ own;
        }
        Some(filter)
    }

    /// The three places of a mixed hash, in consecutive segments.
    fn places(&self, mixed: u64) -> [usize; 3] {
        let range = u128::from(self.segments) * u128::from(self.segment);
        // Below `segments * segment`, which is 32 bits.
        let first = ((u128::from(mixed) * range) >> 64) as usize;
        let mask = self.segment as usize - 1;
        let segment = self.segment as usize;
        let second = (first + segment) ^ ((mixed >> 18) as usize & mask);
        let third = (first + 2 * segment) ^ (mixed as usize & mask);
        [first, second, third]
    }

    /// Whether the set may have `hash`. Never false for one that it has.
    pub(super) fn may_have(&self, hash: u64) -> bool {
        let mixed = mix(hash ^ self.seed);
        let values = self
            .places(mixed)
            .map(|place| self.fingerprints.get(place).copied());
        match values {
            [Some(a), Some(b), Some(c)] => fingerprint(mixed) == a ^ b ^ c,
            // Not of a filter that was read: its length is checked.
            _ => true,
        }
    }
}

fn fingerprint(mixed: u64) -> u8 {
    (mixed ^ (mixed >> 32)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_is_found_and_few_others() {
        for count in [0, 1, 2, 3, 7, 100, 5000, 200_000] {
            let hashes: Vec<u64> = (0..count).map(mix).collect();
            let filter = Fuse::new(hashes.clone()).expect("a filter");
            assert_eq!(
                Fuse::new(hashes.iter().rev().copied().collect()).as_ref(),
                Some(&filter)
            );
            let twice = hashes.iter().chain(&hashes).copied().collect();
            assert_eq!(Fuse::new(twice).as_ref(), Some(&filter), "{count}");
            assert!(hashes.iter().all(|&hash| filter.may_have(hash)), "{count}");
            assert_eq!(filter.fingerprints.len(), bytes(hashes.len()));
            assert!(hashes.len() <= capacity_at_most(bytes(hashes.len())));
            let others = (count..count + 100_000).filter(|&other| filter.may_have(mix(other)));
            // 391 of 100 000 are expected; an empty filter has none but by chance.
            let found = others.count();
            assert!(found < 600, "{count}: {found}");
        }
    }

    #[test]
    fn large_sets_take_nine_bits_for_each() {
        let bits = bytes(200_000) as f64 * 8.0 / 200_000.0;
        assert!((8.9..9.6).contains(&bits), "{bits}");
    }
}
