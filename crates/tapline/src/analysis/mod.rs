//! What a capture shows: rates over time, losses, hosts, protocols, packet sizes, TCP, DNS and address conflicts.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/corpus/captures/icmpv6.pcap");
//! let mut analysis = tapline::analysis::Analysis::default();
//! tapline::read(path).open()?.analyze(&mut analysis)?;
//! println!("{} packets, {} bytes", analysis.packets, analysis.bytes);
//! # Ok(()) }
//! ```
//!
//! [`Read::analyze`](crate::read::Read::analyze) feeds an [`Analysis`]. Its memory is bounded, whatever the capture has: tables
//! keep the largest entries and count those that they forgot. Headers inside tunnels and later fragments are not parsed. TCP streams are not reassembled.

mod dns;
mod loss;
mod neighbours;
mod protocols;
mod sizes;
mod tcp;
mod timeline;
mod top;
mod traffic;

use std::collections::HashMap;

pub use dns::DnsAnalysis;
pub use loss::{AnalyzedInterface, InterfaceLoss, LossAnalysis, Note};
pub use neighbours::{AddressConflict, AnnouncedAddress, Neighbours};
pub use probe::Histogram;
pub use protocols::{Protocol, ProtocolTree};
pub use sizes::{SIZE_CLASSES, SizeClasses};
pub use tcp::TcpAnalysis;
pub use timeline::{Slot, Timeline};
pub use top::{Top, Traffic};
pub use traffic::{Analysis, Flow};

/// Removes the half of the entries whose `rank` is lowest. Returns how many they were, and the highest rank among them.
fn remove_lower_half<K, V>(map: &mut HashMap<K, V>, rank: impl Fn(&V) -> u64) -> (u64, u64) {
    let mut ranks: Vec<u64> = map.values().map(&rank).collect();
    let middle = ranks.len() / 2;
    let (_, &mut limit, _) = ranks.select_nth_unstable(middle);
    let before = map.len();
    map.retain(|_, value| rank(value) > limit);
    ((before - map.len()) as u64, limit)
}
