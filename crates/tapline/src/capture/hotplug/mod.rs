//! A capture whose interfaces come and go, in one network namespace or in several.
//!
//! ```text
//! mounts of namespaces ─▶ discovery ─▶ opener: a Capture per interface ═▶ merged by time ─▶ one Consumer
//! link notifications   ─▶              thread of its own               │  thread of the reader
//! ```

mod changes;
mod cooked;
mod discovery;
mod follower;
mod job;
mod member;
mod opener;

pub use discovery::Namespaces;
pub use job::HotplugCapture;
