//! `tapline filter`, and the errors and warnings for filter expressions of all commands.

mod job;
mod packets;
mod wording;

pub use job::run;
pub use wording::{shown, warn};
