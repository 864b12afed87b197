//! `tapline doctor`.

mod fix;
mod job;
mod json;
mod namespace;
mod record;
mod text;
mod undo;

pub use job::run;
