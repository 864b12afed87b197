use super::condition::{Comparison, Member, Test};
use super::nodes::{Graph, MOST_IN_A_ROW, Node, NodeId};
use super::sets::{MOST_WORDS, Set};
use super::values::{ValueId, Values};

/// Turns sets into comparisons, for machines that have none.
///
/// Nothing else changes: the same bytes are asked for on every way, so that packets cut short come
/// out as with sets.
pub(crate) fn expand(graph: &Graph, sets: &[Set], values: &mut Values) -> Graph {
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

/// Of sets that ask for one word more each, the last says it all, unless their ways out differ.
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

/// The keys of `set` without their last words.
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

/// Where a member leads, and where others do.
type Ways = (NodeId, NodeId);

impl Expansion<'_> {
    fn member(&mut self, words: &[ValueId], set: &Set, ways: Ways) -> NodeId {
        match set {
            Set::Ranges(ranges) => self.ranges(words[0], ranges, ways),
            Set::Keys(_, keys) => self.keys(words, 0, keys, ways),
        }
    }

    /// Finds the range that `value` could be in, by halves and then one after the other.
    fn ranges(&mut self, value: ValueId, ranges: &[(u32, u32)], (yes, no): Ways) -> NodeId {
        if ranges.len() > MOST_IN_A_ROW {
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
            // A side that no value is on needs no comparison; but one has to ask for the bytes.
            let ends_all = self.values.ones(value) <= most;
            if least == 0 {
                return self.test(Comparison::Greater, value, most, (next, yes));
            }
            let inside = if ends_all {
                yes
            } else {
                self.test(Comparison::Greater, value, most, (next, yes))
            };
            // Below this range is above none of the others.
            self.test(Comparison::AtLeast, value, least, (inside, no))
        })
    }

    /// Finds the word at `place` among the keys, and then the words behind it.
    fn keys(
        &mut self,
        words: &[ValueId],
        place: usize,
        keys: &[[u32; MOST_WORDS]],
        ways: Ways,
    ) -> NodeId {
        let mut found = Vec::new();
        for alike in keys.chunk_by(|one, other| one[place] == other[place]) {
            let next = if place + 1 < words.len() {
                self.keys(words, place + 1, alike, ways)
            } else {
                ways.0
            };
            found.push((alike[0][place], next));
        }
        self.choose(words[place], &found, ways.1)
    }

    fn choose(&mut self, value: ValueId, cases: &[(u32, NodeId)], no: NodeId) -> NodeId {
        if cases.len() > MOST_IN_A_ROW {
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
        (yes, no): Ways,
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
