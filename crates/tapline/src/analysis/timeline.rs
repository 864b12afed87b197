//! Packets, bytes and losses over time, in a bounded number of slots.

use std::collections::VecDeque;

/// Slots that are kept.
const SLOTS_MAX: u64 = 4096;

/// The first width of a slot.
const LEAST_NS: u64 = 1000;

/// What happened in a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// Packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets that were lost.
    pub lost: u64,
    /// TCP retransmissions.
    pub retransmissions: u64,
}

impl Slot {
    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.lost = self.lost.saturating_add(other.lost);
        self.retransmissions += other.retransmissions;
    }
}

/// Slots of equal width, at most 4096: when there are more, ten become one.
#[derive(Clone, Debug)]
pub struct Timeline {
    width_ns: u64,
    /// Start of the first slot, divided by the width.
    first: u64,
    slots: VecDeque<Slot>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            width_ns: LEAST_NS,
            first: 0,
            slots: VecDeque::new(),
        }
    }
}

impl Timeline {
    /// The slot of a time. Times may come in any order.
    pub(super) fn at(&mut self, time_ns: u64) -> &mut Slot {
        // Bound: the widest slot has all times of 64 bits in fewer than SLOTS_MAX slots.
        loop {
            let place = time_ns / self.width_ns;
            if self.slots.is_empty() {
                self.first = place;
            }
            let end = self.first + self.slots.len() as u64;
            let (low, high) = (self.first.min(place), end.max(place + 1));
            if high - low > SLOTS_MAX {
                self.widen();
                continue;
            }
            for _ in low..self.first {
                self.slots.push_front(Slot::default());
            }
            for _ in end..high {
                self.slots.push_back(Slot::default());
            }
            self.first = low;
            return &mut self.slots[(place - low) as usize];
        }
    }

    fn widen(&mut self) {
        self.width_ns *= 10;
        let (first, width) = (self.first / 10, 10);
        *self = self.joined(first, width);
    }

    /// The same with `factor` slots in one; `first` is the new number of the first.
    fn joined(&self, first: u64, factor: u64) -> Self {
        let mut joined = Self {
            width_ns: self.width_ns,
            first,
            slots: VecDeque::new(),
        };
        for (number, slot) in (self.first..).zip(&self.slots) {
            let place = (number / factor - first) as usize;
            if place == joined.slots.len() {
                joined.slots.push_back(Slot::default());
            }
            joined.slots[place].add(slot);
        }
        joined
    }

    /// Slots in their order, at most `most`, of 1, 2 or 5 times a power of ten: the start of the first and the width in
    /// nanoseconds. The first and the last may be covered in part only.
    pub fn slots(&self, most: usize) -> (u64, u64, Vec<Slot>) {
        let factors = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
        let fits = |factor: &&u64| {
            let last = (self.first + self.slots.len() as u64).saturating_sub(1);
            last / **factor - self.first / **factor < most.max(2) as u64
        };
        let factor = *factors.iter().find(fits).unwrap_or(&SLOTS_MAX);
        let joined = self.joined(self.first / factor, factor);
        let width_ns = self.width_ns.saturating_mul(factor);
        let start_ns = joined.first.saturating_mul(width_ns);
        (start_ns, width_ns, joined.slots.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_slots_are_joined() {
        let mut timeline = Timeline::default();
        // From 1970 to 2554, first close together and then apart, backwards too.
        let times = [
            1_000_000,
            1_000_001,
            2_000_000,
            999,
            0,
            u64::MAX,
            1 << 60,
            7,
        ];
        for (number, time_ns) in (1..).zip(times) {
            let slot = timeline.at(time_ns);
            slot.packets += 1;
            slot.bytes += number;
            let (start_ns, width_ns, slots) = timeline.slots(100);
            assert!(slots.len() <= 100, "{}", slots.len());
            let packets: u64 = slots.iter().map(|slot| slot.packets).sum();
            let bytes: u64 = slots.iter().map(|slot| slot.bytes).sum();
            assert_eq!((packets, bytes), (number, number * (number + 1) / 2));
            let place = ((time_ns - start_ns) / width_ns) as usize;
            assert!(slots[place].packets > 0, "{time_ns}");
        }
    }

    #[test]
    fn widths_are_round() {
        let mut timeline = Timeline::default();
        for second in 0..60 {
            timeline
                .at(1_700_000_000_000_000_000 + second * 1_000_000_000)
                .packets += 1;
        }
        let (start_ns, width_ns, slots) = timeline.slots(60);
        assert_eq!(
            (start_ns, width_ns, slots.len()),
            (1_700_000_000_000_000_000, 1_000_000_000, 60)
        );
        assert!(slots.iter().all(|slot| slot.packets == 1));
    }
}
