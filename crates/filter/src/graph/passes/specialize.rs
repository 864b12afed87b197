//! Specializes a graph for packets with known properties.

use crate::classic::Ancillary;
use crate::graph::assumptions::{ETHER_TYPE, PacketAssumptions, TagLocation};
use crate::graph::condition::{Comparison, Member, Test};
use crate::graph::control_flow::{Graph, Node};
use crate::graph::passes::dead_variables::remove_dead_variables;
use crate::graph::passes::jump_threading::thread_jumps;
use crate::graph::passes::known_bits::Knowledge;
use crate::graph::values::{Value, ValueId, Values, Variable, Width};
use crate::language::tree::Operator;

/// Returns the graph without the tests that the assumptions decide, and its values.
///
/// Offsets are those of the real packet: if the tag is in the bytes, everything after the addresses
/// is moved.
pub(crate) fn specialize(
    graph: &Graph,
    values: &Values,
    assumptions: PacketAssumptions,
) -> (Graph, Values) {
    let mut specializer = Specializer::new(values.clone(), assumptions, !written(graph, values));
    let graph = specializer.rewrite(graph);
    // A variable that is no longer written is 0, which decides more tests.
    let unset = !written(&graph, &specializer.values);
    let mut specializer = Specializer::new(specializer.values, PLAIN, unset);
    let graph = specializer.rewrite(&graph);
    let mut values = specializer.values;
    let graph = thread_jumps(graph, &values);
    let graph = remove_dead_variables(&graph, &mut values);
    (graph, values)
}

/// The variables that are assigned a value other than 0, as a bit mask.
fn written(graph: &Graph, values: &Values) -> u16 {
    let written = graph
        .reachable()
        .into_iter()
        .map(|id| match graph.node(id) {
            Node::Let {
                variable, value, ..
            } if values.as_constant(value) != Some(0) => 1 << variable.0,
            _ => 0,
        });
    written.fold(0, |all, one| all | one)
}

/// No assumptions: offsets stay.
const PLAIN: PacketAssumptions = PacketAssumptions {
    target: crate::options::FilterTarget::Xdp,
    tag: TagLocation::TargetDefault,
    protocol: crate::graph::assumptions::KnownProtocol::Any,
};

/// Larger offsets are negative, or after the end of every packet.
const MAX_OFFSET: u32 = 1 << 16;

struct Specializer {
    values: Values,
    assumptions: PacketAssumptions,
    /// Variables that are 0, as a bit mask.
    unset: u16,
    known: Knowledge,
    /// For each value of the old graph, its replacement.
    instead: Vec<ValueId>,
}

impl Specializer {
    fn new(mut values: Values, assumptions: PacketAssumptions, unset: u16) -> Self {
        let mut known = Knowledge::default();
        for field in assumptions.protocol.fields() {
            let offset = moved(field.offset, assumptions);
            let part = values.load(field.width, None, offset);
            let part = values.binary_constant(Operator::And, part, field.mask);
            let test = Test {
                comparison: Comparison::Equal,
                left: part,
                right: values.constant(field.bits),
            };
            known.learn(&values, test, true);
        }
        let mut specializer = Self {
            values,
            assumptions,
            unset,
            known,
            instead: Vec::new(),
        };
        // Operands precede the values computed from them. Values added in this loop are
        // replacements already.
        let old: Vec<Value> = specializer.values.iter().map(|(_, value)| value).collect();
        for value in old {
            let instead = specializer.value(value);
            specializer.instead.push(instead);
        }
        specializer
    }

    fn of(&self, id: ValueId) -> ValueId {
        self.instead.get(id.index()).copied().unwrap_or(id)
    }

    fn value(&mut self, value: Value) -> ValueId {
        let assumptions = self.assumptions;
        match value {
            Value::Constant(constant) => self.values.constant(constant),
            Value::Length => {
                let length = self.values.length();
                let less = assumptions.tag.shift().wrapping_neg();
                self.values.binary_constant(Operator::Add, length, less)
            }
            Value::Load {
                width,
                base: None,
                offset,
            } => self.load(width, offset),
            Value::Load {
                width,
                base: Some(base),
                offset,
            } => {
                let base = self.of(base);
                match self.values.as_constant(base) {
                    Some(base) => self.load(width, base.wrapping_add(offset)),
                    None => self.load_at(width, base, offset),
                }
            }
            Value::HeaderLength(offset) => {
                let byte = self.load(Width::Byte, offset);
                match self.values.as_constant(byte) {
                    Some(byte) => self.values.constant((byte & 15) * 4),
                    None => self.values.header_length(None, moved(offset, assumptions)),
                }
            }
            Value::Ancillary(width, offset) => match (assumptions.tag, offset) {
                (TagLocation::Absent, Ancillary::VLAN_TAG_PRESENT | Ancillary::VLAN_TAG) => {
                    self.values.constant(0)
                }
                (TagLocation::InBytes, Ancillary::VLAN_TAG_PRESENT) => self.values.constant(1),
                (TagLocation::InBytes, Ancillary::VLAN_TAG) => {
                    self.values.load(Width::Half, None, ETHER_TYPE + 2)
                }
                _ => self.values.ancillary(width, offset),
            },
            Value::Variable(Variable(number)) if self.unset & 1 << number != 0 => {
                self.values.constant(0)
            }
            Value::Variable(variable) => self.values.variable(variable),
            Value::Negate(operand) => {
                let operand = self.of(operand);
                self.values.negate(operand)
            }
            Value::Binary(operator, left, right) => {
                let (left, right) = (self.of(left), self.of(right));
                self.values.binary(operator, left, right)
            }
        }
    }

