//! Options of a filter.

use crate::link_type::LinkType;
use std::fmt;
use std::net::Ipv4Addr;

/// Where a program runs. This decides which packet metadata is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterTarget {
    /// On packets of a file: there is no metadata.
    File,
    /// On a packet socket: VLAN tag, direction and interface are metadata. The kernel removes the
    /// tag from the bytes.
    Socket,
    /// In an XDP program: received packets, with VLAN tags in the bytes.
    Xdp,
    /// In a tc ingress program: the kernel has moved the outermost VLAN tag from the bytes to the
    /// metadata.
    TcIngress,
    /// In a tc egress program: a VLAN tag may be in the bytes or in the metadata.
    TcEgress,
}

impl FilterTarget {
    /// Whether a VLAN tag may be in the metadata.
    pub(crate) fn has_tag_beside(self) -> bool {
        matches!(self, Self::Socket | Self::TcIngress | Self::TcEgress)
    }
}

impl fmt::Display for FilterTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "in a file",
            Self::Socket => "on a packet socket",
            Self::Xdp => "in an XDP program",
            Self::TcIngress => "in a tc ingress program",
            Self::TcEgress => "in a tc egress program",
        })
    }
}

/// The address families in the header of BSD loopback packets.
///
/// IPv4 is 2 on Linux, the BSDs and macOS; IPv6 is 10 on Linux, 24, 28 or 30 on the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoopbackFamilies {
    /// The values of all BSDs and macOS, in both byte orders.
    Any,
    /// The values of one host.
    One {
        /// Its value for IPv4.
        ip4: u32,
        /// Its value for IPv6.
        ip6: u32,
        /// Its byte order.
        is_big_endian: bool,
    },
}

/// The default number of bytes to keep of a packet: more than any packet has.
pub const DEFAULT_SNAPLEN: u32 = 262_144;

/// Options of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterOptions {
    /// The link type of the packets.
    pub link: LinkType,
    /// Where the program runs.
    pub target: FilterTarget,
    /// Numbers of the address families in the header of [`LinkType::Null`] and [`LinkType::Loop`]
    /// packets.
    pub families: LoopbackFamilies,
    /// Bytes to keep of a packet that matches. Default: [`DEFAULT_SNAPLEN`].
    pub snaplen: u32,
    /// Maximum number of headers that `protochain` follows; a longer chain does not match. Default:
    /// 6.
    ///
    /// Classic BPF has no loops: each header costs up to 22 instructions.
    pub chain_headers: u32,
    /// The netmask; `ip broadcast` requires it.
    pub netmask: Option<Ipv4Addr>,
}

impl FilterOptions {
    /// Options for packets of `link` in a file, with all defaults.
    pub fn new(link: LinkType) -> Self {
        Self {
            link,
            target: FilterTarget::File,
            families: LoopbackFamilies::Any,
            snaplen: DEFAULT_SNAPLEN,
            chain_headers: 6,
            netmask: None,
        }
    }
}
