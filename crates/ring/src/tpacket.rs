//! Packet socket rings: TPACKET_V2 and TPACKET_V3.
//!
//! ```text
//! options ─▶ geometry ─▶ setup ─▶ PacketRing ─▶ walk over blocks or frames
//!                                     └─ replaced while running: HandoverGroup, several together: RingShare
//! ```

mod block_layout;
mod closed;
mod distribution;
mod filter;
mod geometry;
mod handover;
mod ring;
mod setup;
mod share;
mod walk;

pub use block_layout::{BlockLayout, BlockReason};
pub use handover::{HandoverGroup, PreparedRing};
pub use ring::PacketRing;
pub use share::{PreparedShare, RingShare, ShareOptions};
pub use walk::Frames;
pub(crate) use walk::{SlotWalk, Slots};
