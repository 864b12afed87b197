//! The graph, interpreted: the reference that the other back ends are compared with.

use crate::classic::Ancillary;
use crate::filter::Filter;
use crate::graph::condition::{Comparison, Test};
use crate::graph::control_flow::{Graph, Node};
use crate::graph::sets::MAX_KEY_WORDS;
use crate::graph::values::{Value, ValueId, Width, compute};
use crate::language::tree::Operator;

const VARIABLES: usize = 16;

impl Filter {
    /// The number of bytes of `packet` to keep; 0 rejects it. Interprets the graph: the reference for the
    /// other back ends.
    ///
    /// `packet` is the captured part, `original_len` the length on the wire in bytes. Never allocates.
    pub fn run(&self, packet: &[u8], original_len: u32, ancillary: &Ancillary) -> u32 {
        let accepts = run(self, packet, original_len, ancillary);
        if accepts { self.options.snaplen } else { 0 }
    }
}

fn run(filter: &Filter, packet: &[u8], original_len: u32, ancillary: &Ancillary) -> bool {
    let mut interpreter = Interpreter {
        filter,
        packet,
        original_len,
        ancillary,
        variables: [0; VARIABLES],
    };
    // Successors have lower ids, so the loop terminates.
    let mut at = filter.graph.root;
    loop {
        let next = match filter.graph.node(at) {
            Node::Reject => return false,
            Node::Accept => return true,
            Node::Test { test, yes, no } => interpreter
                .test(test)
                .map(|holds| if holds { yes } else { no }),
            Node::Member { member, yes, no } => {
                let mut key = [0; MAX_KEY_WORDS];
                let mut words = key.iter_mut().zip(member.words());
                words
                    .try_for_each(|(word, &value)| {
                        *word = interpreter.value(value)?;
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
            } => interpreter.value(value).map(|value| {
                interpreter.variables[variable.0 as usize % VARIABLES] = value;
                next
            }),
        };
        at = next.unwrap_or(Graph::REJECT);
    }
}

struct Interpreter<'a> {
    filter: &'a Filter,
    packet: &'a [u8],
    original_len: u32,
    ancillary: &'a Ancillary,
    variables: [u32; VARIABLES],
}

impl Interpreter<'_> {
    fn test(&self, test: Test) -> Option<bool> {
        let (left, right) = (self.value(test.left)?, self.value(test.right)?);
        Some(match test.comparison {
            Comparison::Equal => left == right,
            Comparison::Greater => left > right,
            Comparison::AtLeast => left >= right,
            Comparison::AnyBit => left & right != 0,
        })
    }

    /// The value; `None` rejects the packet.
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
                    // As in the kernel, a shift uses the low five bits.
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
