//! Transmit time stamps of probes.

use probe::Probe;

/// Maximum entries: the stamped probes of two seconds and two rounds, up to this. A power of two.
const MAX_ENTRIES: u64 = 2048;
/// Minimum entries. A small table stays in the CPU cache. A power of two.
const MIN_ENTRIES: u64 = 64;

/// Maximum group in which the kernel stamps every probe. A stamp adds a fifth to the CPU time of a probe.
const MAX_STAMPED_GROUP: u32 = 64;
/// In a larger group, the first probes meet a cold cache and take long to transmit; only these are stamped.
const COLD_SENDS: u32 = 4;

/// An odd multiplier: 2⁶⁴ divided by the golden ratio.
const MIXER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A probe whose transmit time stamp was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TxDelay {
    probe: Probe,
    /// Time from our stamp to the driver's; `None` until the kernel reports it.
    delay_ns: Option<u32>,
}

/// The time from our stamp to the driver's for each of the latest probes.
#[derive(Debug)]
pub(super) struct TxTimestamps {
    /// Hashed by number and target of the probe; a later probe replaces an earlier one.
    entries: Box<[Option<TxDelay>]>,
    targets: u64,
    /// Number of stamped probes in a group.
    max_stamped: u32,
}

impl TxTimestamps {
    /// For `rate_pps` probes per second to `targets` targets, in groups of `group`. Without a rate no probe is stamped.
    pub fn new(rate_pps: Option<u64>, targets: u32, group: u32) -> Self {
        let is_each_stamped = group <= MAX_STAMPED_GROUP;
        let entries = rate_pps.map_or(0, |pps| {
            let stamped = if is_each_stamped {
                pps.max(targets.into())
            } else {
                pps * u64::from(COLD_SENDS) / u64::from(group)
            };
            (2 * stamped)
                .clamp(MIN_ENTRIES, MAX_ENTRIES)
                .next_power_of_two()
        });
        Self {
            entries: vec![None; entries as usize].into_boxed_slice(),
            targets: targets.into(),
            max_stamped: if is_each_stamped {
                u32::MAX
            } else {
                COLD_SENDS
            },
        }
    }

    /// Whether to stamp the next probe, after `sends_since_sleep` others.
    #[inline]
    pub fn is_requested(&self, sends_since_sleep: u32) -> bool {
        sends_since_sleep < self.max_stamped
    }

    /// Notes that the kernel will stamp `probe`.
    #[inline]
    pub fn expect(&mut self, probe: Probe) {
        self.put(probe, None);
    }

    /// Notes that the driver took `probe` `delay_ns` after our stamp.
    #[inline]
    pub fn note(&mut self, probe: Probe, delay_ns: u32) {
        self.put(probe, Some(delay_ns));
    }

    #[inline]
    fn put(&mut self, probe: Probe, delay_ns: Option<u32>) {
        let index = self.index(probe.target, probe.sequence());
        if let Some(entry) = self.entries.get_mut(index) {
            *entry = Some(TxDelay { probe, delay_ns });
        }
    }

    /// Whether the stamp of `probe` is requested and not reported yet.
    #[inline]
    pub fn is_pending(&self, probe: Probe) -> bool {
        self.find(probe)
            .is_some_and(|known| known.delay_ns.is_none())
    }

    /// The time from our stamp of `probe` to the driver's; `None` if unknown.
    #[inline]
    pub fn delay(&self, probe: Probe) -> Option<u32> {
        self.find(probe)?.delay_ns
    }

    /// Whether the stamp of a probe to `target` with this sequence number was requested. Saves verifying the cookie
    /// of most replies.
    #[inline]
    pub fn is_tracked(&self, target: u32, sequence: u16) -> bool {
        let entry = self.entries.get(self.index(target, sequence));
        entry.is_some_and(|entry| {
            entry.is_some_and(|TxDelay { probe, .. }| {
                probe.target == target && probe.sequence() == sequence
            })
        })
    }

    #[inline]
    fn find(&self, probe: Probe) -> Option<TxDelay> {
        let known = (*self
            .entries
            .get(self.index(probe.target, probe.sequence()))?)?;
        (known.probe == probe).then_some(known)
    }

    /// If there are as many entries as probes in two rounds, these do not collide. Otherwise two probes may collide, but
    /// rarely again in the next round.
    #[inline]
    fn index(&self, target: u32, sequence: u16) -> usize {
        let entries = self.entries.len() as u64;
        let mut number = u64::from(sequence) * self.targets + u64::from(target);
        if entries < 2 * self.targets {
            number = number.wrapping_mul(MIXER);
            number = (number ^ number >> 32).wrapping_mul(MIXER) >> 32;
        }
        (number & entries.wrapping_sub(1)) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn probes_of_two_rounds_do_not_collide() {
        for (pps, targets) in [(1, 1), (64, 64), (1000, 3), (700, 700), (20, 1000)] {
            let timestamps = TxTimestamps::new(Some(pps), targets, 64);
            for first in [0, 7, u16::MAX] {
                let rounds = [first, first.wrapping_add(1)];
                let indices = rounds.into_iter().flat_map(|sequence| {
                    let index = |target| timestamps.index(target, sequence);
                    (0..targets).map(index).collect::<Vec<_>>()
                });
                let indices: HashSet<usize> = indices.collect();
                assert_eq!(
                    indices.len(),
                    2 * targets as usize,
                    "{pps} {targets} {first}"
                );
                assert!(
                    indices
                        .iter()
                        .all(|index| *index < timestamps.entries.len())
                );
            }
        }
    }

    #[test]
    fn two_probes_do_not_collide_in_every_round() {
        let timestamps = TxTimestamps::new(Some(10_000), 10_000, 256);
        let entries = timestamps.entries.len() as u32;
        let shared = (0..1000).filter(|sequence| {
            timestamps.index(1, *sequence) == timestamps.index(1 + entries, *sequence)
        });
        assert!(shared.count() < 20);
    }

    #[test]
    fn groups_up_to_64_are_stamped_whole_and_larger_ones_at_the_start() {
        let [small, large] = [64, 65].map(|group| TxTimestamps::new(Some(1000), 1000, group));
        assert!(small.is_requested(63) && large.is_requested(3));
        assert!(!large.is_requested(4));
    }

    #[test]
    fn without_a_rate_no_probe_is_tracked() {
        let mut timestamps = TxTimestamps::new(None, 10, 1);
        let probe = Probe {
            target: 3,
            round: 0,
        };
        timestamps.note(probe, 5);
        assert_eq!(timestamps.delay(probe), None);
    }
}
