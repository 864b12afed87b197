//! GRE tunnels over IPv4 and IPv6.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::ip_tunnel::{self, FlowInfo, Ip6TunnelFlags};
use super::kinds::KindSettings;
use super::{EncapFlags, EncapPort, GreKey, Tos, Ttl, TunnelEncap};
use crate::schema::{
    Arguments, BigEndian, BitField, BitFieldBigEndian, Flag, NonZero, Parsed, attribute_set,
    switches,
};
use crate::values::interface::IfIndex;

attribute_set! {
    /// Generic routing encapsulation over IPv4 (RFC 2784, RFC 2890): of IP packets as `gre`, of Ethernet frames
    /// as `gretap`.
    ///
    /// Equals `ip link add NAME type gre remote ADDRESS local ADDRESS key 5 …`.
    ///
    /// # Source
    /// `ipgre_policy` and `ipgre_netlink_parms`, net/ipv4/ip_gre.c.
    pub struct Gre {
        /// The remote address; `0.0.0.0` for any.
        "remote" remote: Ipv4Addr = IFLA_GRE_REMOTE;
        "local" local: Ipv4Addr = IFLA_GRE_LOCAL;
        /// The underlying link.
        "dev" link: IfIndex as NonZero = IFLA_GRE_LINK;
        /// TTL of outer packets.
        "ttl" | "hoplimit" | "hlim" ttl: Ttl = IFLA_GRE_TTL;
        /// Type of service of outer packets.
        "tos" | "dsfield" | "tclass" tos: Tos = IFLA_GRE_TOS;
        /// The don't-fragment bit of outer packets.
        "pmtudisc" pmtudisc: bool = IFLA_GRE_PMTUDISC;
        /// Whether the inner don't-fragment bit is ignored; excludes `pmtudisc`.
        "ignore-df" ignore_df: bool = IFLA_GRE_IGNORE_DF;
        /// Required GRE fields of received packets.
        iflags: GreInput as BitFieldBigEndian<u16> = IFLA_GRE_IFLAGS, Flatten;
        /// GRE fields of sent packets.
        oflags: GreOutput as BitFieldBigEndian<u16> = IFLA_GRE_OFLAGS, Flatten;
        /// The key of received packets.
        "ikey" ikey: GreKey as BigEndian = IFLA_GRE_IKEY;
        /// The key of sent packets.
        "okey" okey: GreKey as BigEndian = IFLA_GRE_OKEY;
        /// Whether routes and filters provide the tunnel parameters of each packet.
        "external" external: bool as Flag = IFLA_GRE_COLLECT_METADATA;
        /// The encapsulation after the outer IP header.
        "encap" encap: TunnelEncap = IFLA_GRE_ENCAP_TYPE;
        encap_flags: EncapFlags as BitField<u16> = IFLA_GRE_ENCAP_FLAGS, Flatten;
        "encap-sport" encap_sport: EncapPort as BigEndian = IFLA_GRE_ENCAP_SPORT;
        "encap-dport" encap_dport: u16 as BigEndian = IFLA_GRE_ENCAP_DPORT;
        /// Firewall mark of outer packets.
        "fwmark" fwmark: u32 = IFLA_GRE_FWMARK;
    }
}

switches! {
    /// Required fields of packets received by a GRE tunnel (`GRE_KEY`, `GRE_SEQ`, `GRE_CSUM`).
    pub struct GreInput {
        /// A key; set automatically if a key is given.
        ikeyed = 0x2000;
        /// Sequence numbers.
        "iseq" iseq = 0x1000;
        /// A checksum.
        "icsum" icsum = 0x8000;
    }
}

switches! {
    /// Fields of packets sent by a GRE tunnel.
    pub struct GreOutput {
        /// A key; set automatically if a key is given.
        okeyed = 0x2000;
        /// Sequence numbers.
        "oseq" oseq = 0x1000;
        /// A checksum.
        "ocsum" ocsum = 0x8000;
    }
}

/// The [`GreFields`] of a tunnel.
macro_rules! gre_fields {
    ($tunnel:expr) => {
        GreFields {
            iflags: &mut $tunnel.iflags,
            oflags: &mut $tunnel.oflags,
            ikey: &mut $tunnel.ikey,
            okey: &mut $tunnel.okey,
        }
    };
}

/// The fields of a GRE tunnel about the GRE header.
pub(super) struct GreFields<'a> {
    pub(super) iflags: &'a mut Option<GreInput>,
    pub(super) oflags: &'a mut Option<GreOutput>,
    pub(super) ikey: &'a mut Option<GreKey>,
    pub(super) okey: &'a mut Option<GreKey>,
}

