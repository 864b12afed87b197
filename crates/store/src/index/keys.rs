//! What an index knows of a packet: addresses, ports and the flow.

use std::net::IpAddr;

use super::fuse::mix;

/// EtherTypes.
const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const RARP: u16 = 0x8035;
const IPV6: u16 = 0x86dd;
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// VLAN tags that are looked behind.
const TAGS_MAX: usize = 8;

/// TCP, UDP and SCTP: their headers begin with the ports.
const WITH_PORTS: [u8; 3] = [6, 17, 132];

/// Something to look for in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Key {
    /// Source or destination address of an IP packet or of an ARP or RARP message.
    Address(IpAddr),
    /// Source or destination port of TCP, UDP or SCTP.
    Port(u16),
    /// Two addresses and two ports of one packet, in any order.
    Flow([IpAddr; 2], [u16; 2]),
}

impl Key {
    pub(super) fn hash(self) -> u64 {
        match self {
            Self::Address(address) => mix(word_of(address)),
            Self::Port(port) => mix(1 << 32 | u64::from(port)),
            Self::Flow(addresses, ports) => {
                flow_hash(addresses.map(|address| mix(word_of(address))), ports)
            }
        }
    }
}

/// The hash of a flow between two addresses with these hashes. It is the same in both directions.
#[inline]
pub(super) fn flow_hash([a, b]: [u64; 2], ports: [u16; 2]) -> u64 {
    let [low, high] = [ports[0].min(ports[1]), ports[0].max(ports[1])];
    let ports = 2 << 32 | u64::from(low) << 16 | u64::from(high);
    mix(a.wrapping_add(b) ^ mix(ports))
}

/// A number for an address, which mixed is its hash. That of IPv4 is the address itself.
pub(super) fn word_of(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            mix((bits >> 64) as u64 ^ 0x6) ^ bits as u64
        }
    }
}

/// The keys of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Keys {
    pub addresses: Option<[IpAddr; 2]>,
    pub ports: [Option<u16>; 2],
}

impl Keys {
    /// The keys of the packet `bytes`. `None` for a link type of which they are unknown. A truncated packet has those that a
    /// filter could see.
    pub(super) fn of(link_type: u16, bytes: &[u8]) -> Option<Self> {
        // EtherType and payload.
        let (mut ethertype, mut rest) = match link_type {
            1 => split(bytes, 12, 14),
            101 => match bytes.first().map(|first| first >> 4) {
                Some(4) => (IPV4, bytes),
                Some(6) => (IPV6, bytes),
                _ => return Some(Self::default()),
            },
            113 => split(bytes, 14, 16),
            228 => (IPV4, bytes),
            229 => (IPV6, bytes),
            276 => split(bytes, 0, 20),
            _ => return None,
        };
        for _ in 0..TAGS_MAX {
            if !TAGS.contains(&ethertype) {
                break;
            }
            (ethertype, rest) = split(rest, 2, 4);
        }
        Some(match ethertype {
            IPV4 => Self::of_ipv4(rest),
            IPV6 => Self::of_ipv6(rest),
            ARP | RARP => Self {
                addresses: addresses::<4>(rest, [14, 24]),
                ..Self::default()
            },
            _ => Self::default(),
        })
    }

    fn of_ipv4(packet: &[u8]) -> Self {
        let addresses = addresses::<4>(packet, [12, 16]);
        let field = |at: usize| packet.get(at).copied().unwrap_or_default();
        let fragment = u16::from_be_bytes([field(6), field(7)]) & 0x1fff;
        let header = usize::from(field(0) & 0xf) * 4;
        let has_ports = WITH_PORTS.contains(&field(9)) && fragment == 0;
        Self {
            addresses,
            ports: if has_ports {
                ports(packet, header)
            } else {
                [None; 2]
            },
        }
    }

