//! AF_XDP: packets taken in the driver, before the stack sees them.
//!
//! ```text
//!          ┌───────── fill ring: chunks that may be written ◀── given back ──┐
//!          ▼                                                                │
//!  driver ─▶ XDP program ─▶ chunk of the packet memory ─▶ receive ring ─▶ Batch
//!            (stamps, steers by queue)
//! ```
//!
//! An [`XdpRing`] is one socket on one queue of an interface, with packet memory of its own. It
//! receives nothing until an XDP program sends packets to it, e.g. `bpf::Redirect`; the ring may
//! [keep](XdpRing::keep) the program's link, so that dropping the ring detaches the program.

mod clock;
mod error;
mod memory;
mod options;
mod queue;
mod ring;
mod setup;
mod walk;

pub(crate) use clock::Offset;
pub use error::{XdpOpenError, XdpSetupError, XdpStep};
pub use options::{BusyPoll, XdpOptions, ZeroCopy};
pub use ring::XdpRing;
pub(crate) use setup::receive_queues;
pub(crate) use walk::{Descriptors, View, reception};
