//! The reserved words, the named constants, and the names of 802.11 and LLC values.

use crate::language::similar::similar_word;
use crate::language::tree::{Circuit, Protocol, SignalField, SignalUnit};
use std::collections::HashMap;
use std::sync::OnceLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Protocol(Protocol),
    Source,
    Destination,
    Host,
    Net,
    Mask,
    Port,
    PortRange,
    Proto,
    ProtoChain,
    Gateway,
    Type,
    Subtype,
    Direction,
    Address1,
    Address2,
    Address3,
    Address4,
    Receiver,
    Transmitter,
    Less,
    Greater,
    Byte,
    Broadcast,
    Multicast,
    And,
    Or,
    Not,
    Length,
    Inbound,
    Outbound,
    InterfaceIndex,
    Vlan,
    Mpls,
    Pppoed,
    Pppoes,
    Geneve,
    Vxlan,
    Llc,
    /// A signal unit of SS7, on a fast link or another.
    Signal(SignalUnit, bool),
    /// A field of SS7, on a fast link or another.
    SignalField(SignalField, bool),
    Circuit(Circuit),
    Path,
    Channel,
    FirewallInterface,
    FirewallRuleset,
    FirewallRule,
    FirewallSubrule,
    FirewallReason,
    FirewallAction,
}

impl Word {
    /// Whether the word is for a link type that is rare today. Misspelled words are rarely meant to be one of these.
    fn is_rare(self) -> bool {
        matches!(
            self,
            Self::Signal(..)
                | Self::SignalField(..)
                | Self::Circuit(_)
                | Self::Path
                | Self::Channel
                | Self::FirewallInterface
                | Self::FirewallRuleset
                | Self::FirewallRule
                | Self::FirewallSubrule
                | Self::FirewallReason
                | Self::FirewallAction
        )
    }
}

