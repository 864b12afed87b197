//! The syntax tree of a filter, independent of the link type.

use std::net::Ipv6Addr;
use std::ops::Range;

/// A byte range of the text.
pub(crate) type Span = Range<usize>;

/// The position of a term in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TermSpan {
    pub whole: Span,
    /// The address, name or number at its end, for errors about the operand; otherwise `whole`.
    pub operand: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Protocol {
    Link,
    Ip,
    Ip6,
    Arp,
    Rarp,
    Tcp,
    Udp,
    Sctp,
    Icmp,
    Icmp6,
    Igmp,
    Igrp,
    Pim,
    Vrrp,
    Carp,
    Ah,
    Esp,
    Radio,
    AppleTalk,
    Aarp,
    Decnet,
    Lat,
    Sca,
    Moprc,
    Mopdl,
    Iso,
    Esis,
    Isis,
    IsisL1,
    IsisL2,
    IsisHello,
    IsisLsp,
    IsisSnp,
    IsisCsnp,
    IsisPsnp,
    Clnp,
    Stp,
    Ipx,
    Netbeui,
}

impl Protocol {
    /// The keyword.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Ip => "ip",
            Self::Ip6 => "ip6",
            Self::Arp => "arp",
            Self::Rarp => "rarp",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Sctp => "sctp",
            Self::Icmp => "icmp",
            Self::Icmp6 => "icmp6",
            Self::Igmp => "igmp",
            Self::Igrp => "igrp",
            Self::Pim => "pim",
            Self::Vrrp => "vrrp",
            Self::Carp => "carp",
            Self::Ah => "ah",
            Self::Esp => "esp",
            Self::Radio => "radio",
            Self::AppleTalk => "atalk",
            Self::Aarp => "aarp",
            Self::Decnet => "decnet",
            Self::Lat => "lat",
            Self::Sca => "sca",
            Self::Moprc => "moprc",
            Self::Mopdl => "mopdl",
            Self::Iso => "iso",
            Self::Esis => "esis",
            Self::Isis => "isis",
            Self::IsisL1 => "l1",
            Self::IsisL2 => "l2",
            Self::IsisHello => "iih",
            Self::IsisLsp => "lsp",
            Self::IsisSnp => "snp",
            Self::IsisCsnp => "csnp",
            Self::IsisPsnp => "psnp",
            Self::Clnp => "clnp",
            Self::Stp => "stp",
            Self::Ipx => "ipx",
            Self::Netbeui => "netbeui",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Source,
    Destination,
    Either,
    Both,
    Address1,
    Address2,
    Address3,
    Address4,
    Receiver,
    Transmitter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Host,
    Net,
    Port,
    PortRange,
    Proto,
    ProtoChain,
    Gateway,
}

impl Kind {
    /// The keyword.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Net => "net",
            Self::Port => "port",
            Self::PortRange => "portrange",
            Self::Proto => "proto",
            Self::ProtoChain => "protochain",
            Self::Gateway => "gateway",
        }
    }
}

/// Which layers of a packet a term tests: its own headers, and those inside tunnels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Layers {
    /// The headers at the current position, as in pcap-filter(7).
    #[default]
    Current,
    /// `any`: every layer.
    Any,
    /// `inner`: every layer inside a tunnel.
    Inner,
}

impl Layers {
    /// The meaning of a word before a term.
    pub(crate) fn of(word: &str) -> Option<Self> {
        match word {
            "any" => Some(Self::Any),
            "inner" => Some(Self::Inner),
            _ => None,
        }
    }

    /// The word; empty for [`Layers::Current`].
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Current => "",
            Self::Any => "any",
            Self::Inner => "inner",
        }
    }
}

