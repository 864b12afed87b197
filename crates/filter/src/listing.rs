//! A filter written out for people: its tree, its graph, and the graph for Graphviz.

mod dot;
mod graph;
mod tree;
pub(crate) mod value;

pub use dot::DotListing;
pub use graph::GraphListing;
pub use tree::TreeListing;
