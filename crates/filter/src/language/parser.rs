use super::groups::{Group, groups};
use super::token::{Span, Symbol, Token};
use super::tree::{Direction, Expression, Kind, Protocol, Qualifiers, Term};
use super::words::{Word, nearest};
use crate::error::{FilterError, Reason};

/// Parentheses, negations and alternations of `and` and `or` that may be nested.
const MAX_DEPTH: usize = 200;

pub(super) type Parsed<T> = Result<T, FilterError>;

/// Reads tokens by the grammar of pcap-filter(7): `and` and `or` bind equally, from left to right,
/// and an address without qualifiers takes those of the term before it.
pub(crate) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, Span)>,
    groups: Vec<Group>,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str, tokens: Vec<(Token, Span)>) -> Self {
        let groups = groups(&tokens);
        Self {
            text,
            tokens,
            groups,
            at: 0,
            depth: 0,
        }
    }

    /// Reads all tokens as one filter; no tokens are the filter that takes every packet.
    pub(crate) fn parse(mut self) -> Parsed<Expression> {
        if *self.peek() == Token::End {
            return Ok(Expression::All(Vec::new()));
        }
        let (expression, _) = self.expression(None)?;
        match self.peek() {
            Token::End => Ok(expression),
            _ => Err(self.unexpected("\"and\", \"or\" or the end")),
        }
    }

    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    pub(super) fn peek_behind(&self) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + 1).min(last)].0
    }

    pub(super) fn span(&self) -> Span {
        self.tokens[self.at].1.clone()
    }

    pub(super) fn since(&self, start: usize) -> Span {
        let end = self.at.checked_sub(1).map_or(0, |at| self.tokens[at].1.end);
        start..end.max(start)
    }

    pub(super) fn advance(&mut self) -> Token {
        let token = self.tokens[self.at].0.clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    pub(super) fn take_word(&mut self, word: Word) -> bool {
        let there = *self.peek() == Token::Word(word);
        if there {
            self.advance();
        }
        there
    }

    pub(super) fn take_symbol(&mut self, symbol: Symbol) -> bool {
        let there = *self.peek() == Token::Symbol(symbol);
        if there {
            self.advance();
        }
        there
    }

    pub(super) fn expect(&mut self, symbol: Symbol, expected: &'static str) -> Parsed<()> {
        if self.take_symbol(symbol) {
            return Ok(());
        }
        Err(self.unexpected(expected))
    }

    pub(super) fn number(&mut self, expected: &'static str) -> Parsed<u32> {
        let Token::Number(number) = *self.peek() else {
            return Err(self.unexpected(expected));
        };
        self.advance();
        Ok(number)
    }

    pub(super) fn fail<T>(span: Span, reason: Reason) -> Parsed<T> {
        Err(FilterError::new(span, reason))
    }

    pub(super) fn unexpected(&self, expected: &'static str) -> FilterError {
        // A name before an address was perhaps meant to be a qualifier.
        let before = self.at.checked_sub(1).map(|at| &self.tokens[at]);
        let (token, span) = match before {
            Some((token @ Token::Name(name), span)) if self.starts_id() && is_near(name) => {
                (token, span.clone())
            }
            _ => (self.peek(), self.span()),
        };
        let found = self.text[span.clone()].to_owned();
        let suggestion = match token {
            Token::Name(name) => nearest(&name.to_ascii_lowercase()),
            _ => None,
        };
        FilterError {
            suggestion,
            ..FilterError::new(span, Reason::Unexpected { found, expected })
        }
    }

    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            return Self::fail(self.span(), Reason::TooDeep);
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Whether the parenthesis here holds arithmetic, to be compared or computed with.
    fn opens_arithmetic(&self) -> bool {
        let group = self.groups[self.at];
        group.is_arithmetic
            && self
                .tokens
                .get(group.close + 1)
                .is_some_and(|(token, _)| is_operator(token))
    }

    fn expression(
        &mut self,
        inherited: Option<Qualifiers>,
    ) -> Parsed<(Expression, Option<Qualifiers>)> {
        let (mut expression, mut qualifiers) = self.item(inherited)?;
        let mut alternations = 0;
        loop {
            let start = self.span();
            let joins_all = match self.peek() {
                Token::Word(Word::And) | Token::Symbol(Symbol::AndAlso) => true,
                Token::Word(Word::Or) | Token::Symbol(Symbol::OrElse) => false,
                _ => return Ok((expression, qualifiers)),
            };
            self.advance();
            let (right, next) = self.item(qualifiers)?;
            qualifiers = next;
            expression = match (joins_all, expression) {
                (true, Expression::All(mut terms)) if !terms.is_empty() => {
                    terms.push(right);
                    Expression::All(terms)
                }
                (false, Expression::Any(mut terms)) => {
                    terms.push(right);
                    Expression::Any(terms)
                }
                (joins_all, left) => {
                    alternations += 1;
                    if alternations > MAX_DEPTH {
                        return Self::fail(start, Reason::TooDeep);
                    }
                    let terms = vec![left, right];
                    if joins_all {
                        Expression::All(terms)
                    } else {
                        Expression::Any(terms)
                    }
                }
            };
        }
    }

    fn item(&mut self, inherited: Option<Qualifiers>) -> Parsed<(Expression, Option<Qualifiers>)> {
        let start = self.span().start;
        match self.peek().clone() {
            Token::Symbol(Symbol::Not) | Token::Word(Word::Not) => {
                self.advance();
                let (term, qualifiers) = self.deeper(|parser| parser.item(inherited))?;
                Ok((Expression::Not(Box::new(term)), qualifiers))
            }
            Token::Symbol(Symbol::Open) if self.opens_arithmetic() => self.relation(start),
            Token::Symbol(Symbol::Open) => {
                self.advance();
                let (inner, _) = self.deeper(|parser| parser.expression(inherited))?;
                self.expect(Symbol::Close, "\"and\", \"or\" or \")\"")?;
                Ok((inner, inherited))
            }
            Token::Symbol(Symbol::Minus) | Token::Word(Word::Length) => self.relation(start),
            Token::Number(_) if is_operator(self.peek_behind()) => self.relation(start),
            Token::Word(Word::Protocol(_))
                if *self.peek_behind() == Token::Symbol(Symbol::OpenIndex) =>
            {
                self.relation(start)
            }
            Token::Word(_) => self.primitive(start),
            _ => match inherited {
                Some(qualifiers) => self.matching(start, qualifiers),
                None => Err(self.unexpected("a filter term")),
            },
        }
    }

    fn relation(&mut self, start: usize) -> Parsed<(Expression, Option<Qualifiers>)> {
        let term = self.comparison()?;
        Ok((Expression::Term(self.since(start), term), None))
    }

    fn primitive(&mut self, start: usize) -> Parsed<(Expression, Option<Qualifiers>)> {
        if let Some(term) = self.plain_term()? {
            return Ok((Expression::Term(self.since(start), term), None));
        }
        let protocol = self.protocol();
        if let Some(term) = self.protocol_term(protocol)? {
            return Ok((Expression::Term(self.since(start), term), None));
        }
        let qualifiers = self.qualifiers(protocol)?;
        if qualifiers.direction.is_none() && qualifiers.kind.is_none() {
            let Some(protocol) = protocol else {
                return Err(self.unexpected("a filter term"));
            };
            if !self.starts_id() {
                let term = Term::Protocol(protocol);
                return Ok((Expression::Term(self.since(start), term), None));
            }
        }
        self.after_qualifiers(start, qualifiers)
    }

    /// What follows qualifiers: an address, or several in parentheses, or a negated one.
    fn after_qualifiers(
        &mut self,
        start: usize,
        qualifiers: Qualifiers,
    ) -> Parsed<(Expression, Option<Qualifiers>)> {
        match self.peek() {
            Token::Symbol(Symbol::Open | Symbol::Not) | Token::Word(Word::Not) => {
                let (expression, _) = self.item(Some(qualifiers))?;
                Ok((expression, Some(qualifiers)))
            }
            _ => self.matching(start, qualifiers),
        }
    }

    fn starts_id(&self) -> bool {
        match self.peek() {
            Token::Number(_)
            | Token::Dotted(_)
            | Token::Ipv6(_)
            | Token::Mac(_)
            | Token::ShortMac(_)
            | Token::Name(_)
            | Token::Symbol(Symbol::Open | Symbol::Not) => true,
            Token::Word(word) => *word == Word::Not,
            _ => false,
        }
    }

    fn protocol(&mut self) -> Option<Protocol> {
        let Token::Word(Word::Protocol(protocol)) = *self.peek() else {
            return None;
        };
        self.advance();
        Some(protocol)
    }

    fn qualifiers(&mut self, protocol: Option<Protocol>) -> Parsed<Qualifiers> {
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

    fn matching(
        &mut self,
        start: usize,
        qualifiers: Qualifiers,
    ) -> Parsed<(Expression, Option<Qualifiers>)> {
        let id = self.id()?;
        let term = Term::Match(qualifiers, id);
        Ok((Expression::Term(self.since(start), term), Some(qualifiers)))
    }
}

fn is_near(name: &str) -> bool {
    nearest(&name.to_ascii_lowercase()).is_some()
}

/// Whether `token` makes arithmetic of what stands before it.
fn is_operator(token: &Token) -> bool {
    match token {
        Token::Symbol(symbol) => !matches!(
            symbol,
            Symbol::Open
                | Symbol::Close
                | Symbol::OpenIndex
                | Symbol::CloseIndex
                | Symbol::Colon
                | Symbol::Not
                | Symbol::AndAlso
                | Symbol::OrElse
        ),
        _ => false,
    }
}
