//! The numbering of slots while targets are added.

use std::collections::VecDeque;

use crate::probe::Slot;

/// Slots that were numbered for the same number of targets.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Its first slot.
    first_slot: u64,
    /// The number that the first slot of round `round` has, or would have.
    origin: u64,
    round: u32,
    targets: u64,
}

impl Epoch {
    #[inline]
    fn slot_at(&self, slot: u64) -> Slot {
        let offset = slot - self.origin;
        Slot {
            position: (offset % self.targets) as u32,
            round: self.round + (offset / self.targets) as u32,
        }
    }

    /// The number of a slot, which may be outside of the epoch; `None` if it is before all of its slots.
    #[inline]
    fn number_of(&self, slot: Slot) -> Option<u64> {
        let rounds = slot.round.checked_sub(self.round)?;
        let is_there = u64::from(slot.position) < self.targets;
        is_there.then(|| self.origin + u64::from(rounds) * self.targets + u64::from(slot.position))
    }
}

/// Numbers the slots of a run: `round · targets + position`. When targets are added, they follow the others in the
/// current round, and the slots from then on are numbered for more targets.
///
/// Positions stay. Epochs whose slots have all expired are forgotten.
#[derive(Debug)]
pub(crate) struct Epochs {
    current: Epoch,
    /// Earlier epochs with slots in flight, oldest first.
    earlier: VecDeque<Epoch>,
}

impl Epochs {
    pub fn new(targets: u64) -> Self {
        Self {
            current: Epoch {
                first_slot: 0,
                origin: 0,
                round: 0,
                targets,
            },
            earlier: VecDeque::new(),
        }
    }

    /// Numbers the slots from `next_slot` on for `targets` targets, at least as many as before. All slots before
    /// `expired` have expired.
    pub fn grow(&mut self, next_slot: u64, targets: u64, expired: u64) {
        let Slot { position, round } = self.current.slot_at(next_slot);
        if next_slot > self.current.first_slot {
            self.earlier.push_back(self.current);
        }
        self.current = Epoch {
            first_slot: next_slot,
            origin: next_slot - u64::from(position),
            round,
            targets,
        };
        let second = |epochs: &Self| epochs.earlier.get(1).unwrap_or(&epochs.current).first_slot;
        while !self.earlier.is_empty() && second(self) <= expired {
            self.earlier.pop_front();
        }
    }

    /// The position of slot `slot` in its round.
    #[inline]
    pub fn place_in_round(&self, slot: u64) -> u64 {
        (slot - self.current.origin) % self.current.targets
    }

    #[inline]
    pub fn slot_at(&self, slot: u64) -> Slot {
        self.epoch_of(slot).slot_at(slot)
    }

    #[inline]
    fn epoch_of(&self, slot: u64) -> &Epoch {
        if slot >= self.current.first_slot {
            return &self.current;
        }
        let mut earlier = self.earlier.iter().rev();
        let found = earlier.find(|epoch| slot >= epoch.first_slot);
        // Slots of forgotten epochs are not looked up.
        found.or(self.earlier.front()).unwrap_or(&self.current)
    }

    /// The number of a slot that was issued; `None` if it has expired long ago.
    #[inline]
    pub fn number_of(&self, slot: Slot) -> Option<u64> {
        let is_in = |epoch: &Epoch| {
            let number = epoch.number_of(slot)?;
            (number >= epoch.first_slot).then_some(number)
        };
        is_in(&self.current).or_else(|| self.earlier.iter().rev().find_map(is_in))
    }

    /// How many rounds have their slot of `position` before number `slot`, counted from the start of the run.
    #[inline]
    pub fn rounds_before(&self, slot: u64, position: u32) -> u32 {
        let reached = self.epoch_of(slot).slot_at(slot);
        reached.round + u32::from(reached.position > position)
    }

    /// The number of the slot that ends round `round` of the current epoch.
    pub fn end_of(&self, round: u32) -> u64 {
        let rounds = u64::from(round.saturating_sub(self.current.round));
        self.current.origin + rounds * self.current.targets
    }

    /// The first slot that has to wait if `flight` rounds are in flight, the oldest with slot `expired`.
    #[inline]
    pub fn limit(&self, expired: u64, flight: u32) -> u64 {
        let current = &self.current;
        if expired >= current.first_slot {
            return expired + u64::from(flight) * current.targets;
        }
        let oldest = self.slot_at(expired);
        let slot = Slot {
            position: oldest.position,
            round: oldest.round.saturating_add(flight),
        };
        current.number_of(slot).unwrap_or(current.first_slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with a list of all slots.
    #[test]
    fn slots_are_numbered_as_they_are_counted() {
        let mut epochs = Epochs::new(3);
        let mut all: Vec<Slot> = Vec::new();
        let mut next = Slot::default();
        let mut targets = 3;
        for number in 0..200_u64 {
            if [1, 2, 9, 10, 50, 77].contains(&number) {
                targets += number as u32 % 4 + 1;
                epochs.grow(number, targets.into(), 0);
            }
            assert_eq!(epochs.slot_at(number), next, "{number}");
            assert_eq!(epochs.place_in_round(number), next.position.into());
            all.push(next);
            next.position += 1;
            if next.position == targets {
                next = Slot {
                    position: 0,
                    round: next.round + 1,
                };
            }
        }
        for (number, slot) in (0..).zip(&all) {
            assert_eq!(epochs.slot_at(number), *slot);
            assert_eq!(epochs.number_of(*slot), Some(number));
            for position in 0..3 {
                let before = all[..number as usize].iter();
                let before = before.filter(|slot| slot.position == position).count();
                assert_eq!(epochs.rounds_before(number, position), before as u32);
            }
        }
        let end = epochs.end_of(next.round);
        assert_eq!(epochs.slot_at(end).round, next.round);
        assert_eq!(epochs.slot_at(end).position, 0);
    }

    #[test]
    fn the_limit_counts_rounds_over_a_change() {
        let mut epochs = Epochs::new(1);
        assert_eq!(epochs.limit(0, 5), 5);
        epochs.grow(4, 100, 0);
        // Slot 0 is in round 0, so round 5 has to wait: rounds 0 to 3 have a slot each, round 4 has 100.
        assert_eq!(epochs.limit(0, 5), 4 + 100);
        assert_eq!(
            epochs.slot_at(104),
            Slot {
                position: 0,
                round: 5
            }
        );
        assert_eq!(epochs.limit(3, 5), 4 + 400);
        assert_eq!(epochs.limit(10, 5), 510);
        epochs.grow(200, 101, 150);
        assert_eq!(
            epochs.slot_at(150),
            Slot {
                position: 46,
                round: 5
            }
        );
        assert_eq!(epochs.number_of(Slot::default()), None);
    }
}
