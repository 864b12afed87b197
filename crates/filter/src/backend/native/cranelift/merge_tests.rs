//! Merges tests of several nodes into one condition, to save branches.

use crate::backend::native::cranelift::required_bytes::{Footprint, RequiredBytes};
use crate::backend::native::cranelift::set_tables::{Table, Tables};
use crate::graph::control_flow::{Graph, Node, NodeId};

/// Maximum number of merged tests: one mispredicted branch costs more than all of them.
const MAX_TESTS: usize = 8;
/// Maximum number of additional bytes that a merged test may need.
const MAX_FARTHER: u64 = 16;

/// The tests of several nodes as one condition.
#[derive(Clone, Debug)]
pub(super) enum Formula {
    Leaf(NodeId),
    Not(Box<Formula>),
    All(Vec<Formula>),
    Any(Vec<Formula>),
}

/// A branch that replaces those of one or several nodes.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub formula: Formula,
    pub yes: NodeId,
    pub no: NodeId,
    /// The nodes whose tests it contains.
    pub nodes: Vec<NodeId>,
    /// The footprint of all tests.
    pub footprint: Footprint,
}

/// For each node, the merged decision that starts there, if it has several tests.
///
/// A merged decision reads the bytes of all its tests. Packets without them take the nodes one by
/// one.
pub(super) fn plan(
    graph: &Graph,
    order: &[NodeId],
    footprints: &[Footprint],
    need: &RequiredBytes,
    tables: &Tables,
) -> Vec<Option<Decision>> {
    let single = |id: NodeId| single(graph, id, footprints, tables);
    let mut decisions: Vec<Option<Decision>> = vec![None; graph.len()];
    for &id in order.iter().rev() {
        let Some(mut decision) = single(id) else {
            continue;
        };
        // Each iteration adds a test, and their number is limited.
        loop {
            let (yes, no) = (decision.yes, decision.no);
            let whole = |to: NodeId| decisions[to.0 as usize].clone();
            let merged = [whole(no), single(no)].into_iter().flatten();
            let merged = merged.filter_map(|next| decision.behind_no(&next));
            let others = [whole(yes), single(yes)].into_iter().flatten();
            let others = others.filter_map(|next| decision.behind_yes(&next));
            let found = merged
                .chain(others)
                .find(|merged| is_worth(id, &decision, merged, need));
            match found {
                Some(merged) => decision = merged,
                None => break,
            }
        }
        decisions[id.0 as usize] = Some(decision);
    }
    for decision in &mut decisions {
        if decision
            .as_ref()
            .is_some_and(|decision| decision.nodes.len() < 2)
        {
            *decision = None;
        }
    }
    decisions
}

/// The test of one node, if it can be merged: it rejects packets only for missing bytes, and needs
/// no search.
fn single(
    graph: &Graph,
    id: NodeId,
    footprints: &[Footprint],
    tables: &Tables,
) -> Option<Decision> {
    let (yes, no) = match graph.node(id) {
        Node::Test { yes, no, .. } => (yes, no),
        Node::Member { member, yes, no } => match tables.sets[member.set.0 as usize].as_slice() {
            [Table::Bits(_)] => (yes, no),
            _ => return None,
        },
        _ => return None,
    };
    let footprint = footprints[id.0 as usize];
    footprint.is_whole.then(|| Decision {
        formula: Formula::Leaf(id),
        yes,
        no,
        nodes: vec![id],
        footprint,
    })
}

fn is_worth(id: NodeId, own: &Decision, merged: &Decision, need: &RequiredBytes) -> bool {
    let (own, all) = (own.footprint, merged.footprint);
    let is_near = match (own.based, all.based) {
        (None, None) => true,
        (Some((base, bytes)), Some((other, farthest))) => {
            base == other && farthest <= need.based(id, base).max(bytes + MAX_FARTHER)
        }
        _ => false,
    };
    merged.nodes.len() <= MAX_TESTS
        && all.is_whole
        && is_near
        && all.fixed <= need.fixed(id).max(own.fixed + MAX_FARTHER)
}

impl Decision {
    /// Merges with `next`, which is evaluated if this decision is false.
    fn behind_no(&self, next: &Self) -> Option<Self> {
        let (own, other) = (self.formula.clone(), next.formula.clone());
        if next.yes == self.yes {
            Some(self.with(next, Formula::any(own, other), next.yes, next.no))
        } else if next.no == self.yes {
            // Not this one, but the other: false if this one is true.
            Some(self.with(next, Formula::all(own.not(), other), next.yes, next.no))
        } else {
            None
        }
    }

    /// Merges with `next`, which is evaluated if this decision is true.
    fn behind_yes(&self, next: &Self) -> Option<Self> {
        let (own, other) = (self.formula.clone(), next.formula.clone());
        if next.no == self.no {
            Some(self.with(next, Formula::all(own, other), next.yes, next.no))
        } else if next.yes == self.no {
            Some(self.with(next, Formula::any(own.not(), other), next.yes, next.no))
        } else {
            None
        }
    }

    fn with(&self, next: &Self, formula: Formula, yes: NodeId, no: NodeId) -> Self {
        Self {
            formula,
            yes,
            no,
            nodes: [self.nodes.as_slice(), next.nodes.as_slice()].concat(),
            footprint: self.footprint.and(next.footprint),
        }
    }
}

impl Formula {
    fn not(self) -> Self {
        match self {
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }

    fn all(one: Self, two: Self) -> Self {
        let mut all = vec![one];
        match two {
            Self::All(others) => all.extend(others),
            other => all.push(other),
        }
        Self::All(all)
    }

    fn any(one: Self, two: Self) -> Self {
        let mut any = vec![one];
        match two {
            Self::Any(others) => any.extend(others),
            other => any.push(other),
        }
        Self::Any(any)
    }
}
