use super::nodes::{Graph, Node, NodeId};

/// `graph` without its sets: accepts every packet that `graph` accepts, and more.
///
/// What else is asked stays in its place, so no packet is refused for bytes that `graph` does not
/// ask for. A set with two ways out that part becomes "accept".
pub(crate) fn widen(graph: &Graph) -> Graph {
    let mut new = Graph::empty();
    let mut ids = vec![Graph::REJECT; graph.len()];
    for &id in graph.reachable().iter().rev() {
        let to = |id: NodeId| ids[id.0 as usize];
        ids[id.0 as usize] = match graph.node(id) {
            Node::Member { yes, no, .. } => either(&new, to(yes), to(no)),
            other => new.add(other.map(to)),
        };
    }
    new.root = ids[graph.root.0 as usize];
    new
}

/// A node that accepts what one of the two accepts.
fn either(graph: &Graph, one: NodeId, other: NodeId) -> NodeId {
    if leads_only(graph, other, one) {
        one
    } else if leads_only(graph, one, other) {
        other
    } else {
        Graph::ACCEPT
    }
}

/// Whether all ways from `from` end in a refusal or at `to`, with the variables as they were.
fn leads_only(graph: &Graph, from: NodeId, to: NodeId) -> bool {
    let mut seen = vec![false; from.0 as usize + 1];
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if at == to || at == Graph::REJECT || std::mem::replace(&mut seen[at.0 as usize], true) {
            continue;
        }
        match graph.node(at) {
            Node::Test { yes, no, .. } | Node::Member { yes, no, .. } => open.extend([yes, no]),
            Node::Let { .. } | Node::Accept => return false,
            Node::Reject => {}
        }
    }
    true
}
