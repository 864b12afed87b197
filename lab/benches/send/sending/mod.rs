//! Programs that send, the link that they send on, and a trial of one of them. Used by two benches.

#![allow(dead_code, unused_imports, reason = "each bench uses a part")]

mod peer;
mod rig;
mod tool;
mod trial;

pub use peer::Peers;
pub use rig::{FarEnd, Rig, Traffic, write_pcap};
pub use tool::{Kind, Sender, has_generator, tapline_paths, trafgen_flags};
pub use trial::{Delivered, Trial, refusal, run, watch};
