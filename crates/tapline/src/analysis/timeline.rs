//! Packets, bytes and losses over time, in a bounded number of slots.

use std::collections::BTreeMap;

/// Slots that are kept.
const SLOTS_MAX: u64 = 4096;

/// The first width of a slot.
const LEAST_NS: u64 = 1000;

/// A time is far from the others if it is this far from 98 % of the packets, and as many times their span.
const FAR_NS: u64 = 24 * 3600 * 1_000_000_000;
const FAR_SPANS: u64 = 100;

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

/// Slots of equal width, at most 4096 that are not empty: when there are more, ten become one.
#[derive(Clone, Debug)]
pub struct Timeline {
    width_ns: u64,
    /// By their start, divided by the width.
    slots: BTreeMap<u64, Slot>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            width_ns: LEAST_NS,
            slots: BTreeMap::new(),
        }
    }
}

impl Timeline {
    /// The slot of a time. Times may come in any order.
    pub(super) fn at(&mut self, time_ns: u64) -> &mut Slot {
        // Bound: the widest slot has all times of 64 bits in fewer than SLOTS_MAX slots.
        while self.slots.len() as u64 >= SLOTS_MAX
            && !self.slots.contains_key(&(time_ns / self.width_ns))
        {
            self.widen();
        }
        self.slots.entry(time_ns / self.width_ns).or_default()
    }

    fn widen(&mut self) {
        self.width_ns *= 10;
        for (place, slot) in std::mem::take(&mut self.slots) {
            self.slots.entry(place / 10).or_default().add(&slot);
        }
    }

    /// The first and the last slot that are not far from the others. One wrong clock would otherwise make all others one step.
    fn places(&self) -> Option<(u64, u64)> {
        let total: u64 = self.slots.values().map(|slot| slot.packets).sum();
        // At either end; none of a few packets.
        let apart = total.div_ceil(100).min(total / 10);
        let low = beyond(self.slots.iter(), apart)?;
        let high = beyond(self.slots.iter().rev(), apart)?;
        // Without packets, each search ended at the other end.
        let (low, high) = (low.min(high), low.max(high));
        let far = (high - low + 1)
            .saturating_mul(FAR_SPANS)
            .max(FAR_NS / self.width_ns);
        let near = low.saturating_sub(far)..=high.saturating_add(far);
        let mut places = self.slots.range(near).map(|(place, _)| *place);
        let first = places.next()?;
        Some((first, places.next_back().unwrap_or(first)))
    }

    /// The span of the packets whose times are not far from the others: its start and its length in nanoseconds.
    pub fn span(&self) -> Option<(u64, u64)> {
        let (first, last) = self.places()?;
        let slots = last - first + 1;
        let length_ns = slots.saturating_mul(self.width_ns);
        Some((first.saturating_mul(self.width_ns), length_ns))
    }

    /// The packets whose times are far from all others: those before, and those after.
    pub fn far(&self) -> [Slot; 2] {
        let Some((first, last)) = self.places() else {
            return [Slot::default(); 2];
        };
        let mut far = [Slot::default(); 2];
        for (place, slot) in &self.slots {
            if *place < first {
                far[0].add(slot);
            } else if *place > last {
                far[1].add(slot);
            }
        }
        far
    }

    /// Slots in their order, at most `most`, of 1, 2 or 5 times a power of ten: the start of the first and the width in
    /// nanoseconds. The first and the last may be covered in part only. Times [far](Self::far) from the others are left out.
    pub fn slots(&self, most: usize) -> (u64, u64, Vec<Slot>) {
        let Some((first, last)) = self.places() else {
            return (0, self.width_ns, Vec::new());
        };
        let powers = (0..=19).map_while(|power| 10_u64.checked_pow(power));
        let mut factors = powers.flat_map(|power| [1, 2, 5].map(|one| power.saturating_mul(one)));
        let fits = |factor: &u64| last / factor - first / factor < most.max(2) as u64;
        let factor = factors.find(fits).unwrap_or(u64::MAX);
        let mut slots = vec![Slot::default(); (last / factor - first / factor + 1) as usize];
        for (place, slot) in self.slots.range(first..=last) {
            slots[(place / factor - first / factor) as usize].add(slot);
        }
        let width_ns = self.width_ns.saturating_mul(factor);
        ((first / factor).saturating_mul(width_ns), width_ns, slots)
    }
}

/// The place behind `apart` packets.
fn beyond<'s>(slots: impl Iterator<Item = (&'s u64, &'s Slot)>, apart: u64) -> Option<u64> {
    let mut packets = 0;
    let mut last = None;
    for (place, slot) in slots {
        packets += slot.packets;
        last = Some(*place);
        if packets > apart {
            break;
        }
    }
    last
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

    #[test]
    fn times_far_from_the_others_are_kept_apart() {
        let mut timeline = Timeline::default();
        let start_ns = 1_700_000_000_000_000_000;
        for second in 0..600 {
            timeline.at(start_ns + second * 1_000_000_000).packets += 1;
        }
        let usual = timeline.slots(600);
        assert_eq!(
            (usual.0, usual.1, usual.2.len()),
            (start_ns, 1_000_000_000, 600)
        );
        timeline.at(0).packets += 1;
        timeline.at(u64::MAX).packets += 2;
        assert_eq!(timeline.slots(600), usual);
        assert_eq!(timeline.far().map(|slot| slot.packets), [1, 2]);
        let (first_ns, span_ns) = timeline.span().expect("packets");
        assert_eq!(first_ns, start_ns);
        assert!((599_000_000_000..600_000_000_000).contains(&span_ns));
        // More of them are a part of the capture.
        for second in 0..60 {
            timeline.at(second * 1_000_000_000).packets += 1;
        }
        assert_eq!(timeline.far()[0].packets, 0);
    }

    #[test]
    fn losses_without_packets_are_shown() {
        let mut timeline = Timeline::default();
        for time_ns in [0, 1_700_000_000_000_000_000] {
            timeline.at(time_ns).lost += 1;
        }
        let lost: u64 = timeline.slots(60).2.iter().map(|slot| slot.lost).sum();
        assert_eq!((lost, timeline.far()[0].lost), (2, 0));
    }

    #[test]
    fn a_pause_is_not_far() {
        let mut timeline = Timeline::default();
        for ms in 0..1000 {
            timeline.at(ms * 1_000_000).packets += 1;
        }
        timeline.at(20 * 3600 * 1_000_000_000).packets += 1;
        assert_eq!(timeline.far(), [Slot::default(); 2]);
    }
}
