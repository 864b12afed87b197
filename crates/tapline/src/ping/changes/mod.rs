//! Targets that change while a run lasts: requests of other threads, and names that are looked up again.

mod apply;
mod control;
mod name_watch;
mod requests;

pub(super) use apply::TargetChanges;
pub use control::TargetControl;
