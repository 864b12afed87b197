//! Network namespaces: the numbers by which one calls others, and names.

mod names;
mod number;

pub use names::{NamedNamespace, NamesError, NamesStep, NamespaceNames};
pub use number::NamespaceNumber;
