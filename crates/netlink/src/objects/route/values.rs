//! Named values and flags of routes.

use crate::schema::{number, number_enum};

number_enum! {
    /// The type of a route (`RTN_*`).
    pub enum RouteType: u8 {
        /// Unspecified.
        None = RTN_UNSPEC, "none";
        /// Forward.
        Unicast = RTN_UNICAST, "unicast";
        /// Deliver locally.
        Local = RTN_LOCAL, "local";
        /// Deliver locally and send as broadcast.
        Broadcast = RTN_BROADCAST, "broadcast";
        /// Deliver locally; never a source address.
        Anycast = RTN_ANYCAST, "anycast";
        Multicast = RTN_MULTICAST, "multicast";
        /// Drop silently.
        Blackhole = RTN_BLACKHOLE, "blackhole";
        /// Reject with ICMP host unreachable.
        Unreachable = RTN_UNREACHABLE, "unreachable";
        /// Reject with ICMP prohibited.
        Prohibit = RTN_PROHIBIT, "prohibit";
        /// Continue with the next rule.
        Throw = RTN_THROW, "throw";
        /// Network address translation; unsupported by current kernels.
        Nat = RTN_NAT, "nat";
        /// External resolver; unsupported by current kernels.
        Xresolve = RTN_XRESOLVE, "xresolve";
    }
}

number_enum! {
    /// The origin of a route, nexthop or rule (`RTPROT_*`), named as in `/etc/iproute2/rt_protos`.
    pub enum RouteProtocol: u8 as Protocol {
        /// Unspecified.
        Unspec = RTPROT_UNSPEC, "unspec";
        /// An ICMP redirect.
        Redirect = RTPROT_REDIRECT, "redirect";
        Kernel = RTPROT_KERNEL, "kernel";
        /// Boot; the default of `ip(8)`.
        Boot = RTPROT_BOOT, "boot";
        /// An administrator.
        Static = RTPROT_STATIC, "static";
        /// GateD.
        Gated = RTPROT_GATED, "gated";
        /// A router advertisement.
        Ra = RTPROT_RA, "ra";
        /// Merit MRT.
        Mrt = RTPROT_MRT, "mrt";
        /// Zebra (FRR).
        Zebra = RTPROT_ZEBRA, "zebra";
        Bird = RTPROT_BIRD, "bird";
        /// The DECnet daemon.
        Dnrouted = RTPROT_DNROUTED, "dnrouted";
        Xorp = RTPROT_XORP, "xorp";
        /// Netsukuku.
        Ntk = RTPROT_NTK, "ntk";
        /// A DHCP client.
        Dhcp = RTPROT_DHCP, "dhcp";
        Keepalived = RTPROT_KEEPALIVED, "keepalived";
        Babel = RTPROT_BABEL, "babel";
        /// Open/R.
        Openr = RTPROT_OPENR, "openr";
        Bgp = RTPROT_BGP, "bgp";
        Isis = RTPROT_ISIS, "isis";
        Ospf = RTPROT_OSPF, "ospf";
        Rip = RTPROT_RIP, "rip";
        Eigrp = RTPROT_EIGRP, "eigrp";
    }
}

number_enum! {
    /// A routing table.
    pub enum RouteTable: u32 as Table {
        /// All tables; in a rule, none.
        Unspec = RT_TABLE_UNSPEC, "unspec";
        /// The default table, used last.
        Default = RT_TABLE_DEFAULT, "default";
        Main = RT_TABLE_MAIN, "main";
        /// Local and broadcast addresses, maintained by the kernel.
        Local = RT_TABLE_LOCAL, "local";
    }
}

number_enum! {
    /// Router preference (RFC 4191); IPv6 only.
    pub enum RoutePreference: u8 {
        /// Default.
        Medium = 0, "medium";
        /// Preferred.
        High = 1, "high";
        Invalid = 2, "invalid";
        /// Least preferred.
        Low = 3, "low";
    }
}

