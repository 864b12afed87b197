//! Replaces sets by comparisons.

use crate::graph::condition::{Comparison, Member, Test};
use crate::graph::control_flow::{Graph, MAX_IN_A_ROW, Node, NodeId};
use crate::graph::sets::{MAX_KEY_WORDS, Set};
use crate::graph::values::{ValueId, Values};

/// Replaces sets by comparisons, for targets without sets.
///
/// Every path reads the same bytes in the same order, so truncated packets get the same verdict.
pub(crate) fn expand_sets(graph: &Graph, sets: &[Set], values: &mut Values) -> Graph {
    let mut expansion = Expansion {
        graph: Graph::empty(),
        values,
    };
    let mut ids = vec![Graph::REJECT; graph.len()];
    for &id in graph.reachable().iter().rev() {
        let to = |id: NodeId| ids[id.0 as usize];
        ids[id.0 as usize] = match graph.node(id) {
            Node::Member { member, yes, no } => {
                let (member, yes) = last_of_chain(graph, sets, member, yes, no);
                let set = &sets[member.set.0 as usize];
                expansion.member(member.words(), set, (to(yes), to(no)))
            }
            other => expansion.graph.add(other.map(to)),
        };
    }
    expansion.graph.root = ids[graph.root.0 as usize];
    expansion.graph
}

/// In a chain of sets that each compare one more word, the last set implies the others if their
/// exits are equal.
fn last_of_chain(
    graph: &Graph,
    sets: &[Set],
    mut member: Member,
    mut yes: NodeId,
    no: NodeId,
) -> (Member, NodeId) {
    while let Node::Member {
        member: longer,
        yes: further,
        no: out,
    } = graph.node(yes)
        && out == no
        && longer.words().split_last().map(|(_, words)| words) == Some(member.words())
        && beginnings(&sets[longer.set.0 as usize]) == sets[member.set.0 as usize]
    {
        member = longer;
        yes = further;
    }
    (member, yes)
}

/// The keys of `set` without their last word.
fn beginnings(set: &Set) -> Set {
    match set {
        Set::Ranges(_) => Set::Ranges(Vec::new()),
        Set::Keys(2, keys) => Set::of_ranges(keys.iter().map(|key| (key[0], key[0])).collect()),
        Set::Keys(words, keys) => {
            let keys = keys.iter().map(|key| {
                let mut shorter = *key;
                shorter[words - 1] = 0;
                shorter
            });
            Set::of_keys(words - 1, keys.collect())
        }
    }
}

struct Expansion<'a> {
    graph: Graph,
    values: &'a mut Values,
}

/// Successor nodes for members of the set and for other values.
type SetBranches = (NodeId, NodeId);

impl Expansion<'_> {
    fn member(&mut self, words: &[ValueId], set: &Set, branches: SetBranches) -> NodeId {
        match set {
            Set::Ranges(ranges) => self.ranges(words[0], ranges, branches),
            Set::Keys(_, keys) => self.keys(words, 0, keys, branches),
        }
    }

    /// Finds the range of `value` by binary search, then by linear search.
    fn ranges(&mut self, value: ValueId, ranges: &[(u32, u32)], (yes, no): SetBranches) -> NodeId {
        if ranges.len() > MAX_IN_A_ROW {
            let (low, high) = ranges.split_at(ranges.len() / 2);
            let last = low[low.len() - 1].1;
            let low = self.ranges(value, low, (yes, no));
            let high = self.ranges(value, high, (yes, no));
            return self.test(Comparison::Greater, value, last, (high, low));
        }
        ranges.iter().rev().fold(no, |next, &(least, most)| {
            if least == most {
                return self.test(Comparison::Equal, value, least, (yes, next));
            }
            // A bound that every value satisfies needs no comparison. One comparison must remain,
            // to read the bytes.
            let ends_all = self.values.ones(value) <= most;
            if least == 0 {
                return self.test(Comparison::Greater, value, most, (next, yes));
            }
            let inside = if ends_all {
                yes
            } else {
                self.test(Comparison::Greater, value, most, (next, yes))
            };
            // A value below this range is in none of the others either.
            self.test(Comparison::AtLeast, value, least, (inside, no))
        })
    }

    /// Finds the word at index `place` among the keys, then the words after it.
    fn keys(
        &mut self,
        words: &[ValueId],
        place: usize,
        keys: &[[u32; MAX_KEY_WORDS]],
        branches: SetBranches,
    ) -> NodeId {
        let mut found = Vec::new();
        for alike in keys.chunk_by(|one, other| one[place] == other[place]) {
            let next = if place + 1 < words.len() {
                self.keys(words, place + 1, alike, branches)
            } else {
                branches.0
            };
            found.push((alike[0][place], next));
        }
        self.choose(words[place], &found, branches.1)
    }

    fn choose(&mut self, value: ValueId, cases: &[(u32, NodeId)], no: NodeId) -> NodeId {
        if cases.len() > MAX_IN_A_ROW {
            let (low, high) = cases.split_at(cases.len() / 2);
            let last = low[low.len() - 1].0;
            let low = self.choose(value, low, no);
            let high = self.choose(value, high, no);
            return self.test(Comparison::Greater, value, last, (high, low));
        }
        cases.iter().rev().fold(no, |next, &(constant, found)| {
            self.test(Comparison::Equal, value, constant, (found, next))
        })
    }

    fn test(
        &mut self,
        comparison: Comparison,
        left: ValueId,
        constant: u32,
        (yes, no): SetBranches,
    ) -> NodeId {
        let right = self.values.constant(constant);
        let test = Test {
            comparison,
            left,
            right,
        };
        self.graph.add(Node::Test { test, yes, no })
    }
}

/// Removes the sets: the result accepts every packet that `graph` accepts, and more.
///
/// All other tests keep their position, so the result reads no bytes that `graph` does not read. A
/// set becomes "accept" if neither exit implies the other.
pub(crate) fn drop_sets(graph: &Graph) -> Graph {
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

/// A node that accepts what either of the two accepts.
fn either(graph: &Graph, one: NodeId, other: NodeId) -> NodeId {
    if leads_only(graph, other, one) {
        one
    } else if leads_only(graph, one, other) {
        other
    } else {
        Graph::ACCEPT
    }
}

/// Whether all paths from `from` end in a rejection or at `to`, without assigning variables.
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
