use super::value::Notation;
use crate::Filter;
use crate::graph::condition::Member;
use crate::graph::nodes::{Graph, Node, NodeId};
use crate::graph::sets::Set;
use std::fmt::{self, Display};

/// The nodes of a filter's graph, numbered; made by [`Filter::graph`].
#[derive(Clone, Copy)]
pub struct GraphListing<'a>(&'a Filter);

impl Filter {
    /// What the passes made of the filter: a test a line, with the lines it leads to.
    ///
    /// `packet[12:2]` are two bytes at offset 12, in network order, where a packet without them is
    /// refused; `v0` is a value the filter computed before. Line 0 is the first asked, and no line
    /// leads to one above it.
    pub fn graph(&self) -> GraphListing<'_> {
        GraphListing(self)
    }
}

impl Display for GraphListing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = Lines::of(&self.0.graph);
        for (line, &id) in lines.order.iter().enumerate() {
            let node = self.0.graph.node(id);
            write!(f, "{line}: {}", label(self.0, node))?;
            match node {
                Node::Test { yes, no, .. } | Node::Member { yes, no, .. } => {
                    writeln!(f, " ? {} : {}", lines.of_node(yes), lines.of_node(no))?;
                }
                Node::Let { next, .. } => writeln!(f, ", then {}", lines.of_node(next))?,
                Node::Accept | Node::Reject => writeln!(f)?,
            }
        }
        Ok(())
    }
}

/// The numbers that nodes are listed by.
pub(super) struct Lines {
    pub order: Vec<NodeId>,
    lines: Vec<usize>,
}

impl Lines {
    pub(super) fn of(graph: &Graph) -> Self {
        let order = graph.reachable();
        let mut lines = vec![0; graph.len()];
        for (line, id) in order.iter().enumerate() {
            lines[id.0 as usize] = line;
        }
        Self { order, lines }
    }

    pub(super) fn of_node(&self, id: NodeId) -> usize {
        self.lines[id.0 as usize]
    }
}

/// What a node asks or does.
pub(super) fn label(filter: &Filter, node: Node) -> impl Display {
    let notation = Notation {
        values: &filter.values,
        packet: "packet",
    };
    fmt::from_fn(move |f| match node {
        Node::Reject => f.write_str("refuse"),
        Node::Accept => write!(f, "keep {} bytes", filter.options.snaplen),
        Node::Test { test, .. } => write!(f, "{}", notation.test(test, true)),
        Node::Let {
            variable, value, ..
        } => write!(f, "v{} = {}", variable.0, notation.value(value)),
        Node::Member { member, .. } => write_member(f, filter, notation, &member),
    })
}

fn write_member(
    f: &mut fmt::Formatter<'_>,
    filter: &Filter,
    notation: Notation<'_>,
    member: &Member,
) -> fmt::Result {
    for (at, &word) in member.words().iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        write!(f, "{comma}{}", notation.value(word))?;
    }
    let set = &filter.sets[member.set.0 as usize];
    let (count, what) = match set {
        Set::Ranges(ranges) if ranges.iter().all(|range| range.0 == range.1) => {
            (ranges.len(), "value")
        }
        Set::Ranges(ranges) => (ranges.len(), "range"),
        Set::Keys(_, keys) => (keys.len(), "key"),
    };
    let plural = if count == 1 { "" } else { "s" };
    write!(f, " in set {} ({count} {what}{plural})", member.set.0)
}
