//! Address ranges and prefixes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// `::ffff:0:0/96`, which maps IPv4 addresses to IPv6.
const MAPPED: u128 = 0xffff_0000_0000;

/// `address` as a number. IPv4 addresses are mapped to IPv6.
///
/// # Source
/// RFC 4291, 2.5.5.2.
pub(super) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => MAPPED | u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The address with this number.
pub(super) fn address(number: u128) -> IpAddr {
    if number >> 32 == MAPPED >> 32 {
        Ipv4Addr::from_bits(number as u32).into()
    } else {
        Ipv6Addr::from_bits(number).into()
    }
}

/// Consecutive addresses; both ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AddressRange {
    pub first: u128,
    pub last: u128,
}

impl AddressRange {
    pub fn one(address: IpAddr) -> Self {
        let first = number(address);
        Self { first, last: first }
    }

    /// Number of addresses. For the whole IPv6 address space `u128::MAX`, one too few.
    pub fn len(self) -> u128 {
        (self.last - self.first).saturating_add(1)
    }

    /// Calls `keep` for each part outside `others`, which are sorted and disjoint.
    pub fn without(self, others: &[AddressRange], mut keep: impl FnMut(AddressRange)) {
        let from = others.partition_point(|other| other.last < self.first);
        let mut first = self.first;
        for other in &others[from..] {
            if other.first > self.last {
                break;
            }
            if other.first > first {
                let last = other.first - 1;
                keep(AddressRange { first, last });
            }
            match other.last.checked_add(1) {
                Some(next) if other.last < self.last => first = next,
                _ => return,
            }
        }
        let last = self.last;
        keep(AddressRange { first, last });
    }
}

/// Sorts ranges and joins those that overlap or touch.
pub(super) fn merge(ranges: &mut Vec<AddressRange>) {
    ranges.sort_unstable();
    let mut kept: usize = 0;
    for at in 0..ranges.len() {
        let range = ranges[at];
        match kept.checked_sub(1).map(|last| &mut ranges[last]) {
            Some(last) if range.first <= last.last.saturating_add(1) => {
                last.last = last.last.max(range.last);
            }
            _ => {
                ranges[kept] = range;
                kept += 1;
            }
        }
    }
    ranges.truncate(kept);
}

/// An address prefix in CIDR notation, such as `10.0.0.0/8`. A single address is a prefix too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    len: u8,
}

impl Cidr {
    /// The addresses that share their first `len` bits with `address`. IPv4-mapped prefixes
    /// (`::ffff:10.0.0.0/104`) are converted to IPv4 (`10.0.0.0/8`).
    ///
    /// # Errors
    /// `len` exceeds the length of the address.
    pub fn new(address: IpAddr, len: u8) -> Result<Self, InvalidCidr> {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        if len > bits {
            return Err(InvalidCidr);
        }
        let canonical = address.to_canonical();
        let own_bits = if canonical.is_ipv4() { 32 } else { 128 };
        Ok(match len.checked_sub(bits - own_bits) {
            Some(len) => Self {
                address: canonical,
                len,
            },
            // Wider than the IPv4-mapped prefix.
            None => Self { address, len },
        })
    }

    pub(super) fn range(self) -> AddressRange {
        let free = if self.address.is_ipv4() { 32 } else { 128 } - u32::from(self.len);
        let mask = 1_u128.checked_shl(free).map_or(u128::MAX, |bit| bit - 1);
        let first = number(self.address) & !mask;
        AddressRange {
            first,
            last: first | mask,
        }
    }

    /// Calls `keep` with the parts of the range that have addresses of its family: the numbers of IPv4 addresses are in the middle
    /// of wide IPv6 prefixes, such as `::/8`.
    pub(super) fn own_family(self, mut keep: impl FnMut(AddressRange)) {
        let range = self.range();
        if self.address.is_ipv4() {
            return keep(range);
        }
        let mapped = AddressRange {
            first: MAPPED,
            last: MAPPED | u128::from(u32::MAX),
        };
        range.without(&[mapped], keep);
    }

