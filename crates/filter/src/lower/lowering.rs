//! Lowers a parsed expression to a graph.

use crate::error::{FilterError, FilterErrorReason};
use crate::graph::condition::{Comparison, Condition};
use crate::graph::values::{ValueId, Values, Variable, Width};
use crate::language::tree::{
    ByteOperator, Direction, Expression, Layers, Operator, Protocol, Term, TermSpan,
};
use crate::language::words::{nearest, nearest_service};
use crate::link_type::LinkType;
use crate::lower::frame::{Frame, HEADER_OFFSET, Offset, mac_offsets};
use crate::lower::layers::search_term::SearchTerm;
use crate::lower::protocol_numbers::{IPV4, IPV6};
use crate::names::NameResolver;
use crate::options::FilterOptions;

/// Maximum number of variables; the rest of the 16 words of scratch memory is for arithmetic.
const MAX_VARIABLES: u8 = 12;

/// In a term with `any` or `inner`: the protocol of the header at [`POSITION`].
pub(super) const KIND: Variable = Variable(MAX_VARIABLES - 2);
/// In a term with `any` or `inner`: the offset of the header that is examined.
pub(super) const POSITION: Variable = Variable(MAX_VARIABLES - 1);

pub(super) type Lowered = Result<Condition, FilterErrorReason>;

/// The header that a field offset is relative to.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldBase {
    Header,
    LinkType,
    /// The LLC header.
    Payload,
    Network,
    NetworkNoSnap,
    /// The last MPLS label before the network header.
    Label,
    /// The transport header after the IPv4 header and its options.
    Transport4,
    /// The transport header after the IPv6 header without extension headers.
    Transport6,
    /// The header at [`POSITION`].
    Position,
}

/// Lowers a tree to conditions for one link type, term by term from left to right.
pub(crate) struct Lowering<'a> {
    pub(super) options: &'a FilterOptions,
    pub(super) names: &'a dyn NameResolver,
    pub(crate) values: Values,
    pub(super) frame: Frame,
    next_variable: u8,
    /// What a term with `any` or `inner` searches for; `None` for other terms, which are lowered directly.
    pub(super) searches: Option<Vec<SearchTerm>>,
    /// Whether the last two variables belong to terms with `any` or `inner`.
    has_layers: bool,
}

/// The conditions of the terms of a filter, which share variables.
pub(crate) struct LoweredTerms {
    /// The code that runs before the first term.
    pub prefix: Condition,
    pub terms: Vec<Condition>,
    pub values: Values,
}

