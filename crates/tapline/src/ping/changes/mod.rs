//! Targets that change while a run lasts: requests of other threads, and names that are looked up again.

mod control;
mod name_watch;
mod requests;

pub use control::TargetControl;
pub(super) use name_watch::NameWatch;
pub(super) use requests::{Request, RunRequests, TargetRequests};
