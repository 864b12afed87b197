//! Skips tests whose outcome is known.

use crate::graph::control_flow::{Graph, Node, NodeId};
use crate::graph::passes::known_bits::Knowledge;
use crate::graph::values::Values;
use std::collections::HashMap;
use std::rc::Rc;

/// Maximum number of rounds. Each round shortens paths, so few are needed.
const MAX_ROUNDS: usize = 16;

/// After this many skipped tests in a row, their destination is cached.
const MIN_REMEMBERED: usize = 16;

/// Redirects every edge past the tests whose outcome is known on that path.
pub(crate) fn thread_jumps(mut graph: Graph, values: &Values) -> Graph {
    for _ in 0..MAX_ROUNDS {
        let next = round(&graph, values);
        let is_still = next.reachable().len() == graph.reachable().len()
            && next
                .reachable()
                .iter()
                .zip(graph.reachable())
                .all(|(&new, old)| next.node(new) == graph.node(old));
        graph = next;
        if is_still {
            break;
        }
    }
    graph
}

fn round(graph: &Graph, values: &Values) -> Graph {
    let mut known: Vec<Option<Knowledge>> = vec![None; graph.len()];
    known[graph.root.0 as usize] = Some(Knowledge::default());
    let mut nodes: Vec<(NodeId, Node)> = Vec::new();
    let mut threaded = ThreadedPaths::default();
    for id in (0..=graph.root.0).rev().map(NodeId) {
        let Some(here) = known[id.0 as usize].take() else {
            continue;
        };
        let node = match graph.node(id) {
            Node::Test { test, yes, no } => {
                let mut lead = |to, outcome| {
                    let mut there = here.clone();
                    there.learn(values, test, outcome);
                    let to = threaded.skip_known(graph, values, &there, to);
                    merge_knowledge(&mut known, to, there);
                    to
                };
                let (yes, no) = (lead(yes, true), lead(no, false));
                Node::Test { test, yes, no }
            }
            node @ Node::Member { .. } => node.map(|to| {
                let to = threaded.skip_known(graph, values, &here, to);
                merge_knowledge(&mut known, to, here.clone());
                to
            }),
            Node::Let {
                variable,
                value,
                next,
            } => {
                let mut there = here;
                there.assign(values, variable, value);
                let next = threaded.skip_known(graph, values, &there, next);
                merge_knowledge(&mut known, next, there);
                Node::Let {
                    variable,
                    value,
                    next,
                }
            }
            end => end,
        };
        nodes.push((id, node));
    }
    rebuild(graph, &nodes)
}

/// A cache of long paths past known tests, so that a list is not walked to its end from each of its
/// terms.
#[derive(Default)]
struct ThreadedPaths {
    ends: HashMap<NodeId, (Rc<Knowledge>, NodeId)>,
    path: Vec<NodeId>,
}

impl ThreadedPaths {
    fn skip_known(
        &mut self,
        graph: &Graph,
        values: &Values,
        known: &Knowledge,
        mut to: NodeId,
    ) -> NodeId {
        self.path.clear();
        while let Node::Test { test, yes, no } = graph.node(to) {
            if let Some((then, end)) = self.ends.get(&to)
                && **then == *known
            {
                to = *end;
                break;
            }
            let next = match known.decide(values, test) {
                Some(true) => yes,
                Some(false) => no,
                None => break,
            };
            self.path.push(to);
            to = next;
        }
        if self.path.len() >= MIN_REMEMBERED {
            let known = Rc::new(known.clone());
            let ends = self.path.iter().map(|&node| (node, (known.clone(), to)));
            self.ends.extend(ends);
        }
        to
    }
}

fn merge_knowledge(known: &mut [Option<Knowledge>], at: NodeId, with: Knowledge) {
    match &mut known[at.0 as usize] {
        Some(there) => there.meet(&with),
        empty => *empty = Some(with),
    }
}

/// A new graph of `nodes`, which are in topological order.
fn rebuild(graph: &Graph, nodes: &[(NodeId, Node)]) -> Graph {
    let mut new = Graph::empty();
    let mut ids = vec![Graph::REJECT; graph.len()];
    for &(old, node) in nodes.iter().rev() {
        let to = |id: NodeId| ids[id.0 as usize];
        ids[old.0 as usize] = new.add(node.map(to));
    }
    new.root = ids[graph.root.0 as usize];
    new
}