    /// The host addresses. IPv4 prefixes up to /30 exclude network and broadcast address.
    pub(super) fn hosts(self) -> AddressRange {
        let mut range = self.range();
        if self.address.is_ipv4() && self.len < 31 {
            range.first += 1;
            range.last -= 1;
        }
        range
    }
}

impl FromStr for Cidr {
    type Err = InvalidCidr;

    /// Parses `ADDRESS/LENGTH` or `ADDRESS`.
    fn from_str(text: &str) -> Result<Self, InvalidCidr> {
        let (address, len) = match text.split_once('/') {
            Some((address, len)) if len.bytes().all(|digit| digit.is_ascii_digit()) => {
                (address, Some(len.parse().map_err(|_| InvalidCidr)?))
            }
            Some(_) => return Err(InvalidCidr),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| InvalidCidr)?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        Self::new(address, len.unwrap_or(bits))
    }
}

/// The text is not a prefix, or its length exceeds that of the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an address with a prefix length")]
pub struct InvalidCidr;

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u128, last: u128) -> AddressRange {
        AddressRange { first, last }
    }

    #[test]
    fn ranges_are_joined_and_subtracted() {
        let mut ranges = vec![
            range(20, 29),
            range(5, 9),
            range(10, 12),
            range(8, 11),
            range(40, u128::MAX),
        ];
        merge(&mut ranges);
        assert_eq!(ranges, [range(5, 12), range(20, 29), range(40, u128::MAX)]);
        for (first, last) in [
            (0, 100),
            (5, 12),
            (6, 7),
            (13, 19),
            (12, 20),
            (30, 30),
            (0, u128::MAX),
        ] {
            let mut kept = Vec::new();
            range(first, last).without(&ranges, |rest| kept.push(rest));
            let is_kept = |at: u128| {
                kept.iter()
                    .any(|rest| (rest.first..=rest.last).contains(&at))
            };
            for at in 0..64 {
                let is_out = ranges
                    .iter()
                    .any(|other| (other.first..=other.last).contains(&at));
                assert_eq!(is_kept(at), (first..=last).contains(&at) && !is_out, "{at}");
            }
        }
    }

    #[test]
    fn a_mapped_prefix_equals_the_ipv4_prefix() {
        let range = |text: &str| text.parse::<Cidr>().expect("a prefix").range();
        for (mapped, plain) in [
            ("::ffff:10.1.2.3/128", "10.1.2.3"),
            ("::ffff:10.1.2.3/120", "10.1.2.0/24"),
            ("::ffff:10.1.2.3/96", "0.0.0.0/0"),
        ] {
            assert_eq!(range(mapped), range(plain), "{mapped}");
        }
        let wide = range("::ffff:10.1.2.3/95");
        assert_eq!(wide, range("::fffe:0:0/95"));
        assert_eq!(wide.len(), 2 << 32);
    }

    #[test]
    fn prefixes_have_the_expected_hosts() {
        let hosts = |text: &str| {
            let hosts = text.parse::<Cidr>().expect("a prefix").hosts();
            (
                address(hosts.first).to_string(),
                address(hosts.last).to_string(),
                hosts.len(),
            )
        };
        let of = |first: &str, last: &str, count| (first.to_string(), last.to_string(), count);
        assert_eq!(hosts("10.1.2.3/24"), of("10.1.2.1", "10.1.2.254", 254));
        assert_eq!(hosts("10.1.2.3/31"), of("10.1.2.2", "10.1.2.3", 2));
        assert_eq!(hosts("10.1.2.3"), of("10.1.2.3", "10.1.2.3", 1));
        assert_eq!(
            hosts("0.0.0.0/0"),
            of("0.0.0.1", "255.255.255.254", (1 << 32) - 2)
        );
        assert_eq!(hosts("fd00::7/120"), of("fd00::", "fd00::ff", 256));
        assert_eq!(
            "::/0".parse::<Cidr>().map(|all| all.hosts().len()),
            Ok(u128::MAX)
        );
        for wrong in [
            "10.0.0.0/33",
            "::/129",
            "10.0.0/8",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "",
            "/8",
            "::/-1",
        ] {
            assert_eq!(wrong.parse::<Cidr>(), Err(InvalidCidr), "{wrong}");
        }
    }
}
