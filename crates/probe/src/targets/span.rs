//! Runs of addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// `::ffff:0:0`: IPv4 addresses have their place among those of IPv6 here, in the prefix for them.
const MAPPED: u128 = 0xffff_0000_0000;

/// The place of `address` among all addresses.
///
/// # Source
/// RFC 4291, 2.5.5.2.
pub(super) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => MAPPED | u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The address at place `number`.
pub(super) fn address(number: u128) -> IpAddr {
    if number >> 32 == MAPPED >> 32 {
        Ipv4Addr::from_bits(number as u32).into()
    } else {
        Ipv6Addr::from_bits(number).into()
    }
}

/// Addresses that follow one another, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub first: u128,
    pub last: u128,
}

impl Span {
    pub fn one(address: IpAddr) -> Self {
        let first = number(address);
        Self { first, last: first }
    }

    /// How many addresses; `u128::MAX` for all there are, which are one more.
    pub fn len(self) -> u128 {
        (self.last - self.first).saturating_add(1)
    }

    /// What of it lies outside `others`, which are in order and do not overlap.
    pub fn without(self, others: &[Span], mut keep: impl FnMut(Span)) {
        let from = others.partition_point(|other| other.last < self.first);
        let mut first = self.first;
        for other in &others[from..] {
            if other.first > self.last {
                break;
            }
            if other.first > first {
                let last = other.first - 1;
                keep(Span { first, last });
            }
            match other.last.checked_add(1) {
                Some(next) if other.last < self.last => first = next,
                _ => return,
            }
        }
        let last = self.last;
        keep(Span { first, last });
    }
}

/// Brings spans into order and joins those that overlap or touch.
pub(super) fn merge(spans: &mut Vec<Span>) {
    spans.sort_unstable();
    let mut kept: usize = 0;
    for at in 0..spans.len() {
        let span = spans[at];
        match kept.checked_sub(1).map(|last| &mut spans[last]) {
            Some(last) if span.first <= last.last.saturating_add(1) => {
                last.last = last.last.max(span.last);
            }
            _ => {
                spans[kept] = span;
                kept += 1;
            }
        }
    }
    spans.truncate(kept);
}

/// The addresses that begin with the same bits, as `10.0.0.0/8`; an address alone is one too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    len: u8,
}

impl Prefix {
    /// The addresses that share their first `len` bits with `address`. IPv4 addresses that are written
    /// as IPv6 ones (`::ffff:10.0.0.0/104`) are what they stand for (`10.0.0.0/8`).
    ///
    /// # Errors
    /// The address has fewer bits.
    pub fn new(address: IpAddr, len: u8) -> Result<Self, InvalidPrefix> {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        if len > bits {
            return Err(InvalidPrefix);
        }
        let canonical = address.to_canonical();
        let own_bits = if canonical.is_ipv4() { 32 } else { 128 };
        Ok(match len.checked_sub(bits - own_bits) {
            Some(len) => Self {
                address: canonical,
                len,
            },
            // All of IPv4, and more.
            None => Self { address, len },
        })
    }

    pub(super) fn span(self) -> Span {
        let free = if self.address.is_ipv4() { 32 } else { 128 } - u32::from(self.len);
        let mask = 1_u128.checked_shl(free).map_or(u128::MAX, |bit| bit - 1);
        let first = number(self.address) & !mask;
        Span {
            first,
            last: first | mask,
        }
    }

    /// The addresses that hosts may have: in IPv4, without that of the network and the broadcast, where
    /// there are more than two.
    pub(super) fn hosts(self) -> Span {
        let mut span = self.span();
        if self.address.is_ipv4() && self.len < 31 {
            span.first += 1;
            span.last -= 1;
        }
        span
    }
}

impl FromStr for Prefix {
    type Err = InvalidPrefix;

    /// Reads `ADDRESS/LENGTH` or `ADDRESS`.
    fn from_str(text: &str) -> Result<Self, InvalidPrefix> {
        let (address, len) = match text.split_once('/') {
            Some((address, len)) if len.bytes().all(|digit| digit.is_ascii_digit()) => {
                (address, Some(len.parse().map_err(|_| InvalidPrefix)?))
            }
            Some(_) => return Err(InvalidPrefix),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| InvalidPrefix)?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        Self::new(address, len.unwrap_or(bits))
    }
}

/// A text is no prefix, or its length is more than the address has bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidPrefix;

impl fmt::Display for InvalidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an address with a prefix length")
    }
}

impl std::error::Error for InvalidPrefix {}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(first: u128, last: u128) -> Span {
        Span { first, last }
    }

    #[test]
    fn spans_are_joined_and_cut_out() {
        let mut spans = vec![
            span(20, 29),
            span(5, 9),
            span(10, 12),
            span(8, 11),
            span(40, u128::MAX),
        ];
        merge(&mut spans);
        assert_eq!(spans, [span(5, 12), span(20, 29), span(40, u128::MAX)]);
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
            span(first, last).without(&spans, |rest| kept.push(rest));
            let is_kept = |at: u128| {
                kept.iter()
                    .any(|rest| (rest.first..=rest.last).contains(&at))
            };
            for at in 0..64 {
                let is_out = spans
                    .iter()
                    .any(|other| (other.first..=other.last).contains(&at));
                assert_eq!(is_kept(at), (first..=last).contains(&at) && !is_out, "{at}");
            }
        }
    }

    #[test]
    fn a_mapped_prefix_is_that_of_ipv4() {
        let span = |text: &str| text.parse::<Prefix>().expect("a prefix").span();
        for (mapped, plain) in [
            ("::ffff:10.1.2.3/128", "10.1.2.3"),
            ("::ffff:10.1.2.3/120", "10.1.2.0/24"),
            ("::ffff:10.1.2.3/96", "0.0.0.0/0"),
        ] {
            assert_eq!(span(mapped), span(plain), "{mapped}");
        }
        let wide = span("::ffff:10.1.2.3/95");
        assert_eq!(wide, span("::fffe:0:0/95"));
        assert_eq!(wide.len(), 2 << 32);
    }

    #[test]
    fn prefixes_have_the_hosts_they_should() {
        let hosts = |text: &str| {
            let hosts = text.parse::<Prefix>().expect("a prefix").hosts();
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
            "::/0".parse::<Prefix>().map(|all| all.hosts().len()),
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
            assert_eq!(wrong.parse::<Prefix>(), Err(InvalidPrefix), "{wrong}");
        }
    }
}
