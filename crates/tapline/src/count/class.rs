//! What is counted.

use crate::capture::Expression;

/// Packets that are counted together, under a name.
#[derive(Clone, Debug)]
pub struct Class {
    /// What the figures are called; no two classes of a count have one name.
    pub name: String,
    /// Which packets; `None` counts all.
    pub filter: Option<Expression>,
}
