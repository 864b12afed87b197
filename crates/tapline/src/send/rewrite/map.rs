//! Networks replaced by others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use wire::checksum::{Change, udp_field};

use super::header_offsets::{HeaderOffsets, NetworkKind, TransportKind};

/// Bytes of `ICMPv6` messages that carry addresses: neighbour solicitation and advertisement, and redirect.
const NEIGHBOUR_MESSAGES: [u8; 2] = [135, 136];
const REDIRECT: u8 = 137;

/// Text that is no address map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' {reason}")]
#[non_exhaustive]
pub struct AddressMapError {
    /// The part that is wrong.
    pub text: String,
    /// What is wrong with it, and what to write instead.
    pub reason: &'static str,
}

/// Replaces the addresses of one network by those of another: `10.0.0.0/8=192.0.2.0/24`.
///
/// The low bits of an address are kept: as many as both networks have for hosts, that is those of the longer prefix.
/// With a longer new prefix, several addresses become one. With a shorter one, the bits between are those of the new
/// network's address. Addresses that share a prefix beyond the old network's still share it.
///
/// ```
/// use std::net::IpAddr;
/// use tapline::send::AddressMap;
///
/// let map: AddressMap = "10.0.0.0/8=192.0.2.0/24".parse()?;
/// let mapped = |address: &str| map.apply(address.parse().expect("an address"));
/// assert_eq!(mapped("10.1.2.3"), Some(IpAddr::from([192, 0, 2, 3])));
/// assert_eq!(mapped("11.1.2.3"), None);
/// # Ok::<(), tapline::send::AddressMapError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressMap {
    is_ipv6: bool,
    from: u128,
    /// The bits of the old prefix.
    prefix_mask: u128,
    to: u128,
    /// The bits that stay.
    kept_mask: u128,
}

impl AddressMap {
    /// The new address; `None` if the old network does not contain `address`.
    pub fn apply(&self, address: IpAddr) -> Option<IpAddr> {
        match address {
            IpAddr::V4(address) if !self.is_ipv6 => {
                let mapped = self.map(address.to_bits().into())?;
                Some(Ipv4Addr::from_bits(mapped as u32).into())
            }
            IpAddr::V6(address) if self.is_ipv6 => {
                let mapped = self.map(address.to_bits())?;
                Some(Ipv6Addr::from_bits(mapped).into())
            }
            _ => None,
        }
    }

    fn map(&self, address: u128) -> Option<u128> {
        let is_inside = address & self.prefix_mask == self.from;
        is_inside.then_some(self.to | address & self.kept_mask)
    }
}

impl FromStr for AddressMap {
    type Err = AddressMapError;

    fn from_str(text: &str) -> Result<Self, AddressMapError> {
        let wrong = |text: &str, reason| AddressMapError {
            text: text.to_owned(),
            reason,
        };
        let (from, to) = text
            .split_once('=')
            .ok_or_else(|| wrong(text, "is not OLD=NEW, such as 10.0.0.0/8=192.0.2.0/24"))?;
        let network = |text: &str| {
            Network::parse(text).ok_or_else(|| wrong(text, "is not a network: use ADDRESS/LENGTH"))
        };
        let (old, new) = (network(from)?, network(to)?);
        if old.bits != new.bits {
            return Err(wrong(text, "mixes IPv4 and IPv6"));
        }
        for (network, text) in [(&old, from), (&new, to)] {
            if network.address & host_mask(network.host_bits()) != 0 {
                return Err(wrong(
                    text,
                    "has host bits set: they are not part of a network",
                ));
            }
        }
        let all = host_mask(old.bits);
        Ok(Self {
            is_ipv6: old.bits == 128,
            from: old.address,
            prefix_mask: all & !host_mask(old.host_bits()),
            to: new.address,
            kept_mask: host_mask(old.host_bits().min(new.host_bits())),
        })
    }
}

