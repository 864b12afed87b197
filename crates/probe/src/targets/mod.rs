//! Whom to ask: names, addresses, prefixes and ranges, one after the other, never written out.

mod block;
mod builder;
mod error;
mod list;
mod parse;
mod span;

pub use builder::{Builder, Family, NoNames, Resolver};
pub use error::{TargetError, TargetErrorKind};
pub use list::Targets;
pub use parse::host_name;
pub use span::{InvalidPrefix, Prefix};
