//! Values and tests in the notation of pcap-filter(7).

use crate::graph::condition::{Comparison, Test};
use crate::graph::values::{Value, ValueId, Values, Width};
use crate::language::sign;
use crate::language::tree::Operator;
use std::fmt::{self, Display};

/// Numbers from this on are written in hexadecimal; masks and what is under them, from 10 on.
const LEAST_HEX: u32 = 256;
const LEAST_HEX_MASK: u32 = 10;

/// How values are written: loads are from the start of the packet, which is called `packet`.
#[derive(Clone, Copy)]
pub(crate) struct Notation<'a> {
    pub values: &'a Values,
    pub packet: &'static str,
}

impl Notation<'_> {
    pub(crate) fn value(self, id: ValueId) -> impl Display {
        fmt::from_fn(move |f| self.write(f, id, false))
    }

    /// `left == right` and so on; with `holds` false what is the case where the test fails.
    pub(crate) fn test(self, test: Test, holds: bool) -> impl Display {
        fmt::from_fn(move |f| {
            self.write(f, test.left, false)?;
            let relation = match (test.comparison, holds) {
                (Comparison::Equal, true) => "==",
                (Comparison::Equal, false) => "!=",
                (Comparison::Greater, true) => ">",
                (Comparison::Greater, false) => "<=",
                (Comparison::AtLeast, true) => ">=",
                (Comparison::AtLeast, false) => "<",
                (Comparison::AnyBit, _) => {
                    f.write_str(" & ")?;
                    self.write_mask(f, test.right)?;
                    return f.write_str(if holds { " != 0" } else { " == 0" });
                }
            };
            write!(f, " {relation} ")?;
            let left = self.values.get(test.left);
            if matches!(left, Value::Binary(Operator::And, ..)) {
                self.write_mask(f, test.right)
            } else {
                self.write(f, test.right, false)
            }
        })
    }

    fn write_mask(self, f: &mut fmt::Formatter<'_>, id: ValueId) -> fmt::Result {
        match self.values.get(id) {
            Value::Constant(mask) => write_number(f, mask, LEAST_HEX_MASK),
            _ => self.write(f, id, true),
        }
    }

    fn write(self, f: &mut fmt::Formatter<'_>, id: ValueId, is_operand: bool) -> fmt::Result {
        match self.values.get(id) {
            Value::Constant(number) => write_number(f, number, LEAST_HEX),
            Value::Length => f.write_str("len"),
            Value::Load {
                width,
                base,
                offset,
            } => {
                write!(f, "{}[", self.packet)?;
                if let Some(base) = base {
                    self.write(f, base, offset != 0)?;
                    if offset != 0 {
                        write!(f, " + {offset}")?;
                    }
                } else {
                    write!(f, "{offset}")?;
                }
                f.write_str(match width {
                    Width::Byte => "]",
                    Width::Half => ":2]",
                    Width::Word => ":4]",
                })
            }
            Value::Ancillary(_, offset) => write_ancillary(f, offset),
            Value::HeaderLength(offset) => {
                let (open, close) = if is_operand { ("(", ")") } else { ("", "") };
                write!(f, "{open}4 * ({}[{offset}] & 0xf){close}", self.packet)
            }
            Value::Variable(variable) => write!(f, "v{}", variable.0),
            Value::Negate(operand) => {
                f.write_str("-")?;
                self.write(f, operand, true)
            }
            Value::Binary(operator, left, right) => {
                let (open, close) = if is_operand { ("(", ")") } else { ("", "") };
                f.write_str(open)?;
                self.write(f, left, true)?;
                write!(f, " {} ", sign(operator))?;
                match operator {
                    Operator::And => self.write_mask(f, right)?,
                    _ => self.write(f, right, true)?,
                }
                f.write_str(close)
            }
        }
    }
}

fn write_number(f: &mut fmt::Formatter<'_>, number: u32, least_hex: u32) -> fmt::Result {
    if number < least_hex {
        write!(f, "{number}")
    } else {
        write!(f, "{number:#x}")
    }
}

/// What is known beside the bytes, in the words of `tcpdump -d`.
fn write_ancillary(f: &mut fmt::Formatter<'_>, offset: u32) -> fmt::Result {
    match offset.wrapping_sub(crate::classic::Ancillary::BASE) {
        4 => f.write_str("type"),
        8 => f.write_str("ifidx"),
        44 => f.write_str("vlan_tci"),
        48 => f.write_str("vlanp"),
        other => write!(f, "ancillary {other}"),
    }
}
