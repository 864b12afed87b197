//! Slots that wait for a limit: in a queue for each prefix, or for the pace of neighbours.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No place.
const NONE: u32 = u32::MAX;
/// A place without a slot.
const FREE: u64 = u64::MAX;

/// What a slot waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The limit of a prefix, by its index.
    Prefix(u32),
    /// The pace for neighbours.
    Neighbours,
}

/// Slots that wait for a limit, and when they may be sent.
///
/// Slots of one prefix are in a queue with the time of its first slot. So the cost of a step does not depend on how many wait for
/// the same prefix. Slots that wait for their neighbour may be sent in any order: each is due when its neighbour answers.
#[derive(Debug)]
pub(crate) struct Deferred {
    queues: Box<[Queue]>,
    /// The slots of all queues, in no order. The place after each one in its queue, or among the free places, is in `next`.
    slots: Vec<u64>,
    next: Vec<u32>,
    first_free: u32,
    /// Number of slots in the queues, at most `most`.
    queued: usize,
    most: usize,
    /// Queues with slots, by the time at which their first slot may be sent.
    due: BinaryHeap<Reverse<(u64, u32)>>,
    /// Slots that wait for the pace of neighbours, at most `most_neighbours`, by the time at which they may be sent.
    neighbours: BinaryHeap<Reverse<(u64, u64)>>,
    most_neighbours: usize,
}

/// The places of the first and the last slot.
#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
}

impl Queue {
    const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };
}

impl Deferred {
    /// Room for `most` slots that wait for one of `prefixes` limits, and for `most_neighbours` that wait for the pace of
    /// neighbours. Allocates all memory.
    pub fn new(prefixes: usize, most: usize, most_neighbours: usize) -> Self {
        let most = if prefixes == 0 { 0 } else { most };
        Self {
            queues: vec![Queue::EMPTY; prefixes].into_boxed_slice(),
            slots: Vec::with_capacity(most),
            next: Vec::with_capacity(most),
            first_free: NONE,
            queued: 0,
            most,
            due: BinaryHeap::with_capacity(prefixes.min(most)),
            neighbours: BinaryHeap::with_capacity(most_neighbours),
            most_neighbours,
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queued == 0 && self.neighbours.is_empty()
    }

    /// Whether there is room for a slot that waits for `limit`.
    pub fn has_room(&self, limit: Limit) -> bool {
        match limit {
            Limit::Prefix(_) => self.queued < self.most,
            Limit::Neighbours => self.neighbours.len() < self.most_neighbours,
        }
    }

    /// Whether there is no room for a slot that waits for one of the limits.
    pub fn is_full(&self) -> bool {
        let has_full_queues = self.most > 0 && !self.has_room(Limit::Prefix(0));
        has_full_queues || !self.has_room(Limit::Neighbours)
    }

    /// Adds a slot that may be sent at `ready_ns`, or after those that wait for the same prefix. There has to be room.
    pub fn push(&mut self, limit: Limit, slot: u64, ready_ns: u64) {
        let Limit::Prefix(prefix) = limit else {
            self.neighbours.push(Reverse((ready_ns, slot)));
            return;
        };
        let place = self.place(slot);
        self.queued += 1;
        let queue = &mut self.queues[prefix as usize];
        if queue.first == NONE {
            queue.first = place;
            self.due.push(Reverse((ready_ns, prefix)));
        } else {
            self.next[queue.last as usize] = place;
        }
        queue.last = place;
    }

    /// Stores a slot that is the last one of its queue.
    fn place(&mut self, slot: u64) -> u32 {
        let free = self.first_free;
        if free == NONE {
            self.slots.push(slot);
            self.next.push(NONE);
            return self.slots.len() as u32 - 1;
        }
        self.first_free = self.next[free as usize];
        self.slots[free as usize] = slot;
        self.next[free as usize] = NONE;
        free
    }

    /// When the next slot may be sent.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        let (at_ns, _) = self.first()?;
        Some(at_ns)
    }

    /// The slot that may be sent first, if that is by `now_ns`, and what it waits for.
    #[inline]
    pub fn first_due(&self, now_ns: u64) -> Option<(Limit, u64)> {
        let (at_ns, limit) = self.first()?;
        if at_ns > now_ns {
            return None;
        }
        let slot = match limit {
            Limit::Prefix(prefix) => {
                let place = self.queues[prefix as usize].first;
                self.slots[place as usize]
            }
            Limit::Neighbours => self.neighbours.peek()?.0.1,
        };
        Some((limit, slot))
    }

    /// When the first slot may be sent, and what it waits for.
    #[inline]
    fn first(&self) -> Option<(u64, Limit)> {
        let prefix = self.due.peek().map(|Reverse(first)| *first);
        let neighbour = self.neighbours.peek().map(|Reverse((at_ns, _))| *at_ns);
        match (prefix, neighbour) {
            (Some((at_ns, prefix)), other) if other.is_none_or(|other_ns| at_ns < other_ns) => {
                Some((at_ns, Limit::Prefix(prefix)))
            }
            (_, other) => Some((other?, Limit::Neighbours)),
        }
    }

