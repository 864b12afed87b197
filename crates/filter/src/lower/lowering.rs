use super::frame::{Frame, Offset, WLAN_HEADER};
use crate::Names;
use crate::error::{FilterError, Reason};
use crate::graph::condition::Condition;
use crate::graph::values::{ValueId, Values, Variable, Width};
use crate::language::nearest;
use crate::language::token::TermSpan;
use crate::language::tree::{Expression, Term};
use crate::options::Options;

/// Variables of a filter; what remains of 16 words is for arithmetic.
const MOST_VARIABLES: u8 = 12;

pub(super) type Lowered = Result<Condition, Reason>;

/// Where a field is counted from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Header,
    LinkType,
    /// The LLC header.
    Payload,
    Network,
    NetworkNoSnap,
    /// The last MPLS label in front of the network header.
    Label,
    /// Behind the IPv4 header, with its options.
    Transport4,
    /// Behind the IPv6 header, without extension headers.
    Transport6,
}

/// Turns a tree into conditions for one link type, term by term from left to right.
pub(crate) struct Lowering<'a> {
    pub(super) options: &'a Options,
    pub(super) names: &'a dyn Names,
    pub(crate) values: Values,
    pub(super) frame: Frame,
    next_variable: u8,
}

/// The conditions of a filter's terms, which share variables.
pub(crate) struct LoweredTerms {
    /// What has to be computed before the first term.
    pub prefix: Condition,
    pub terms: Vec<Condition>,
    pub values: Values,
}

impl<'a> Lowering<'a> {
    pub(crate) fn new(options: &'a Options, names: &'a dyn Names) -> Self {
        Self {
            options,
            names,
            values: Values::default(),
            frame: Frame::of(options.link),
            next_variable: if options.link.is_wlan() { 2 } else { 0 },
        }
    }

    /// The condition of the whole filter, and the arena of its values.
    pub(crate) fn lower(
        mut self,
        expression: &Expression,
    ) -> Result<(Condition, Values), FilterError> {
        let condition = self.expression(expression)?;
        let prefix = self.header_offsets(&condition);
        let mut terms = prefix;
        terms.push(condition);
        Ok((Condition::all(terms), self.values))
    }

    /// The conditions of the terms one by one, from left to right, of a filter that was lowered before.
    pub(crate) fn lower_terms(mut self, expression: &Expression) -> LoweredTerms {
        let mut terms = Vec::new();
        self.gather(expression, &mut terms);
        let whole = Condition::All(terms);
        let prefix = Condition::all(self.header_offsets(&whole));
        let terms = match whole {
            Condition::All(terms) => terms,
            _ => Vec::new(),
        };
        LoweredTerms {
            prefix,
            terms,
            values: self.values,
        }
    }

    fn gather(&mut self, expression: &Expression, terms: &mut Vec<Condition>) {
        match expression {
            // What was lowered once can be lowered again.
            Expression::Term(_, term) => {
                terms.push(self.term(term).unwrap_or(Condition::Constant(false)));
            }
            Expression::Not(inner) => self.gather(inner, terms),
            Expression::All(inner) | Expression::Any(inner) => {
                for inner in inner {
                    self.gather(inner, terms);
                }
            }
        }
    }

    /// The condition of one term where the headers are as in `frame`, which becomes what it is for
    /// the terms behind; the term's own variables are numbered from `variables` on, which moves too.
    pub(crate) fn term_in(
        &mut self,
        frame: &mut Frame,
        variables: &mut u8,
        term: &Term,
    ) -> Result<Condition, Reason> {
        self.frame = frame.clone();
        self.next_variable = *variables;
        let condition = self.term(term)?;
        *frame = self.frame.clone();
        *variables = self.next_variable;
        Ok(condition)
    }

    /// The first variable that terms may take.
    pub(crate) fn first_variable(&self) -> u8 {
        if self.options.link.is_wlan() { 2 } else { 0 }
    }

    pub(super) fn expression(&mut self, expression: &Expression) -> Result<Condition, FilterError> {
        match expression {
            Expression::Term(span, term) => self.spanned(span, term),
            Expression::Not(inner) => Ok(self.expression(inner)?.negate()),
            Expression::All(inner) => Ok(Condition::all(self.expressions(inner)?)),
            Expression::Any(inner) => Ok(Condition::any(self.alternatives(inner)?)),
        }
    }

    fn expressions(&mut self, inner: &[Expression]) -> Result<Vec<Condition>, FilterError> {
        inner.iter().map(|term| self.expression(term)).collect()
    }

