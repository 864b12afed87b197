//! Links: the object, its kinds, and its messages.

mod fields;
mod follow_up;
mod kind;
mod kind_fields;
mod messages;
mod object;
mod pairs;
#[cfg(test)]
mod tests;
mod tun;

pub use fields::*;
pub use kind::*;
pub use object::{Link, LinkInfo, LinkKind, Netkit, PortKind, Veth};
