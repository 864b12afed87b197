//! Listings of a filter: its syntax tree, its graph, and the graph for Graphviz.

use crate::classic::Ancillary;
use crate::filter::Filter;
use crate::graph::condition::{Comparison, Member, Test};
use crate::graph::control_flow::{Graph, Node, NodeId};
use crate::graph::sets::Set;
use crate::graph::values::{Value, ValueId, Values, Width};
use crate::language::print::{Printed, sign};
use crate::language::tree::{Expression, Operator};
use std::fmt;
use std::fmt::Display;

/// The terms of a filter with all qualifiers, indented. Created by [`Filter::tree`].
#[derive(Clone, Copy)]
pub struct TreeListing<'a>(&'a Filter);

impl Filter {
    /// The filter as a tree, one term a line. `and`, `or` and `not` are parent lines.
    ///
    /// Terms are in the language of pcap-filter(7), with inherited qualifiers: in `host a or b` the
    /// second term is `host b`.
    pub fn tree(&self) -> TreeListing<'_> {
        TreeListing(self)
    }
}

impl Filter {
    /// The words in the filter that pcap-filter(7) does not have, so that only tapline compiles it: `any`, `inner`.
    pub fn own_words(&self) -> Vec<&'static str> {
        let mut words = Vec::new();
        add_own_words(&self.tree, &mut words);
        words
    }
}

fn add_own_words(expression: &Expression, words: &mut Vec<&'static str>) {
    match expression {
        Expression::Term(_, term) => {
            let word = term.layers().word();
            if !word.is_empty() && !words.contains(&word) {
                words.push(word);
            }
        }
        Expression::Not(inner) => add_own_words(inner, words),
        Expression::All(inner) | Expression::Any(inner) => {
            for inner in inner {
                add_own_words(inner, words);
            }
        }
    }
}

impl fmt::Display for TreeListing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &self.0.tree, 0)
    }
}

impl TreeListing<'_> {
    fn write(
        self,
        f: &mut fmt::Formatter<'_>,
        expression: &Expression,
        depth: usize,
    ) -> fmt::Result {
        write!(f, "{:width$}", "", width = 2 * depth)?;
        let (word, inner) = match expression {
            Expression::Term(_, part) => {
                let link = self.0.options.link;
                return writeln!(f, "{}", Printed { part, link });
            }
            Expression::All(inner) if inner.is_empty() => {
                return f.write_str("every packet\n");
            }
            Expression::Not(inner) => ("not", std::slice::from_ref(&**inner)),
            Expression::All(inner) => ("and", inner.as_slice()),
            Expression::Any(inner) => ("or", inner.as_slice()),
        };
        writeln!(f, "{word}")?;
        inner
            .iter()
            .try_for_each(|inner| self.write(f, inner, depth + 1))
    }
}

/// The nodes of the graph of a filter, numbered. Created by [`Filter::graph`].
#[derive(Clone, Copy)]
pub struct GraphListing<'a>(&'a Filter);

impl Filter {
    /// The optimized graph: one test a line, with the line numbers of its successors.
    ///
    /// `packet[12:2]` is a load of two bytes at offset 12, in network order; it rejects packets
    /// without these bytes. `v0` is a variable. Line 0 is the root, and successors are always
    /// below.
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

/// The line numbers of the nodes.
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

/// The text of a node.
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

/// The graph of a filter for Graphviz. Created by [`Filter::dot`].
#[derive(Clone, Copy)]
pub struct DotListing<'a>(&'a Filter);

impl Filter {
    /// The graph of [`Filter::graph`] for `dot`. Node numbers are the line numbers.
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
            // Labels contain no quotes or backslashes: only numbers, operators and fixed words.
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

/// Numbers from this value up are printed in hexadecimal; masks and masked values from 10.
const MIN_HEX: u32 = 256;
const MIN_HEX_MASK: u32 = 10;

/// How values are printed. Loads are relative to the start of the packet, which is called `packet`.
#[derive(Clone, Copy)]
pub(crate) struct Notation<'a> {
    pub values: &'a Values,
    pub packet: &'static str,
}

