//! A filter's graph for packets of which something is known already.

use super::condition::{Comparison, Member, Test};
use super::knowledge::Knowledge;
use super::nodes::{Graph, Node};
use super::values::{Value, ValueId, Values, Variable, Width};
use super::{settle, thread};
use crate::classic::Ancillary;
use crate::ebpf::{ETHER_TYPE, Shape, Size, Tag};
use crate::language::tree::Operator;

/// The graph without what the shape of the packets decides, and its values.
///
/// Values are those of the packet as it is: where the tag is in the bytes, what follows the addresses
/// is behind it.
pub(crate) fn given(graph: &Graph, values: &Values, shape: Shape) -> (Graph, Values) {
    let mut given = Given::new(values.clone(), shape, !written(graph, values));
    let graph = given.rewrite(graph);
    // A variable that is not written any more is 0, which decides more.
    let unset = !written(&graph, &given.values);
    let mut given = Given::new(given.values, PLAIN, unset);
    let graph = given.rewrite(&graph);
    let mut values = given.values;
    let graph = thread(graph, &values);
    let graph = settle(&graph, &mut values);
    (graph, values)
}

/// The variables that are given another value than 0, a bit each.
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

/// Nothing is known: offsets are as they are.
const PLAIN: Shape = Shape {
    at: crate::At::Xdp,
    tag: Tag::AsPlaced,
    packet: crate::ebpf::Packet::Any,
};

/// Larger offsets are negative, or behind every packet.
const MOST_OFFSET: u32 = 1 << 16;

struct Given {
    values: Values,
    shape: Shape,
    /// Variables that are 0, a bit each.
    unset: u16,
    known: Knowledge,
    /// By value of the old graph: the value in its place.
    instead: Vec<ValueId>,
}

impl Given {
    fn new(mut values: Values, shape: Shape, unset: u16) -> Self {
        let mut known = Knowledge::default();
        for fact in shape.packet.facts() {
            let offset = moved(fact.offset, shape);
            let part = values.load(width(fact.size), None, offset);
            let part = values.binary_constant(Operator::And, part, fact.mask);
            let test = Test {
                comparison: Comparison::Equal,
                left: part,
                right: values.constant(fact.bits),
            };
            known.learn(&values, test, true);
        }
        let mut given = Self {
            values,
            shape,
            unset,
            known,
            instead: Vec::new(),
        };
        // Operands come before what is made of them. What is added meanwhile is new already.
        let old: Vec<Value> = given.values.iter().map(|(_, value)| value).collect();
        for value in old {
            let instead = given.value(value);
            given.instead.push(instead);
        }
        given
    }

    fn of(&self, id: ValueId) -> ValueId {
        self.instead.get(id.index()).copied().unwrap_or(id)
    }

    fn value(&mut self, value: Value) -> ValueId {
        let shape = self.shape;
        match value {
            Value::Constant(constant) => self.values.constant(constant),
            Value::Length => {
                let length = self.values.length();
                let less = shape.tag.shift().wrapping_neg();
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
                    None => self.values.header_length(None, moved(offset, shape)),
                }
            }
            Value::Ancillary(width, offset) => match (shape.tag, offset) {
                (Tag::Absent, Ancillary::VLAN_TAG_PRESENT | Ancillary::VLAN_TAG) => {
                    self.values.constant(0)
                }
                (Tag::InBytes, Ancillary::VLAN_TAG_PRESENT) => self.values.constant(1),
                (Tag::InBytes, Ancillary::VLAN_TAG) => {
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

    /// The bytes at `offset` of the packet without a tag, or what they are known to be.
    fn load(&mut self, width: Width, offset: u32) -> ValueId {
        let facts = self.shape.packet.facts().iter();
        let mut facts =
            facts.filter(|fact| fact.offset == offset && is_whole(fact.size, fact.mask));
        match facts.find(|fact| self::width(fact.size) == width) {
            Some(fact) => self.values.constant(fact.bits),
            None if self.shape.tag.shift() > 0
                && offset < ETHER_TYPE
                && offset + bytes(width) > ETHER_TYPE =>
            {
                self.load_around(offset, bytes(width))
            }
            None => {
                let offset = moved(offset, self.shape);
                self.values.load(width, None, offset)
            }
        }
    }

    /// Bytes that the tag lies between, put together.
    fn load_around(&mut self, offset: u32, bytes: u32) -> ValueId {
        let mut sum = self.values.constant(0);
        for at in offset..offset + bytes {
            let at = moved(at, self.shape);
            let byte = self.values.load(Width::Byte, None, at);
            sum = self.values.binary_constant(Operator::ShiftLeft, sum, 8);
            sum = self.values.binary(Operator::Or, sum, byte);
        }
        sum
    }

    /// The bytes at `base + offset` of the packet without a tag. Of bytes that lie on both sides of the
    /// tag those on this side are taken.
    fn load_at(&mut self, width: Width, base: ValueId, offset: u32) -> ValueId {
        use Operator::{Add, ShiftLeft, ShiftRight, Subtract};
        let shift = self.shape.tag.shift();
        if shift == 0 || (ETHER_TYPE..MOST_OFFSET).contains(&offset) && self.is_small(base) {
            return self
                .values
                .load(width, Some(base), offset.wrapping_add(shift));
        }
        // As far behind as the tag is long if it is not in the addresses: less 1 or 0 times that.
        let values = &mut self.values;
        let place = values.binary_constant(Add, base, offset);
        let before = values.binary_constant(Subtract, place, ETHER_TYPE);
        let is_before = values.binary_constant(ShiftRight, before, 31);
        let less = values.binary_constant(ShiftLeft, is_before, shift.ilog2());
        let behind = values.binary_constant(Add, place, shift);
        let place = values.binary(Subtract, behind, less);
        values.load(width, Some(place), 0)
    }

    /// Whether the value is a length of headers, which no sum makes negative.
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

/// Where the bytes are that would be at `offset` without a tag.
fn moved(offset: u32, shape: Shape) -> u32 {
    if offset < ETHER_TYPE {
        return offset;
    }
    offset.saturating_add(shape.tag.shift())
}

fn bytes(width: Width) -> u32 {
    match width {
        Width::Byte => 1,
        Width::Half => 2,
        Width::Word => 4,
    }
}

fn is_whole(size: Size, mask: u32) -> bool {
    match size {
        Size::Byte => mask == 0xff,
        _ => mask == 0xffff,
    }
}

fn width(size: Size) -> Width {
    match size {
        Size::Byte => Width::Byte,
        Size::Half => Width::Half,
        Size::Word | Size::Double => Width::Word,
    }
}
