//! Which probes have had their time.

use std::collections::VecDeque;

/// The timeout is measured in this many parts.
const PARTS: u64 = 64;
/// Groups in flight: one for each part, and some for those at the ends.
const MAX_GROUPS: usize = PARTS as usize + 8;

/// The slots in flight, in groups sent within a part of the timeout.
///
/// A group ends when the timeout of its last probe is over: a loss is found at most a 64th of the
/// timeout late, for a few bytes a run instead of a timer a probe.
#[derive(Debug)]
pub(crate) struct Expiry {
    groups: VecDeque<Group>,
    timeout_ns: u64,
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
        }
    }

    /// Whether `note` wants to hear of a probe sent at `now_ns` even if finding out what has gone
    /// takes a search.
    #[inline]
    pub fn is_due(&self, now_ns: u64) -> bool {
        let is_young = |group: &Group| now_ns < group.first_ns + self.timeout_ns / PARTS;
        !self.groups.back().is_some_and(is_young)
    }

    /// Notes that all slots before `gone` have gone by `now_ns`.
    #[inline]
    pub fn note(&mut self, gone: u64, now_ns: u64) {
        let is_full = self.groups.len() == MAX_GROUPS;
        let is_due = self.is_due(now_ns);
        match self.groups.back_mut() {
            Some(last) if !is_due || is_full || gone <= last.end => {
                last.last_ns = now_ns.max(last.last_ns);
                last.end = gone.max(last.end);
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
