//! Parses the terms of filter expressions.

use crate::error::FilterErrorReason;
use crate::language::arithmetic::relation;
use crate::language::lexer::{Symbol, Token};
use crate::language::parser::{Parsed, Parser};
use crate::language::tree::{
    Atm, ByteOperator, Direction, FieldValues, Firewall, Id, Kind, Layers, Llc, Protocol,
    Qualifiers, Relation, Signal, SignalField, SignalKind, Span, Term,
};
use crate::language::words::{
    FIREWALL_ACTIONS, FIREWALL_REASONS, LLC_SUPERVISORY, LLC_UNNUMBERED, WLAN_DIRECTIONS,
    WLAN_SUBTYPES, WLAN_TYPES, Word, value_of_name,
};

const TYPE_MASK: u8 = 0x0c;
const SUBTYPE_MASK: u8 = 0xf0;

impl Parser<'_> {
    /// Parses a term that takes no protocol qualifier.
    pub(super) fn plain_term(&mut self) -> Parsed<Option<Term>> {
        let Token::Word(word) = *self.peek() else {
            return Ok(None);
        };
        let term = match word {
            Word::Less => {
                self.advance();
                Term::Less(self.number("a length")?)
            }
            Word::Greater => {
                self.advance();
                Term::Greater(self.number("a length")?)
            }
            Word::Byte => {
                self.advance();
                return self.byte().map(Some);
            }
            Word::Inbound => self.after_word(Term::Direction { outbound: false }),
            Word::Outbound => self.after_word(Term::Direction { outbound: true }),
            Word::InterfaceIndex => {
                self.advance();
                Term::InterfaceIndex(self.number("an interface index")?)
            }
            Word::Vlan => Term::Vlan(self.optional_number()?),
            Word::Mpls => Term::Mpls(self.optional_number()?),
            Word::Pppoed => self.after_word(Term::Pppoed),
            Word::Pppoes => Term::Pppoes(self.optional_number()?),
            Word::Geneve => Term::Geneve(self.optional_number()?),
            Word::Vxlan => Term::Vxlan(self.optional_number()?),
            Word::Llc => {
                self.advance();
                Term::Llc(self.llc()?)
            }
            Word::Signal(unit, is_fast) => {
                let kind = SignalKind::Unit(unit);
                self.after_word(Term::Signal(Signal { kind, is_fast }))
            }
            Word::SignalField(field, is_fast) => self.signal(field, is_fast)?,
            Word::Circuit(circuit) => self.after_word(Term::Atm(Atm::Circuit(circuit))),
            Word::Path => {
                self.advance();
                Term::Atm(Atm::Path(self.field_values()?.0))
            }
            Word::Channel => {
                self.advance();
                Term::Atm(Atm::Channel(self.field_values()?.0))
            }
            Word::FirewallInterface
            | Word::FirewallRuleset
            | Word::FirewallRule
            | Word::FirewallSubrule
            | Word::FirewallReason
            | Word::FirewallAction => Term::Firewall(self.firewall(word)?),
            _ => return Ok(None),
        };
        Ok(Some(term))
    }

    /// Parses a term that may have a protocol qualifier.
    pub(super) fn protocol_term(&mut self, protocol: Option<Protocol>) -> Parsed<Option<Term>> {
        let Token::Word(word) = *self.peek() else {
            return Ok(None);
        };
        let term = match word {
            Word::Broadcast => self.after_word(Term::Broadcast(protocol)),
            Word::Multicast => self.after_word(Term::Multicast(protocol)),
            Word::Type => {
                self.advance();
                self.wlan_type()?
            }
            Word::Subtype => {
                self.advance();
                self.wlan_subtype()?
            }
            Word::Direction => {
                self.advance();
                let (known, expected) = (WLAN_DIRECTIONS, "802.11 direction");
                Term::WlanDirection(self.named(known, 0x03, expected)?)
            }
            _ => return Ok(None),
        };
        Ok(Some(term))
    }

    fn after_word(&mut self, term: Term) -> Term {
        self.advance();
        term
    }

    /// Skips the current word and parses the number after it, if there is one.
    fn optional_number(&mut self) -> Parsed<Option<u32>> {
        self.advance();
        self.number_in_parentheses()
    }

    fn number_in_parentheses(&mut self) -> Parsed<Option<u32>> {
        match *self.peek() {
            Token::Number(_) => self.number("a number").map(Some),
            Token::Symbol(Symbol::Open) => {
                self.advance();
                let number = self.deeper(Self::number_in_parentheses)?;
                if number.is_none() {
                    return Err(self.unexpected("a number"));
                }
                self.expect(Symbol::Close, "\")\"")?;
                Ok(number)
            }
            _ => Ok(None),
        }
    }

    fn byte(&mut self) -> Parsed<Term> {
        let index = self.number("an offset")?;
        let operator = match self.peek() {
            Token::Symbol(Symbol::Equal) => ByteOperator::Equal,
            Token::Symbol(Symbol::Less) => ByteOperator::Less,
            Token::Symbol(Symbol::Greater) => ByteOperator::Greater,
            Token::Symbol(Symbol::And) => ByteOperator::And,
            Token::Symbol(Symbol::Or) => ByteOperator::Or,
            _ => return Err(self.unexpected("one of = < > & |")),
        };
        self.advance();
        let span = self.span();
        let value = self.number("a number")?;
        if value > 255 {
            let (what, most) = ("byte argument", 255);
            return Self::fail(span, FilterErrorReason::TooLarge { what, value, most });
        }
        Ok(Term::Byte(index, operator, value))
    }

    /// Parses a number within `mask`, or a name from `table`.
    fn named(&mut self, table: &[(&str, u8)], mask: u8, what: &'static str) -> Parsed<u8> {
        let span = self.span();
        let found = match self.peek() {
            Token::Number(number) => u8::try_from(*number)
                .ok()
                .filter(|number| number & !mask == 0)
                .ok_or_else(|| format!("{number:#04x}")),
            Token::Name(name) => value_of_name(table, name).ok_or_else(|| format!("\"{name}\"")),
            _ => return Err(self.unexpected(what)),
        };
        self.advance();
        found.or_else(|value| Self::fail(span, FilterErrorReason::InvalidValue { what, value }))
    }

    fn wlan_type(&mut self) -> Parsed<Term> {
        let kind = self.named(WLAN_TYPES, TYPE_MASK, "802.11 type")?;
        if !self.take_word(Word::Subtype) {
            return Ok(Term::WlanType {
                value: kind,
                mask: TYPE_MASK,
            });
        }
        let known: Vec<(&str, u8)> = WLAN_SUBTYPES
            .iter()
            .filter(|row| row.1 == kind)
            .map(|row| (row.0, row.2))
            .collect();
        let subtype = self.named(&known, SUBTYPE_MASK, "802.11 subtype")?;
        Ok(Term::WlanType {
            value: kind | subtype,
            mask: TYPE_MASK | SUBTYPE_MASK,
        })
    }

    fn wlan_subtype(&mut self) -> Parsed<Term> {
        let what = "802.11 subtype";
        // A number needs a type before it; a name implies its type.
        if matches!(self.peek(), Token::Number(_)) {
            return Err(self.unexpected("the name of an 802.11 subtype"));
        }
        let known: Vec<(&str, u8)> = WLAN_SUBTYPES
            .iter()
            .map(|row| (row.0, row.1 | row.2))
            .collect();
        Ok(Term::WlanType {
            value: self.named(&known, TYPE_MASK | SUBTYPE_MASK, what)?,
            mask: TYPE_MASK | SUBTYPE_MASK,
        })
    }

    fn llc(&mut self) -> Parsed<Llc> {
        // "rnr" is a word for rule numbers, too.
        if self.take_word(Word::FirewallRule) {
            return Ok(Llc::Supervisory(value_of_name(LLC_SUPERVISORY, "rnr")));
        }
        let Token::Name(name) = self.peek().clone() else {
            return Ok(Llc::Any);
        };
        let span = self.span();
        self.advance();
        let supervisory = value_of_name(LLC_SUPERVISORY, &name);
        let unnumbered = value_of_name(LLC_UNNUMBERED, &name);
        match name.to_ascii_lowercase().as_str() {
            "i" => Ok(Llc::Information),
            "s" => Ok(Llc::Supervisory(None)),
            "u" => Ok(Llc::Unnumbered(None)),
            _ if supervisory.is_some() => Ok(Llc::Supervisory(supervisory)),
            _ if unnumbered.is_some() => Ok(Llc::Unnumbered(unnumbered)),
            _ => Self::fail(
                span,
                FilterErrorReason::Unknown {
                    what: "LLC type name",
                    name,
                },
            ),
        }
    }

    fn signal(&mut self, field: SignalField, is_fast: bool) -> Parsed<Term> {
        self.advance();
        let (values, span) = self.field_values()?;
        let most = match field {
            SignalField::ServiceIndicator => 255,
            SignalField::OriginCode | SignalField::DestinationCode => 0x3fff,
            SignalField::LinkSelection => 15,
        };
        let what = field.word(is_fast);
        if let Some(&value) = values.numbers().iter().find(|value| **value > most) {
            return Self::fail(span, FilterErrorReason::TooLarge { what, value, most });
        }
        let kind = SignalKind::Field(field, values);
        Ok(Term::Signal(Signal { kind, is_fast }))
    }

    /// Parses a number, a comparison with a number, or numbers in parentheses, joined by "or".
    fn field_values(&mut self) -> Parsed<(FieldValues, Span)> {
        if self.take_symbol(Symbol::Open) {
            let start = self.span().start;
            let mut values = Vec::new();
            let parsed = self.deeper(|parser| {
                parser.listed_numbers(&mut values)?;
                parser.expect(Symbol::Close, "\"or\" or \")\"")
            });
            parsed?;
            return Ok((FieldValues::OneOf(values), self.since(start)));
        }
        let relation = relation(self.peek());
        if relation.is_some() {
            self.advance();
        }
        let span = self.span();
        let value = self.number("a number")?;
        let relation = relation.unwrap_or(Relation::Equal);
        Ok((FieldValues::Compared(relation, value), span))
    }

    fn listed_numbers(&mut self, values: &mut Vec<u32>) -> Parsed<()> {
        values.push(self.number("a number")?);
        while self.take_word(Word::Or) || self.take_symbol(Symbol::OrElse) {
            values.push(self.number("a number")?);
        }
        Ok(())
    }

    fn firewall(&mut self, word: Word) -> Parsed<Firewall> {
        self.advance();
        Ok(match word {
            Word::FirewallInterface => Firewall::Interface(self.plain_name("an interface name")?),
            Word::FirewallRuleset => Firewall::Ruleset(self.plain_name("a ruleset name")?),
            Word::FirewallRule => Firewall::Rule(self.number("a rule number")?),
            Word::FirewallSubrule => Firewall::Subrule(self.number("a rule number")?),
            Word::FirewallReason => match *self.peek() {
                Token::Number(_) => Firewall::Reason(self.number("a number")?),
                _ => Firewall::Reason(self.known(FIREWALL_REASONS, "PF reason")?.into()),
            },
            _ => Firewall::Action(self.known(FIREWALL_ACTIONS, "PF action")?),
        })
    }

    fn plain_name(&mut self, expected: &'static str) -> Parsed<String> {
        let Token::Name(name) = self.peek().clone() else {
            return Err(self.unexpected(expected));
        };
        self.advance();
        Ok(name)
    }

    /// Parses a name from `table`.
    fn known(&mut self, table: &[(&str, u8)], what: &'static str) -> Parsed<u8> {
        let span = self.span();
        let name = self.plain_name(what)?;
        value_of_name(table, &name).map_or_else(
            || Self::fail(span, FilterErrorReason::Unknown { what, name }),
            Ok,
        )
    }
}

