//! Network namespaces: handles, names and ids.

mod handle;
mod id;
mod names;

pub use handle::{Namespace, NamespaceError, NamespaceId};
pub use id::NamespaceNumber;
pub use names::{NamedNamespace, NamespaceNameError, NamespaceNames, NamespaceOperation};