impl Notation<'_> {
    pub(crate) fn value(self, id: ValueId) -> impl Display {
        fmt::from_fn(move |f| self.write(f, id, false))
    }

    /// Prints a test such as `left == right`, or its negation if `holds` is false.
    pub(crate) fn test(self, test: Test, holds: bool) -> impl Display {
        fmt::from_fn(move |f| {
            self.write(f, test.left, false)?;
            let relation = match (test.comparison, holds) {
                (Comparison::Equal, true) => "==",
                (Comparison::Equal, false) => "!=",
                (Comparison::Greater, true) => ">",
                (Comparison::Greater, false) => "<=",
                (Comparison::AtLeast, true) => ">=",
                (Comparison::AtLeast, false) => "<",
                (Comparison::AnyBit, _) => {
                    f.write_str(" & ")?;
                    self.write_mask(f, test.right)?;
                    return f.write_str(if holds { " != 0" } else { " == 0" });
                }
            };
            write!(f, " {relation} ")?;
            let left = self.values.get(test.left);
            if matches!(left, Value::Binary(Operator::And, ..)) {
                self.write_mask(f, test.right)
            } else {
                self.write(f, test.right, false)
            }
        })
    }

    fn write_mask(self, f: &mut fmt::Formatter<'_>, id: ValueId) -> fmt::Result {
        match self.values.get(id) {
            Value::Constant(mask) => write_number(f, mask, MIN_HEX_MASK),
            _ => self.write(f, id, true),
        }
    }

    fn write(self, f: &mut fmt::Formatter<'_>, id: ValueId, is_operand: bool) -> fmt::Result {
        match self.values.get(id) {
            Value::Constant(number) => write_number(f, number, MIN_HEX),
            Value::Length => f.write_str("len"),
            Value::Load {
                width,
                base,
                offset,
            } => {
                write!(f, "{}[", self.packet)?;
                if let Some(base) = base {
                    self.write(f, base, offset != 0)?;
                    if offset != 0 {
                        write!(f, " + {offset}")?;
                    }
                } else {
                    write!(f, "{offset}")?;
                }
                f.write_str(match width {
                    Width::Byte => "]",
                    Width::Half => ":2]",
                    Width::Word => ":4]",
                })
            }
            Value::Ancillary(_, offset) => write_ancillary(f, offset),
            Value::HeaderLength(offset) => {
                let (open, close) = if is_operand { ("(", ")") } else { ("", "") };
                write!(f, "{open}4 * ({}[{offset}] & 0xf){close}", self.packet)
            }
            Value::Variable(variable) => write!(f, "v{}", variable.0),
            Value::Negate(operand) => {
                f.write_str("-")?;
                self.write(f, operand, true)
            }
            Value::Binary(operator, left, right) => {
                let (open, close) = if is_operand { ("(", ")") } else { ("", "") };
                f.write_str(open)?;
                self.write(f, left, true)?;
                write!(f, " {} ", sign(operator))?;
                match operator {
                    Operator::And => self.write_mask(f, right)?,
                    _ => self.write(f, right, true)?,
                }
                f.write_str(close)
            }
        }
    }
}

fn write_number(f: &mut fmt::Formatter<'_>, number: u32, least_hex: u32) -> fmt::Result {
    if number < least_hex {
        write!(f, "{number}")
    } else {
        write!(f, "{number:#x}")
    }
}

/// Prints metadata with the names of `tcpdump -d`.
fn write_ancillary(f: &mut fmt::Formatter<'_>, offset: u32) -> fmt::Result {
    match offset {
        Ancillary::PACKET_TYPE => f.write_str("type"),
        Ancillary::INTERFACE_INDEX => f.write_str("ifidx"),
        Ancillary::VLAN_TAG => f.write_str("vlan_tci"),
        Ancillary::VLAN_TAG_PRESENT => f.write_str("vlanp"),
        other => write!(f, "ancillary {}", other.wrapping_sub(Ancillary::BASE)),
    }
}
