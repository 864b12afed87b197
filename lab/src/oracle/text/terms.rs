//! Generates terms.

use filter::{FilterTarget, LinkType};

use super::Writer;
use crate::oracle::pool;

const DIRECTIONS: [&str; 7] = [
    "",
    "",
    "src ",
    "dst ",
    "src or dst ",
    "src and dst ",
    "dst and src ",
];
const ABBREVIATIONS: [&str; 22] = [
    "ip", "ip6", "arp", "rarp", "tcp", "udp", "sctp", "icmp", "icmp6", "igmp", "igrp", "pim",
    "vrrp", "carp", "ah", "esp", "ip", "ip6", "tcp", "udp", "icmp", "tcp",
];
const LINK_ABBREVIATIONS: [&str; 24] = [
    "atalk",
    "aarp",
    "decnet",
    "lat",
    "sca",
    "moprc",
    "mopdl",
    "iso",
    "esis",
    "isis",
    "l1",
    "l2",
    "iih",
    "lsp",
    "snp",
    "csnp",
    "psnp",
    "clnp",
    "stp",
    "ipx",
    "netbeui",
    "iso proto 0x83",
    "isis proto 17",
    "decnet host 1.5",
];
const WLAN_TYPES: [&str; 3] = ["mgt", "ctl", "data"];
const WLAN_SUBTYPES: [&str; 12] = [
    "beacon",
    "probe-req",
    "assoc-resp",
    "auth",
    "rts",
    "cts",
    "ack",
    "ps-poll",
    "data",
    "null",
    "qos-data",
    "cf-end",
];
const LLC: [&str; 8] = [
    "llc", "llc i", "llc s", "llc u", "llc rr", "llc rnr", "llc ui", "llc xid",
];

