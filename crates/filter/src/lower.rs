//! Tree to conditions, for the packets of one link type.

mod address;
mod arithmetic;
mod direction;
mod frame;
mod hosts;
mod isis;
mod link;
mod lists;
mod llc;
mod lowering;
mod matching;
mod numbers;
mod ports;
mod protochain;
mod protocols;
mod signal;
mod terms;
mod tunnel;
mod vlan;
mod wlan;

pub(crate) use frame::Frame;
pub(crate) use lowering::Lowering;
