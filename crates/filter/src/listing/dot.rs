use super::graph::{Lines, label};
use crate::Filter;
use crate::graph::nodes::Node;
use std::fmt;

/// A filter's graph in the language of Graphviz; made by [`Filter::dot`].
#[derive(Clone, Copy)]
pub struct DotListing<'a>(&'a Filter);

impl Filter {
    /// The graph of [`Filter::graph`] for `dot`: the numbers of its nodes are those of the lines.
    pub fn dot(&self) -> DotListing<'_> {
        DotListing(self)
    }
}

impl fmt::Display for DotListing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = Lines::of(&self.0.graph);
        f.write_str("digraph filter {\n  node [shape=box, fontname=monospace];\n")?;
        for (line, &id) in lines.order.iter().enumerate() {
            let node = self.0.graph.node(id);
            // No label has a quote or a backslash in it: they are numbers, signs and fixed words.
            write!(f, "  n{line} [label=\"{}\"", label(self.0, node))?;
            let is_end = matches!(node, Node::Accept | Node::Reject);
            f.write_str(if is_end { ", shape=oval];\n" } else { "];\n" })?;
            match node {
                Node::Test { yes, no, .. } | Node::Member { yes, no, .. } => {
                    writeln!(f, "  n{line} -> n{} [label=yes];", lines.of_node(yes))?;
                    writeln!(f, "  n{line} -> n{} [label=no];", lines.of_node(no))?;
                }
                Node::Let { next, .. } => writeln!(f, "  n{line} -> n{};", lines.of_node(next))?,
                Node::Accept | Node::Reject => {}
            }
        }
        f.write_str("}\n")
    }
}
