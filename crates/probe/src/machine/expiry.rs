//! Which probes have had their time.

use std::collections::VecDeque;

/// The timeout is measured in this many parts.
const PARTS: u64 = 64;
/// Groups in flight: one for each part, and some for those at the ends.
const MAX_GROUPS: usize = PARTS as usize + 8;

/// The slots in flight, in groups sent within a part of the timeout.
///
/// A group ends when the timeout of its last probe is over: a loss is found at most a 64th of the
/// timeout late, for a few bytes a run instead of a timer a probe. What was sent behind a slot that waits for a
/// limit belongs to the group of that slot.
#[derive(Debug)]
pub(crate) struct Expiry {
    groups: VecDeque<Group>,
    timeout_ns: u64,
    /// When what has gone was noted.
    noted_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_ns: u64,
    last_ns: u64,
    /// Behind its last slot.
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

    /// Whether `note` wants to hear of a probe sent at `now_ns` even if finding out what has gone
    /// takes a search.
    #[inline]
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.groups.is_empty() || now_ns >= self.noted_ns + self.timeout_ns / PARTS
    }

    /// Notes that all slots before `gone` have gone by `now_ns`.
    #[inline]
    pub fn note(&mut self, gone: u64, now_ns: u64) {
        let is_full = self.groups.len() == MAX_GROUPS;
        let part_ns = self.timeout_ns / PARTS;
        self.noted_ns = now_ns;
        match self.groups.back_mut() {
            // A slot that waits for a limit is in the way.
            Some(last) if gone <= last.end => {}
            Some(last) if is_full || now_ns < last.first_ns + part_ns => {
                last.last_ns = now_ns.max(last.last_ns);
                last.end = gone;
            }
            _ => self.groups.push_back(Group {
                first_ns: now_ns,
                last_ns: now_ns,
                end: gone,
            }),
        }
    }

    /// When the oldest group ends; `None` when nothing is in flight.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        let oldest = self.groups.front()?;
        Some(oldest.last_ns + self.timeout_ns + 1)
    }

    /// Takes the oldest group if its time is over at `now_ns`: the slots before the answer have ended.
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

    /// What is sent behind a slot that waits does not keep those before it.
    #[test]
    fn those_before_a_slot_that_waits_end_in_time() {
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