    /// Removes the first slot that waits for `limit`, as [`first_due`](Self::first_due) returns it. The one behind it in its queue
    /// may be sent at `ready_ns`.
    pub fn pop_first(&mut self, limit: Limit, ready_ns: u64) {
        if limit == Limit::Neighbours {
            self.neighbours.pop();
            return;
        }
        let Some(Reverse((_, prefix))) = self.due.pop() else {
            return;
        };
        let queue = &mut self.queues[prefix as usize];
        let place = queue.first;
        queue.first = self.next[place as usize];
        if queue.first == NONE {
            queue.last = NONE;
        } else {
            self.due.push(Reverse((ready_ns, prefix)));
        }
        self.slots[place as usize] = FREE;
        self.next[place as usize] = self.first_free;
        self.first_free = place;
        self.queued -= 1;
    }

    /// Lets the first slot that waits for `limit` wait until `ready_ns`, and those behind it in its queue.
    pub fn delay_first(&mut self, limit: Limit, ready_ns: u64) {
        if limit == Limit::Neighbours {
            if let Some(Reverse((_, slot))) = self.neighbours.pop() {
                self.neighbours.push(Reverse((ready_ns, slot)));
            }
        } else if let Some(Reverse((_, prefix))) = self.due.pop() {
            self.due.push(Reverse((ready_ns, prefix)));
        }
    }

    /// All slots, in no order. Takes time in proportion to the most slots that have waited.
    pub fn slots(&self) -> impl Iterator<Item = u64> {
        let queued = self.slots.iter().copied().filter(|slot| *slot != FREE);
        queued.chain(self.neighbours.iter().map(|Reverse((_, slot))| *slot))
    }

    /// Forgets all slots.
    pub fn clear(&mut self) {
        for Reverse((_, prefix)) in self.due.drain() {
            self.queues[prefix as usize] = Queue::EMPTY;
        }
        self.slots.clear();
        self.next.clear();
        (self.first_free, self.queued) = (NONE, 0);
        self.neighbours.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Compared with a list for each prefix.
    #[test]
    fn each_prefix_keeps_its_order_and_waits_for_its_own_time() {
        let mut deferred = Deferred::new(3, 100, 0);
        let mut expected: [VecDeque<u64>; 3] = Default::default();
        let mut ready_ns = [0; 3];
        let (mut popped, mut slot) = (0, 0);
        for now_ns in 0..1000_u64 {
            let prefix = (now_ns * 7 % 5 % 3) as u32;
            let limit = Limit::Prefix(prefix);
            if !now_ns.is_multiple_of(3) && deferred.has_room(limit) {
                let queue = &mut expected[prefix as usize];
                if queue.is_empty() {
                    ready_ns[prefix as usize] = now_ns + 4;
                }
                queue.push_back(slot);
                deferred.push(limit, slot, now_ns + 4);
                slot += 1;
            }
            let waiting = (0..3).filter(|prefix| !expected[*prefix].is_empty());
            let first_ns = waiting.map(|prefix| ready_ns[prefix]).min();
            assert_eq!(deferred.next_ns(), first_ns);
            let Some((limit, first)) = deferred.first_due(now_ns) else {
                continue;
            };
            let Limit::Prefix(prefix) = limit else {
                panic!("none waits for a neighbour");
            };
            let prefix = prefix as usize;
            assert_eq!(Some(ready_ns[prefix]), first_ns);
            if now_ns.is_multiple_of(5) {
                deferred.delay_first(limit, now_ns + 9);
                ready_ns[prefix] = now_ns + 9;
                continue;
            }
            assert_eq!(expected[prefix].pop_front(), Some(first));
            deferred.pop_first(limit, now_ns + 2);
            ready_ns[prefix] = now_ns + 2;
            popped += 1;
            let mut all: Vec<u64> = deferred.slots().collect();
            all.sort_unstable();
            let mut left: Vec<u64> = expected.iter().flatten().copied().collect();
            left.sort_unstable();
            assert_eq!(all, left);
        }
        assert!(popped > 100, "{popped}");
        deferred.clear();
        assert!(deferred.is_empty() && deferred.next_ns().is_none());
        deferred.push(Limit::Prefix(2), 7, 1);
        assert_eq!(deferred.first_due(1), Some((Limit::Prefix(2), 7)));
    }

    #[test]
    fn slots_that_wait_for_neighbours_leave_by_their_time() {
        let mut deferred = Deferred::new(0, 9, 2);
        assert!(
            !deferred.has_room(Limit::Prefix(0)),
            "there are no prefixes"
        );
        deferred.push(Limit::Neighbours, 1, 20);
        deferred.push(Limit::Neighbours, 2, 10);
        assert!(!deferred.has_room(Limit::Neighbours));
        assert_eq!(deferred.first_due(9), None);
        assert_eq!(deferred.first_due(10), Some((Limit::Neighbours, 2)));
        deferred.delay_first(Limit::Neighbours, 30);
        assert_eq!(deferred.next_ns(), Some(20));
        deferred.pop_first(Limit::Neighbours, 0);
        assert_eq!(deferred.first_due(30), Some((Limit::Neighbours, 2)));
        assert_eq!(deferred.slots().collect::<Vec<_>>(), [2]);
    }
}
