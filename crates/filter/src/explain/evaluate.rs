use super::explanation::Outcome;
use crate::classic::Ancillary;
use crate::graph::condition::{Comparison, Condition, Test};
use crate::graph::values::{Value, ValueId, Values, Width, compute};
use crate::language::tree::Operator;

/// Conditions asked of one packet, with the reason where one cannot be answered.
pub(super) struct Evaluation<'a> {
    pub values: &'a Values,
    pub packet: &'a [u8],
    pub original_len: u32,
    pub ancillary: &'a Ancillary,
    pub variables: [u32; 16],
}

impl Evaluation<'_> {
    pub(super) fn condition(&mut self, condition: &Condition) -> Result<bool, Outcome> {
        match condition {
            Condition::Constant(constant) => Ok(*constant),
            Condition::Test(test) => self.test(*test),
            Condition::Let(variable, value) => {
                let place = variable.0 as usize % self.variables.len();
                self.variables[place] = self.value(*value)?;
                Ok(true)
            }
            Condition::Not(inner) => Ok(!self.condition(inner)?),
            Condition::All(terms) => {
                for term in terms {
                    if !self.condition(term)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Condition::Any(terms) => {
                for term in terms {
                    if self.condition(term)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            // Passes that a single term does not go through make choices and sets.
            Condition::Choice(..) | Condition::Member(_) => Ok(false),
        }
    }

    fn test(&self, test: Test) -> Result<bool, Outcome> {
        let (left, right) = (self.value(test.left)?, self.value(test.right)?);
        Ok(match test.comparison {
            Comparison::Equal => left == right,
            Comparison::Greater => left > right,
            Comparison::AtLeast => left >= right,
            Comparison::AnyBit => left & right != 0,
        })
    }

    fn value(&self, id: ValueId) -> Result<u32, Outcome> {
        match self.values.get(id) {
            Value::Constant(constant) => Ok(constant),
            Value::Length => Ok(self.original_len),
            Value::Load {
                width,
                base,
                offset,
            } => {
                let base = match base {
                    Some(base) => self.value(base)?,
                    None => 0,
                };
                self.load(width, base.wrapping_add(offset))
            }
            Value::Ancillary(_, offset) => {
                let known = self.ancillary.load(offset, 0, 0);
                known.ok_or(Outcome::NotKnown)
            }
            Value::HeaderLength(offset) => Ok((self.load(Width::Byte, offset)? & 15) * 4),
            Value::Variable(variable) => {
                Ok(self.variables[variable.0 as usize % self.variables.len()])
            }
            Value::Negate(operand) => Ok(self.value(operand)?.wrapping_neg()),
            Value::Binary(operator, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                match operator {
                    Operator::ShiftLeft => Ok(left.wrapping_shl(right)),
                    Operator::ShiftRight => Ok(left.wrapping_shr(right)),
                    _ => compute(operator, left, right).ok_or(Outcome::DivisionByZero),
                }
            }
        }
    }

    fn load(&self, width: Width, offset: u32) -> Result<u32, Outcome> {
        let bytes = match width {
            Width::Byte => 1,
            Width::Half => 2,
            Width::Word => 4,
        };
        let missing = Outcome::Missing { offset, bytes };
        let rest = self.packet.get(offset as usize..).ok_or(missing)?;
        let field = rest.get(..bytes as usize).ok_or(missing)?;
        Ok(field
            .iter()
            .fold(0, |value, &byte| value << 8 | u32::from(byte)))
    }
}