/// All reserved words.
pub(crate) const WORDS: &[(&str, Word)] = &[
    ("dst", Word::Destination),
    ("src", Word::Source),
    ("link", Word::Protocol(Protocol::Link)),
    ("ether", Word::Protocol(Protocol::Link)),
    ("ppp", Word::Protocol(Protocol::Link)),
    ("slip", Word::Protocol(Protocol::Link)),
    ("fddi", Word::Protocol(Protocol::Link)),
    ("tr", Word::Protocol(Protocol::Link)),
    ("wlan", Word::Protocol(Protocol::Link)),
    ("arp", Word::Protocol(Protocol::Arp)),
    ("rarp", Word::Protocol(Protocol::Rarp)),
    ("ip", Word::Protocol(Protocol::Ip)),
    ("sctp", Word::Protocol(Protocol::Sctp)),
    ("tcp", Word::Protocol(Protocol::Tcp)),
    ("udp", Word::Protocol(Protocol::Udp)),
    ("icmp", Word::Protocol(Protocol::Icmp)),
    ("igmp", Word::Protocol(Protocol::Igmp)),
    ("igrp", Word::Protocol(Protocol::Igrp)),
    ("pim", Word::Protocol(Protocol::Pim)),
    ("vrrp", Word::Protocol(Protocol::Vrrp)),
    ("carp", Word::Protocol(Protocol::Carp)),
    ("radio", Word::Protocol(Protocol::Radio)),
    ("ip6", Word::Protocol(Protocol::Ip6)),
    ("icmp6", Word::Protocol(Protocol::Icmp6)),
    ("ah", Word::Protocol(Protocol::Ah)),
    ("esp", Word::Protocol(Protocol::Esp)),
    ("atalk", Word::Protocol(Protocol::AppleTalk)),
    ("aarp", Word::Protocol(Protocol::Aarp)),
    ("decnet", Word::Protocol(Protocol::Decnet)),
    ("lat", Word::Protocol(Protocol::Lat)),
    ("sca", Word::Protocol(Protocol::Sca)),
    ("moprc", Word::Protocol(Protocol::Moprc)),
    ("mopdl", Word::Protocol(Protocol::Mopdl)),
    ("iso", Word::Protocol(Protocol::Iso)),
    ("esis", Word::Protocol(Protocol::Esis)),
    ("es-is", Word::Protocol(Protocol::Esis)),
    ("isis", Word::Protocol(Protocol::Isis)),
    ("is-is", Word::Protocol(Protocol::Isis)),
    ("l1", Word::Protocol(Protocol::IsisL1)),
    ("l2", Word::Protocol(Protocol::IsisL2)),
    ("iih", Word::Protocol(Protocol::IsisHello)),
    ("lsp", Word::Protocol(Protocol::IsisLsp)),
    ("snp", Word::Protocol(Protocol::IsisSnp)),
    ("csnp", Word::Protocol(Protocol::IsisCsnp)),
    ("psnp", Word::Protocol(Protocol::IsisPsnp)),
    ("clnp", Word::Protocol(Protocol::Clnp)),
    ("stp", Word::Protocol(Protocol::Stp)),
    ("ipx", Word::Protocol(Protocol::Ipx)),
    ("netbeui", Word::Protocol(Protocol::Netbeui)),
    ("host", Word::Host),
    ("net", Word::Net),
    ("mask", Word::Mask),
    ("port", Word::Port),
    ("portrange", Word::PortRange),
    ("proto", Word::Proto),
    ("protochain", Word::ProtoChain),
    ("gateway", Word::Gateway),
    ("type", Word::Type),
    ("subtype", Word::Subtype),
    ("direction", Word::Direction),
    ("dir", Word::Direction),
    ("address1", Word::Address1),
    ("addr1", Word::Address1),
    ("address2", Word::Address2),
    ("addr2", Word::Address2),
    ("address3", Word::Address3),
    ("addr3", Word::Address3),
    ("address4", Word::Address4),
    ("addr4", Word::Address4),
    ("ra", Word::Receiver),
    ("ta", Word::Transmitter),
    ("less", Word::Less),
    ("greater", Word::Greater),
    ("byte", Word::Byte),
    ("broadcast", Word::Broadcast),
    ("multicast", Word::Multicast),
    ("and", Word::And),
    ("or", Word::Or),
    ("not", Word::Not),
    ("len", Word::Length),
    ("length", Word::Length),
    ("inbound", Word::Inbound),
    ("outbound", Word::Outbound),
    ("ifindex", Word::InterfaceIndex),
    ("vlan", Word::Vlan),
    ("mpls", Word::Mpls),
    ("pppoed", Word::Pppoed),
    ("pppoes", Word::Pppoes),
    ("geneve", Word::Geneve),
    ("vxlan", Word::Vxlan),
    ("llc", Word::Llc),
    ("rnr", Word::FirewallRule),
    ("rulenum", Word::FirewallRule),
    ("srnr", Word::FirewallSubrule),
    ("subrulenum", Word::FirewallSubrule),
    ("on", Word::FirewallInterface),
    ("ifname", Word::FirewallInterface),
    ("rset", Word::FirewallRuleset),
    ("ruleset", Word::FirewallRuleset),
    ("reason", Word::FirewallReason),
    ("action", Word::FirewallAction),
    ("fisu", Word::Signal(SignalUnit::FillIn, false)),
    ("lssu", Word::Signal(SignalUnit::LinkStatus, false)),
    ("lsu", Word::Signal(SignalUnit::LinkStatus, false)),
    ("msu", Word::Signal(SignalUnit::Message, false)),
    ("hfisu", Word::Signal(SignalUnit::FillIn, true)),
    ("hlssu", Word::Signal(SignalUnit::LinkStatus, true)),
    ("hmsu", Word::Signal(SignalUnit::Message, true)),
    (
        "sio",
        Word::SignalField(SignalField::ServiceIndicator, false),
    ),
    ("opc", Word::SignalField(SignalField::OriginCode, false)),
    (
        "dpc",
        Word::SignalField(SignalField::DestinationCode, false),
    ),
    ("sls", Word::SignalField(SignalField::LinkSelection, false)),
    (
        "hsio",
        Word::SignalField(SignalField::ServiceIndicator, true),
    ),
    ("hopc", Word::SignalField(SignalField::OriginCode, true)),
    (
        "hdpc",
        Word::SignalField(SignalField::DestinationCode, true),
    ),
    ("hsls", Word::SignalField(SignalField::LinkSelection, true)),
    ("lane", Word::Circuit(Circuit::LanEmulation)),
    ("metac", Word::Circuit(Circuit::MetaSignalling)),
    ("bcc", Word::Circuit(Circuit::Broadcast)),
    ("oam", Word::Circuit(Circuit::Maintenance)),
    ("oamf4", Word::Circuit(Circuit::MaintenanceF4)),
    ("oamf4ec", Word::Circuit(Circuit::EndMaintenance)),
    ("oamf4sc", Word::Circuit(Circuit::SegmentMaintenance)),
    ("sc", Word::Circuit(Circuit::Signalling)),
    ("ilmic", Word::Circuit(Circuit::LocalManagement)),
    ("connectmsg", Word::Circuit(Circuit::ConnectMessage)),
    ("metaconnect", Word::Circuit(Circuit::MetaConnect)),
    ("vpi", Word::Path),
    ("vci", Word::Channel),
];

