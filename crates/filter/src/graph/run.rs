use super::condition::{Comparison, Test};
use super::nodes::{Graph, Node};
use super::sets::MOST_WORDS;
use super::values::{Value, ValueId, Width, compute};
use crate::classic::Ancillary;
use crate::filter::Filter;
use crate::language::tree::Operator;

const VARIABLES: usize = 16;

/// Whether the filter accepts the packet: the graph, walked node by node.
pub(crate) fn run(
    filter: &Filter,
    packet: &[u8],
    original_len: u32,
    ancillary: &Ancillary,
) -> bool {
    let mut machine = Machine {
        filter,
        packet,
        original_len,
        ancillary,
        variables: [0; VARIABLES],
    };
    // A node leads only to nodes of lower ids, so this ends.
    let mut at = filter.graph.root;
    loop {
        let next = match filter.graph.node(at) {
            Node::Reject => return false,
            Node::Accept => return true,
            Node::Test { test, yes, no } => {
                machine.test(test).map(|holds| if holds { yes } else { no })
            }
            Node::Member { member, yes, no } => {
                let mut key = [0; MOST_WORDS];
                let mut words = key.iter_mut().zip(member.words());
                words
                    .try_for_each(|(word, &value)| {
                        *word = machine.value(value)?;
                        Some(())
                    })
                    .map(|()| {
                        let set = &filter.sets[member.set.0 as usize];
                        if set.contains(&key) { yes } else { no }
                    })
            }
            Node::Let {
                variable,
                value,
                next,
            } => machine.value(value).map(|value| {
                machine.variables[variable.0 as usize % VARIABLES] = value;
                next
            }),
        };
        at = next.unwrap_or(Graph::REJECT);
    }
}

struct Machine<'a> {
    filter: &'a Filter,
    packet: &'a [u8],
    original_len: u32,
    ancillary: &'a Ancillary,
    variables: [u32; VARIABLES],
}

impl Machine<'_> {
    fn test(&self, test: Test) -> Option<bool> {
        let (left, right) = (self.value(test.left)?, self.value(test.right)?);
        Some(match test.comparison {
            Comparison::Equal => left == right,
            Comparison::Greater => left > right,
            Comparison::AtLeast => left >= right,
            Comparison::AnyBit => left & right != 0,
        })
    }

    /// The value; `None` refuses the packet.
    fn value(&self, id: ValueId) -> Option<u32> {
        match self.filter.values.get(id) {
            Value::Constant(constant) => Some(constant),
            Value::Length => Some(self.original_len),
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
            Value::Ancillary(_, offset) => self.ancillary.load(offset, 0, 0),
            Value::HeaderLength(offset) => Some((self.load(Width::Byte, offset)? & 15) * 4),
            Value::Variable(variable) => Some(self.variables[variable.0 as usize % VARIABLES]),
            Value::Negate(operand) => Some(self.value(operand)?.wrapping_neg()),
            Value::Binary(operator, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                match operator {
                    // As the kernel does: a shift uses the low five bits.
                    Operator::ShiftLeft => Some(left.wrapping_shl(right)),
                    Operator::ShiftRight => Some(left.wrapping_shr(right)),
                    _ => compute(operator, left, right),
                }
            }
        }
    }

    fn load(&self, width: Width, offset: u32) -> Option<u32> {
        let rest = self.packet.get(offset as usize..)?;
        Some(match width {
            Width::Byte => u32::from(*rest.first()?),
            Width::Half => u32::from(u16::from_be_bytes(*rest.first_chunk()?)),
            Width::Word => u32::from_be_bytes(*rest.first_chunk()?),
        })
    }
}
