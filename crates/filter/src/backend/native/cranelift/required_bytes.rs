//! The packet bytes that a computation requires.

use crate::graph::control_flow::{Graph, Node, NodeId};
use crate::graph::values::{Value, ValueId, Values, Width};
use crate::language::tree::Operator;
use std::collections::HashMap;

/// The packet bytes that a computation reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footprint {
    /// Minimum packet length for the loads at fixed offsets.
    pub fixed: u64,
    /// The base of the other loads, and the bytes that they need after it.
    pub based: Option<(ValueId, u64)>,
    /// Whether this is complete: the computation rejects the packet for no other reason.
    pub is_whole: bool,
}

impl Footprint {
    pub(super) const NONE: Self = Self {
        fixed: 0,
        based: None,
        is_whole: true,
    };

    /// The union of both. Only one base can be represented.
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

/// Whether `base + offset` can overflow 32 bits and wrap to the start of the packet.
pub(super) fn wraps(values: &Values, base: ValueId, offset: u32) -> bool {
    values.ones(base).checked_add(offset).is_none()
}

/// A cache of the footprints of values.
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

    /// The footprint of the values that a node computes.
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
            // Metadata may be unknown.
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

/// Maximum number of bases with combined length checks; loads at other bases are checked one by
/// one.
const MAX_BASES: usize = 8;

/// The minimum packet length at each node: a shorter packet is accepted on no path from there.
pub(super) struct RequiredBytes {
    fixed: Vec<u64>,
    bases: Vec<ValueId>,
    /// For each base, the bytes required after it.
    based: Vec<Vec<u64>>,
}

impl RequiredBytes {
    /// `order` is a topological order of the nodes.
    pub(super) fn of(
        graph: &Graph,
        order: &[NodeId],
        values: &Values,
        footprints: &[Footprint],
    ) -> Self {
        let mut bases: Vec<ValueId> = Vec::new();
        for &id in order {
            if let Some((base, _)) = footprints[id.0 as usize].based
                && bases.len() < MAX_BASES
                && !bases.contains(&base)
            {
                bases.push(base);
            }
        }
        let fixed = backwards(graph, order, |id| (footprints[id.0 as usize].fixed, true));
        let based = bases.iter().map(|&base| {
            backwards(graph, order, |id| {
                let own = match footprints[id.0 as usize].based {
                    Some((own, bytes)) if own == base => bytes,
                    _ => 0,
                };
                // After an assignment to its variable, the base has another value.
                let is_same = match graph.node(id) {
                    Node::Let { variable, .. } => !values.depends_on(base, variable),
                    _ => true,
                };
                (own, is_same)
            })
        });
        Self {
            fixed,
            based: based.collect(),
            bases,
        }
    }

    /// Required bytes from the start of the packet.
    pub(super) fn fixed(&self, id: NodeId) -> u64 {
        self.fixed[id.0 as usize]
    }

    /// Required bytes after `base`.
    pub(super) fn based(&self, id: NodeId, base: ValueId) -> u64 {
        let known = self.bases.iter().position(|&known| known == base);
        known.map_or(0, |at| self.based[at][id.0 as usize])
    }
}

/// The minimum over all accepting paths of the maximum that any node on the path needs.
///
/// `own` returns what a node itself needs, and whether the needs of its successors apply at the
/// node.
fn backwards(graph: &Graph, order: &[NodeId], own: impl Fn(NodeId) -> (u64, bool)) -> Vec<u64> {
    let mut need = vec![u64::MAX; graph.len()];
    for &id in order.iter().rev() {
        let behind = match graph.node(id) {
            Node::Reject => u64::MAX,
            Node::Accept => 0,
            Node::Test { yes, no, .. } | Node::Member { yes, no, .. } => {
                need[yes.0 as usize].min(need[no.0 as usize])
            }
            Node::Let { next, .. } => need[next.0 as usize],
        };
        let (own, counts) = own(id);
        need[id.0 as usize] = match behind {
            // No path accepts, so any value is correct: use the node's own need.
            u64::MAX if id != Graph::REJECT => own,
            u64::MAX => u64::MAX,
            behind if counts => behind.max(own),
            _ => own,
        };
    }
    need
}
