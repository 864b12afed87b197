//! Why a request had no success: what was asked, on what, and what was answered.

mod cause;
mod failure;
mod subject;

pub use cause::{Cause, Step};
pub use failure::{Action, NetlinkError};
pub use subject::Subject;