    fn spanned(&mut self, span: &TermSpan, term: &Term) -> Result<Condition, FilterError> {
        self.term(term).map_err(|reason| {
            let span = if reason.is_of_operand() {
                &span.operand
            } else {
                &span.whole
            };
            let suggestion = match &reason {
                Reason::Unknown { name, .. } => nearest(&name.to_ascii_lowercase()),
                _ => None,
            };
            FilterError {
                suggestion,
                ..FilterError::new(span.clone(), reason)
            }
        })
    }

    pub(super) fn new_variable(&mut self) -> Result<Variable, Reason> {
        if self.next_variable == MOST_VARIABLES {
            return Err(Reason::TooManyRegisters);
        }
        self.next_variable += 1;
        Ok(Variable(self.next_variable - 1))
    }

    /// The place as a base and a constant; the link type's rows say what it has.
    pub(super) fn place(&mut self, place: Place) -> Result<(Option<ValueId>, u32), Reason> {
        let frame = &self.frame;
        let payload = frame.payload;
        let network = payload.map(|payload| payload.plus(frame.network));
        let offset = match place {
            Place::Header => Some(frame.header),
            Place::LinkType => frame.link_type,
            Place::Payload => payload,
            Place::Network => network,
            Place::NetworkNoSnap => payload.map(|payload| payload.plus(frame.network_nosnap)),
            Place::Label => network.map(|network| network.plus(4u32.wrapping_neg())),
            Place::Transport4 => {
                let offset = network.ok_or(self.no_protocols())?;
                let base = self.base(offset);
                let length = self.values.header_length(base, offset.constant);
                let base = match base {
                    Some(base) => {
                        let add = crate::language::tree::Operator::Add;
                        self.values.binary(add, length, base)
                    }
                    None => length,
                };
                return Ok((Some(base), offset.constant));
            }
            Place::Transport6 => network.map(|network| network.plus(40)),
        };
        let offset = offset.ok_or(self.no_protocols())?;
        Ok((self.base(offset), offset.constant))
    }

    fn base(&mut self, offset: Offset) -> Option<ValueId> {
        offset.base.map(|base| self.values.variable(base))
    }

    pub(super) fn no_protocols(&self) -> Reason {
        Reason::NotSupported {
            what: "link-layer type",
            link: self.frame.link,
        }
    }

    pub(super) fn load(
        &mut self,
        place: Place,
        offset: u32,
        width: Width,
    ) -> Result<ValueId, Reason> {
        let (base, constant) = self.place(place)?;
        Ok(self.values.load(width, base, constant.wrapping_add(offset)))
    }

    pub(super) fn equal(&mut self, place: Place, offset: u32, width: Width, value: u32) -> Lowered {
        let field = self.load(place, offset, width)?;
        Ok(self.values.equal(field, value))
    }

    pub(super) fn masked(
        &mut self,
        place: Place,
        offset: u32,
        width: Width,
        mask: u32,
        value: u32,
    ) -> Lowered {
        let field = self.load(place, offset, width)?;
        Ok(self.values.masked_equal(field, mask, value))
    }

    pub(super) fn any_bit(&mut self, place: Place, offset: u32, bits: u32) -> Lowered {
        let field = self.load(place, offset, Width::Byte)?;
        Ok(self.values.any_bit(field, bits))
    }

    /// The bytes at `offset` are `bytes`: compared in words from the end, the rest last.
    pub(super) fn bytes(&mut self, place: Place, offset: u32, bytes: &[u8]) -> Lowered {
        let mut terms = Vec::new();
        let mut left = bytes;
        while let Some((rest, word)) = left.split_last_chunk::<4>() {
            let at = offset + rest.len() as u32;
            terms.push(self.equal(place, at, Width::Word, u32::from_be_bytes(*word))?);
            left = rest;
        }
        while let Some((rest, half)) = left.split_last_chunk::<2>() {
            let at = offset + rest.len() as u32;
            let value = u32::from(u16::from_be_bytes(*half));
            terms.push(self.equal(place, at, Width::Half, value)?);
            left = rest;
        }
        Ok(Condition::all(terms))
    }

    /// Whether the outermost header starts at a place that has to be computed.
    pub(super) fn has_header_variable(&self) -> bool {
        Frame::of(self.options.link).header.base == Some(WLAN_HEADER)
    }
}

/// Checks `value` against the most its field holds.
pub(super) fn at_most(what: &'static str, value: u32, most: u32) -> Result<u32, Reason> {
    if value > most {
        return Err(Reason::TooLarge { what, value, most });
    }
    Ok(value)
}