    fn of_ipv6(packet: &[u8]) -> Self {
        let addresses = addresses::<16>(packet, [8, 24]);
        let has_ports = packet.get(6).is_some_and(|next| WITH_PORTS.contains(next));
        Self {
            addresses,
            ports: if has_ports {
                ports(packet, 40)
            } else {
                [None; 2]
            },
        }
    }

    /// Addresses and ports of a flow.
    pub(super) fn flow(&self) -> Option<([IpAddr; 2], [u16; 2])> {
        match (self.addresses, self.ports) {
            (Some(addresses), [Some(a), Some(b)]) => Some((addresses, [a, b])),
            _ => None,
        }
    }
}

/// Addresses and ports of a flow of IPv4 in Ethernet, as numbers: of a packet without VLAN tags and IP options, which most are.
/// `None` for all others, which [`Keys::of`] knows.
#[inline]
pub(super) fn plain_flow(link_type: u16, frame: &[u8]) -> Option<([u32; 2], [u16; 2])> {
    let head = frame.first_chunk::<38>()?;
    let number = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let fragment = number(20) & 0x1fff;
    let has_ports = WITH_PORTS.contains(&head[23]) && fragment == 0;
    if link_type != 1 || number(12) != IPV4 || head[14] & 0xf != 5 || !has_ports {
        return None;
    }
    let address =
        |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    Some(([address(26), address(30)], [number(34), number(36)]))
}

/// The EtherType at `at`, and what begins at `payload`. Of a truncated header a type that has no keys.
fn split(bytes: &[u8], at: usize, payload: usize) -> (u16, &[u8]) {
    let ethertype = bytes.get(at..).and_then(|rest| rest.first_chunk());
    let ethertype = ethertype.map_or(0, |bytes| u16::from_be_bytes(*bytes));
    (ethertype, bytes.get(payload..).unwrap_or_default())
}

/// Two addresses of `N` bytes. The second of a truncated packet is that of the first: a filter can see one alone.
fn addresses<const N: usize>(bytes: &[u8], at: [usize; 2]) -> Option<[IpAddr; 2]>
where
    IpAddr: From<[u8; N]>,
{
    let address = |at: usize| {
        let bytes: &[u8; N] = bytes.get(at..)?.first_chunk()?;
        Some(IpAddr::from(*bytes))
    };
    let first = address(at[0])?;
    Some([first, address(at[1]).unwrap_or(first)])
}

fn ports(bytes: &[u8], at: usize) -> [Option<u16>; 2] {
    [at, at + 2].map(|at| {
        let bytes = bytes.get(at..)?.first_chunk()?;
        Some(u16::from_be_bytes(*bytes))
    })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// Ethernet, IPv4 without options, and ports.
    const FRAME: [u8; 40] = [
        2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 26, 0, 1, 0x40, 0, 64, 17, 1, 2, 10,
        1, 2, 3, 10, 4, 5, 6, 0x12, 0x34, 0, 53, 9, 9,
    ];

    #[test]
    fn a_plain_flow_is_that_of_the_whole_decoder() {
        let expected = ([0x0a01_0203, 0x0a04_0506], [0x1234, 53]);
        assert_eq!(plain_flow(1, &FRAME), Some(expected));
        let mut plain = 0;
        for at in 0..FRAME.len() {
            for value in 0..=u8::MAX {
                let mut frame = FRAME;
                frame[at] = value;
                let Some((addresses, ports)) = plain_flow(1, &frame) else {
                    continue;
                };
                let addresses = addresses.map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)));
                let flow = Keys::of(1, &frame).and_then(|keys| keys.flow());
                assert_eq!(flow, Some((addresses, ports)), "{at}: {value}");
                plain += 1;
            }
        }
        // 34 bytes with any value; protocols, versions, flags of fragments, EtherType, offset of the fragment.
        assert_eq!(plain, 34 * 256 + 3 + 16 + 8 + 2 + 1);
        for length in 0..38 {
            assert_eq!(plain_flow(1, &FRAME[..length]), None);
        }
        assert_eq!(plain_flow(113, &FRAME), None);
    }
}
