//! Routes of this host: which targets are on-link, and which interface reaches them.

mod egress;
mod on_link;

pub use egress::source_address;
pub(super) use egress::{egress_interface, mtu};
pub(super) use on_link::{OnLink, count_on_link, mark_on_link, on_link};
