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
//! keep what is large, and say what they forgot. Headers behind tunnels and later fragments are not looked at. TCP streams are not reassembled.

mod dns;
mod loss;
mod neighbours;
mod protocols;
mod sizes;
mod tcp;
mod timeline;
mod top;
mod traffic;

pub use dns::DnsAnalysis;
pub use loss::{AnalyzedInterface, InterfaceLoss, LossAnalysis, Note};
pub use neighbours::{AddressConflict, Neighbours};
pub use probe::Histogram;
pub use protocols::{Protocol, ProtocolTree};
pub use sizes::{SIZE_CLASSES, SizeClasses};
pub use tcp::TcpAnalysis;
pub use timeline::{Slot, Timeline};
pub use top::{Top, Traffic};
pub use traffic::{Analysis, Flow};
