use crate::graph::nodes::Node;
use crate::graph::values::{Value, ValueId, Values, Width};
use crate::language::tree::Operator;
use std::collections::HashMap;

/// Which of the packet's bytes computing something reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footprint {
    /// The packet has to have this many bytes for the loads at fixed offsets.
    pub fixed: u64,
    /// Where the other loads start, and how many bytes the packet has to have from there on.
    pub based: Option<(ValueId, u64)>,
    /// That is all: the packet is refused for no other reason.
    pub is_whole: bool,
}

impl Footprint {
    pub(super) const NONE: Self = Self {
        fixed: 0,
        based: None,
        is_whole: true,
    };

    /// That of both; of two bases only one can be told.
    pub(super) fn and(self, other: Self) -> Self {
        let fixed = self.fixed.max(other.fixed);
        let (based, is_one) = match (self.based, other.based) {
            (Some(one), Some(two)) if one.0 == two.0 => (Some((one.0, one.1.max(two.1))), true),
            (one, two) => (one.or(two), one.is_none() || two.is_none()),
        };
        Self {
            fixed,
            based,
            is_whole: self.is_whole && other.is_whole && is_one,
        }
    }
}

pub(super) fn bytes(width: Width) -> u64 {
    match width {
        Width::Byte => 1,
        Width::Half => 2,
        Width::Word => 4,
    }
}

/// Whether `base + offset` can pass 32 bits, and so point to the front of the packet.
pub(super) fn wraps(values: &Values, base: ValueId, offset: u32) -> bool {
    values.ones(base).checked_add(offset).is_none()
}

/// Footprints of values, each computed once.
pub(super) struct Footprints<'a> {
    values: &'a Values,
    known: HashMap<ValueId, Footprint>,
}

impl<'a> Footprints<'a> {
    pub(super) fn new(values: &'a Values) -> Self {
        Self {
            values,
            known: HashMap::new(),
        }
    }

    /// Of all that the node computes itself.
    pub(super) fn of_node(&mut self, node: Node) -> Footprint {
        match node {
            Node::Reject | Node::Accept => Footprint::NONE,
            Node::Test { test, .. } => self.of(test.left).and(self.of(test.right)),
            Node::Member { member, .. } => {
                let words = member.words().iter();
                words.fold(Footprint::NONE, |all, &word| all.and(self.of(word)))
            }
            Node::Let { value, .. } => self.of(value),
        }
    }

    fn of(&mut self, id: ValueId) -> Footprint {
        let plain = Footprint::NONE;
        match self.values.get(id) {
            Value::Constant(_) | Value::Length | Value::Variable(_) => return plain,
            Value::HeaderLength(offset) => return fixed(offset, 1),
            Value::Load {
                width,
                base: None,
                offset,
            } => return fixed(offset, bytes(width)),
            _ => {}
        }
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        let footprint = match self.values.get(id) {
            Value::Load {
                width,
                base: Some(base),
                offset,
            } => {
                let of_base = self.of(base);
                let is_plain = of_base.based.is_none() && !wraps(self.values, base, offset);
                let based = is_plain.then(|| (base, u64::from(offset) + bytes(width)));
                Footprint {
                    fixed: of_base.fixed,
                    based,
                    is_whole: of_base.is_whole && is_plain,
                }
            }
            Value::Negate(operand) => self.of(operand),
            Value::Binary(operator, left, right) => {
                let both = self.of(left).and(self.of(right));
                let divides = matches!(operator, Operator::Divide | Operator::Modulo);
                let can_divide = self
                    .values
                    .as_constant(right)
                    .is_some_and(|right| right != 0);
                Footprint {
                    is_whole: both.is_whole && (!divides || can_divide),
                    ..both
                }
            }
            // What is beside the packet may be unknown.
            _ => Footprint {
                is_whole: false,
                ..plain
            },
        };
        self.known.insert(id, footprint);
        footprint
    }
}

fn fixed(offset: u32, bytes: u64) -> Footprint {
    Footprint {
        fixed: u64::from(offset) + bytes,
        ..Footprint::NONE
    }
}