/// An address, its prefix length, and how many bits its family has.
struct Network {
    address: u128,
    length: u32,
    bits: u32,
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let (address, bits) = match address.parse().ok()? {
            IpAddr::V4(address) => (address.to_bits().into(), 32),
            IpAddr::V6(address) => (address.to_bits(), 128),
        };
        let length = match length {
            Some(length) => length.parse().ok().filter(|length| *length <= bits)?,
            None => bits,
        };
        Some(Self {
            address,
            length,
            bits,
        })
    }

    fn host_bits(&self) -> u32 {
        self.bits - self.length
    }
}

/// The low `bits` bits.
fn host_mask(bits: u32) -> u128 {
    u128::MAX.checked_shr(128 - bits).unwrap_or(0)
}

/// Replaces the addresses in `frame`, and corrects the checksums that cover them by the difference.
pub(super) fn replace(maps: &[AddressMap], frame: &mut [u8]) {
    let Some(offsets) = HeaderOffsets::find(frame) else {
        return;
    };
    let at = offsets.network_at;
    let mut header = Change::new();
    match offsets.network {
        NetworkKind::Arp => {
            replace_at::<4>(maps, frame, at + 14, &mut header);
            replace_at::<4>(maps, frame, at + 24, &mut header);
            return;
        }
        NetworkKind::Ipv4 { .. } => {
            replace_at::<4>(maps, frame, at + 12, &mut header);
            replace_at::<4>(maps, frame, at + 16, &mut header);
            correct(frame, at + 10, header, false);
        }
        NetworkKind::Ipv6 => {
            replace_at::<16>(maps, frame, at + 8, &mut header);
            replace_at::<16>(maps, frame, at + 24, &mut header);
        }
    }
    let Some(transport) = offsets.transport else {
        return;
    };
    let checksum_at = transport.checksum_at();
    match transport.kind {
        TransportKind::Icmpv4 => return,
        TransportKind::Udp { .. } if frame.get(checksum_at..checksum_at + 2) == Some(&[0; 2]) => {
            return;
        }
        TransportKind::Icmpv6 { kind } if NEIGHBOUR_MESSAGES.contains(&kind) => {
            replace_at::<16>(maps, frame, transport.at + 8, &mut header);
        }
        TransportKind::Icmpv6 { kind: REDIRECT } => {
            replace_at::<16>(maps, frame, transport.at + 8, &mut header);
            replace_at::<16>(maps, frame, transport.at + 24, &mut header);
        }
        TransportKind::Tcp | TransportKind::Udp { .. } | TransportKind::Icmpv6 { .. } => {}
    }
    let is_udp = matches!(transport.kind, TransportKind::Udp { .. });
    correct(frame, checksum_at, header, is_udp);
}

/// Replaces the address of `N` bytes at `at`, if it is there and a map contains it.
fn replace_at<const N: usize>(
    maps: &[AddressMap],
    frame: &mut [u8],
    at: usize,
    change: &mut Change,
) {
    let Some(Ok(field)) = frame.get_mut(at..at + N).map(<&mut [u8; N]>::try_from) else {
        return;
    };
    let old = field
        .iter()
        .fold(0, |bits, byte| bits << 8 | u128::from(*byte));
    let mut fitting = maps.iter().filter(|map| map.is_ipv6 == (N == 16));
    let Some(new) = fitting.find_map(|map| map.map(old)) else {
        return;
    };
    let before = *field;
    if let Some(new) = new.to_be_bytes().last_chunk::<N>() {
        *field = *new;
        *change = change.bytes(&before, new);
    }
}

/// Corrects the checksum at `at`.
fn correct(frame: &mut [u8], at: usize, change: Change, is_udp: bool) {
    let Some(Ok(field)) = frame.get_mut(at..at + 2).map(<&mut [u8; 2]>::try_from) else {
        return;
    };
    let mut checksum = change.apply(u16::from_be_bytes(*field));
    if is_udp {
        checksum = udp_field(checksum);
    }
    *field = checksum.to_be_bytes();
}
