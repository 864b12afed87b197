//! Finds the place of a flow by its hash: two buckets of eight, so that the work is bounded.

use abi::pages::prefer_large;
use abi::prefetch::prefetch_value;

/// Places of a bucket, which is a cache line.
const WAYS: usize = 8;

/// A bucket takes new flows in the first of its two places up to this many: then most are found there.
const PREFERRED: usize = 6;

/// The flows whose hash leads here. A tag of 0 is an empty place.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Bucket {
    tags: [u16; WAYS],
    flows: [u32; WAYS],
}

#[derive(Debug)]
pub(crate) struct Index {
    buckets: Vec<Bucket>,
    mask: u64,
}

impl Index {
    /// For `flows` flows: half of the places stay empty, so that two full buckets are as good as impossible.
    pub(crate) fn new(flows: usize) -> Self {
        let count = (flows * 2).div_ceil(WAYS).next_power_of_two().max(2);
        let mut buckets = Vec::with_capacity(count);
        prefer_large(&mut buckets);
        buckets.resize(count, Bucket::default());
        Self {
            buckets,
            mask: count as u64 - 1,
        }
    }

    pub(crate) fn bytes(flows: usize) -> usize {
        (flows * 2).div_ceil(WAYS).next_power_of_two().max(2) * size_of::<Bucket>()
    }

    /// The flow with this hash for which `is_same` holds.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_same: impl FnMut(u32) -> bool) -> Option<u32> {
        let tag = tag(hash);
        for bucket in self.places(hash) {
            let bucket = &self.buckets[bucket];
            let mut matches = bucket.matches(tag);
            while matches != 0 {
                let flow = bucket.flows[matches.trailing_zeros() as usize];
                if is_same(flow) {
                    return Some(flow);
                }
                matches &= matches - 1;
            }
        }
        None
    }

    /// Has the CPU fetch the first bucket of this hash.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        let [first, _] = self.places(hash);
        prefetch_value(&self.buckets[first]);
    }

    /// The flow that most likely has this hash; any number if none does.
    #[inline]
    pub(crate) fn likely(&self, hash: u64) -> u32 {
        let [first, _] = self.places(hash);
        let bucket = &self.buckets[first];
        // Without a match, 32: the first place is as good as any other.
        let way = bucket.matches(tag(hash)).trailing_zeros() as usize % WAYS;
        bucket.flows[way]
    }

    /// Whether there is no place for another flow with this hash.
    pub(crate) fn is_full(&self, hash: u64) -> bool {
        let places = self.places(hash);
        places
            .iter()
            .all(|&place| self.buckets[place].used() == WAYS)
    }

    /// Adds a flow; false if both of its buckets are full.
    pub(crate) fn insert(&mut self, hash: u64, flow: u32) -> bool {
        let [first, second] = self.places(hash);
        let used = |bucket: usize| self.buckets[bucket].used();
        let place = if used(first) < PREFERRED || used(first) <= used(second) {
            first
        } else {
            second
        };
        let bucket = &mut self.buckets[place];
        let Some(way) = bucket.tags.iter().position(|&tag| tag == 0) else {
            return false;
        };
        bucket.tags[way] = tag(hash);
        bucket.flows[way] = flow;
        true
    }

    pub(crate) fn remove(&mut self, hash: u64, flow: u32) {
        for place in self.places(hash) {
            let bucket = &mut self.buckets[place];
            let is_it = |way: &usize| bucket.flows[*way] == flow && bucket.tags[*way] != 0;
            if let Some(way) = (0..WAYS).find(is_it) {
                bucket.tags[way] = 0;
                return;
            }
        }
    }

    /// Forgets all flows.
    pub(crate) fn clear(&mut self) {
        self.buckets.fill(Bucket::default());
    }

    /// The flows in the two buckets of a hash.
    pub(crate) fn neighbours(&self, hash: u64) -> impl Iterator<Item = u32> + '_ {
        let buckets = self.places(hash).into_iter();
        buckets.flat_map(|place| {
            let bucket = &self.buckets[place];
            let pairs = bucket.tags.iter().zip(&bucket.flows);
            pairs.filter(|(tag, _)| **tag != 0).map(|(_, flow)| *flow)
        })
    }

    #[inline]
    fn places(&self, hash: u64) -> [usize; 2] {
        [
            (hash & self.mask) as usize,
            (hash >> 24 & self.mask) as usize,
        ]
    }
}

impl Bucket {
    fn used(&self) -> usize {
        self.tags.iter().filter(|tag| **tag != 0).count()
    }

    /// One bit for each place with this tag.
    #[inline]
    fn matches(&self, tag: u16) -> u32 {
        let mut bits = 0;
        for (way, &other) in self.tags.iter().enumerate() {
            bits |= u32::from(other == tag) << way;
        }
        bits
    }
}

/// Bits that the places do not depend on, as long as there are fewer than 2²⁴ buckets; never 0.
#[inline]
fn tag(hash: u64) -> u16 {
    (hash >> 48) as u16 | 1
}
