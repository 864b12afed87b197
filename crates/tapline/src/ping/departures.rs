//! When probes really left.

use probe::Probe;

/// Probes remembered: of those asked about two seconds and two rounds, as far as they are no more than this. Powers
/// of two.
const MAX_PLACES: u64 = 2048;
/// Few have few places, so that those are in the processor's cache when they are looked at.
const MIN_PLACES: u64 = 64;

/// The largest group of probes that the kernel is asked about one by one; asking adds a fifth to the processor time of
/// a probe.
const MAX_ASKED_GROUP: u32 = 64;
/// Of a larger group the first find the processor cold and take long to leave; these are asked about.
const COLD_SENDS: u32 = 4;

/// An odd number without a pattern: 2⁶⁴ by the golden ratio.
const MIXER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A probe that the kernel was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Departure {
    probe: Probe,
    /// From its own stamp to the driver; `None` while the kernel has not been heard.
    delay_ns: Option<u32>,
}

/// How long each of the latest probes took from its own stamp to the driver.
#[derive(Debug)]
pub(super) struct Departures {
    /// By number and target of a probe; a later one takes the place.
    places: Box<[Option<Departure>]>,
    targets: u64,
    /// Of those that leave together so many are asked about.
    most_asked: u32,
    /// Answers timed from the driver, and from this program's own stamp.
    pub by_kernel: u64,
    pub by_program: u64,
}

impl Departures {
    /// For so many probes a second to so many targets, of which a `group` leaves together; without a rate nothing is
    /// remembered.
    pub fn new(rate_pps: Option<u64>, targets: u32, group: u32) -> Self {
        let is_each_asked = group <= MAX_ASKED_GROUP;
        let places = rate_pps.map_or(0, |pps| {
            let asked = if is_each_asked {
                pps.max(targets.into())
            } else {
                pps * u64::from(COLD_SENDS) / u64::from(group)
            };
            (2 * asked)
                .clamp(MIN_PLACES, MAX_PLACES)
                .next_power_of_two()
        });
        Self {
            places: vec![None; places as usize].into_boxed_slice(),
            targets: targets.into(),
            most_asked: if is_each_asked { u32::MAX } else { COLD_SENDS },
            by_kernel: 0,
            by_program: 0,
        }
    }

    /// Whether the kernel is to be asked about a probe before which so many left since the run last slept.
    #[inline]
    pub fn is_to_ask(&self, sends_awake: u32) -> bool {
        sends_awake < self.most_asked
    }

    /// Notes that the kernel will tell when the driver takes `probe`.
    #[inline]
    pub fn ask(&mut self, probe: Probe) {
        self.put(probe, None);
    }

    /// Notes that the driver took `probe` so long after its stamp.
    #[inline]
    pub fn note(&mut self, probe: Probe, delay_ns: u32) {
        self.put(probe, Some(delay_ns));
    }

    #[inline]
    fn put(&mut self, probe: Probe, delay_ns: Option<u32>) {
        let place = self.place(probe.target, probe.sequence());
        if let Some(place) = self.places.get_mut(place) {
            *place = Some(Departure { probe, delay_ns });
        }
    }

    /// Whether the kernel was asked about `probe` and has not been heard.
    #[inline]
    pub fn is_awaited(&self, probe: Probe) -> bool {
        self.find(probe)
            .is_some_and(|known| known.delay_ns.is_none())
    }

    /// How long after its stamp the driver took `probe`; `None` when that is not known.
    #[inline]
    pub fn delay(&self, probe: Probe) -> Option<u32> {
        self.find(probe)?.delay_ns
    }

    /// Whether the kernel was asked about a probe to `target` with this number: most answers of many targets
    /// are spared the proof that they are to one.
    #[inline]
    pub fn has_asked(&self, target: u32, sequence: u16) -> bool {
        let asked = self.places.get(self.place(target, sequence));
        asked.is_some_and(|asked| {
            asked.is_some_and(|Departure { probe, .. }| {
                probe.target == target && probe.sequence() == sequence
            })
        })
    }

    #[inline]
    fn find(&self, probe: Probe) -> Option<Departure> {
        let known = (*self
            .places
            .get(self.place(probe.target, probe.sequence()))?)?;
        (known.probe == probe).then_some(known)
    }

    /// Where there are as many places as probes in two rounds, these have different ones. Else any two may have the
    /// same, but hardly in the next round again.
    #[inline]
    fn place(&self, target: u32, sequence: u16) -> usize {
        let places = self.places.len() as u64;
        let mut number = u64::from(sequence) * self.targets + u64::from(target);
        if places < 2 * self.targets {
            number = number.wrapping_mul(MIXER);
            number = (number ^ number >> 32).wrapping_mul(MIXER) >> 32;
        }
        (number & places.wrapping_sub(1)) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn probes_of_two_rounds_have_places_of_their_own() {
        for (pps, targets) in [(1, 1), (64, 64), (1000, 3), (700, 700), (20, 1000)] {
            let departures = Departures::new(Some(pps), targets, 64);
            for first in [0, 7, u16::MAX] {
                let rounds = [first, first.wrapping_add(1)];
                let places = rounds.into_iter().flat_map(|sequence| {
                    let place = |target| departures.place(target, sequence);
                    (0..targets).map(place).collect::<Vec<_>>()
                });
                let places: HashSet<usize> = places.collect();
                assert_eq!(
                    places.len(),
                    2 * targets as usize,
                    "{pps} {targets} {first}"
                );
                assert!(places.iter().all(|place| *place < departures.places.len()));
            }
        }
    }

    #[test]
    fn two_probes_do_not_share_a_place_in_every_round() {
        let departures = Departures::new(Some(10_000), 10_000, 256);
        let places = departures.places.len() as u32;
        let shared = (0..1000).filter(|sequence| {
            departures.place(1, *sequence) == departures.place(1 + places, *sequence)
        });
        assert!(shared.count() < 20);
    }

    #[test]
    fn of_groups_up_to_64_each_probe_is_asked_about_and_of_larger_ones_the_first() {
        let [small, large] = [64, 65].map(|group| Departures::new(Some(1000), 1000, group));
        assert!(small.is_to_ask(63) && large.is_to_ask(3));
        assert!(!large.is_to_ask(4));
    }

    #[test]
    fn without_a_rate_nothing_is_remembered() {
        let mut departures = Departures::new(None, 10, 1);
        let probe = Probe {
            target: 3,
            round: 0,
        };
        departures.note(probe, 5);
        assert_eq!(departures.delay(probe), None);
    }
}
