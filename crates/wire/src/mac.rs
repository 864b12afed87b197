use std::fmt;

/// An Ethernet address; `Display` writes `00:00:5e:00:53:01`.
///
/// # Source
/// IEEE 802-2014, 8.2.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// To all stations.
    pub const BROADCAST: Self = Self([0xff; 6]);
    /// All zero, as in a question for an address.
    pub const ZERO: Self = Self([0; 6]);

    /// Whether it names a group of stations (broadcast included).
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.0;
        write!(f, "{first:02x}")?;
        rest.iter().try_for_each(|byte| write!(f, ":{byte:02x}"))
    }
}
