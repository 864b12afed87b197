//! Arithmetic terms, and the guards of their loads.

use crate::error::FilterErrorReason;
use crate::graph::condition::{Comparison, Condition};
use crate::graph::values::{ValueId, Width};
use crate::language::tree::{Arithmetic, Operator, Protocol, Relation};
use crate::link_type::LinkType;
use crate::lower::lowering::{FieldBase, Lowered, Lowering, wrong};
use crate::lower::protocol_numbers::{ICMP6, IPV4, IPV6, internet_number, link_number};

impl Lowering<'_> {
    /// `left relation right`, guarded by tests for the protocols of all loads.
    pub(super) fn relation(
        &mut self,
        relation: Relation,
        left: &Arithmetic,
        right: &Arithmetic,
    ) -> Lowered {
        let mut guards = Vec::new();
        let left = self.arithmetic(left, &mut guards)?;
        // The guards of the right side come first.
        let mut right_guards = Vec::new();
        let right = self.arithmetic(right, &mut right_guards)?;
        right_guards.append(&mut guards);
        right_guards.push(self.compare(relation, left, right));
        Ok(Condition::all(right_guards))
    }

    pub(super) fn compare(
        &mut self,
        relation: Relation,
        left: ValueId,
        right: ValueId,
    ) -> Condition {
        let (comparison, holds) = match relation {
            Relation::Equal => (Comparison::Equal, true),
            Relation::NotEqual => (Comparison::Equal, false),
            Relation::Greater => (Comparison::Greater, true),
            Relation::LessEqual => (Comparison::Greater, false),
            Relation::GreaterEqual => (Comparison::AtLeast, true),
            Relation::Less => (Comparison::AtLeast, false),
        };
        let test = self.values.test(comparison, left, right);
        if holds { test } else { test.negate() }
    }

    fn arithmetic(
        &mut self,
        arithmetic: &Arithmetic,
        guards: &mut Vec<Condition>,
    ) -> Result<ValueId, FilterErrorReason> {
        match arithmetic {
            Arithmetic::Number(number) => Ok(self.values.constant(*number)),
            Arithmetic::Length => Ok(self.values.length()),
            Arithmetic::Negate(operand) => {
                let operand = self.arithmetic(operand, guards)?;
                Ok(self.values.negate(operand))
            }
            Arithmetic::Binary(operator, left, right) => {
                let left = self.arithmetic(left, guards)?;
                let right = self.arithmetic(right, guards)?;
                match (operator, self.values.as_constant(right)) {
                    (Operator::Divide, Some(0)) => {
                        Err(FilterErrorReason::Arithmetic("division by zero"))
                    }
                    (Operator::Modulo, Some(0)) => {
                        Err(FilterErrorReason::Arithmetic("modulus by zero"))
                    }
                    (Operator::ShiftLeft | Operator::ShiftRight, Some(32..)) => {
                        Err(FilterErrorReason::Arithmetic("shift by more than 31 bits"))
                    }
                    _ => Ok(self.values.binary(*operator, left, right)),
                }
            }
            Arithmetic::Load {
                protocol,
                index,
                bytes,
            } => {
                let index = self.arithmetic(index, guards)?;
                let width = match bytes {
                    1 => Width::Byte,
                    2 => Width::Half,
                    _ => Width::Word,
                };
                let value = self.indexed(*protocol, index, width, guards)?;
                self.values.mark_user_offset(value);
                Ok(value)
            }
        }
    }

    /// `protocol[index:width]`
    fn indexed(
        &mut self,
        protocol: Protocol,
        index: ValueId,
        width: Width,
        guards: &mut Vec<Condition>,
    ) -> Result<ValueId, FilterErrorReason> {
        let place = match protocol {
            Protocol::Radio if has_radio_header(self.options.link) => {
                return Ok(self.values.load(width, Some(index), 0));
            }
            Protocol::Link => FieldBase::Header,
            Protocol::Icmp6 => {
                guards.push(self.link_protocol(IPV6)?);
                guards.push(self.equal(FieldBase::Network, 6, Width::Byte, ICMP6)?);
                FieldBase::Transport6
            }
            Protocol::Ip
            | Protocol::Ip6
            | Protocol::Arp
            | Protocol::Rarp
            | Protocol::AppleTalk
            | Protocol::Decnet
            | Protocol::Sca
            | Protocol::Lat
            | Protocol::Moprc
            | Protocol::Mopdl => {
                if let Some(number) = link_number(protocol) {
                    guards.push(self.link_protocol(number)?);
                }
                FieldBase::Network
            }
            Protocol::Ah | Protocol::Esp => return Err(wrong(protocol.word(), "[offset]")),
            _ => {
                let Some(number) = internet_number(protocol) else {
                    return Err(wrong(protocol.word(), "[offset]"));
                };
                guards.push(self.link_protocol(IPV4)?);
                guards.push(self.equal(FieldBase::Network, 9, Width::Byte, number)?);
                guards.push(self.is_first_fragment()?);
                FieldBase::Transport4
            }
        };
        let (base, constant) = self.locate(place)?;
        let base = match base {
            Some(base) => self.values.binary(Operator::Add, index, base),
            None => index,
        };
        Ok(self.values.load(width, Some(base), constant))
    }
}

/// Whether a header with radio information precedes the 802.11 header.
fn has_radio_header(link: LinkType) -> bool {
    matches!(link, LinkType::Radiotap | LinkType::Prism | LinkType::Avs)
}
