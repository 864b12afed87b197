use super::knowledge::Knowledge;
use super::nodes::{Graph, Node, NodeId};
use super::values::Values;
use std::collections::HashMap;
use std::rc::Rc;

/// Rounds until the graph has to be still; each makes ways shorter, so few are needed.
const MOST_ROUNDS: usize = 16;

/// Known tests in a row from which on it is remembered where they lead.
const LEAST_REMEMBERED: usize = 16;

/// Leads every way past the tests whose outcome is known on it.
pub(crate) fn thread(mut graph: Graph, values: &Values) -> Graph {
    for _ in 0..MOST_ROUNDS {
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
    let mut passed = Passed::default();
    for id in (0..=graph.root.0).rev().map(NodeId) {
        let Some(here) = known[id.0 as usize].take() else {
            continue;
        };
        let node = match graph.node(id) {
            Node::Test { test, yes, no } => {
                let mut lead = |to, outcome| {
                    let mut there = here.clone();
                    there.learn(values, test, outcome);
                    let to = passed.past_known(graph, values, &there, to);
                    arrive(&mut known, to, there);
                    to
                };
                let (yes, no) = (lead(yes, true), lead(no, false));
                Node::Test { test, yes, no }
            }
            node @ Node::Member { .. } => node.map(|to| {
                let to = passed.past_known(graph, values, &here, to);
                arrive(&mut known, to, here.clone());
                to
            }),
            Node::Let {
                variable,
                value,
                next,
            } => {
                let mut there = here;
                there.forget(values, variable);
                let next = passed.past_known(graph, values, &there, next);
                arrive(&mut known, next, there);
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

/// Long ways past known tests, so that a list is not walked to its end from each of its terms.
#[derive(Default)]
struct Passed {
    ends: HashMap<NodeId, (Rc<Knowledge>, NodeId)>,
    way: Vec<NodeId>,
}

impl Passed {
    fn past_known(
        &mut self,
        graph: &Graph,
        values: &Values,
        known: &Knowledge,
        mut to: NodeId,
    ) -> NodeId {
        self.way.clear();
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
            self.way.push(to);
            to = next;
        }
        if self.way.len() >= LEAST_REMEMBERED {
            let known = Rc::new(known.clone());
            let ends = self.way.iter().map(|&node| (node, (known.clone(), to)));
            self.ends.extend(ends);
        }
        to
    }
}

fn arrive(known: &mut [Option<Knowledge>], at: NodeId, with: Knowledge) {
    match &mut known[at.0 as usize] {
        Some(there) => there.meet(&with),
        empty => *empty = Some(with),
    }
}

/// A new graph of `nodes`, which come each before those it leads to.
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
