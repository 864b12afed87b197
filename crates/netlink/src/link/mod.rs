//! Links: the object, its kinds, and its messages.

mod fields;
mod follow_up;
mod kind;
mod kind_fields;
mod messages;
mod object;
#[cfg(test)]
mod tests;
mod tun;

pub use fields::*;
pub use kind::*;
pub use object::{
    Link, LinkInfo, LinkKind, Netkit, NetkitMode, NetkitPolicy, NetkitScrub, PortKind, Veth,
};
