use super::parser::{Parsed, Parser};
use super::token::{Symbol, Token};
use super::tree::Id;
use super::words::Word;

impl Parser<'_> {
    /// Reads an address, a name or a number.
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