/// Named constants: offsets, types and flags, valid wherever a number is.
pub(crate) const CONSTANTS: &[(&str, u32)] = &[
    ("icmptype", 0),
    ("icmpcode", 1),
    ("icmp-echoreply", 0),
    ("icmp-unreach", 3),
    ("icmp-sourcequench", 4),
    ("icmp-redirect", 5),
    ("icmp-echo", 8),
    ("icmp-routeradvert", 9),
    ("icmp-routersolicit", 10),
    ("icmp-timxceed", 11),
    ("icmp-paramprob", 12),
    ("icmp-tstamp", 13),
    ("icmp-tstampreply", 14),
    ("icmp-ireq", 15),
    ("icmp-ireqreply", 16),
    ("icmp-maskreq", 17),
    ("icmp-maskreply", 18),
    ("icmp6type", 0),
    ("icmp6code", 1),
    ("icmp6-destinationunreach", 1),
    ("icmp6-packettoobig", 2),
    ("icmp6-timeexceeded", 3),
    ("icmp6-parameterproblem", 4),
    ("icmp6-echo", 128),
    ("icmp6-echoreply", 129),
    ("icmp6-multicastlistenerquery", 130),
    ("icmp6-multicastlistenerreportv1", 131),
    ("icmp6-multicastlistenerdone", 132),
    ("icmp6-routersolicit", 133),
    ("icmp6-routeradvert", 134),
    ("icmp6-neighborsolicit", 135),
    ("icmp6-neighboradvert", 136),
    ("icmp6-redirect", 137),
    ("icmp6-routerrenum", 138),
    ("icmp6-nodeinformationquery", 139),
    ("icmp6-nodeinformationresponse", 140),
    ("icmp6-ineighbordiscoverysolicit", 141),
    ("icmp6-ineighbordiscoveryadvert", 142),
    ("icmp6-multicastlistenerreportv2", 143),
    ("icmp6-homeagentdiscoveryrequest", 144),
    ("icmp6-homeagentdiscoveryreply", 145),
    ("icmp6-mobileprefixsolicit", 146),
    ("icmp6-mobileprefixadvert", 147),
    ("icmp6-certpathsolicit", 148),
    ("icmp6-certpathadvert", 149),
    ("icmp6-multicastrouteradvert", 151),
    ("icmp6-multicastroutersolicit", 152),
    ("icmp6-multicastrouterterm", 153),
    ("tcpflags", 13),
    ("tcp-fin", 0x01),
    ("tcp-syn", 0x02),
    ("tcp-rst", 0x04),
    ("tcp-push", 0x08),
    ("tcp-ack", 0x10),
    ("tcp-urg", 0x20),
    ("tcp-ece", 0x40),
    ("tcp-cwr", 0x80),
];

/// The reserved word with this text.
pub(super) fn reserved(text: &str) -> Option<Word> {
    static BY_TEXT: OnceLock<HashMap<&'static str, Word>> = OnceLock::new();
    let by_text = BY_TEXT.get_or_init(|| WORDS.iter().copied().collect());
    by_text.get(text).copied()
}

