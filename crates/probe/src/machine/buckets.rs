//! Log-linear buckets.

/// Buckets of durations: below `1 << floor` nanoseconds one each `1 << (floor - parts)`,
/// above that `1 << parts` a doubling, up to `1 << top`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buckets {
    parts: u32,
    floor: u32,
    top: u32,
}

/// 128 parts a doubling, from a nanosecond to 2.4 hours: 4736 buckets.
pub(crate) const FINE: Buckets = Buckets {
    parts: 7,
    floor: 7,
    top: 43,
};

/// 8 parts a doubling, from 128 ns to 69 seconds: 216 buckets.
pub(crate) const COARSE: Buckets = Buckets {
    parts: 3,
    floor: 10,
    top: 36,
};

impl Buckets {
    pub const fn len(self) -> usize {
        ((self.top - self.floor + 1) as usize) << self.parts
    }

    /// The bucket of `duration`; what is above the top goes into the last.
    #[inline]
    pub fn index(self, duration: u64) -> usize {
        let duration = duration.min((1 << self.top) - 1);
        let width = self.floor - self.parts;
        // Doublings above the floor: 0 for all that is below.
        let doubling = 64 - (duration >> self.floor).leading_zeros();
        let shift = width + doubling.saturating_sub(1);
        let part = (duration >> shift) as usize;
        match doubling {
            0 => part,
            // `part` has its highest bit set: it counts from the middle of its doubling's row.
            _ => part + ((doubling as usize - 1) << self.parts),
        }
    }

    /// The lowest and highest duration of bucket `index`.
    pub fn bounds(self, index: usize) -> (u64, u64) {
        let width = self.floor - self.parts;
        let row = index >> self.parts;
        let part = (index & ((1 << self.parts) - 1)) as u64;
        let (shift, part) = match row {
            0 => (width, part),
            _ => (width + row as u32 - 1, part + (1 << self.parts)),
        };
        (part << shift, ((part + 1) << shift) - 1)
    }

    /// The middle of the bucket in which the share `quantile` of `total` is reached.
    pub fn quantile(
        self,
        counts: impl Iterator<Item = u64>,
        total: u64,
        quantile: f64,
    ) -> Option<u64> {
        #[expect(clippy::cast_sign_loss, reason = "it is at least 1")]
        let rank = (quantile.clamp(0.0, 1.0) * total as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in counts.enumerate() {
            seen += count;
            if seen >= rank {
                let (low, high) = self.bounds(index);
                return Some(low.midpoint(high));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_holds_its_bounds_and_the_next_begins_behind() {
        for buckets in [FINE, COARSE] {
            let mut next = 0;
            for index in 0..buckets.len() {
                let (low, high) = buckets.bounds(index);
                assert_eq!(low, next);
                assert_eq!([low, high].map(|value| buckets.index(value)), [index; 2]);
                next = high + 1;
            }
            assert_eq!(next, 1 << buckets.top);
            assert_eq!(buckets.index(u64::MAX), buckets.len() - 1);
        }
        assert_eq!((FINE.len(), COARSE.len()), (4736, 216));
    }
}