impl GreFields<'_> {
    /// Sets the key flags if keys are given.
    pub(super) fn complete(self) {
        if self.ikey.is_some() {
            let iflags = self.iflags.get_or_insert_default();
            iflags.ikeyed.get_or_insert(true);
        }
        if self.okey.is_some() {
            let oflags = self.oflags.get_or_insert_default();
            oflags.okeyed.get_or_insert(true);
        }
    }

    /// Removes keys without a key flag: the kernel always reports keys.
    pub(super) fn remove_unset(self) {
        if self.iflags.is_some_and(|flags| flags.ikeyed == Some(false)) {
            *self.ikey = None;
        }
        if self.oflags.is_some_and(|flags| flags.okeyed == Some(false)) {
            *self.okey = None;
        }
    }

    /// `key`, `seq` and `csum`, for both directions.
    pub(super) fn word(self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
        let (on, name) = match word.strip_prefix("no") {
            Some(name) => (false, name),
            None => (true, word),
        };
        let (input, output) = (
            self.iflags.unwrap_or_default(),
            self.oflags.unwrap_or_default(),
        );
        match name {
            "key" => {
                if on {
                    let key = words.value(word)?;
                    (*self.ikey, *self.okey) = (Some(key), Some(key));
                }
                *self.iflags = Some(input.ikeyed(on));
                *self.oflags = Some(output.okeyed(on));
            }
            "ikey" | "okey" if !on => match name {
                "ikey" => *self.iflags = Some(input.ikeyed(false)),
                _ => *self.oflags = Some(output.okeyed(false)),
            },
            "seq" => {
                *self.iflags = Some(input.iseq(on));
                *self.oflags = Some(output.oseq(on));
            }
            "csum" => {
                *self.iflags = Some(input.icsum(on));
                *self.oflags = Some(output.ocsum(on));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl KindSettings for Gre {
    fn resets_omitted_fields(&self) -> bool {
        *self != Self::default()
    }

    fn complete(&mut self) {
        gre_fields!(self).complete();
    }

    fn remove_unset(&mut self) {
        gre_fields!(self).remove_unset();
    }

    fn parse_special_keyword(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
        gre_fields!(self).word(word, words)
    }
}

attribute_set! {
    /// Generic routing encapsulation over IPv6: of IP packets as `ip6gre`, of Ethernet frames as `ip6gretap`.
    ///
    /// Equals `ip link add NAME type ip6gre remote ADDRESS local ADDRESS key 5 …`.
    ///
    /// # Source
    /// `ip6gre_policy` and `ip6gre_netlink_parms`, net/ipv6/ip6_gre.c.
    pub struct Ip6Gre {
        /// The remote address; `::` for any.
        "remote" remote: Ipv6Addr = IFLA_GRE_REMOTE;
        "local" local: Ipv6Addr = IFLA_GRE_LOCAL;
        /// The underlying link.
        "dev" link: IfIndex as NonZero = IFLA_GRE_LINK;
        /// TTL of outer packets.
        "hoplimit" | "ttl" | "hlim" ttl: Ttl = IFLA_GRE_TTL;
        /// Maximum number of nested tunnels, unless `ignore_encap_limit` is set.
        encap_limit: u8 = IFLA_GRE_ENCAP_LIMIT;
        /// Traffic class and flow label of outer packets, as in the IPv6 header.
        flowinfo: FlowInfo as BigEndian = IFLA_GRE_FLOWINFO;
        flags: Ip6TunnelFlags as BitField<u32> = IFLA_GRE_FLAGS, Flatten;
        /// Required GRE fields of received packets.
        iflags: GreInput as BitFieldBigEndian<u16> = IFLA_GRE_IFLAGS, Flatten;
        /// GRE fields of sent packets.
        oflags: GreOutput as BitFieldBigEndian<u16> = IFLA_GRE_OFLAGS, Flatten;
        /// The key of received packets.
        "ikey" ikey: GreKey as BigEndian = IFLA_GRE_IKEY;
        /// The key of sent packets.
        "okey" okey: GreKey as BigEndian = IFLA_GRE_OKEY;
        /// Whether routes and filters provide the tunnel parameters of each packet.
        "external" external: bool as Flag = IFLA_GRE_COLLECT_METADATA;
        /// The encapsulation after the outer IP header.
        "encap" encap: TunnelEncap = IFLA_GRE_ENCAP_TYPE;
        encap_flags: EncapFlags as BitField<u16> = IFLA_GRE_ENCAP_FLAGS, Flatten;
        "encap-sport" encap_sport: EncapPort as BigEndian = IFLA_GRE_ENCAP_SPORT;
        "encap-dport" encap_dport: u16 as BigEndian = IFLA_GRE_ENCAP_DPORT;
        /// Firewall mark of outer packets.
        fwmark: u32 = IFLA_GRE_FWMARK;
    }
}

impl KindSettings for Ip6Gre {
    fn resets_omitted_fields(&self) -> bool {
        *self != Self::default()
    }

    fn complete(&mut self) {
        gre_fields!(self).complete();
    }

    fn remove_unset(&mut self) {
        gre_fields!(self).remove_unset();
    }

    fn parse_special_keyword(&mut self, word: &str, words: &mut Arguments<'_>) -> Parsed<bool> {
        if gre_fields!(self).word(word, words)? {
            return Ok(true);
        }
        ip_tunnel::ipv6_tunnel_fields!(self).parse_keyword(word, words)
    }
}
