//! Parses filter expressions.

use crate::error::{FilterError, FilterErrorReason};
use crate::language::lexer::{Symbol, Token};
use crate::language::tree::{Expression, Layers, Protocol, Qualifiers, Span, Term, TermSpan};
use crate::language::words::{Word, nearest, of_display_filter};

/// Maximum nesting depth of parentheses, negations and `and`/`or`, in a filter and in its tree.
const MAX_DEPTH: usize = 200;

/// What is expected where a term starts.
const FILTER_TERM: &str = "a filter term";

pub(super) type Parsed<T> = Result<T, FilterError>;

/// Parses the grammar of pcap-filter(7). `and` and `or` have equal precedence and associate to the
/// left. An address without qualifiers inherits those of the term before it.
pub(crate) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, Span)>,
    parentheses: Vec<Parenthesis>,
    at: usize,
    depth: usize,
    /// Whether the parser is inside parentheses that start with an address. Only addresses are
    /// valid there.
    takes_ids: bool,
    /// The last address, name or number.
    operand: Span,
    /// Number of operators in the current comparison.
    pub(super) operators: usize,
}

/// A parsed subtree, its depth, and the qualifiers that the next term inherits.
struct Item {
    expression: Expression,
    depth: usize,
    qualifiers: Option<Qualifiers>,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str, tokens: Vec<(Token, Span)>) -> Self {
        let parentheses = parentheses(&tokens);
        Self {
            text,
            tokens,
            parentheses,
            at: 0,
            depth: 0,
            takes_ids: false,
            operand: 0..0,
            operators: 0,
        }
    }

    /// Parses all tokens as one filter. Without tokens, the filter matches every packet.
    pub(crate) fn parse(mut self) -> Parsed<Expression> {
        if *self.peek() == Token::End {
            return Ok(Expression::All(Vec::new()));
        }
        let item = self.expression(None)?;
        match self.peek() {
            Token::End => Ok(item.expression),
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
        self.operand = self.span();
        self.advance();
        Ok(number)
    }

    pub(super) fn fail<T>(span: Span, reason: FilterErrorReason) -> Parsed<T> {
        Err(FilterError::new(span, reason))
    }

    pub(super) fn unexpected(&self, expected: &'static str) -> FilterError {
        // A name before an address is probably a misspelled qualifier.
        let before = self.at.checked_sub(1).map(|at| &self.tokens[at]);
        let (token, span) = match before {
            Some((token @ Token::Name(name), span))
                if self.starts_id() && is_near(name) && Layers::of(name).is_none() =>
            {
                (token, span.clone())
            }
            _ => (self.peek(), self.span()),
        };
        let found = self.text[span.clone()].to_owned();
        let suggestion = match token {
            Token::Name(name) => {
                let name = name.to_ascii_lowercase();
                let is_term = expected == FILTER_TERM;
                let known = is_term.then(|| of_display_filter(&name)).flatten();
                known.or_else(|| nearest(&name))
            }
            // `10.0.0.1` and `ip 10.0.0.1` lack the word "host", `1:2:3:4:5:6` also "ether".
            Token::Dotted(_) | Token::Ipv6(_) if expected == FILTER_TERM => Some("host"),
            Token::Mac(_) if expected == FILTER_TERM => Some("ether host"),
            Token::Dotted(_) | Token::Ipv6(_) | Token::Mac(_) => {
                self.lacks_kind().then_some("host")
            }
            _ => None,
        };
        FilterError {
            suggestion,
            ..FilterError::new(span, FilterErrorReason::Unexpected { found, expected })
        }
    }

    /// Whether the token before this one is a protocol, `any` or `inner`.
    fn lacks_kind(&self) -> bool {
        match self.at.checked_sub(1).map(|at| &self.tokens[at].0) {
            Some(Token::Word(Word::Protocol(_))) => true,
            Some(Token::Name(name)) => Layers::of(name).is_some(),
            _ => false,
        }
    }

    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            return Self::fail(self.span(), FilterErrorReason::TooDeep);
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Whether the parenthesis starts with an address, so that it contains only addresses.
    fn opens_ids(&self) -> bool {
        for at in self.at..self.tokens.len() {
            match &self.tokens[at].0 {
                Token::Symbol(Symbol::Open) if !self.is_arithmetic(at) => {}
                Token::Symbol(Symbol::Not) | Token::Word(Word::Not) => {}
                Token::Number(_) => return !is_operator(&self.tokens[at + 1].0),
                Token::Name(_) if self.layers_at(at, true).is_some() => return false,
                Token::Dotted(_)
                | Token::Ipv6(_)
                | Token::Mac(_)
                | Token::ShortMac(_)
                | Token::Name(_) => return true,
                _ => return false,
            }
        }
        false
    }

    /// Whether the parenthesis at `at` contains arithmetic that is an operand of a comparison or an
    /// operator.
    fn is_arithmetic(&self, at: usize) -> bool {
        let parenthesis = self.parentheses[at];
        parenthesis.is_arithmetic
            && self
                .tokens
                .get(parenthesis.close + 1)
                .is_some_and(|(token, _)| is_operator(token))
    }

    fn expression(&mut self, inherited: Option<Qualifiers>) -> Parsed<Item> {
        let mut read = self.item(inherited)?;
        loop {
            let start = self.span();
            let joins_all = match self.peek() {
                Token::Word(Word::And) | Token::Symbol(Symbol::AndAlso) => true,
                Token::Word(Word::Or) | Token::Symbol(Symbol::OrElse) => false,
                _ => return Ok(read),
            };
            self.advance();
            let right = self.item(read.qualifiers)?;
            read.qualifiers = right.qualifiers;
            read.depth = read.depth.max(right.depth + 1);
            read.expression = match (joins_all, read.expression) {
                (true, Expression::All(mut terms)) if !terms.is_empty() => {
                    terms.push(right.expression);
                    Expression::All(terms)
                }
                (false, Expression::Any(mut terms)) => {
                    terms.push(right.expression);
                    Expression::Any(terms)
                }
                (joins_all, left) => {
                    read.depth += 1;
                    let terms = vec![left, right.expression];
                    if joins_all {
                        Expression::All(terms)
                    } else {
                        Expression::Any(terms)
                    }
                }
            };
            if read.depth > MAX_DEPTH {
                return Self::fail(start, FilterErrorReason::TooDeep);
            }
        }
    }

    fn item(&mut self, inherited: Option<Qualifiers>) -> Parsed<Item> {
        let start = self.span().start;
        match self.peek().clone() {
            Token::Symbol(Symbol::Not) | Token::Word(Word::Not) => {
                self.advance();
                let inner = self.deeper(|parser| parser.item(inherited))?;
                Ok(Item {
                    expression: Expression::Not(Box::new(inner.expression)),
                    depth: inner.depth + 1,
                    qualifiers: inner.qualifiers,
                })
            }
            Token::Symbol(Symbol::Open) if !self.takes_ids && self.is_arithmetic(self.at) => {
                self.relation(start)
            }
            Token::Symbol(Symbol::Open) => {
                let outside = self.takes_ids;
                self.takes_ids |= inherited.is_some() && self.opens_ids();
                self.advance();
                let inner = self.deeper(|parser| parser.expression(inherited))?;
                self.expect(Symbol::Close, "\"and\", \"or\" or \")\"")?;
                self.takes_ids = outside;
                Ok(Item {
                    qualifiers: inherited,
                    ..inner
                })
            }
            _ if self.takes_ids => self.matching(start, inherited.unwrap_or_default()),
            Token::Symbol(Symbol::Minus) | Token::Word(Word::Length) => self.relation(start),
            Token::Number(_) if is_operator(self.peek_behind()) => self.relation(start),
            Token::Word(Word::Protocol(_))
                if *self.peek_behind() == Token::Symbol(Symbol::OpenIndex) =>
            {
                self.relation(start)
            }
            Token::Word(_) => self.primitive(start),
            _ => match (self.layers_at(self.at, inherited.is_some()), inherited) {
                (Some(layers), _) => self.layered(start, layers),
                (None, Some(qualifiers)) => self.matching(start, qualifiers),
                (None, None) => Err(self.unexpected(FILTER_TERM)),
            },
        }
    }

    /// The meaning of `any` or `inner` at the start of a term.
    ///
    /// Hosts, networks and services may have these names, too. With `can_be_id`, the name may be an operand that inherits
    /// the qualifiers of the term before it: it is one if nothing follows it that needs `any` or `inner`. So every text
    /// of pcap-filter(7) keeps its meaning.
    fn layers_at(&self, at: usize, can_be_id: bool) -> Option<Layers> {
        let (Token::Name(name), span) = &self.tokens[at] else {
            return None;
        };
        let is_escaped = self.text[span.clone()].starts_with('\\');
        let layers = Layers::of(name).filter(|_| !is_escaped)?;
        let ends_term = matches!(
            self.tokens.get(at + 1).map(|behind| &behind.0),
            Some(
                Token::End
                    | Token::Word(Word::And | Word::Or)
                    | Token::Symbol(Symbol::AndAlso | Symbol::OrElse | Symbol::Close)
            )
        );
        (!can_be_id || !ends_term).then_some(layers)
    }

    /// Parses the term that starts with `any` or `inner`.
    fn layered(&mut self, start: usize, layers: Layers) -> Parsed<Item> {
        self.advance();
        let protocol = self.protocol();
        let qualifiers = Qualifiers {
            layers,
            ..self.qualifiers(protocol)?
        };
        if qualifiers.direction.is_some() || qualifiers.kind.is_some() {
            return self.after_qualifiers(start, qualifiers);
        }
        match protocol {
            Some(protocol) => {
                let term = Term::LayeredProtocol(layers, protocol);
                Ok(self.term(start, term, None))
            }
            None => Err(self.unexpected("a protocol, \"src\", \"dst\", \"host\", \"net\", \"port\", \"portrange\" or \"proto\"")),
        }
    }

    /// The term that starts at `start`.
    fn term(&self, start: usize, term: Term, qualifiers: Option<Qualifiers>) -> Item {
        let whole = self.since(start);
        let is_inside = start < self.operand.start && self.operand.end <= whole.end;
        let operand = if is_inside { &self.operand } else { &whole };
        let operand = operand.clone();
        Item {
            expression: Expression::Term(TermSpan { whole, operand }, term),
            depth: 1,
            qualifiers,
        }
    }

    fn relation(&mut self, start: usize) -> Parsed<Item> {
        let term = self.comparison()?;
        Ok(self.term(start, term, None))
    }

    fn primitive(&mut self, start: usize) -> Parsed<Item> {
        if let Some(term) = self.plain_term()? {
            return Ok(self.term(start, term, None));
        }
        let protocol = self.protocol();
        if let Some(term) = self.protocol_term(protocol)? {
            return Ok(self.term(start, term, None));
        }
        let qualifiers = self.qualifiers(protocol)?;
        if qualifiers.direction.is_none() && qualifiers.kind.is_none() {
            return match protocol {
                Some(protocol) => Ok(self.term(start, Term::Protocol(protocol), None)),
                None => Err(self.unexpected(FILTER_TERM)),
            };
        }
        self.after_qualifiers(start, qualifiers)
    }

    /// Parses what follows qualifiers: an address, several in parentheses, or a negated one.
    fn after_qualifiers(&mut self, start: usize, qualifiers: Qualifiers) -> Parsed<Item> {
        match self.peek() {
            Token::Symbol(Symbol::Open | Symbol::Not) | Token::Word(Word::Not) => {
                self.takes_ids = true;
                let item = self.item(Some(qualifiers));
                self.takes_ids = false;
                Ok(Item {
                    qualifiers: Some(qualifiers),
                    ..item?
                })
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

    fn matching(&mut self, start: usize, qualifiers: Qualifiers) -> Parsed<Item> {
        let first = self.span().start;
        let id = self.id()?;
        self.operand = self.since(first);
        Ok(self.term(start, Term::Match(qualifiers, id), Some(qualifiers)))
    }
}

fn is_near(name: &str) -> bool {
    nearest(&name.to_ascii_lowercase()).is_some()
}

/// Whether `token` turns what precedes it into arithmetic.
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

/// What an opening parenthesis contains; meaningless for other tokens.
#[derive(Clone, Copy, Default)]
pub(super) struct Parenthesis {
    /// The index of the closing token.
    pub close: usize,
    /// It contains only numbers, loads and operators.
    pub is_arithmetic: bool,
}

/// Scans `tokens` once and describes each opening parenthesis, so that the parser never backtracks.
pub(super) fn parentheses(tokens: &[(Token, Span)]) -> Vec<Parenthesis> {
    let mut parentheses = vec![Parenthesis::default(); tokens.len()];
    let mut open: Vec<(usize, bool)> = Vec::new();
    for (at, (token, _)) in tokens.iter().enumerate() {
        match token {
            Token::Symbol(Symbol::Open) => open.push((at, true)),
            Token::Symbol(Symbol::Close) => {
                let Some((start, is_arithmetic)) = open.pop() else {
                    continue;
                };
                parentheses[start] = Parenthesis {
                    close: at,
                    is_arithmetic,
                };
                if let Some(outer) = open.last_mut() {
                    outer.1 &= is_arithmetic;
                }
            }
            _ => {
                if let Some(inner) = open.last_mut() {
                    let behind = tokens.get(at + 1).map(|behind| &behind.0);
                    inner.1 &= is_arithmetic(token, behind);
                }
            }
        }
    }
    parentheses
}

fn is_arithmetic(token: &Token, behind: Option<&Token>) -> bool {
    match token {
        Token::Number(_) | Token::Word(Word::Length) => true,
        Token::Word(Word::Protocol(_)) => behind == Some(&Token::Symbol(Symbol::OpenIndex)),
        Token::Symbol(symbol) => !matches!(
            symbol,
            Symbol::Not
                | Symbol::AndAlso
                | Symbol::OrElse
                | Symbol::Less
                | Symbol::LessEqual
                | Symbol::Greater
                | Symbol::GreaterEqual
                | Symbol::Equal
                | Symbol::NotEqual
        ),
        _ => false,
    }
}
