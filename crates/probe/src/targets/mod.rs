//! Targets of a run: host names, addresses, prefixes and ranges, without expanding them.

mod builder;
mod error;
mod list;
mod parse;
mod range;

pub use builder::{AddressFamilies, NoResolver, Resolver, TargetsBuilder};
pub use error::{TargetError, TargetErrorKind};
pub use list::Targets;
pub use parse::host_name;
pub use range::{Cidr, InvalidCidr};
