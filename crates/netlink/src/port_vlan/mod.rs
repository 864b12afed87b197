//! VLANs of the ports of bridges.

mod message;
mod object;
mod verbs;
mod words;

pub use object::{PortVlan, PortVlanFlags, VlanStatistics};
