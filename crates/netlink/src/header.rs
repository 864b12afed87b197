//! The fixed headers of messages, in front of their attributes.

use crate::codec::{Malformed, split};
use crate::uapi::AF_BRIDGE;
use crate::values::interface::IfIndex;

/// Generates headers: `NAME = LAYER, LENGTH { OFFSET FIELD: TYPE, … }`. Bytes without a field are padding.
macro_rules! headers {
    ($(
        $(#[$meta:meta])*
        $name:ident = $layer:literal, $length:literal {
            $( $(#[$field_meta:meta])* $offset:literal $field:ident: $type:ty, )*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default)]
        pub(crate) struct $name {
            $( $(#[$field_meta])* pub $field: $type, )*
        }

        impl $name {
            pub const BYTES: usize = $length;

            #[inline]
            pub fn emit(self) -> [u8; $length] {
                let mut bytes = [0; $length];
                $(
                    let place = $offset..$offset + size_of::<$type>();
                    bytes[place].copy_from_slice(&self.$field.to_ne_bytes());
                )*
                bytes
            }

            /// The header and the bytes after it.
            #[inline]
            pub fn split(body: &[u8]) -> Result<(Self, &[u8]), Malformed> {
                let (bytes, rest) = split::<$length>($layer, 0, body)?;
                let header = Self {
                    $($field: <$type>::from_ne_bytes(std::array::from_fn(|at| bytes[$offset + at])),)*
                };
                Ok((header, rest))
            }
        }
    )*};
}

headers! {
    /// Links (`struct ifinfomsg`).
    LinkHeader = "link header", 16 {
        0 family: u8,
        /// Hardware type (`ARPHRD_*`).
        2 hardware: u16,
        4 index: u32,
        8 flags: u32,
        /// The flags to change.
        12 mask: u32,
    }

    /// Queueing disciplines (`struct tcmsg`).
    TrafficHeader = "queueing discipline header", 20 {
        0 family: u8,
        4 index: u32,
        8 handle: u32,
        12 parent: u32,
    }

    /// Addresses (`struct ifaddrmsg`).
    AddrHeader = "address header", 8 {
        0 family: u8,
        1 prefix_len: u8,
        2 flags: u8,
        3 scope: u8,
        4 index: u32,
    }

    /// Routes (`struct rtmsg`).
    RouteHeader = "route header", 12 {
        0 family: u8,
        1 dst_len: u8,
        2 src_len: u8,
        3 tos: u8,
        /// The table, if its number is below 256.
        4 table: u8,
        5 protocol: u8,
        6 scope: u8,
        7 kind: u8,
        8 flags: u32,
    }

    /// Rules (`struct fib_rule_hdr`).
    RuleHeader = "rule header", 12 {
        0 family: u8,
        1 dst_len: u8,
        2 src_len: u8,
        3 tos: u8,
        /// The table, if its number is below 256.
        4 table: u8,
        7 action: u8,
        8 flags: u32,
    }

    /// Neighbours and forwarding entries (`struct ndmsg`).
    NeighHeader = "neighbour header", 12 {
        0 family: u8,
        4 index: u32,
        8 state: u16,
        10 flags: u8,
    }

    /// Nexthop objects (`struct nhmsg`).
    NexthopHeader = "nexthop header", 8 {
        0 family: u8,
        1 scope: u8,
        2 protocol: u8,
        4 flags: u32,
    }

    /// Multicast groups and VLANs of bridges (`struct br_port_msg`, `struct br_vlan_msg`).
    BridgeHeader = "bridge header", 8 {
        0 family: u8,
        4 index: u32,
    }

    /// Extended statistics (`struct if_stats_msg`).
    StatsHeader = "statistics header", 12 {
        0 family: u8,
        4 index: u32,
        /// The groups of statistics that a query requests.
        8 groups: u32,
    }
}

impl BridgeHeader {
    /// The header of a request about a bridge or one of its ports.
    pub fn of(dev: IfIndex) -> [u8; Self::BYTES] {
        let (family, index) = (AF_BRIDGE, dev.0);
        Self { family, index }.emit()
    }
}
