use std::net::IpAddr;

use super::{Broadcast, Lifetime, Scope};
use crate::interface::IfIndex;
use crate::prefix::{Family, Prefix};
use crate::table::{Shape, attributes, names};
use crate::uapi::{IFAPROT_KERNEL_LL, IFAPROT_KERNEL_LO, IFAPROT_KERNEL_RA, IFAPROT_UNSPEC};

attributes! {
    /// An IP address of an interface: what is wanted of one, or what the kernel told of one.
    ///
    /// Equals `ip address add LOCAL/PREFIXLEN [peer PEER] dev DEV …`. What is not given, or was not told, is
    /// `None`. Which one is meant, `dev`, `local`, `prefixlen` and `peer` say. To change one is, for the
    /// kernel, to make it if it is not there; flags and lifetimes that are not given are cleared then.
    ///
    /// # Source
    /// `rtm_to_ifaddr`, net/ipv4/devinet.c; `inet6_rtm_newaddr`, net/ipv6/addrconf.c.
    pub struct Addr {
        @header {
            /// Its interface.
            "dev" dev: IfIndex;
            /// Its family: follows from `local` in a change, chooses in a question.
            family: Family;
            /// Bits of its prefix; all when it is made without. With a peer it is the peer's.
            prefixlen: u8;
            /// How far it is valid; IPv4 only, an IPv6 address says it itself.
            "scope" scope: Scope;
            /// Not probed for before it is used; IPv6.
            nodad: bool;
            /// Used while it is probed for; IPv6.
            optimistic: bool;
            /// The home address of a mobile host (RFC 6275); IPv6.
            home: bool;
            /// A template of temporary addresses (RFC 8981); IPv6, prefix of 64 bits.
            mngtmpaddr: bool;
            /// Without a route to its prefix.
            noprefixroute: bool;
            /// A multicast address whose group the interface joins.
            autojoin: bool;
            /// It has an end; told only.
            dynamic: bool;
            /// Its preferred lifetime has ended: new connections do not begin from it. Told only.
            deprecated: bool;
            /// It is being probed for: packets cannot come from it yet. Told only.
            tentative: bool;
            /// Somebody else has it. Told only.
            dadfailed: bool;
            /// Another of the same network is before it; IPv4, told only.
            secondary: bool;
            /// Made for a while, for privacy (RFC 8981); IPv6, told only.
            temporary: bool;
            /// Made of the prefix and a secret (RFC 7217); IPv6, told only.
            #[serde(rename = "stable-privacy")]
            stable_privacy: bool;
            /// How long it is there.
            "valid_lft" valid_life_time: Lifetime;
            /// How long it is used for what is new; not longer than it is there.
            "preferred_lft" preferred_life_time: Lifetime;
        }
        @parts {
            IFA_CACHEINFO: Shape::Bytes;
            IFA_FLAGS: Shape::Number;
        }
        @own read_word show_words;
        /// The interface's own address.
        local: IpAddr = IFA_LOCAL;
        /// The address of the other end; the prefix is that one's then.
        #[serde(rename = "address")]
        peer: IpAddr = IFA_ADDRESS;
        /// The address of all hosts on its network; IPv4.
        "broadcast" broadcast: Broadcast = IFA_BROADCAST;
        /// The anycast address; told only.
        anycast: IpAddr = IFA_ANYCAST;
        /// A name for it that begins with the interface's, at most 15 bytes; IPv4.
        "label" label: String = IFA_LABEL;
        /// Metric of the route to its prefix.
        "metric" metric: u32 = IFA_RT_PRIORITY;
        /// Who made it.
        "proto" protocol: AddrProtocol = IFA_PROTO;
    }
}

names! {
    /// Who made an address.
    ///
    /// # Kernel
    /// Linux 5.18.
    pub enum AddrProtocol: u8 {
        /// Nobody said.
        Unspecified = IFAPROT_UNSPEC, "unspec";
        /// The kernel, for a loopback.
        KernelLoopback = IFAPROT_KERNEL_LO, "kernel_lo";
        /// The kernel, of a router's advertisement.
        KernelRouter = IFAPROT_KERNEL_RA, "kernel_ra";
        /// The kernel, for the link.
        KernelLinkLocal = IFAPROT_KERNEL_LL, "kernel_ll";
    }
}

impl Addr {
    /// The address of this interface.
    pub fn on(dev: IfIndex, local: Prefix) -> Self {
        let Prefix { ip, len } = local;
        Self::new().dev(dev).local(ip).prefixlen(len)
    }

    /// Its interface; 0 when there is none given.
    pub fn ifindex(&self) -> IfIndex {
        self.dev.unwrap_or_default()
    }

    /// It with its prefix, where both are given.
    pub fn prefix(&self) -> Option<Prefix> {
        Some(Prefix::new(self.local?, self.prefixlen?))
    }

    /// Whether it is being probed for: packets cannot come from it yet.
    #[doc(alias = "IFA_F_TENTATIVE")]
    pub fn is_tentative(&self) -> bool {
        self.tentative == Some(true)
    }
}
