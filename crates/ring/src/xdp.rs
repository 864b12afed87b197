//! AF_XDP: packets taken from the driver before the network stack sees them.
//!
//! ```text
//!          ┌──────── fill ring: free chunks ◀──── returned by the reader ───┐
//!          ▼                                                                │
//!  driver ─▶ XDP program ─▶ chunk of the packet memory ─▶ receive ring ─▶ Batch
//!            (adds the time, redirects by queue)
//! ```
//!
//! An [`XdpRing`] is one socket on one queue of an interface, with packet memory of its own. It receives nothing
//! until an XDP program, e.g. `bpf::XskProgram`, redirects packets to it. The ring may [hold](XdpRing::keep) the
//! program's link, so that dropping the ring detaches the program.

mod error;
mod memory;
mod options;
mod queue;
mod ring;
mod send;
mod setup;
mod walk;

pub use error::{XdpOpenError, XdpSetupError, XdpSetupStep};
pub use options::{BusyPoll, XdpRingOptions, ZeroCopy};
pub use ring::{XdpRing, XdpSnaplen};
pub use send::{XdpSendOptions, XdpSender};
pub(crate) use walk::Descriptors;
