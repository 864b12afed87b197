//! The ways to a device, one file each, and the choice among them.

mod af_xdp;
mod choice;
mod live_frames;
mod packet;
mod transmit;
mod tx_stamps;

pub use af_xdp::open_sender;
pub use choice::{PathError, PathRequest, sends_xdp_frames};
pub use transmit::{Refusal, Transmit};
