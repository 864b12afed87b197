use crate::graph::control_flow::{Graph, Node, NodeId};
use crate::graph::values::{Values, Variable};

/// Removes assignments to variables that nothing reads, and initializes variables that may be read
/// before they are assigned.
///
/// A value that can reject the packet is still computed.
pub(crate) fn remove_dead_variables(graph: &Graph, values: &mut Values) -> Graph {
    let read = read_variables(graph, values);
    let unset = read_unset(graph, values);
    let mut new = Graph::empty();
    let mut ids = vec![Graph::REJECT; graph.len()];
    let order = graph.reachable();
    for &id in order.iter().rev() {
        let to = |id: NodeId| ids[id.0 as usize];
        ids[id.0 as usize] = match graph.node(id) {
            Node::Let {
                variable,
                value,
                next,
            } => {
                if read & 1 << variable.0 == 0 && !values.can_fail(value) {
                    to(next)
                } else {
                    new.add(Node::Let {
                        variable,
                        value,
                        next: to(next),
                    })
                }
            }
            other => new.add(other.map(to)),
        };
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

/// The variables that are read, as a bit mask.
pub(crate) fn read_variables(graph: &Graph, values: &Values) -> u16 {
    let read = graph
        .reachable()
        .into_iter()
        .map(|id| match graph.node(id) {
            node @ Node::Let { variable, .. } => node.variables(values) & !(1 << variable.0),
            node => node.variables(values),
        });
    read.fold(0, |all, some| all | some)
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
