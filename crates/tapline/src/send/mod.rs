//! Sending: single packets, send queues, capture files, generated packets; as fast as possible, at a rate, or at recorded times.
//!
//! ```
//! use tapline::send::{Rate, SendQueue};
//!
//! let rate = Rate::Packets(10_000.try_into()?);
//! let mut sender = tapline::send("lo").rate(rate).open()?;
//! let mut queue = SendQueue::default();
//! for _ in 0..1000 {
//!     queue.push(0, &[0xff; 60]);
//! }
//! sender.transmit(&queue)?;
//! let summary = sender.finish()?;
//! assert_eq!(summary.submitted, 1000);
//! println!("{summary}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//! inject, SendQueue, run(source) ─▶ schedule ─▶ pacer ─▶ path: live frames, AF_XDP, packet socket ─▶ device
//!                                   when         waits     accepted, failed, retried                  delivered
//! ```
//!
//! [`send`] configures a job and [`SendOptions::open`] opens it. Then the caller sends single packets
//! ([`Sender::inject`]), queues ([`Sender::transmit`]), or has a source fill queues on another thread
//! ([`Sender::run`]). [`Sender::finish`] returns the [`SendSummary`]: `submitted = accepted + failed`, and what the
//! device delivered by its own counters.
//!
//! A sending thread stays on one CPU, so that packets keep their order in the device's queues.
//!
//! A job rejects an uplink, an interface with a route wider than 10.0.0.0/8 or fc00::/7, unless [`SendOptions::allow_uplink`] permits it.
//! If its interface becomes one, the job ends with [`SendError::BecameUplink`].

#[macro_use]
mod controls;
mod egress;
mod error;
mod generate;
mod job;
mod one_cpu;
mod options;
mod parallel;
mod path;
mod plan;
mod queue;
mod replay;
mod rewrite;
mod run;
mod source;
mod summary;
mod timing;
mod to_file;

pub use egress::LiveSent;
pub use error::SendError;
pub use generate::{
    Addresses, Generator, GeneratorError, PacketKind, Ports, Sizes, ValuesError, VxlanTunnel,
};
pub use job::Sender;
pub use options::{LongFrames, SendOptions, SendPath, send};
pub use path::PathError;
pub(crate) use path::{open_sender, sends_xdp_frames};
pub use plan::SendPlan;
pub use probe::Histogram;
pub use queue::{QueuedPacket, SendQueue};
pub use replay::{Clients, FlowRoles, Replay, ReplayError};
pub use rewrite::{AddressMap, AddressMapError, Rewrite, fix_checksums};
pub use source::{Fill, SourceError};
pub use summary::SendSummary;
pub use timing::Rate;
pub use to_file::{SendToFile, SendToFileSummary};
