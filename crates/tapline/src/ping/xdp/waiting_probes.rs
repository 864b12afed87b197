//! Probes that are due and wait until it is known who answers for their neighbour.

use std::collections::HashMap;
use std::net::IpAddr;

use probe::Probe;

/// Probes that wait for their neighbours or the rate after that, at most. If there are more, none is taken until some have left.
pub(super) const MAX_WAITING: usize = 4096;

/// Probes that wait, by their neighbour.
#[derive(Debug, Default)]
pub(super) struct WaitingProbes {
    by_neighbour: HashMap<IpAddr, Vec<Probe>>,
    count: usize,
}

impl WaitingProbes {
    /// Number of probes.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Adds a probe. Returns whether it is the first one of its neighbour.
    pub fn add(&mut self, neighbour: IpAddr, probe: Probe) -> bool {
        let probes = self.by_neighbour.entry(neighbour).or_default();
        probes.push(probe);
        self.count += 1;
        probes.len() == 1
    }

    /// Removes the probes that wait for a neighbour, and returns them.
    pub fn take(&mut self, neighbour: IpAddr) -> Vec<Probe> {
        let probes = self.by_neighbour.remove(&neighbour).unwrap_or_default();
        self.count -= probes.len();
        probes
    }

    pub fn clear(&mut self) {
        self.by_neighbour.clear();
        self.count = 0;
    }
}
