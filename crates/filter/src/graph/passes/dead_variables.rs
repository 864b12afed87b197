//! Removes assignments that nothing reads.

use crate::graph::control_flow::{Graph, Node, NodeId};
use crate::graph::values::{Values, Variable};

/// Removes assignments that nothing reads before the next one, and initializes variables that may be read
/// before they are assigned.
///
/// A value that can reject the packet is still computed.
pub(crate) fn remove_dead_variables(graph: &Graph, values: &mut Values) -> Graph {
    let unset = read_unset(graph, values);
    let mut new = Graph::empty();
    let mut ids = vec![Graph::REJECT; graph.len()];
    // By node: the variables that are read from there on, as a bit mask.
    let mut read = vec![0; graph.len()];
    // Successors first.
    for &id in graph.reachable().iter().rev() {
        let to = |id: NodeId| ids[id.0 as usize];
        let of = |id: NodeId| read[id.0 as usize];
        let node = graph.node(id);
        let (node_in, behind): (NodeId, u16) = match node {
            Node::Let {
                variable,
                value,
                next,
            } => {
                let is_dead = of(next) & 1 << variable.0 == 0 && !values.can_fail(value);
                if is_dead {
                    ids[id.0 as usize] = to(next);
                    read[id.0 as usize] = of(next);
                    continue;
                }
                (new.add(node.map(to)), of(next) & !(1 << variable.0))
            }
            Node::Test { yes, no, .. } | Node::Member { yes, no, .. } => {
                (new.add(node.map(to)), of(yes) | of(no))
            }
            Node::Reject | Node::Accept => (new.add(node), 0),
        };
        ids[id.0 as usize] = node_in;
        read[id.0 as usize] = behind | node.variables(values);
    }
    new.root = ids[graph.root.0 as usize];
    for variable in (0..16).filter(|bit| unset & 1 << bit != 0).map(Variable) {
        let value = values.constant(0);
        let next = new.root;
        new.root = new.add(Node::Let {
            variable,
            value,
            next,
        });
    }
    new
}

/// The variables that may be read before they are assigned, as a bit mask.
fn read_unset(graph: &Graph, values: &Values) -> u16 {
    let mut set = vec![u16::MAX; graph.len()];
    set[graph.root.0 as usize] = 0;
    let mut unset = 0;
    for id in graph.reachable() {
        let here = set[id.0 as usize];
        unset |= graph.node(id).variables(values) & !here;
        match graph.node(id) {
            Node::Test { yes, no, .. } | Node::Member { yes, no, .. } => {
                set[yes.0 as usize] &= here;
                set[no.0 as usize] &= here;
            }
            Node::Let { variable, next, .. } => {
                set[next.0 as usize] &= here | 1 << variable.0;
            }
            Node::Reject | Node::Accept => {}
        }
    }
    unset
}