    /// The bytes at `offset` of the packet without a tag, or their known value.
    fn load(&mut self, width: Width, offset: u32) -> ValueId {
        let fields = self.assumptions.protocol.fields().iter();
        let mut fields =
            fields.filter(|field| field.offset == offset && is_whole(field.width, field.mask));
        match fields.find(|field| field.width == width) {
            Some(field) => self.values.constant(field.bits),
            None if self.assumptions.tag.shift() > 0
                && offset < ETHER_TYPE
                && offset + bytes(width) > ETHER_TYPE =>
            {
                self.load_around(offset, bytes(width))
            }
            None => {
                let offset = moved(offset, self.assumptions);
                self.values.load(width, None, offset)
            }
        }
    }

    /// Bytes on both sides of the tag, combined.
    fn load_around(&mut self, offset: u32, bytes: u32) -> ValueId {
        let mut sum = self.values.constant(0);
        for at in offset..offset + bytes {
            let at = moved(at, self.assumptions);
            let byte = self.values.load(Width::Byte, None, at);
            sum = self.values.binary_constant(Operator::ShiftLeft, sum, 8);
            sum = self.values.binary(Operator::Or, sum, byte);
        }
        sum
    }

    /// The bytes at `base + offset` of the packet without a tag. If they are on both sides of the
    /// tag, reads on from the first side.
    fn load_at(&mut self, width: Width, base: ValueId, offset: u32) -> ValueId {
        use Operator::{Add, ShiftLeft, ShiftRight, Subtract};
        let shift = self.assumptions.tag.shift();
        if shift == 0 || (ETHER_TYPE..MAX_OFFSET).contains(&offset) && self.is_small(base) {
            return self
                .values
                .load(width, Some(base), offset.wrapping_add(shift));
        }
        // Add the length of the tag unless the offset is inside the addresses, without a branch.
        let values = &mut self.values;
        let place = values.binary_constant(Add, base, offset);
        let before = values.binary_constant(Subtract, place, ETHER_TYPE);
        let is_before = values.binary_constant(ShiftRight, before, 31);
        let less = values.binary_constant(ShiftLeft, is_before, shift.ilog2());
        let behind = values.binary_constant(Add, place, shift);
        let place = values.binary(Subtract, behind, less);
        values.load(width, Some(place), 0)
    }

    /// Whether the value is a header length: sums of these are never negative.
    fn is_small(&self, value: ValueId) -> bool {
        match self.values.get(value) {
            Value::Variable(_) | Value::HeaderLength(_) => true,
            Value::Binary(Operator::Add, left, right) => {
                self.is_small(left) && self.is_small(right)
            }
            _ => self.values.ones(value) <= 0xffff,
        }
    }

    fn rewrite(&mut self, graph: &Graph) -> Graph {
        let mut new = Graph::empty();
        let mut ids = vec![Graph::REJECT; graph.len()];
        ids[Graph::ACCEPT.0 as usize] = Graph::ACCEPT;
        for &id in graph.reachable().iter().rev() {
            let node = graph.node(id).map(|to| ids[to.0 as usize]);
            ids[id.0 as usize] = match node {
                Node::Test { test, yes, no } => {
                    let test = Test {
                        left: self.of(test.left),
                        right: self.of(test.right),
                        ..test
                    };
                    match self.decide(test) {
                        Some(true) => yes,
                        Some(false) => no,
                        None => new.add(Node::Test { test, yes, no }),
                    }
                }
                Node::Member { member, yes, no } => {
                    let member = Member {
                        words: member.words.map(|word| self.of(word)),
                        ..member
                    };
                    new.add(Node::Member { member, yes, no })
                }
                Node::Let {
                    variable,
                    value,
                    next,
                } => new.add(Node::Let {
                    variable,
                    value: self.of(value),
                    next,
                }),
                end => new.add(end),
            };
        }
        new.root = ids[graph.root.0 as usize];
        new
    }

    fn decide(&self, test: Test) -> Option<bool> {
        let constants = (
            self.values.as_constant(test.left),
            self.values.as_constant(test.right),
        );
        let (Some(left), Some(right)) = constants else {
            return self.known.decide(&self.values, test);
        };
        Some(match test.comparison {
            Comparison::Equal => left == right,
            Comparison::Greater => left > right,
            Comparison::AtLeast => left >= right,
            Comparison::AnyBit => left & right != 0,
        })
    }
}

/// The real offset of the bytes that would be at `offset` without a tag.
fn moved(offset: u32, assumptions: PacketAssumptions) -> u32 {
    if offset < ETHER_TYPE {
        return offset;
    }
    offset.saturating_add(assumptions.tag.shift())
}

fn bytes(width: Width) -> u32 {
    match width {
        Width::Byte => 1,
        Width::Half => 2,
        Width::Word => 4,
    }
}

fn is_whole(width: Width, mask: u32) -> bool {
    match width {
        Width::Byte => mask == 0xff,
        _ => mask == 0xffff,
    }
}
