//! `tapline link`, `addr`, `route` …: network configuration with the syntax and output of ip(8) and bridge(8).
//!
//! [`object`] dispatches a command to an implementation of `ObjectCommand` (`command`). Most are generic over
//! `CommandSyntax` (`syntax`), which `objects` implements for each type: how arguments are parsed, which objects
//! they select, and how an object is printed as JSON and text (`output`).

mod batch;
mod color;
mod command;
mod explain;
mod handle;
mod monitor;
mod names;
mod netns;
mod object;
mod objects;
mod output;
mod syntax;
mod verbs;

pub use batch::run as batch;
pub use explain::run as explain;
pub use monitor::run as monitor;
pub use netns::run as netns;
pub use object::{NetObject, run};
pub use objects::maddr;
