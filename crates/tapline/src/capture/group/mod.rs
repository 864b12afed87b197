//! A capture whose interfaces come and go, in one network namespace or in several.
//!
//! ```text
//! mounts of namespaces ─▶ discovery ─▶ a Capture per interface ─▶ merged by time ─▶ one Consumer
//! link notifications   ─▶
//! ```

mod cooked;
mod discovery;
mod job;
mod member;

pub use discovery::Namespaces;
pub use job::CaptureGroup;
