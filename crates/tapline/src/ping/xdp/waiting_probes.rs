//! Probes that are due and wait: until it is known who answers for their neighbour, or until their route is back.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::IpAddr;

use probe::Probe;

/// Probes that wait for their neighbours, by their neighbour and by their age.
#[derive(Debug, Default)]
pub(super) struct WaitingProbes {
    /// The numbers of the probes of each neighbour, ascending.
    by_neighbour: HashMap<IpAddr, VecDeque<u64>>,
    /// The probes by their numbers. Later ones have greater numbers.
    probes: BTreeMap<u64, WaitingProbe>,
    next: u64,
}

#[derive(Clone, Copy, Debug)]
struct WaitingProbe {
    probe: Probe,
    neighbour: IpAddr,
    since_ns: u64,
}

impl WaitingProbes {
    /// Number of probes.
    pub fn len(&self) -> usize {
        self.probes.len()
    }

    /// Adds a probe that waits since `since_ns`, not before those of earlier calls. Returns whether it is the first one of its
    /// neighbour.
    pub fn add(&mut self, neighbour: IpAddr, probe: Probe, since_ns: u64) -> bool {
        let numbers = self.by_neighbour.entry(neighbour).or_default();
        numbers.push_back(self.next);
        let waiting = WaitingProbe {
            probe,
            neighbour,
            since_ns,
        };
        self.probes.insert(self.next, waiting);
        self.next += 1;
        numbers.len() == 1
    }

    /// Removes the probes that wait for a neighbour, and returns them, oldest first.
    pub fn take(&mut self, neighbour: IpAddr) -> Vec<Probe> {
        let numbers = self.by_neighbour.remove(&neighbour).unwrap_or_default();
        let probes = numbers
            .iter()
            .filter_map(|number| self.probes.remove(number));
        probes.map(|waiting| waiting.probe).collect()
    }

    /// Removes the oldest probe if it waits since `since_ns` or longer, and returns it.
    pub fn pop_since(&mut self, since_ns: u64) -> Option<Probe> {
        let oldest = self.probes.first_entry()?;
        if oldest.get().since_ns > since_ns {
            return None;
        }
        let WaitingProbe {
            probe, neighbour, ..
        } = oldest.remove();
        if let Some(numbers) = self.by_neighbour.get_mut(&neighbour) {
            // The oldest of all is the oldest of its neighbour.
            numbers.pop_front();
            if numbers.is_empty() {
                self.by_neighbour.remove(&neighbour);
            }
        }
        Some(probe)
    }

    /// Since when the oldest probe waits.
    pub fn since_ns(&self) -> Option<u64> {
        let (_, oldest) = self.probes.first_key_value()?;
        Some(oldest.since_ns)
    }

    pub fn clear(&mut self) {
        self.by_neighbour.clear();
        self.probes.clear();
    }
}

/// Probes without a route, and since when they wait for one.
#[derive(Debug, Default)]
pub(super) struct RoutelessProbes(VecDeque<(u64, Probe)>);

impl RoutelessProbes {
    /// Number of probes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a probe that waits since `since_ns`, not before those of earlier calls.
    pub fn add(&mut self, since_ns: u64, probe: Probe) {
        self.0.push_back((since_ns, probe));
    }

    /// Removes all probes, and returns them, oldest first.
    pub fn take(&mut self) -> VecDeque<(u64, Probe)> {
        std::mem::take(&mut self.0)
    }

    /// Removes the oldest probe if it waits since `since_ns` or longer, and returns it.
    pub fn pop_since(&mut self, since_ns: u64) -> Option<Probe> {
        let is_due = |(since, _): &mut (u64, Probe)| *since <= since_ns;
        self.0.pop_front_if(is_due).map(|(_, probe)| probe)
    }

    /// Since when the oldest probe waits.
    pub fn since_ns(&self) -> Option<u64> {
        self.0.front().map(|(since_ns, _)| *since_ns)
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(target: u32, round: u32) -> Probe {
        Probe { target, round }
    }

    #[test]
    fn the_probe_that_has_waited_longest_leaves_first() {
        let [absent, slow] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let mut waiting = WaitingProbes::default();
        assert!(waiting.add(absent, probe(0, 0), 1));
        assert!(waiting.add(slow, probe(1, 0), 1));
        assert!(!waiting.add(absent, probe(0, 1), 2));
        assert_eq!((waiting.pop_since(0), waiting.since_ns()), (None, Some(1)));
        assert_eq!(waiting.pop_since(2), Some(probe(0, 0)));
        assert_eq!(waiting.take(slow), [probe(1, 0)]);
        // One that comes later is not older than the first one that still waits.
        assert!(waiting.add(slow, probe(1, 1), 3));
        assert_eq!(waiting.len(), 2);
        assert_eq!(waiting.pop_since(9), Some(probe(0, 1)));
        assert!(
            waiting.add(absent, probe(0, 2), 3),
            "none waits for this neighbour any more"
        );
        assert_eq!(waiting.pop_since(9), Some(probe(1, 1)));
        assert_eq!(waiting.take(absent), [probe(0, 2)]);
        assert_eq!((waiting.len(), waiting.pop_since(9)), (0, None));
        assert_eq!(waiting.since_ns(), None);
    }

    #[test]
    fn probes_without_a_route_leave_by_their_age() {
        let mut waiting = RoutelessProbes::default();
        waiting.add(5, probe(0, 0));
        waiting.add(7, probe(1, 0));
        assert_eq!((waiting.pop_since(4), waiting.since_ns()), (None, Some(5)));
        assert_eq!(waiting.pop_since(6), Some(probe(0, 0)));
        assert_eq!(waiting.take(), [(7, probe(1, 0))]);
        assert_eq!((waiting.len(), waiting.since_ns()), (0, None));
    }
}
