use std::net::Ipv6Addr;

use super::data::Data;
use super::gre::Parts;
use super::ip6tnl::{self, FlowInfo, Ip6TunnelFlags};
use super::{EncapFlags, EncapPort, GreInput, GreKey, GreOutput, Ttl, TunnelEncap};
use crate::interface::IfIndex;
use crate::table::{BadWord, Be, Flag, Plain, PlainBe, Words, attributes};

attributes! {
    /// Generic routing encapsulation over IPv6: of IP packets as `ip6gre`, of Ethernet frames as `ip6gretap`.
    ///
    /// Equals `ip link add NAME type ip6gre remote ADDRESS local ADDRESS key 5 …`.
    ///
    /// # Source
    /// `ip6gre_policy` and `ip6gre_netlink_parms`, net/ipv6/ip6_gre.c.
    pub struct Ip6Gre {
        /// The other end; `::` for any.
        "remote" remote: Ipv6Addr = IFLA_GRE_REMOTE;
        /// Its own address.
        "local" local: Ipv6Addr = IFLA_GRE_LOCAL;
        /// The link it sends by.
        "dev" link: IfIndex = IFLA_GRE_LINK;
        /// Hops of its packets.
        "hoplimit" | "ttl" ttl: Ttl = IFLA_GRE_TTL;
        /// How many tunnels its packets may go into, unless `ignore_encap_limit` is set.
        encap_limit: u8 = IFLA_GRE_ENCAP_LIMIT;
        /// Traffic class and flow label of its packets, as in the IPv6 header.
        flowinfo: FlowInfo as Be = IFLA_GRE_FLOWINFO;
        /// Its switches.
        flags: Ip6TunnelFlags as Plain<u32> = IFLA_GRE_FLAGS, Spread;
        /// What packets that arrive have to carry.
        iflags: GreInput as PlainBe<u16> = IFLA_GRE_IFLAGS, Spread;
        /// What packets that leave carry.
        oflags: GreOutput as PlainBe<u16> = IFLA_GRE_OFLAGS, Spread;
        /// The key of packets that arrive.
        "ikey" ikey: GreKey as Be = IFLA_GRE_IKEY;
        /// The key of packets that leave.
        "okey" okey: GreKey as Be = IFLA_GRE_OKEY;
        /// Whether routes and filters say where each packet goes.
        "external" external: bool as Flag = IFLA_GRE_COLLECT_METADATA;
        /// What stands behind the outer IP header.
        "encap" encap: TunnelEncap = IFLA_GRE_ENCAP_TYPE;
        /// Switches of that.
        encap_flags: EncapFlags as Plain<u16> = IFLA_GRE_ENCAP_FLAGS, Spread;
        /// Its source port.
        "encap-sport" encap_sport: EncapPort as Be = IFLA_GRE_ENCAP_SPORT;
        /// Its destination port.
        "encap-dport" encap_dport: u16 as Be = IFLA_GRE_ENCAP_DPORT;
        /// Mark of its packets, for routing.
        fwmark: u32 = IFLA_GRE_FWMARK;
    }
}

impl Ip6Gre {
    fn parts(&mut self) -> Parts<'_> {
        let Self {
            iflags,
            oflags,
            ikey,
            okey,
            ..
        } = self;
        Parts {
            iflags,
            oflags,
            ikey,
            okey,
        }
    }
}

impl Data for Ip6Gre {
    const IS_SAID_WHOLE: bool = true;

    fn completed(&self) -> Self {
        let mut completed = self.clone();
        completed.parts().complete();
        completed
    }

    fn tidy(&mut self) {
        self.link = self.link.filter(|link| link.0 != 0);
        self.parts().tidy();
    }

    fn more_words(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
        if self.parts().word(word, words)? {
            return Ok(true);
        }
        let Self {
            encap_limit,
            flowinfo,
            flags,
            fwmark,
            ..
        } = self;
        let mut parts = ip6tnl::Parts {
            encap_limit,
            flowinfo,
            flags,
            fwmark,
        };
        ip6tnl::more_words(word, words, &mut parts)
    }
}