/// Generates a set of named bits, named as in `ip(8)`; in JSON it is a list of names.
macro_rules! bits {
    ($(#[$meta:meta])* $name:ident { $($bit:tt, $text:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(into = "Vec<String>", from = "Vec<String>")]
        pub struct $name(pub u32);

        impl $name {
            /// The named bits.
            const NAMES: &'static [(u32, &'static str)] = &[$((number!($bit as u32), $text)),*];

            /// The names of the bits that are set.
            pub fn names(self) -> impl Iterator<Item = &'static str> {
                let set = Self::NAMES.iter().filter(move |(bit, _)| self.0 & bit != 0);
                set.map(|(_, name)| *name)
            }

            /// The bit called `name`.
            pub fn named(name: &str) -> Option<Self> {
                let found = Self::NAMES.iter().find(|(_, known)| *known == name);
                found.map(|(bit, _)| Self(*bit))
            }
        }

        crate::schema::field_values! {
            $name: Flags(crate::schema::NamedNumber {
                    name: stringify!($name),
                    bytes: 4,
                    values: Self::NAMES.iter().map(|(bit, name)| (*name, u64::from(*bit), *name)).collect(),
                }),
                |bits| bits.0.to_ne_bytes(), |bytes| Self(u32::from_ne_bytes(bytes));
        }

        impl From<$name> for Vec<String> {
            fn from(bits: $name) -> Self {
                bits.names().map(str::to_owned).collect()
            }
        }

        impl From<Vec<String>> for $name {
            /// Ignores unknown names.
            fn from(names: Vec<String>) -> Self {
                let bits = names.iter().filter_map(|name| Self::named(name));
                Self(bits.fold(0, |all, bit| all | bit.0))
            }
        }
    };
}

bits! {
    /// Flags of a route or next hop (`RTNH_F_*`, `RTM_F_*`).
    RouteFlags {
        RTNH_F_DEAD, "dead";
        RTNH_F_ONLINK, "onlink";
        RTNH_F_PERVASIVE, "pervasive";
        RTNH_F_OFFLOAD, "offload";
        RTNH_F_TRAP, "trap";
        RTM_F_NOTIFY, "notify";
        RTNH_F_LINKDOWN, "linkdown";
        RTNH_F_UNRESOLVED, "unresolved";
        RTM_F_OFFLOAD, "rt_offload";
        RTM_F_TRAP, "rt_trap";
        RTM_F_OFFLOAD_FAILED, "rt_offload_failed";
    }
}

bits! {
    /// Flags of a lookup result (`RTCF_*`).
    RouteCacheFlags {
        RTCF_LOCAL, "local";
        RTCF_MULTICAST, "mc";
        RTCF_BROADCAST, "brd";
        RTCF_REDIRECTED, "redirected";
        RTCF_DOREDIRECT, "redirect";
        RTCF_NOTIFY, "notify";
    }
}

bits! {
    /// TCP features of a destination (`RTAX_FEATURE_*`).
    RouteFeatures {
        1, "ecn";
        (1 << 4), "tcp_usec_ts";
    }
}

bits! {
    /// The locked metrics of a route (`RTAX_LOCK`).
    RouteLocks {
        (1 << RTAX_MTU), "mtu";
        (1 << RTAX_WINDOW), "window";
        (1 << RTAX_RTT), "rtt";
        (1 << RTAX_RTTVAR), "rttvar";
        (1 << RTAX_SSTHRESH), "ssthresh";
        (1 << RTAX_CWND), "cwnd";
        (1 << RTAX_ADVMSS), "advmss";
        (1 << RTAX_REORDERING), "reordering";
        (1 << RTAX_HOPLIMIT), "hoplimit";
        (1 << RTAX_INITCWND), "initcwnd";
        (1 << RTAX_RTO_MIN), "rto_min";
        (1 << RTAX_INITRWND), "initrwnd";
        (1 << RTAX_QUICKACK), "quickack";
        (1_u32 << RTAX_CC_ALGO as u32), "congctl";
        (1 << RTAX_FASTOPEN_NO_COOKIE), "fastopen_no_cookie";
    }
}

impl RouteFlags {
    /// The next hop is on the link, regardless of the addresses there.
    pub const ONLINK: Self = Self(number!(RTNH_F_ONLINK as u32));

    /// Whether all of `other` are set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
