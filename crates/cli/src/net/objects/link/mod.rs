//! `tapline link`: links, as ip-link(8).

mod counters;
mod kind;
mod names;
mod parse;
mod print;
mod syntax;

pub use counters::print as print_counters;
pub use names::{group_name, parse_group};
pub use print::{Part, print};
