//! Prints terms in the filter language, with all implied qualifiers.

use crate::language::tree::{
    Arithmetic, Atm, ByteOperator, Direction, FieldValues, Firewall, Id, Llc, Operator, Protocol,
    Qualifiers, Relation, SignalKind, Term,
};
use crate::language::words::{
    FIREWALL_ACTIONS, LLC_SUPERVISORY, LLC_UNNUMBERED, WLAN_DIRECTIONS, WLAN_SUBTYPES, WLAN_TYPES,
    is_reserved, name_of_value,
};
use crate::link_type::LinkType;
use std::fmt;
use std::fmt::Display;

/// Prints a part of a filter as text that parses to the same part.
pub(crate) struct Printed<'a, T> {
    pub part: &'a T,
    /// The link type: it decides which word denotes the link-layer header.
    pub link: LinkType,
}

impl<'a, T> Printed<'a, T> {
    fn of<U>(&self, part: &'a U) -> Printed<'a, U> {
        Printed {
            part,
            link: self.link,
        }
    }
}

/// The word for the link-layer header of `link`.
pub(crate) fn link_word(link: LinkType) -> &'static str {
    if link.is_ethernet() {
        "ether"
    } else if link.is_wlan() {
        "wlan"
    } else {
        "link"
    }
}

fn protocol_word(protocol: Protocol, link: LinkType) -> &'static str {
    match protocol {
        Protocol::Link => link_word(link),
        other => other.word(),
    }
}

impl Display for Printed<'_, Term> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbered = |f: &mut fmt::Formatter<'_>, word: &str, number: Option<u32>| match number {
            Some(number) => write!(f, "{word} {number}"),
            None => f.write_str(word),
        };
        let qualified = |f: &mut fmt::Formatter<'_>, protocol: Option<Protocol>, word: &str| {
            if let Some(protocol) = protocol {
                write!(f, "{} ", protocol_word(protocol, self.link))?;
            }
            f.write_str(word)
        };
        match self.part {
            Term::Match(qualifiers, id) => {
                write!(f, "{}{}", self.of(qualifiers), self.of(id))
            }
            Term::Protocol(protocol) => f.write_str(protocol_word(*protocol, self.link)),
            Term::LayeredProtocol(layers, protocol) => {
                write!(
                    f,
                    "{} {}",
                    layers.word(),
                    protocol_word(*protocol, self.link)
                )
            }
            Term::Broadcast(protocol) => qualified(f, *protocol, "broadcast"),
            Term::Multicast(protocol) => qualified(f, *protocol, "multicast"),
            Term::Less(bytes) => write!(f, "less {bytes}"),
            Term::Greater(bytes) => write!(f, "greater {bytes}"),
            Term::Byte(index, operator, value) => {
                let operator = match operator {
                    ByteOperator::Equal => "=",
                    ByteOperator::Less => "<",
                    ByteOperator::Greater => ">",
                    ByteOperator::And => "&",
                    ByteOperator::Or => "|",
                };
                write!(f, "byte {index} {operator} {value}")
            }
            Term::Direction { outbound: true } => f.write_str("outbound"),
            Term::Direction { outbound: false } => f.write_str("inbound"),
            Term::InterfaceIndex(index) => write!(f, "ifindex {index}"),
            Term::Vlan(id) => numbered(f, "vlan", *id),
            Term::Mpls(label) => numbered(f, "mpls", *label),
            Term::Pppoed => f.write_str("pppoed"),
            Term::Pppoes(session) => numbered(f, "pppoes", *session),
            Term::Geneve(network) => numbered(f, "geneve", *network),
            Term::Vxlan(network) => numbered(f, "vxlan", *network),
            Term::WlanType { value, mask } => wlan_type(f, *value, *mask),
            Term::WlanDirection(value) => {
                write!(
                    f,
                    "dir {}",
                    name_of_value(WLAN_DIRECTIONS, *value).unwrap_or("0")
                )
            }
            Term::Llc(kind) => match kind {
                Llc::Any => f.write_str("llc"),
                Llc::Information => f.write_str("llc i"),
                Llc::Supervisory(None) => f.write_str("llc s"),
                Llc::Unnumbered(None) => f.write_str("llc u"),
                Llc::Supervisory(Some(command)) => {
                    write!(
                        f,
                        "llc {}",
                        name_of_value(LLC_SUPERVISORY, *command).unwrap_or("s")
                    )
                }
                Llc::Unnumbered(Some(command)) => {
                    write!(
                        f,
                        "llc {}",
                        name_of_value(LLC_UNNUMBERED, *command).unwrap_or("u")
                    )
                }
            },
            Term::Signal(signal) => {
                f.write_str(signal.word())?;
                match &signal.kind {
                    SignalKind::Unit(_) => Ok(()),
                    SignalKind::Field(_, values) => Values(values).fmt(f),
                }
            }
            Term::Atm(atm) => {
                f.write_str(atm.word())?;
                match atm {
                    Atm::Circuit(_) => Ok(()),
                    Atm::Path(values) | Atm::Channel(values) => Values(values).fmt(f),
                }
            }
            Term::Firewall(field) => write_firewall(f, field),
            Term::Relation(relation, left, right) => {
                let relation = symbol(*relation);
                write!(f, "{} {relation} {}", self.of(left), self.of(right))
            }
        }
    }
}

