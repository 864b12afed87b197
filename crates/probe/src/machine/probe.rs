/// A question to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Which target, by its place in the list.
    pub target: u32,
    /// How many have gone to it before.
    pub round: u32,
}

impl Probe {
    /// Its number among the probes of its target, from 1.
    #[inline]
    pub fn number(self) -> u32 {
        self.round + 1
    }

    /// Its sequence number in the ICMP header, which begins at 1 and wraps after 65535 to 0.
    #[inline]
    pub fn sequence(self) -> u16 {
        self.number() as u16
    }
}
