//! Network namespaces: the numbers by which one calls others, and names.

mod inside;
mod names;
mod number;
mod processes;

pub use names::{NamedNamespace, NamesError, NamesStep, NamespaceNames};
pub use number::NamespaceNumber;
