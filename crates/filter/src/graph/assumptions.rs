//! What is known about packets before a filter runs: the input of the `specialize` pass.

use super::values::Width;
use crate::options::FilterTarget;

/// What the caller of a fragment guarantees about the packets.
///
/// [`Filter::ebpf_specialized`](crate::Filter::ebpf_specialized) omits the tests that this decides. The code
/// of [`classify`](crate::ebpf::classify) comes before the fragments and jumps to the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketAssumptions {
    /// Where the code runs.
    pub target: FilterTarget,
    /// Where the outermost VLAN tag is.
    pub tag: TagLocation,
    /// The protocol of the packet.
    pub protocol: KnownProtocol,
}

impl PacketAssumptions {
    /// Bytes that every such packet has.
    pub(crate) fn bytes(self) -> u32 {
        match self.protocol {
            KnownProtocol::Any => 0,
            protocol => protocol.bytes() + self.tag.shift(),
        }
    }
}

/// Where the outermost VLAN tag of a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagLocation {
    /// Where packets have it at this target.
    TargetDefault,
    /// XDP only: there is no tag with EtherType 0x8100 or 0x88a8.
    Absent,
    /// In the bytes, after the Ethernet addresses. The filter treats it as metadata, as the kernel
    /// does for received packets.
    InBytes,
}

impl TagLocation {
    /// Bytes by which the tag moves everything after the Ethernet addresses.
    pub(crate) fn shift(self) -> u32 {
        match self {
            Self::TargetDefault | Self::Absent => 0,
            Self::InBytes => TAG_BYTES,
        }
    }
}

/// The protocol of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownProtocol {
    /// Unknown.
    Any,
    /// TCP over IPv4 without options, not a later fragment, with complete headers.
    Tcp4,
    /// UDP over IPv4 without options, not a later fragment, with complete headers.
    Udp4,
    /// TCP over IPv6 without extension headers, with complete headers.
    Tcp6,
    /// UDP over IPv6 without extension headers, with complete headers.
    Udp6,
}

/// A field of the packet whose bits under `mask` are known to be `bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownField {
    pub width: Width,
    pub offset: u32,
    pub mask: u32,
    pub bits: u32,
}

pub(crate) const fn field(width: Width, offset: u32, mask: u32, bits: u32) -> KnownField {
    KnownField {
        width,
        offset,
        mask,
        bits,
    }
}

const IPV4: u32 = libc::ETH_P_IP.cast_unsigned();
const IPV6: u32 = libc::ETH_P_IPV6.cast_unsigned();
pub(crate) const TCP: u32 = libc::IPPROTO_TCP.cast_unsigned();
pub(crate) const UDP: u32 = libc::IPPROTO_UDP.cast_unsigned();
const ETHERNET_BYTES: u32 = libc::ETH_HLEN.cast_unsigned();
pub(crate) const TAG_BYTES: u32 = 4;
/// Offset of the EtherType. A VLAN tag in the bytes moves everything from here on.
pub(crate) const ETHER_TYPE: u32 = 12;
pub(crate) const IS_IPV4: KnownField = field(Width::Half, ETHER_TYPE, 0xffff, IPV4);
pub(crate) const IS_IPV6: KnownField = field(Width::Half, ETHER_TYPE, 0xffff, IPV6);
/// Version 4, header of five words: no options.
pub(crate) const HAS_NO_OPTIONS: KnownField = field(Width::Byte, ETHERNET_BYTES, 0xff, 0x45);
/// The fragment offset is 0.
pub(crate) const IS_FIRST_FRAGMENT: KnownField = field(Width::Half, ETHERNET_BYTES + 6, 0x1fff, 0);
/// Offset of the protocol field in the IPv4 header.
pub(crate) const PROTOCOL: u32 = ETHERNET_BYTES + 9;
/// Offset of the next-header field in the IPv6 header.
pub(crate) const NEXT_HEADER: u32 = ETHERNET_BYTES + 6;

impl KnownProtocol {
    /// The protocols that [`classify`](crate::ebpf::classify) recognizes, in the order of its labels.
    pub const CLASSIFIED: [Self; 4] = [Self::Tcp4, Self::Udp4, Self::Tcp6, Self::Udp6];

    /// The known fields of a packet without a VLAN tag.
    pub(crate) fn fields(self) -> &'static [KnownField] {
        const TCP4: &[KnownField] = &[
            IS_IPV4,
            HAS_NO_OPTIONS,
            IS_FIRST_FRAGMENT,
            field(Width::Byte, PROTOCOL, 0xff, TCP),
        ];
        const UDP4: &[KnownField] = &[
            IS_IPV4,
            HAS_NO_OPTIONS,
            IS_FIRST_FRAGMENT,
            field(Width::Byte, PROTOCOL, 0xff, UDP),
        ];
        const TCP6: &[KnownField] = &[IS_IPV6, field(Width::Byte, NEXT_HEADER, 0xff, TCP)];
        const UDP6: &[KnownField] = &[IS_IPV6, field(Width::Byte, NEXT_HEADER, 0xff, UDP)];
        match self {
            Self::Any => &[],
            Self::Tcp4 => TCP4,
            Self::Udp4 => UDP4,
            Self::Tcp6 => TCP6,
            Self::Udp6 => UDP6,
        }
    }

    /// Minimum length of such a packet without a VLAN tag, in bytes.
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Self::Any => 0,
            Self::Tcp4 => ETHERNET_BYTES + 20 + 20,
            Self::Udp4 => ETHERNET_BYTES + 20 + 8,
            Self::Tcp6 => ETHERNET_BYTES + 40 + 20,
            Self::Udp6 => ETHERNET_BYTES + 40 + 8,
        }
    }
}
