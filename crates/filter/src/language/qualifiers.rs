use super::parser::{Parsed, Parser};
use super::token::{Symbol, Token};
use super::tree::{Direction, Kind, Protocol, Qualifiers};
use super::words::Word;

impl Parser<'_> {
    /// Reads the words between a protocol and an address: where it stands and what it is.
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
