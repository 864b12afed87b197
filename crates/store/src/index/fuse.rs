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
    // Each hash takes 1.125 slots or more.
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

/// The hashes that have a slot, while a filter is built. Together, so that a look at a slot takes one cache line.
#[derive(Clone, Copy, Default)]
struct Slot {
    count: u32,
    /// Their exclusive or.
    sum: u64,
}

/// Memory in which sets are built. It is used again: new memory costs a page fault for each 4 KiB.
#[derive(Default)]
pub(super) struct Workspace {
    slots: Vec<Slot>,
    /// Slots that have one hash.
    single: Vec<u32>,
    /// Each hash and the slot that decides about it.
    order: Vec<(u64, usize)>,
}

impl Workspace {
    /// Empties the slots, and makes room for a set of `hashes` hashes. Whatever else is there stays and is overwritten.
    fn prepare(&mut self, hashes: usize, slots: usize) {
        self.slots.clear();
        self.slots.resize(slots, Slot::default());
        self.single.resize(slots + 1, 0);
        self.order.resize(hashes, (0, 0));
    }
}

impl Fuse {
    /// The set of `hashes`, some of which may be removed or moved. `None` if no try succeeds.
    ///
    /// Its shape is that for the number of `hashes`, unless some are equal.
    pub(super) fn new(hashes: &mut Vec<u64>, workspace: &mut Workspace) -> Option<Self> {
        // No try succeeds with equal hashes. They are rare, and sorting takes as long as a try: so only after the first.
        Self::with_seed(hashes, mix(1), workspace).or_else(|| {
            hashes.sort_unstable();
            hashes.dedup();
            (0..TRIES).find_map(|seed| Self::with_seed(hashes, mix(seed + 1), workspace))
        })
    }

    /// The set of `hashes`, which differ from each other, if it exists with this seed.
    fn with_seed(hashes: &[u64], seed: u64, workspace: &mut Workspace) -> Option<Self> {
        let (segment, segments) = shape(hashes.len());
        let length = segment as usize * (segments as usize + 2);
        let mut filter = Self {
            seed,
            segment,
            segments,
            fingerprints: vec![0; length],
        };
        workspace.prepare(hashes.len(), length);
        let slots = workspace.slots.as_mut_slice();
        let single = workspace.single.as_mut_slice();
        let order = workspace.order.as_mut_slice();
        for &hash in hashes {
            let mixed = mix(hash ^ seed);
            for at in filter.slots(mixed) {
                let slot = &mut slots[at];
                slot.count += 1;
                slot.sum ^= mixed;
            }
        }
        // A slot with one hash decides about this hash; without it, other slots have one. Each slot is added at most once. A
        // slot is always written behind the last one, and counts only if it has one hash: the CPU cannot predict a branch.
        let mut top = 0;
        for (at, slot) in slots.iter().enumerate() {
            single[top] = at as u32;
            top += usize::from(slot.count == 1);
        }
        let mut ordered = 0;
        while top > 0 {
            top -= 1;
            let at = single[top] as usize;
            let Slot {
                count: 1,
                sum: mixed,
            } = slots[at]
            else {
                continue;
            };
            order[ordered] = (mixed, at);
            ordered += 1;
            for other in filter.slots(mixed) {
                let slot = &mut slots[other];
                slot.count -= 1;
                slot.sum ^= mixed;
                single[top] = other as u32;
                top += usize::from(slot.count == 1);
            }
        }
        if ordered < hashes.len() {
            return None;
        }
        for &(mixed, slot) in order.iter().rev() {
            let others = filter.slots(mixed).map(|other| filter.fingerprints[other]);
            let own = filter.fingerprints[slot];
            let [a, b, c] = others;
            filter.fingerprints[slot] = fingerprint(mixed) ^ a ^ b ^ c ^ own;
        }
        Some(filter)
    }

    /// The three slots of a mixed hash, in consecutive segments.
    fn slots(&self, mixed: u64) -> [usize; 3] {
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
            .slots(mixed)
            .map(|slot| self.fingerprints.get(slot).copied());
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

    fn built(mut hashes: Vec<u64>) -> Fuse {
        Fuse::new(&mut hashes, &mut Workspace::default()).expect("a filter")
    }

    #[test]
    fn every_member_is_found_and_few_others() {
        let mut workspace = Workspace::default();
        for count in [0, 1, 2, 200_000, 3, 7, 100, 5000] {
            let hashes: Vec<u64> = (0..count).map(mix).collect();
            let filter = built(hashes.clone());
            assert_eq!(built(hashes.iter().rev().copied().collect()), filter);
            let twice = hashes.iter().chain(&hashes).copied().collect();
            assert_eq!(built(twice), filter, "{count}");
            // Memory of other sets, larger or smaller.
            assert_eq!(
                Fuse::new(&mut hashes.clone(), &mut workspace).as_ref(),
                Some(&filter)
            );
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