fn wlan_type(f: &mut fmt::Formatter<'_>, value: u8, mask: u8) -> fmt::Result {
    let kind = name_of_value(WLAN_TYPES, value & 0x0c);
    match kind {
        Some(kind) => write!(f, "type {kind}")?,
        None => write!(f, "type {:#04x}", value & 0x0c)?,
    }
    if mask & 0xf0 == 0 {
        return Ok(());
    }
    let row = WLAN_SUBTYPES
        .iter()
        .find(|row| row.1 | row.2 == value && kind.is_some());
    match row {
        Some(row) => write!(f, " subtype {}", row.0),
        None => write!(f, " subtype {:#04x}", value & 0xf0),
    }
}

fn write_firewall(f: &mut fmt::Formatter<'_>, field: &Firewall) -> fmt::Result {
    write!(f, "{} ", field.word())?;
    match field {
        Firewall::Interface(name) | Firewall::Ruleset(name) if is_reserved(name) => {
            write!(f, "\\{name}")
        }
        Firewall::Interface(name) | Firewall::Ruleset(name) => f.write_str(name),
        Firewall::Rule(number) | Firewall::Subrule(number) | Firewall::Reason(number) => {
            write!(f, "{number}")
        }
        Firewall::Action(action) => {
            f.write_str(name_of_value(FIREWALL_ACTIONS, *action).unwrap_or("pass"))
        }
    }
}

/// The values after the word of a field.
struct Values<'a>(&'a FieldValues);

impl Display for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            FieldValues::Compared(Relation::Equal, value) => write!(f, " {value}"),
            FieldValues::Compared(relation, value) => write!(f, " {} {value}", symbol(*relation)),
            FieldValues::OneOf(values) => {
                for (at, value) in values.iter().enumerate() {
                    f.write_str(if at == 0 { " (" } else { " or " })?;
                    write!(f, "{value}")?;
                }
                f.write_str(")")
            }
        }
    }
}

fn symbol(relation: Relation) -> &'static str {
    match relation {
        Relation::Equal => "=",
        Relation::NotEqual => "!=",
        Relation::Less => "<",
        Relation::LessEqual => "<=",
        Relation::Greater => ">",
        Relation::GreaterEqual => ">=",
    }
}

impl Display for Printed<'_, Qualifiers> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = self.part.protocol;
        let direction = self.part.direction.map(|direction| match direction {
            Direction::Source => "src",
            Direction::Destination => "dst",
            Direction::Either => "src or dst",
            Direction::Both => "src and dst",
            Direction::Address1 => "addr1",
            Direction::Address2 => "addr2",
            Direction::Address3 => "addr3",
            Direction::Address4 => "addr4",
            Direction::Receiver => "ra",
            Direction::Transmitter => "ta",
        });
        let layers = Some(self.part.layers.word()).filter(|word| !word.is_empty());
        let words = [
            layers,
            protocol.map(|protocol| protocol_word(protocol, self.link)),
            direction,
            // The default kind is "host".
            Some(
                self.part
                    .kind
                    .map_or("host", crate::language::tree::Kind::word),
            ),
        ];
        words
            .into_iter()
            .flatten()
            .try_for_each(|word| write!(f, "{word} "))
    }
}

impl Display for Printed<'_, Id> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Id::Number(number) => write!(f, "{number}"),
            Id::Name(name) if is_reserved(name) => write!(f, "\\{name}"),
            Id::Name(name) => f.write_str(name),
            Id::Dotted(text) => f.write_str(text),
            Id::DottedPrefix(text, bits) => write!(f, "{text}/{bits}"),
            Id::DottedMask(text, mask) => write!(f, "{text} mask {mask}"),
            Id::Ipv6(address, None) => write!(f, "{address}"),
            Id::Ipv6(address, Some(bits)) => write!(f, "{address}/{bits}"),
            Id::Mac(mac) => {
                write!(f, "{:02x}", mac[0])?;
                mac[1..]
                    .iter()
                    .try_for_each(|byte| write!(f, ":{byte:02x}"))
            }
            Id::ShortMac(mac) => write!(f, "${mac:02x}"),
        }
    }
}

impl Display for Printed<'_, Arithmetic> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Arithmetic::Number(number) => write!(f, "{number}"),
            Arithmetic::Length => f.write_str("len"),
            Arithmetic::Load {
                protocol,
                index,
                bytes,
            } => {
                let word = protocol_word(*protocol, self.link);
                write!(f, "{word}[{}", self.of(&**index))?;
                match bytes {
                    1 => f.write_str("]"),
                    _ => write!(f, ":{bytes}]"),
                }
            }
            Arithmetic::Negate(operand) => write!(f, "-{}", self.of(&**operand)),
            Arithmetic::Binary(operator, left, right) => {
                let sign = sign(*operator);
                write!(f, "({} {sign} {})", self.of(&**left), self.of(&**right))
            }
        }
    }
}

/// The operator's symbol.
pub(crate) fn sign(operator: Operator) -> &'static str {
    match operator {
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::Modulo => "%",
        Operator::And => "&",
        Operator::Or => "|",
        Operator::Xor => "^",
        Operator::ShiftLeft => "<<",
        Operator::ShiftRight => ">>",
    }
}
