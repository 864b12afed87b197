//! Parses arithmetic expressions and relations.

use crate::error::FilterErrorReason;
use crate::language::lexer::{Symbol, Token};
use crate::language::parser::{Parsed, Parser};
use crate::language::tree::{Arithmetic, Operator, Relation, Term};
use crate::language::words::Word;

/// Maximum number of operators in one comparison.
const MAX_OPERATORS: usize = 1000;

/// The precedence of `*` and `/`. A unary minus binds tighter, but not tighter than `%` and `^`.
const MAX_RANK: u8 = 5;

impl Parser<'_> {
    /// Parses `arithmetic relation arithmetic`.
    pub(super) fn comparison(&mut self) -> Parsed<Term> {
        self.operators = 0;
        let left = self.arithmetic(0)?;
        let Some(relation) = relation(self.peek()) else {
            return Err(self.unexpected("a comparison"));
        };
        self.advance();
        let right = self.arithmetic(0)?;
        Ok(Term::Relation(relation, left, right))
    }

    /// Parses operators whose precedence is at least `least`.
    ///
    /// `%` and `^` have no precedence in the grammar: they take the operand before them and
    /// everything after them.
    fn arithmetic(&mut self, least: u8) -> Parsed<Arithmetic> {
        let mut left = self.deeper(Self::operand)?;
        loop {
            let span = self.span();
            let Some((operator, rank)) = operator(self.peek()) else {
                return Ok(left);
            };
            let next = match rank {
                Some(rank) if rank < least => return Ok(left),
                Some(rank) => rank + 1,
                None => 0,
            };
            self.advance();
            self.operators += 1;
            if self.operators > MAX_OPERATORS {
                return Self::fail(span, FilterErrorReason::TooDeep);
            }
            let right = self.deeper(|parser| parser.arithmetic(next))?;
            left = Arithmetic::Binary(operator, Box::new(left), Box::new(right));
        }
    }

    fn operand(&mut self) -> Parsed<Arithmetic> {
        match *self.peek() {
            Token::Number(number) => {
                self.advance();
                Ok(Arithmetic::Number(number))
            }
            Token::Word(Word::Length) => {
                self.advance();
                Ok(Arithmetic::Length)
            }
            Token::Symbol(Symbol::Minus) => {
                self.advance();
                let operand = self.deeper(|parser| parser.arithmetic(MAX_RANK + 1))?;
                Ok(Arithmetic::Negate(Box::new(operand)))
            }
            Token::Symbol(Symbol::Open) => {
                self.advance();
                let inner = self.arithmetic(0)?;
                self.expect(Symbol::Close, "an operator or \")\"")?;
                Ok(inner)
            }
            Token::Word(Word::Protocol(protocol)) => {
                self.advance();
                self.expect(Symbol::OpenIndex, "\"[\"")?;
                let index = Box::new(self.arithmetic(0)?);
                let mut bytes = 1;
                if self.take_symbol(Symbol::Colon) {
                    let size = self.span();
                    bytes = self.number("a size of 1, 2 or 4")?;
                    if !matches!(bytes, 1 | 2 | 4) {
                        return Self::fail(size, FilterErrorReason::LoadSize);
                    }
                }
                self.expect(Symbol::CloseIndex, "an operator, \":\" or \"]\"")?;
                Ok(Arithmetic::Load {
                    protocol,
                    index,
                    bytes,
                })
            }
            _ => Err(self.unexpected("a number, \"len\" or a load such as ip[0]")),
        }
    }
}

/// The relation that `token` denotes.
pub(super) fn relation(token: &Token) -> Option<Relation> {
    let Token::Symbol(symbol) = token else {
        return None;
    };
    Some(match symbol {
        Symbol::Less => Relation::Less,
        Symbol::LessEqual => Relation::LessEqual,
        Symbol::Greater => Relation::Greater,
        Symbol::GreaterEqual => Relation::GreaterEqual,
        Symbol::Equal => Relation::Equal,
        Symbol::NotEqual => Relation::NotEqual,
        _ => return None,
    })
}

fn operator(token: &Token) -> Option<(Operator, Option<u8>)> {
    let Token::Symbol(symbol) = token else {
        return None;
    };
    Some(match symbol {
        Symbol::Or => (Operator::Or, Some(1)),
        Symbol::And => (Operator::And, Some(2)),
        Symbol::ShiftLeft => (Operator::ShiftLeft, Some(3)),
        Symbol::ShiftRight => (Operator::ShiftRight, Some(3)),
        Symbol::Plus => (Operator::Add, Some(4)),
        Symbol::Minus => (Operator::Subtract, Some(4)),
        Symbol::Times => (Operator::Multiply, Some(MAX_RANK)),
        Symbol::Divide => (Operator::Divide, Some(MAX_RANK)),
        Symbol::Modulo => (Operator::Modulo, None),
        Symbol::Xor => (Operator::Xor, None),
        _ => return None,
    })
}
