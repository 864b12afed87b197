use super::footprint::Footprint;
use crate::graph::nodes::{Graph, Node, NodeId};
use crate::graph::values::{ValueId, Values};

/// Bases whose loads are looked at together; those of others are checked one by one.
const MOST_BASES: usize = 8;

/// How many bytes a packet has to have at a node, or no way from there accepts it.
pub(super) struct Need {
    fixed: Vec<u64>,
    bases: Vec<ValueId>,
    /// For each base, from there on.
    based: Vec<Vec<u64>>,
}

impl Need {
    /// `order` has every node before those it leads to.
    pub(super) fn of(
        graph: &Graph,
        order: &[NodeId],
        values: &Values,
        footprints: &[Footprint],
    ) -> Self {
        let mut bases: Vec<ValueId> = Vec::new();
        for &id in order {
            if let Some((base, _)) = footprints[id.0 as usize].based
                && bases.len() < MOST_BASES
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
                // Behind a new value of its variable a base is another.
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

    /// Bytes from the packet's first on.
    pub(super) fn fixed(&self, id: NodeId) -> u64 {
        self.fixed[id.0 as usize]
    }

    /// Bytes from `base` on.
    pub(super) fn based(&self, id: NodeId, base: ValueId) -> u64 {
        let known = self.bases.iter().position(|&known| known == base);
        known.map_or(0, |at| self.based[at][id.0 as usize])
    }
}

/// The least over all accepting ways of the most that a node on the way needs.
///
/// `own` gives what a node needs itself, and whether what those behind it need counts there.
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
            // No way accepts: what the node needs itself is as good as anything.
            u64::MAX if id != Graph::REJECT => own,
            u64::MAX => u64::MAX,
            behind if counts => behind.max(own),
            _ => own,
        };
    }
    need
}
