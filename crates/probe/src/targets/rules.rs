//! Which addresses may be pinged.

use std::net::IpAddr;

use super::range::{AddressRange, number};

/// Which address families are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressFamilies {
    /// Both families; for a host name, its first address.
    #[default]
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

impl AddressFamilies {
    pub(super) fn accepts(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}

/// The rules that a list applies to addresses, also to those that its names get later.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressRules {
    pub family: AddressFamilies,
    /// Sorted and disjoint.
    pub excluded: Vec<AddressRange>,
    /// Names keep a target of their own, whatever their addresses are.
    pub follows_names: bool,
}

impl AddressRules {
    /// Whether targets may have addresses of a family.
    pub fn allows(&self, is_ipv6: bool) -> bool {
        match self.family {
            AddressFamilies::Any => true,
            AddressFamilies::V4 => !is_ipv6,
            AddressFamilies::V6 => is_ipv6,
        }
    }

    /// Whether `address` has an accepted family and is not excluded.
    pub fn accepts(&self, address: IpAddr) -> bool {
        let key = number(address);
        let from = self.excluded.partition_point(|range| range.last < key);
        let is_excluded = self
            .excluded
            .get(from)
            .is_some_and(|range| range.first <= key);
        self.family.accepts(address) && !is_excluded
    }
}
