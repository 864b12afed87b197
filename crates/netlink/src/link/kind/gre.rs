use std::net::Ipv4Addr;

use super::data::Data;
use super::{EncapFlags, EncapPort, GreKey, Tos, Ttl, TunnelEncap};
use crate::interface::IfIndex;
use crate::table::{BadWord, Be, Flag, Plain, PlainBe, Words, attributes, bits};

attributes! {
    /// Generic routing encapsulation over IPv4 (RFC 2784, RFC 2890): of IP packets as `gre`, of Ethernet frames
    /// as `gretap`.
    ///
    /// Equals `ip link add NAME type gre remote ADDRESS local ADDRESS key 5 …`.
    ///
    /// # Source
    /// `ipgre_policy` and `ipgre_netlink_parms`, net/ipv4/ip_gre.c.
    pub struct Gre {
        /// The other end; `0.0.0.0` for any.
        "remote" remote: Ipv4Addr = IFLA_GRE_REMOTE;
        /// Its own address.
        "local" local: Ipv4Addr = IFLA_GRE_LOCAL;
        /// The link it sends by.
        "dev" link: IfIndex = IFLA_GRE_LINK;
        /// Hops of its packets.
        "ttl" | "hoplimit" ttl: Ttl = IFLA_GRE_TTL;
        /// Type of service of its packets.
        "tos" | "dsfield" tos: Tos = IFLA_GRE_TOS;
        /// Whether its packets must not be fragmented.
        "pmtudisc" pmtudisc: bool = IFLA_GRE_PMTUDISC;
        /// Whether the inner packet's word on that is ignored; not together with `pmtudisc`.
        "ignore-df" ignore_df: bool = IFLA_GRE_IGNORE_DF;
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
        "fwmark" fwmark: u32 = IFLA_GRE_FWMARK;
    }
}

bits! {
    /// What packets have to carry that arrive by a GRE tunnel (`GRE_KEY`, `GRE_SEQ`, `GRE_CSUM`).
    pub struct GreInput {
        /// Its key; follows from the key being given.
        ikeyed = 0x2000;
        /// Sequence numbers.
        "iseq" iseq = 0x1000;
        /// A checksum.
        "icsum" icsum = 0x8000;
    }
}

bits! {
    /// What packets carry that leave by a GRE tunnel.
    pub struct GreOutput {
        /// Its key; follows from the key being given.
        okeyed = 0x2000;
        /// Sequence numbers.
        "oseq" oseq = 0x1000;
        /// A checksum.
        "ocsum" ocsum = 0x8000;
    }
}

/// The fields of a GRE tunnel that speak of the GRE header.
pub(super) struct Parts<'a> {
    pub(super) iflags: &'a mut Option<GreInput>,
    pub(super) oflags: &'a mut Option<GreOutput>,
    pub(super) ikey: &'a mut Option<GreKey>,
    pub(super) okey: &'a mut Option<GreKey>,
}

impl Parts<'_> {
    /// Says by the flags that there is a key where one is given.
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

    /// Takes keys away that the flags do not confirm: the kernel tells one always.
    pub(super) fn tidy(self) {
        if self.iflags.is_some_and(|flags| flags.ikeyed == Some(false)) {
            *self.ikey = None;
        }
        if self.oflags.is_some_and(|flags| flags.okeyed == Some(false)) {
            *self.okey = None;
        }
    }

    /// `key`, `seq` and `csum`, for both directions.
    pub(super) fn word(self, word: &str, words: &mut Words<'_>) -> Result<bool, BadWord> {
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

impl Gre {
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

impl Data for Gre {
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
        self.parts().word(word, words)
    }
}
