use crate::LinkType;
use std::fmt;
use std::net::Ipv4Addr;

/// Where a program will run, which decides what is known beside the packet's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum At {
    /// Over packets of a file: everything is in the bytes.
    File,
    /// On a packet socket: VLAN tag, direction and interface are known beside the bytes, and a
    /// tag is taken out of them.
    Socket,
    /// In an XDP program: packets that come in, with their VLAN tags in the bytes.
    Xdp,
    /// In a tc program on the way in: the kernel has taken the outermost VLAN tag out of the bytes.
    TcIngress,
    /// In a tc program on the way out: a VLAN tag may be in the bytes or beside them.
    TcEgress,
}

impl At {
    /// Whether a VLAN tag may be beside the bytes.
    pub(crate) fn has_tag_beside(self) -> bool {
        matches!(self, Self::Socket | Self::TcIngress | Self::TcEgress)
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "in a file",
            Self::Socket => "on a packet socket",
            Self::Xdp => "in an XDP program",
            Self::TcIngress => "in a tc program on the way in",
            Self::TcEgress => "in a tc program on the way out",
        })
    }
}

/// The protocol families that stand in front of packets of a BSD loopback.
///
/// IPv4 is 2 on Linux, the BSDs and macOS; IPv6 is 10 on Linux, 24, 28 or 30 on the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Families {
    /// Those of the BSDs and macOS, in both byte orders.
    Any,
    /// Those of one machine.
    One {
        /// Its number of IPv4.
        ip4: u32,
        /// Its number of IPv6.
        ip6: u32,
        /// Its byte order.
        is_big_endian: bool,
    },
}

/// For which packets a filter is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// What the packets start with.
    pub link: LinkType,
    /// Where the program runs.
    pub at: At,
    /// Families in front of [`LinkType::Null`] and [`LinkType::Loop`] packets.
    pub families: Families,
    /// How many bytes to keep of a packet that matches; 262,144 if not said.
    pub snaplen: u32,
    /// How many headers `protochain` follows; 6 if not said, and a longer chain does not match.
    ///
    /// Classic BPF has no loops: each header costs up to 22 instructions.
    pub chain_headers: u32,
    /// The mask of the network, which `ip broadcast` needs.
    pub netmask: Option<Ipv4Addr>,
}

impl Options {
    /// Whole packets of `link` in a file.
    pub fn new(link: LinkType) -> Self {
        Self {
            link,
            at: At::File,
            families: Families::Any,
            snaplen: 262_144,
            chain_headers: 6,
            netmask: None,
        }
    }
}
