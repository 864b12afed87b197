//! `tapline filter`, and what every filter expression on the command line goes through.

mod job;
mod packets;
mod wording;

pub use job::run;
pub use wording::{shown, warn};
