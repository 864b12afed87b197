//! `tapline filter`, and the errors and warnings for filter expressions of all commands.

pub mod filter_file;
mod job;
mod packets;
mod wording;

pub use job::run;
pub use wording::{shown, warn};
