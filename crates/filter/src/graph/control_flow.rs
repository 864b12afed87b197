//! The control-flow graph of a filter.

use crate::graph::condition::{Comparison, Condition, Member, Test};
use crate::graph::values::{ValueId, Values, Variable};
use std::collections::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Reject,
    Accept,
    Test {
        test: Test,
        yes: NodeId,
        no: NodeId,
    },
    Member {
        member: Member,
        yes: NodeId,
        no: NodeId,
    },
    Let {
        variable: Variable,
        value: ValueId,
        next: NodeId,
    },
}

impl Node {
    /// The node with `to` applied to its successors.
    pub(crate) fn map(self, mut to: impl FnMut(NodeId) -> NodeId) -> Self {
        match self {
            Self::Test { test, yes, no } => Self::Test {
                test,
                yes: to(yes),
                no: to(no),
            },
            Self::Member { member, yes, no } => Self::Member {
                member,
                yes: to(yes),
                no: to(no),
            },
            Self::Let {
                variable,
                value,
                next,
            } => Self::Let {
                variable,
                value,
                next: to(next),
            },
            end => end,
        }
    }

    /// The values that the node computes.
    pub(crate) fn values(&self) -> Vec<ValueId> {
        match self {
            Self::Test { test, .. } => vec![test.left, test.right],
            Self::Member { member, .. } => member.words().to_vec(),
            Self::Let { value, .. } => vec![*value],
            Self::Reject | Self::Accept => Vec::new(),
        }
    }

    /// The variables that the node reads, as a bit mask.
    pub(crate) fn variables(self, values: &Values) -> u16 {
        match self {
            Self::Test { test, .. } => values.variables(test.left) | values.variables(test.right),
            Self::Member { member, .. } => {
                let words = member.words().iter();
                words.fold(0, |all, &word| all | values.variables(word))
            }
            Self::Let { value, .. } => values.variables(value),
            Self::Reject | Self::Accept => 0,
        }
    }
}

/// Up to this many cases are compared linearly; more are split by binary search.
pub(super) const MAX_IN_A_ROW: usize = 8;

/// The control-flow graph of a filter.
///
/// A node is created after its successors and has a higher id, so descending ids are a topological
/// order. Equal nodes are shared.
pub(crate) struct Graph {
    nodes: Vec<Node>,
    ids: HashMap<Node, NodeId>,
    pub root: NodeId,
}

impl Graph {
    pub(crate) const REJECT: NodeId = NodeId(0);
    pub(crate) const ACCEPT: NodeId = NodeId(1);

    /// A graph that rejects every packet until a root is set.
    pub(crate) fn empty() -> Self {
        let mut graph = Self {
            nodes: Vec::new(),
            ids: HashMap::new(),
            root: Self::REJECT,
        };
        graph.add(Node::Reject);
        graph.add(Node::Accept);
        graph
    }

    pub(crate) fn of(condition: &Condition, values: &mut Values) -> Self {
        let mut graph = Self::empty();
        graph.root = graph.build(condition, Self::ACCEPT, Self::REJECT, values);
        graph
    }

    pub(crate) fn node(&self, id: NodeId) -> Node {
        self.nodes[id.0 as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds `node`, or returns an equal one. A test with two equal successors becomes that
    /// successor. An assignment before a rejection becomes the rejection.
    pub(crate) fn add(&mut self, node: Node) -> NodeId {
        if let Node::Let {
            next: Self::REJECT, ..
        } = node
        {
            return Self::REJECT;
        }
        if let Node::Test { yes, no, .. } | Node::Member { yes, no, .. } = node
            && yes == no
        {
            return yes;
        }
        let next = NodeId(self.nodes.len() as u32);
        let id = *self.ids.entry(node).or_insert(next);
        if id == next {
            self.nodes.push(node);
        }
        id
    }

    /// Ids of the reachable nodes in topological order.
    pub(crate) fn reachable(&self) -> Vec<NodeId> {
        let mut seen = vec![false; self.nodes.len()];
        seen[self.root.0 as usize] = true;
        let mut order = Vec::new();
        for at in (0..self.nodes.len()).rev() {
            if !seen[at] {
                continue;
            }
            order.push(NodeId(at as u32));
            match self.nodes[at] {
                Node::Reject | Node::Accept => {}
                Node::Test { yes, no, .. } | Node::Member { yes, no, .. } => {
                    seen[yes.0 as usize] = true;
                    seen[no.0 as usize] = true;
                }
                Node::Let { next, .. } => seen[next.0 as usize] = true,
            }
        }
        order
    }

    fn build(
        &mut self,
        condition: &Condition,
        yes: NodeId,
        no: NodeId,
        values: &mut Values,
    ) -> NodeId {
        match condition {
            Condition::Constant(true) => yes,
            Condition::Constant(false) => no,
            Condition::Test(test) => self.add(Node::Test {
                test: *test,
                yes,
                no,
            }),
            Condition::Member(member) => self.add(Node::Member {
                member: *member,
                yes,
                no,
            }),
            Condition::Let(variable, value) => self.add(Node::Let {
                variable: *variable,
                value: *value,
                next: yes,
            }),
            Condition::Not(inner) => self.build(inner, no, yes, values),
            Condition::All(terms) => terms
                .iter()
                .rev()
                .fold(yes, |next, term| self.build(term, next, no, values)),
            Condition::Any(terms) => terms
                .iter()
                .rev()
                .fold(no, |next, term| self.build(term, yes, next, values)),
            Condition::Choice(value, cases) => self.choose(*value, cases, yes, no, values),
            Condition::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                let otherwise = self.build(otherwise, yes, no, values);
                let then = self.build(then, yes, no, values);
                self.build(condition, then, otherwise, values)
            }
        }
    }

    /// Compares a few constants linearly, and many by binary search.
    fn choose(
        &mut self,
        value: ValueId,
        cases: &[(u32, Condition)],
        yes: NodeId,
        no: NodeId,
        values: &mut Values,
    ) -> NodeId {
        if cases.len() > MAX_IN_A_ROW {
            let (low, high) = cases.split_at(cases.len() / 2);
            let low_node = self.choose(value, low, yes, no, values);
            let high_node = self.choose(value, high, yes, no, values);
            let last = low.last().map_or(0, |case| case.0);
            let test = Test {
                comparison: Comparison::Greater,
                left: value,
                right: values.constant(last),
            };
            return self.add(Node::Test {
                test,
                yes: high_node,
                no: low_node,
            });
        }
        let mut next = no;
        for (constant, rest) in cases.iter().rev() {
            let found = self.build(rest, yes, no, values);
            let test = Test {
                comparison: Comparison::Equal,
                left: value,
                right: values.constant(*constant),
            };
            next = self.add(Node::Test {
                test,
                yes: found,
                no: next,
            });
        }
        next
    }
}