impl<'a> Lowering<'a> {
    pub(crate) fn new(options: &'a FilterOptions, names: &'a dyn NameResolver) -> Self {
        Self {
            options,
            names,
            values: Values::default(),
            frame: Frame::of(options.link),
            next_variable: first_variable(options.link),
            searches: None,
            has_layers: false,
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

    /// The conditions of the terms, from left to right. The filter must have been lowered before.
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
            // Lowering succeeded before, so it succeeds again.
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

    /// Lowers one term with the header offsets of `frame`, and updates `frame` for the next terms.
    /// New variables are numbered from `variables`, which is updated too.
    pub(crate) fn term_in(
        &mut self,
        frame: &mut Frame,
        variables: &mut u8,
        term: &Term,
    ) -> Result<Condition, FilterErrorReason> {
        self.frame = frame.clone();
        self.next_variable = *variables;
        let condition = self.term(term)?;
        *frame = self.frame.clone();
        *variables = self.next_variable;
        Ok(condition)
    }

    /// The first variable that is free for terms.
    pub(crate) fn first_variable(&self) -> u8 {
        first_variable(self.options.link)
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
        self.term(term).map_err(|reason| located(span, reason))
    }

    pub(super) fn new_variable(&mut self) -> Result<Variable, FilterErrorReason> {
        let most = if self.has_layers {
            KIND.0
        } else {
            MAX_VARIABLES
        };
        if self.next_variable >= most {
            return Err(FilterErrorReason::TooManyRegisters);
        }
        self.next_variable += 1;
        Ok(Variable(self.next_variable - 1))
    }

    /// Reserves the variables [`KIND`] and [`POSITION`]. All terms with `any` or `inner` share them.
    pub(super) fn reserve_layer_variables(&mut self) -> Result<(), FilterErrorReason> {
        if self.next_variable > KIND.0 {
            return Err(FilterErrorReason::TooManyRegisters);
        }
        self.has_layers = true;
        Ok(())
    }

    /// The offset of a header: a base value and a constant.
    pub(super) fn locate(
        &mut self,
        base: FieldBase,
    ) -> Result<(Option<ValueId>, u32), FilterErrorReason> {
        let frame = &self.frame;
        let payload = frame.payload;
        let network = payload.map(|payload| payload.plus(frame.network));
        let offset = match base {
            FieldBase::Header => Some(frame.header),
            FieldBase::LinkType => frame.link_type,
            FieldBase::Payload => payload,
            FieldBase::Network => network,
            FieldBase::NetworkNoSnap => frame
                .network_nosnap
                .and_then(|bytes| payload.map(|payload| payload.plus(bytes))),
            FieldBase::Label => network.map(|network| network.plus(4u32.wrapping_neg())),
            FieldBase::Transport4 => {
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
            FieldBase::Transport6 => network.map(|network| network.plus(40)),
            FieldBase::Position => Some(Offset {
                base: Some(POSITION),
                constant: 0,
            }),
        };
        let offset = offset.ok_or(self.no_protocols())?;
        Ok((self.base(offset), offset.constant))
    }

    fn base(&mut self, offset: Offset) -> Option<ValueId> {
        offset.base.map(|base| self.values.variable(base))
    }

    pub(super) fn no_protocols(&self) -> FilterErrorReason {
        FilterErrorReason::NotSupported {
            what: "link-layer type",
            link: self.frame.link,
        }
    }

    pub(super) fn load(
        &mut self,
        base: FieldBase,
        offset: u32,
        width: Width,
    ) -> Result<ValueId, FilterErrorReason> {
        let (start, constant) = self.locate(base)?;
        Ok(self
            .values
            .load(width, start, constant.wrapping_add(offset)))
    }

    pub(super) fn equal(
        &mut self,
        base: FieldBase,
        offset: u32,
        width: Width,
        value: u32,
    ) -> Lowered {
        let field = self.load(base, offset, width)?;
        Ok(self.values.equal(field, value))
    }

    pub(super) fn masked(
        &mut self,
        base: FieldBase,
        offset: u32,
        width: Width,
        mask: u32,
        value: u32,
    ) -> Lowered {
        let field = self.load(base, offset, width)?;
        Ok(self.values.masked_equal(field, mask, value))
    }

    pub(super) fn any_bit(&mut self, base: FieldBase, offset: u32, bits: u32) -> Lowered {
        let field = self.load(base, offset, Width::Byte)?;
        Ok(self.values.any_bit(field, bits))
    }

    /// The bytes at `offset` equal `bytes`. Compares words from the end, and the rest last.
    pub(super) fn bytes(&mut self, base: FieldBase, offset: u32, bytes: &[u8]) -> Lowered {
        let mut terms = Vec::new();
        let mut left = bytes;
        while let Some((rest, word)) = left.split_last_chunk::<4>() {
            let at = offset + rest.len() as u32;
            terms.push(self.equal(base, at, Width::Word, u32::from_be_bytes(*word))?);
            left = rest;
        }
        while let Some((rest, half)) = left.split_last_chunk::<2>() {
            let at = offset + rest.len() as u32;
            let value = u32::from(u16::from_be_bytes(*half));
            terms.push(self.equal(base, at, Width::Half, value)?);
            left = rest;
        }
        if let [byte] = left {
            terms.push(self.equal(base, offset, Width::Byte, u32::from(*byte))?);
        }
        Ok(Condition::all(terms))
    }

    /// The error of a word that packets of this link type do not have.
    pub(super) fn unsupported(&self, what: &'static str) -> FilterErrorReason {
        let link = self.frame.link;
        FilterErrorReason::NotSupported { what, link }
    }

    /// Whether the offset of the outermost header is variable.
    pub(super) fn has_header_variable(&self) -> bool {
        Frame::of(self.options.link).header.base == Some(HEADER_OFFSET)
    }
}

/// The error of a term, at its operand or at the whole term.
pub(super) fn located(span: &TermSpan, reason: FilterErrorReason) -> FilterError {
    let span = if reason.is_of_operand() {
        &span.operand
    } else {
        &span.whole
    };
    let suggestion = match &reason {
        FilterErrorReason::Unknown { what: "port", name } => {
            nearest_service(&name.to_ascii_lowercase())
        }
        FilterErrorReason::Unknown { name, .. } => nearest(&name.to_ascii_lowercase()),
        _ => None,
    };
    FilterError {
        suggestion,
        ..FilterError::new(span.clone(), reason)
    }
}

/// Checks that `value` fits its field.
pub(super) fn at_most(what: &'static str, value: u32, most: u32) -> Result<u32, FilterErrorReason> {
    if value > most {
        return Err(FilterErrorReason::TooLarge { what, value, most });
    }
    Ok(value)
}

impl Lowering<'_> {
    pub(super) fn term(&mut self, term: &Term) -> Lowered {
        match term {
            term if term.layers() != Layers::Current => self.layered(term),
            Term::Match(qualifiers, id) => self.matching(*qualifiers, id),
            Term::LayeredProtocol(_, protocol) | Term::Protocol(protocol) => {
                self.abbreviation(*protocol)
            }
            Term::Broadcast(protocol) => self.broadcast(*protocol),
            Term::Multicast(protocol) => self.multicast(*protocol),
            Term::Less(bytes) => Ok(self.longer(Comparison::Greater, *bytes).negate()),
            Term::Greater(bytes) => Ok(self.longer(Comparison::AtLeast, *bytes)),
            Term::Byte(index, operator, value) => self.byte(*index, *operator, *value),
            Term::Direction { outbound } => self.direction(*outbound),
            Term::InterfaceIndex(index) => self.interface_index(*index),
            Term::Vlan(id) => self.vlan(*id),
            Term::Mpls(label) => self.mpls(*label),
            Term::Pppoed => self.pppoe_discovery(),
            Term::Pppoes(session) => self.pppoe_session(*session),
            Term::Geneve(network) => self.geneve(*network),
            Term::Vxlan(network) => self.vxlan(*network),
            Term::WlanType { value, mask } => self.wlan_type(*value, *mask),
            Term::WlanDirection(value) => self.wlan_direction(*value),
            Term::Llc(kind) => self.llc(*kind),
            Term::Signal(signal) => self.signal(signal),
            Term::Atm(atm) => self.atm(atm),
            Term::Firewall(field) => self.firewall(field),
            Term::Relation(relation, left, right) => self.relation(*relation, left, right),
        }
    }

    fn longer(&mut self, comparison: Comparison, bytes: u32) -> Condition {
        let length = self.values.length();
        let bytes = self.values.constant(bytes);
        self.values.test(comparison, length, bytes)
    }

    fn byte(&mut self, index: u32, operator: ByteOperator, value: u32) -> Lowered {
        let field = self.load(FieldBase::Header, index, Width::Byte)?;
        let constant = self.values.constant(value);
        let values = &mut self.values;
        Ok(match operator {
            ByteOperator::Equal => values.equal(field, value),
            ByteOperator::Less => values.test(Comparison::AtLeast, field, constant).negate(),
            ByteOperator::Greater => values.test(Comparison::Greater, field, constant),
            ByteOperator::And => values.any_bit(field, value),
            ByteOperator::Or => {
                let either = values.binary(Operator::Or, field, constant);
                values.equal(either, 0).negate()
            }
        })
    }

    fn broadcast(&mut self, protocol: Option<Protocol>) -> Lowered {
        match protocol {
            None | Some(Protocol::Link) => {
                let destination = Some(Direction::Destination);
                match self.frame.link {
                    LinkType::Arcnet | LinkType::ArcnetLinux => {
                        self.short_mac(0, destination, "broadcast")
                    }
                    LinkType::BacnetMsTp => self.short_mac(0xff, destination, "broadcast"),
                    _ => self.mac([0xff; 6], destination, "broadcast"),
                }
            }
            Some(Protocol::Ip) => {
                let netmask = self.options.netmask.ok_or(FilterErrorReason::NoNetmask)?;
                let host = !u32::from(netmask);
                let is_ip = self.link_protocol(IPV4)?;
                let zeros = self.masked(FieldBase::Network, 16, Width::Word, host, 0)?;
                let ones = self.masked(FieldBase::Network, 16, Width::Word, host, host)?;
                Ok(Condition::all([is_ip, Condition::any([zeros, ones])]))
            }
            Some(protocol) => Err(wrong(protocol.word(), "broadcast")),
        }
    }

    fn multicast(&mut self, protocol: Option<Protocol>) -> Lowered {
        let (what, link) = ("multicast", self.frame.link);
        match protocol {
            None | Some(Protocol::Link) => {
                if matches!(link, LinkType::Arcnet | LinkType::ArcnetLinux) {
                    return self.short_mac(0, Some(Direction::Destination), what);
                }
                if link.is_wlan() {
                    return self.wlan_multicast();
                }
                let Some((_, destination)) = mac_offsets(link) else {
                    return Err(self.unsupported(what));
                };
                let has_header = self.has_inner_header();
                Ok(Condition::all([
                    has_header,
                    self.any_bit(FieldBase::Header, destination, 1)?,
                ]))
            }
            Some(Protocol::Ip) => {
                let is_ip = self.link_protocol(IPV4)?;
                let group = self.masked(FieldBase::Network, 16, Width::Byte, 0xf0, 0xe0)?;
                Ok(Condition::all([is_ip, group]))
            }
            Some(Protocol::Ip6) => {
                let is_ip6 = self.link_protocol(IPV6)?;
                let group = self.equal(FieldBase::Network, 24, Width::Byte, 255)?;
                Ok(Condition::all([is_ip6, group]))
            }
            Some(protocol) => Err(wrong(protocol.word(), what)),
        }
    }
}

/// The first variable that is free for terms.
fn first_variable(link: LinkType) -> u8 {
    if link.has_variable_headers() { 2 } else { 0 }
}

pub(super) fn wrong(qualifier: &'static str, subject: &str) -> FilterErrorReason {
    FilterErrorReason::Qualifier {
        qualifier,
        subject: subject.into(),
    }
}

pub(super) fn unknown(what: &'static str, name: &str) -> FilterErrorReason {
    FilterErrorReason::Unknown {
        what,
        name: name.into(),
    }
}