impl Writer<'_> {
    pub(super) fn term(&mut self) -> String {
        match self.random.below(23) {
            22 => self.layered(),
            0..=2 => self.host(),
            3 => self.net(),
            4..=6 => self.port(),
            7 | 8 => self.random.word(&ABBREVIATIONS).into(),
            9 => self.protocol(),
            10..=13 => self.relation(),
            14 => self.length(),
            15 => self.group(),
            16 => self.link_protocol(),
            17 | 18 => self.link_term(),
            19 => self.beside(),
            _ => self.tunnel(),
        }
    }

    /// A term with a word that libpcap does not have.
    fn layered(&mut self) -> String {
        let layers = self.random.word(&["any", "any", "inner"]);
        let term = match self.random.below(5) {
            0 => self.host(),
            1 => self.net(),
            2 => self.random.word(&ABBREVIATIONS).into(),
            3 => self.protocol(),
            _ => self.port(),
        };
        format!("{layers} {term}")
    }

    pub(super) fn direction(&mut self) -> &'static str {
        self.random.word(&DIRECTIONS)
    }

    fn host(&mut self) -> String {
        let direction = self.direction();
        if self.has_macs() && !self.headers.has_labels && self.random.one_in(3) {
            let direction = if self.is_wlan() && self.headers.tunnels == 0 && self.random.one_in(2)
            {
                self.random
                    .word(&["addr1 ", "addr2 ", "addr3 ", "addr4 ", "ra ", "ta "])
            } else {
                direction
            };
            let mac = self.mac();
            return format!("ether {direction}host {mac}");
        }
        if self.random.one_in(3) {
            let protocol = self.random.word(&["", "ip6 "]);
            let address = pool::address6(self.random);
            return format!("{protocol}{direction}host {address}");
        }
        let protocol = if self.headers.has_labels {
            self.random.word(&["", "ip "])
        } else {
            self.random.word(&["", "", "ip ", "arp ", "rarp "])
        };
        let address = pool::address4(self.random);
        format!("{protocol}{direction}host {address}")
    }

    pub(super) fn mac(&mut self) -> String {
        let bytes = pool::mac(self.random).map(|byte| format!("{byte:02x}"));
        bytes.join(":")
    }

    fn net(&mut self) -> String {
        let direction = self.direction();
        let net = self.network();
        format!("{direction}net {net}")
    }

    /// Writes a network without host bits.
    pub(super) fn network(&mut self) -> String {
        if self.random.one_in(3) {
            let bits = *self
                .random
                .pick(&[0, 10, 32, 44, 48, 64, 100, 122, 127, 128]);
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            let address = u128::from(pool::address6(self.random)) & mask;
            return format!("{}/{bits}", std::net::Ipv6Addr::from(address));
        }
        let bits = *self.random.pick(&[0, 8, 9, 12, 16, 23, 24, 26, 30, 31, 32]);
        let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
        let address = std::net::Ipv4Addr::from(u32::from(pool::address4(self.random)) & mask);
        match self.random.below(4) {
            0 => format!("{address} mask {}", std::net::Ipv4Addr::from(mask)),
            1 if bits == 16 => {
                let [first, second, ..] = address.octets();
                format!("{first}.{second}")
            }
            _ => format!("{address}/{bits}"),
        }
    }

    fn port(&mut self) -> String {
        let transport = self.random.word(&["", "", "tcp ", "udp ", "sctp "]);
        let direction = self.direction();
        let port = self.port_or_range();
        format!("{transport}{direction}{port}")
    }

    pub(super) fn port_or_range(&mut self) -> String {
        let (first, last) = (pool::port(self.random), pool::port(self.random));
        match self.random.below(3) {
            0 => format!("portrange {first}-{last}"),
            _ => format!("port {first}"),
        }
    }

    fn protocol(&mut self) -> String {
        let number = *self.random.pick(&pool::PROTOCOLS);
        let over = self.random.word(&["", "ip ", "ip6 "]);
        if self.random.one_in(6) && !self.headers.has_chain && self.headers.tunnels == 0 {
            self.headers.has_chain = true;
            return format!("{over}protochain {number}");
        }
        format!("{over}proto {number}")
    }

    fn length(&mut self) -> String {
        let length = *self
            .random
            .pick(&[0, 20, 40, 54, 60, 64, 90, 128, 256, 1500]);
        let word = self
            .random
            .word(&["less", "greater", "len ==", "len <=", "len !=", "len >"]);
        format!("{word} {length}")
    }

    fn group(&mut self) -> String {
        let mut words = vec!["ip multicast", "ip6 multicast", "ip broadcast"];
        if self.has_macs() && !self.headers.has_labels {
            words.extend([
                "broadcast",
                "multicast",
                "ether broadcast",
                "ether multicast",
            ]);
        }
        self.random.word(&words).into()
    }

    fn link_protocol(&mut self) -> String {
        if self.headers.has_labels {
            return self.random.word(&["ip", "ip6"]).into();
        }
        match self.random.below(3) {
            0 => format!("ether proto {:#x}", self.random.pick(&pool::ETHER_TYPES)),
            1 => format!("ether proto {:#x}", self.random.pick(&pool::ACCESS_POINTS)),
            _ => self.random.word(&LINK_ABBREVIATIONS).into(),
        }
    }

    /// Writes a term that only some link types support.
    fn link_term(&mut self) -> String {
        if self.headers.has_labels || self.headers.is_session || self.headers.tunnels > 0 {
            return self.host();
        }
        if self.is_wlan() {
            let (kind, subtype) = (
                self.random.word(&WLAN_TYPES),
                self.random.word(&WLAN_SUBTYPES),
            );
            let direction = self
                .random
                .word(&["nods", "tods", "fromds", "dstods", "1", "3"]);
            return match self.random.below(5) {
                0 => format!("type {kind}"),
                1 => format!("subtype {subtype}"),
                2 => format!("type mgt subtype {}", self.random.word(&WLAN_SUBTYPES[..4])),
                3 => self.random.word(&LLC).into(),
                _ => format!("dir {direction}"),
            };
        }
        match self.headers.link {
            LinkType::Ethernet => self.random.word(&LLC).into(),
            LinkType::LinuxSll | LinkType::LinuxSll2 => {
                self.random.word(&["inbound", "outbound"]).into()
            }
            _ => self.host(),
        }
    }

    /// Writes a term on ancillary data.
    fn beside(&mut self) -> String {
        let has_index = self.headers.link == LinkType::LinuxSll2 && self.headers.tunnels == 0;
        if self.at == FilterTarget::File && !has_index {
            return self.port();
        }
        match self.random.below(3) {
            0 => format!("ifindex {}", self.random.below(4)),
            1 => "inbound".into(),
            _ => "outbound".into(),
        }
    }

    fn tunnel(&mut self) -> String {
        let id = match self.random.below(3) {
            0 => format!(" {}", pool::small(self.random)),
            _ => String::new(),
        };
        let is_ethernet = self.headers.link == LinkType::Ethernet && !self.headers.is_session;
        let can_nest = self.headers.tunnels < 2 && !self.headers.has_labels;
        match self.random.below(6) {
            0 | 1 if is_ethernet && !self.headers.has_labels => format!("vlan{id}"),
            2 if is_ethernet => {
                self.headers.has_labels = true;
                format!("mpls{id}")
            }
            3 if is_ethernet && !self.headers.has_labels => {
                if self.random.one_in(4) {
                    return "pppoed".into();
                }
                self.headers.is_session = true;
                format!("pppoes{id}")
            }
            4 if can_nest => {
                self.enter();
                format!("geneve{id}")
            }
            5 if can_nest => {
                self.enter();
                format!("vxlan{id}")
            }
            _ => self.port(),
        }
    }

    fn enter(&mut self) {
        self.headers.link = LinkType::Ethernet;
        self.headers.is_session = false;
        self.headers.tunnels += 1;
    }
}