/// The qualifiers before an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Qualifiers {
    pub layers: Layers,
    pub protocol: Option<Protocol>,
    pub direction: Option<Direction>,
    pub kind: Option<Kind>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    Number(u32),
    Name(String),
    Dotted(String),
    DottedPrefix(String, u32),
    DottedMask(String, String),
    Ipv6(Ipv6Addr, Option<u32>),
    Mac([u8; 6]),
    ShortMac(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Number(u32),
    Length,
    Load {
        protocol: Protocol,
        index: Box<Arithmetic>,
        bytes: u32,
    },
    Negate(Box<Arithmetic>),
    Binary(Operator, Box<Arithmetic>, Box<Arithmetic>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOperator {
    Equal,
    Less,
    Greater,
    And,
    Or,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Llc {
    Any,
    Information,
    Supervisory(Option<u8>),
    Unnumbered(Option<u8>),
}

/// The values of a field after its word: `vpi 5`, `vpi > 5`, `vpi (5 or 7)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldValues {
    Compared(Relation, u32),
    OneOf(Vec<u32>),
}

impl FieldValues {
    /// All values in the text.
    pub(crate) fn numbers(&self) -> &[u32] {
        match self {
            Self::Compared(_, value) => std::slice::from_ref(value),
            Self::OneOf(values) => values,
        }
    }
}

/// Signal units and fields of SS7.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    pub kind: SignalKind,
    /// On a link of 2 Mbit/s.
    pub is_fast: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SignalKind {
    Unit(SignalUnit),
    Field(SignalField, FieldValues),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalUnit {
    FillIn,
    LinkStatus,
    Message,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalField {
    ServiceIndicator,
    OriginCode,
    DestinationCode,
    LinkSelection,
}

impl Signal {
    /// The keyword.
    pub(crate) fn word(&self) -> &'static str {
        match (&self.kind, self.is_fast) {
            (SignalKind::Unit(SignalUnit::FillIn), false) => "fisu",
            (SignalKind::Unit(SignalUnit::FillIn), true) => "hfisu",
            (SignalKind::Unit(SignalUnit::LinkStatus), false) => "lssu",
            (SignalKind::Unit(SignalUnit::LinkStatus), true) => "hlssu",
            (SignalKind::Unit(SignalUnit::Message), false) => "msu",
            (SignalKind::Unit(SignalUnit::Message), true) => "hmsu",
            (SignalKind::Field(field, _), is_fast) => field.word(is_fast),
        }
    }
}

impl SignalField {
    /// The keyword, for links of 2 Mbit/s and others.
    pub(crate) fn word(self, is_fast: bool) -> &'static str {
        match (self, is_fast) {
            (Self::ServiceIndicator, false) => "sio",
            (Self::ServiceIndicator, true) => "hsio",
            (Self::OriginCode, false) => "opc",
            (Self::OriginCode, true) => "hopc",
            (Self::DestinationCode, false) => "dpc",
            (Self::DestinationCode, true) => "hdpc",
            (Self::LinkSelection, false) => "sls",
            (Self::LinkSelection, true) => "hsls",
        }
    }
}

/// Circuits and fields of ATM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Atm {
    Circuit(Circuit),
    Path(FieldValues),
    Channel(FieldValues),
}

/// Circuits of ATM, and kinds of packets in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Circuit {
    LanEmulation,
    MetaSignalling,
    Broadcast,
    Maintenance,
    MaintenanceF4,
    EndMaintenance,
    SegmentMaintenance,
    Signalling,
    LocalManagement,
    ConnectMessage,
    MetaConnect,
}

impl Atm {
    /// The keyword.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Path(_) => "vpi",
            Self::Channel(_) => "vci",
            Self::Circuit(circuit) => match circuit {
                Circuit::LanEmulation => "lane",
                Circuit::MetaSignalling => "metac",
                Circuit::Broadcast => "bcc",
                Circuit::Maintenance => "oam",
                Circuit::MaintenanceF4 => "oamf4",
                Circuit::EndMaintenance => "oamf4ec",
                Circuit::SegmentMaintenance => "oamf4sc",
                Circuit::Signalling => "sc",
                Circuit::LocalManagement => "ilmic",
                Circuit::ConnectMessage => "connectmsg",
                Circuit::MetaConnect => "metaconnect",
            },
        }
    }
}

/// Fields of the log of OpenBSD's packet filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Firewall {
    Interface(String),
    Ruleset(String),
    Rule(u32),
    Subrule(u32),
    Reason(u32),
    Action(u8),
}

impl Firewall {
    /// The keyword.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Interface(_) => "ifname",
            Self::Ruleset(_) => "ruleset",
            Self::Rule(_) => "rnr",
            Self::Subrule(_) => "srnr",
            Self::Reason(_) => "reason",
            Self::Action(_) => "action",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    Match(Qualifiers, Id),
    Protocol(Protocol),
    /// A protocol after `any` or `inner`.
    LayeredProtocol(Layers, Protocol),
    Broadcast(Option<Protocol>),
    Multicast(Option<Protocol>),
    Less(u32),
    Greater(u32),
    Byte(u32, ByteOperator, u32),
    Direction {
        outbound: bool,
    },
    InterfaceIndex(u32),
    Vlan(Option<u32>),
    Mpls(Option<u32>),
    Pppoed,
    Pppoes(Option<u32>),
    Geneve(Option<u32>),
    Vxlan(Option<u32>),
    WlanType {
        value: u8,
        mask: u8,
    },
    WlanDirection(u8),
    Llc(Llc),
    Signal(Signal),
    Atm(Atm),
    Firewall(Firewall),
    Relation(Relation, Arithmetic, Arithmetic),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expression {
    Term(TermSpan, Term),
    Not(Box<Expression>),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

impl Term {
    /// The layers that the term tests.
    pub(crate) fn layers(&self) -> Layers {
        match self {
            Self::Match(qualifiers, _) => qualifiers.layers,
            Self::LayeredProtocol(layers, _) => *layers,
            _ => Layers::Current,
        }
    }
}
