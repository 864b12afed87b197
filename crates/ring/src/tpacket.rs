//! Packet socket rings: TPACKET_V2 and TPACKET_V3.
//!
//! ```text
//! options ─▶ geometry ─▶ setup ─▶ PacketRing ─▶ walk over blocks or frames
//!                                     └─ replaced while running: HandoverGroup
//! ```

mod filter;
mod geometry;
mod handover;
mod live_filter;
mod ring;
mod setup;
mod walk;

pub use handover::{HandoverGroup, PreparedRing};
pub use live_filter::LiveFilter;
pub use ring::PacketRing;
pub(crate) use walk::{SlotWalk, Slots};
