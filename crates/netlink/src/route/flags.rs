use crate::uapi::{
    RTAX_ADVMSS, RTAX_CWND, RTAX_FASTOPEN_NO_COOKIE, RTAX_HOPLIMIT, RTAX_INITCWND, RTAX_INITRWND,
    RTAX_MTU, RTAX_QUICKACK, RTAX_REORDERING, RTAX_RTO_MIN, RTAX_RTT, RTAX_RTTVAR, RTAX_SSTHRESH,
    RTAX_WINDOW, RTCF_BROADCAST, RTCF_DOREDIRECT, RTCF_LOCAL, RTCF_MULTICAST, RTCF_NOTIFY,
    RTCF_REDIRECTED, RTM_F_NOTIFY, RTM_F_OFFLOAD, RTM_F_OFFLOAD_FAILED, RTM_F_TRAP, RTNH_F_DEAD,
    RTNH_F_LINKDOWN, RTNH_F_OFFLOAD, RTNH_F_ONLINK, RTNH_F_PERVASIVE, RTNH_F_TRAP,
    RTNH_F_UNRESOLVED,
};

/// Makes a set of bits, each with the name that `ip(8)` has for it; JSON has a list of names.
macro_rules! bits {
    ($(#[$meta:meta])* $name:ident { $($bit:expr, $text:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(into = "Vec<String>", from = "Vec<String>")]
        pub struct $name(pub u32);

        impl $name {
            /// The bits that have a name, with it.
            const NAMES: &'static [(u32, &'static str)] = &[$(($bit, $text)),*];

            /// The names of those that are set.
            pub fn names(self) -> impl Iterator<Item = &'static str> {
                let set = Self::NAMES.iter().filter(move |(bit, _)| self.0 & bit != 0);
                set.map(|(_, name)| *name)
            }

            /// The one called `name`.
            pub fn named(name: &str) -> Option<Self> {
                let found = Self::NAMES.iter().find(|(_, known)| *known == name);
                found.map(|(bit, _)| Self(*bit))
            }
        }

        impl From<$name> for Vec<String> {
            fn from(bits: $name) -> Self {
                bits.names().map(str::to_owned).collect()
            }
        }

        impl From<Vec<String>> for $name {
            /// Names that it does not know say nothing.
            fn from(names: Vec<String>) -> Self {
                let bits = names.iter().filter_map(|name| Self::named(name));
                Self(bits.fold(0, |all, bit| all | bit.0))
            }
        }
    };
}

bits! {
    /// What the kernel tells of a route or a hop beside its attributes (`RTNH_F_*`, `RTM_F_*`).
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
    /// What the kernel tells of the answer to a look-up (`RTCF_*`).
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
    /// Features that TCP uses towards a destination (`RTAX_FEATURE_*`).
    RouteFeatures {
        1, "ecn";
        1 << 4, "tcp_usec_ts";
    }
}

bits! {
    /// Which metrics of a route the kernel may not change by itself (`RTAX_LOCK`).
    RouteLocks {
        1 << RTAX_MTU, "mtu";
        1 << RTAX_WINDOW, "window";
        1 << RTAX_RTT, "rtt";
        1 << RTAX_RTTVAR, "rttvar";
        1 << RTAX_SSTHRESH, "ssthresh";
        1 << RTAX_CWND, "cwnd";
        1 << RTAX_ADVMSS, "advmss";
        1 << RTAX_REORDERING, "reordering";
        1 << RTAX_HOPLIMIT, "hoplimit";
        1 << RTAX_INITCWND, "initcwnd";
        1 << RTAX_RTO_MIN, "rto_min";
        1 << RTAX_INITRWND, "initrwnd";
        1 << RTAX_QUICKACK, "quickack";
        1 << RTAX_FASTOPEN_NO_COOKIE, "fastopen_no_cookie";
    }
}

impl RouteFlags {
    /// The next hop is reached on the link whatever the addresses there.
    pub const ONLINK: Self = Self(RTNH_F_ONLINK);

    /// Whether it has those in `other`.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
