//! A probe, and its slot in the schedule.

/// One echo request to one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Probe {
    /// Index of the target in the list.
    pub target: u32,
    /// Number of earlier probes to this target.
    pub round: u32,
}

impl Probe {
    /// The number of this probe among those to its target, starting at 1.
    #[inline]
    pub fn number(self) -> u32 {
        self.round + 1
    }

    /// The sequence number in the ICMP header. It starts at 1 and wraps from 65535 to 0.
    #[inline]
    pub fn sequence(self) -> u16 {
        self.number() as u16
    }
}

/// A position in the permuted order of targets, in one of the rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot {
    pub position: u32,
    pub round: u32,
}