/// Whether `name` is a reserved word or a named constant.
pub(crate) fn is_reserved(name: &str) -> bool {
    reserved(name).is_some() || CONSTANTS.iter().any(|row| row.0 == name)
}

/// Names of services that users often write as ports, most frequent first.
const SERVICES: [&str; 14] = [
    "http", "https", "domain", "ssh", "ntp", "smtp", "snmp", "syslog", "bootps", "ftp", "imap",
    "ldap", "sip", "bgp",
];

/// Protocols and fields of Wireshark's display filters, in the words of this language.
const DISPLAY_FILTERS: &[(&str, &str)] = &[
    ("dns", "port 53"),
    ("http", "tcp port 80"),
    ("https", "tcp port 443"),
    ("tls", "tcp port 443"),
    ("quic", "udp port 443"),
    ("ssh", "tcp port 22"),
    ("dhcp", "udp port 67"),
    ("dhcpv6", "udp port 547"),
    ("ntp", "udp port 123"),
    ("snmp", "udp port 161"),
    ("syslog", "udp port 514"),
    ("bgp", "tcp port 179"),
    ("ipv4", "ip"),
    ("ipv6", "ip6"),
    ("icmpv6", "icmp6"),
    ("eth.addr", "ether host"),
    ("eth.src", "ether src"),
    ("eth.dst", "ether dst"),
    ("eth.type", "ether proto"),
    ("ip.addr", "host"),
    ("ip.src", "src host"),
    ("ip.dst", "dst host"),
    ("ip.proto", "ip proto"),
    ("ipv6.addr", "ip6 host"),
    ("ipv6.src", "ip6 src host"),
    ("ipv6.dst", "ip6 dst host"),
    ("tcp.port", "tcp port"),
    ("tcp.srcport", "tcp src port"),
    ("tcp.dstport", "tcp dst port"),
    ("udp.port", "udp port"),
    ("udp.srcport", "udp src port"),
    ("udp.dstport", "udp dst port"),
    ("vlan.id", "vlan"),
    ("frame.len", "len"),
];

/// What `name`, a protocol or field of Wireshark's display filters, is called in this language.
pub(crate) fn of_display_filter(name: &str) -> Option<&'static str> {
    let row = DISPLAY_FILTERS.iter().find(|row| row.0 == name);
    row.map(|row| row.1)
}

/// The reserved word or constant that is most similar to `name`, if one is similar.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let words = WORDS.iter().filter(|row| !row.1.is_rare()).map(|row| row.0);
    similar_word(name, words.chain(CONSTANTS.iter().map(|row| row.0)))
}

/// The well-known service that is most similar to `name`, if one is similar.
pub(crate) fn nearest_service(name: &str) -> Option<&'static str> {
    similar_word(name, SERVICES)
}

/// 802.11 frame types, as they appear in the frame control byte.
pub(super) const WLAN_TYPES: &[(&str, u8)] = &[
    ("mgt", 0x00),
    ("management", 0x00),
    ("ctl", 0x04),
    ("control", 0x04),
    ("data", 0x08),
];

