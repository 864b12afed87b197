//! Which probes have reached their timeout.

use std::collections::VecDeque;

/// Granularity: the timeout is divided into this many parts.
const PARTS: u64 = 64;
/// Maximum groups in flight: one per part, and some for the ends.
const MAX_GROUPS: usize = PARTS as usize + 8;

/// The slots in flight, in groups that were sent within one part of the timeout.
///
/// A group expires at the timeout of its last probe. A loss is therefore found at most a 64th of the
/// timeout late, at the cost of a few bytes per run instead of a timer per probe. Slots behind one that
/// waits for a limit belong to the group of that slot.
#[derive(Debug)]
pub(crate) struct Expiry {
    groups: VecDeque<Group>,
    timeout_ns: u64,
    /// Time of the last `note`.
    noted_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_ns: u64,
    last_ns: u64,
    /// The slot number after its last slot.
    end: u64,
}

impl Expiry {
    pub fn new(timeout_ns: u64) -> Self {
        Self {
            groups: VecDeque::with_capacity(MAX_GROUPS),
            timeout_ns,
            noted_ns: 0,
        }
    }

    /// Whether `note` is due at `now_ns` even if finding the end of the issued slots takes a search.
    #[inline]
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.groups.is_empty() || now_ns >= self.noted_ns + self.timeout_ns / PARTS
    }

    /// Notes that all slots before number `end` were issued by `now_ns`.
    #[inline]
    pub fn note(&mut self, end: u64, now_ns: u64) {
        let is_full = self.groups.len() == MAX_GROUPS;
        let part_ns = self.timeout_ns / PARTS;
        self.noted_ns = now_ns;
        match self.groups.back_mut() {
            // A slot that waits for a limit blocks progress.
            Some(last) if end <= last.end => {}
            Some(last) if is_full || now_ns < last.first_ns + part_ns => {
                last.last_ns = now_ns.max(last.last_ns);
                last.end = end;
            }
            _ => self.groups.push_back(Group {
                first_ns: now_ns,
                last_ns: now_ns,
                end,
            }),
        }
    }

    /// When the oldest group expires; `None` if nothing is in flight.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        let oldest = self.groups.front()?;
        Some(oldest.last_ns + self.timeout_ns + 1)
    }

    /// Removes the oldest group if it has expired at `now_ns`. All slots before the returned number ended.
    #[inline]
    pub fn take(&mut self, now_ns: u64) -> Option<u64> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.groups.pop_front().map(|group| group.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_before_a_deferred_one_expire_in_time() {
        let mut expiry = Expiry::new(6400);
        expiry.note(10, 0);
        for now_ns in 1..1000 {
            expiry.note(10, now_ns);
        }
        assert_eq!(expiry.next_ns(), Some(6401));
        assert!(!expiry.is_due(1098));
        assert!(expiry.is_due(1099));
        expiry.note(30, 1100);
        assert_eq!(expiry.take(6400), None);
        assert_eq!(expiry.take(6401), Some(10));
        assert_eq!(expiry.take(7500), None);
        assert_eq!(expiry.take(7501), Some(30));
    }
}
