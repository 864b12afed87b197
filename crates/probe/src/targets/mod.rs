//! Targets of a run: host names, addresses, prefixes and ranges, without expanding them.

mod builder;
mod change;
mod changed_hosts;
mod error;
mod list;
mod parse;
mod range;
mod rules;
mod single;

pub use builder::{NoResolver, Resolver, TargetsBuilder};
pub use change::HostEntry;
pub use error::{TargetError, TargetErrorKind};
pub use list::Targets;
pub use parse::host_name;
pub use range::{Cidr, InvalidCidr};
pub use rules::AddressFamilies;
