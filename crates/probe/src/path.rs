//! Flows that equal-cost multipath (ECMP) routing sends over different paths.

use wire::checksum::Sum;

use crate::cookie::COOKIE_BYTES;

/// Maximum number of paths to one host.
pub const MAX_PATHS: u8 = 64;

/// Bytes in front of the filler that hold the checksum of a path constant.
pub const BALANCE_BYTES: usize = 2;

/// Bits of an IPv6 flow label (RFC 6437, 2).
const LABEL_BITS: u32 = 20;

/// The header fields by which routers assign probes to a path. All probes of a path have the same ones.
///
/// IPv6 routers hash the flow label. Routers that hash the first four bytes behind the IP header hash the ICMP
/// checksum. Both are fixed for each path number, so that another run probes the same paths.
///
/// # Source
/// RFC 6438; Augustin et al., "Avoiding traceroute anomalies with Paris traceroute", IMC 2006, section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EcmpPath {
    /// Number of the path, starting at 0.
    pub number: u8,
    /// IPv6 flow label, 1 to 0xfffff.
    pub flow_label: u32,
    /// ICMPv4 checksum. The ICMPv6 checksum is constant too, but also depends on the addresses.
    pub checksum: u16,
}

impl EcmpPath {
    /// The path with this number.
    pub fn new(number: u8) -> Self {
        let bits = u64::from(number) + 1;
        // Multipliers without common factors with the ranges: different numbers have different values.
        let flow_label = (bits * 0x9_e377) & ((1 << LABEL_BITS) - 1);
        let checksum = (bits * 0x9e37) & 0xffff;
        Self {
            number,
            flow_label: flow_label as u32,
            checksum: checksum as u16,
        }
    }
}

/// Computes the two bytes that make the checksum of a probe that of its path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChecksumBalance {
    /// Sum of the constant bytes of an ICMPv4 echo request.
    constant: Sum,
}

impl ChecksumBalance {
    /// `filler` starts with [`BALANCE_BYTES`] zeros.
    pub fn new(identifier: u16, filler: &[u8]) -> Self {
        let [a, b] = identifier.to_be_bytes();
        Self {
            constant: Sum::new()
                .bytes(&[wire::Icmpv4::ECHO_REQUEST, 0, a, b])
                .bytes(filler),
        }
    }

    #[inline]
    pub fn of(
        self,
        path: EcmpPath,
        sequence: u16,
        cookie: &[u8; COOKIE_BYTES],
    ) -> [u8; BALANCE_BYTES] {
        let sum = self.constant.bytes(&sequence.to_be_bytes()).bytes(cookie);
        // In one's complement, finish() is the negated sum.
        let balance = u32::from(!path.checksum) + u32::from(sum.finish());
        ((balance & 0xffff) as u16 + (balance >> 16) as u16).to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn paths_have_different_fields_that_routers_can_tell_from_none() {
        let paths: Vec<_> = (0..MAX_PATHS).map(EcmpPath::new).collect();
        let labels: HashSet<u32> = paths.iter().map(|path| path.flow_label).collect();
        let sums: HashSet<u16> = paths.iter().map(|path| path.checksum).collect();
        assert_eq!((labels.len(), sums.len()), (64, 64));
        assert!(labels.iter().all(|label| (1..1 << 20).contains(label)));
        assert!(sums.iter().all(|sum| (1..0xffff).contains(sum)));
    }
}