impl Parser<'_> {
    /// Parses the direction and the kind between a protocol and an operand.
    pub(super) fn qualifiers(&mut self, protocol: Option<Protocol>) -> Parsed<Qualifiers> {
        let direction = self.direction()?;
        let kind = match self.peek() {
            Token::Word(Word::Host) => Some(Kind::Host),
            Token::Word(Word::Net) => Some(Kind::Net),
            Token::Word(Word::Port) => Some(Kind::Port),
            Token::Word(Word::PortRange) => Some(Kind::PortRange),
            Token::Word(Word::Proto) => Some(Kind::Proto),
            Token::Word(Word::ProtoChain) => Some(Kind::ProtoChain),
            Token::Word(Word::Gateway) => Some(Kind::Gateway),
            _ => None,
        };
        let has_no_direction = matches!(kind, Some(Kind::Proto | Kind::ProtoChain | Kind::Gateway));
        if direction.is_some() && has_no_direction {
            return Err(self.unexpected("\"host\", \"net\", \"port\" or an address"));
        }
        if kind.is_some() {
            self.advance();
        }
        Ok(Qualifiers {
            layers: Layers::Current,
            protocol,
            direction,
            kind,
        })
    }

    fn direction(&mut self) -> Parsed<Option<Direction>> {
        let Token::Word(word) = *self.peek() else {
            return Ok(None);
        };
        let (direction, other) = match word {
            Word::Source => (Direction::Source, Some(Word::Destination)),
            Word::Destination => (Direction::Destination, Some(Word::Source)),
            Word::Address1 => (Direction::Address1, None),
            Word::Address2 => (Direction::Address2, None),
            Word::Address3 => (Direction::Address3, None),
            Word::Address4 => (Direction::Address4, None),
            Word::Receiver => (Direction::Receiver, None),
            Word::Transmitter => (Direction::Transmitter, None),
            _ => return Ok(None),
        };
        self.advance();
        let Some(other) = other else {
            return Ok(Some(direction));
        };
        let joined = match self.peek() {
            Token::Word(Word::And) | Token::Symbol(Symbol::AndAlso) => Direction::Both,
            Token::Word(Word::Or) | Token::Symbol(Symbol::OrElse) => Direction::Either,
            _ => return Ok(Some(direction)),
        };
        self.advance();
        if self.take_word(other) {
            return Ok(Some(joined));
        }
        Err(self.unexpected(if other == Word::Source {
            "\"src\""
        } else {
            "\"dst\""
        }))
    }
}

