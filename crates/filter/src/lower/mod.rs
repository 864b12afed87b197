//! Syntax tree to conditions on packet bytes, for one link type.
//!
//! [`lowering::Lowering`] walks the tree; each file has the terms of one layer or subject.

mod addresses;
mod alternatives;
mod arithmetic;
mod atm;
mod direction;
mod firewall;
pub(crate) mod frame;
mod layers;
mod link_layer;
pub(crate) mod lowering;
mod ports;
mod primitives;
mod protocol_numbers;
mod protocols;
mod signal;
mod tunnels;
mod wlan;
