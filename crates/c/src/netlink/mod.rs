//! Network configuration over netlink.
//!
//! Objects cross the border as bytes: as fields, for the C++ types that are generated from the tables of the crate
//! `tapline-netlink`, or as JSON. Nothing here knows an attribute.

mod batch;
mod handle;
mod json;
mod list;
mod names;
mod object;
mod request;
mod source;
mod watch;

pub use batch::*;
pub use handle::*;
pub use list::*;
pub use object::{tapline_netlink_form, tapline_netlink_object, tapline_netlink_verb};
pub use request::*;
pub use watch::*;