/// 802.11 frame subtypes: name, type, subtype.
pub(super) const WLAN_SUBTYPES: &[(&str, u8, u8)] = &[
    ("assocreq", 0x00, 0x00),
    ("assoc-req", 0x00, 0x00),
    ("assocresp", 0x00, 0x10),
    ("assoc-resp", 0x00, 0x10),
    ("reassocreq", 0x00, 0x20),
    ("reassoc-req", 0x00, 0x20),
    ("reassocresp", 0x00, 0x30),
    ("reassoc-resp", 0x00, 0x30),
    ("probereq", 0x00, 0x40),
    ("probe-req", 0x00, 0x40),
    ("proberesp", 0x00, 0x50),
    ("probe-resp", 0x00, 0x50),
    ("beacon", 0x00, 0x80),
    ("atim", 0x00, 0x90),
    ("disassoc", 0x00, 0xa0),
    ("disassociation", 0x00, 0xa0),
    ("auth", 0x00, 0xb0),
    ("authentication", 0x00, 0xb0),
    ("deauth", 0x00, 0xc0),
    ("deauthentication", 0x00, 0xc0),
    ("bar", 0x04, 0x80),
    ("ba", 0x04, 0x90),
    ("ps-poll", 0x04, 0xa0),
    ("pspoll", 0x04, 0xa0),
    ("rts", 0x04, 0xb0),
    ("cts", 0x04, 0xc0),
    ("ack", 0x04, 0xd0),
    ("cf-end", 0x04, 0xe0),
    ("cf-end-ack", 0x04, 0xf0),
    ("data", 0x08, 0x00),
    ("data-cf-ack", 0x08, 0x10),
    ("data-cf-poll", 0x08, 0x20),
    ("data-cf-ack-poll", 0x08, 0x30),
    ("null", 0x08, 0x40),
    ("cf-ack", 0x08, 0x50),
    ("cf-poll", 0x08, 0x60),
    ("cf-ack-poll", 0x08, 0x70),
    ("qos-data", 0x08, 0x80),
    ("qos-data-cf-ack", 0x08, 0x90),
    ("qos-data-cf-poll", 0x08, 0xa0),
    ("qos-data-cf-ack-poll", 0x08, 0xb0),
    ("qos", 0x08, 0xc0),
    ("qos-cf-poll", 0x08, 0xe0),
    ("qos-cf-ack-poll", 0x08, 0xf0),
];

/// Whether a frame goes to or from the distribution system.
pub(super) const WLAN_DIRECTIONS: &[(&str, u8)] =
    &[("nods", 0), ("tods", 1), ("fromds", 2), ("dstods", 3)];

/// LLC supervisory commands.
pub(super) const LLC_SUPERVISORY: &[(&str, u8)] = &[("rr", 0x01), ("rnr", 0x05), ("rej", 0x09)];

/// LLC unnumbered commands.
pub(super) const LLC_UNNUMBERED: &[(&str, u8)] = &[
    ("ui", 0x03),
    ("ua", 0x63),
    ("disc", 0x43),
    ("dm", 0x0f),
    ("sabme", 0x6f),
    ("test", 0xe3),
    ("xid", 0xaf),
    ("frmr", 0x87),
];

/// Actions of the packet filter of OpenBSD. Of the names of a value, the first one is printed.
pub(super) const FIREWALL_ACTIONS: &[(&str, u8)] = &[
    ("pass", 0),
    ("accept", 0),
    ("drop", 1),
    ("block", 1),
    ("scrub", 2),
    ("noscrub", 3),
    ("nat", 4),
    ("nonat", 5),
    ("binat", 6),
    ("nobinat", 7),
    ("rdr", 8),
    ("nordr", 9),
    ("synproxy-drop", 10),
    // Of OpenBSD and FreeBSD.
    ("defer", 11),
    ("match", 12),
    ("divert", 13),
    ("rt", 14),
    ("afrt", 15),
    // Of macOS.
    ("dummynet", 11),
    ("nodummynet", 12),
    ("nat64", 13),
    ("nonat64", 14),
];

/// Reasons for an action.
pub(super) const FIREWALL_REASONS: &[(&str, u8)] = &[
    ("match", 0),
    ("bad-offset", 1),
    ("fragment", 2),
    ("short", 3),
    ("normalize", 4),
    ("memory", 5),
    ("bad-timestamp", 6),
    ("congestion", 7),
    ("ip-option", 8),
    ("proto-cksum", 9),
    ("state-mismatch", 10),
    ("state-insert", 11),
    ("state-limit", 12),
    ("src-limit", 13),
    ("synproxy", 14),
    // Of FreeBSD, NetBSD, OpenBSD and macOS.
    ("map-failed", 15),
    ("state-locked", 15),
    ("translate", 15),
    ("no-route", 16),
    ("dummynet", 15),
];

/// The value of `name` in `table`, case-insensitive.
pub(super) fn value_of_name(table: &[(&str, u8)], name: &str) -> Option<u8> {
    let row = table.iter().find(|row| row.0.eq_ignore_ascii_case(name));
    row.map(|row| row.1)
}

/// The name of `value` in `table`.
pub(super) fn name_of_value(table: &'static [(&str, u8)], value: u8) -> Option<&'static str> {
    let row = table.iter().find(|row| row.1 == value);
    row.map(|row| row.0)
}