impl Parser<'_> {
    /// Parses an address, a name or a number.
    pub(super) fn id(&mut self) -> Parsed<Id> {
        let id = match self.peek().clone() {
            Token::Number(number) => Id::Number(number),
            Token::Name(name) => Id::Name(name),
            Token::Mac(address) => Id::Mac(address),
            Token::ShortMac(address) => Id::ShortMac(address),
            Token::Dotted(address) => {
                self.advance();
                return self.dotted(address);
            }
            Token::Ipv6(address) => {
                self.advance();
                let prefix = if self.take_symbol(Symbol::Divide) {
                    Some(self.number("a prefix length")?)
                } else {
                    None
                };
                return Ok(Id::Ipv6(address, prefix));
            }
            _ => return Err(self.unexpected("an address, a name or a number")),
        };
        self.advance();
        Ok(id)
    }

    fn dotted(&mut self, address: String) -> Parsed<Id> {
        if self.take_symbol(Symbol::Divide) {
            let prefix = self.number("a prefix length")?;
            return Ok(Id::DottedPrefix(address, prefix));
        }
        if !self.take_word(Word::Mask) {
            return Ok(Id::Dotted(address));
        }
        match self.peek().clone() {
            Token::Dotted(mask) => {
                self.advance();
                Ok(Id::DottedMask(address, mask))
            }
            _ => Err(self.unexpected("a mask with dots")),
        }
    }
}
