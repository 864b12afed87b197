//! Controlling a running job through a unix socket: requests, replies, the socket, and messages to systemd.
//!
//! A client connects, sends one [`ControlRequest`] as a line of JSON, and receives one [`ControlReply`] as a line
//! of JSON. Then the connection ends.
//!
//! ```text
//! {"command":"set","setting":{"snaplen":96}}
//! {"reply":"done"}
//! ```
//!
//! | limit | value |
//! |---|---|
//! | who may connect | the user of the job, and root |
//! | length of a request, of a reply | [`LINE_BYTES_MAX`], [`REPLY_BYTES_MAX`] |
//! | time to send a request, and to take the reply | [`TRANSFER_TIME`] each |
//! | connections served at once | 1 |
//! | connections that wait | 8; the kernel lets others wait or refuses them |
//!
//! # Source
//! `SO_PEERCRED`: unix(7). Messages to systemd: sd_notify(3), sd_listen_fds(3).

mod client;
mod error;
mod message;
mod service;
mod socket;

pub use client::{ask, list};
pub use error::ControlError;
pub use message::{
    ControlReply, ControlRequest, ControlStats, ControlledInterface, ControlledSettings, Setting,
};
pub use service::{ServiceManager, passed_sockets};
pub use socket::{ControlSocket, Peer, directory};

use std::time::Duration;

/// Longest line of a request, bytes, with its line end.
pub const LINE_BYTES_MAX: usize = 64 << 10;

/// Longest line of a reply, bytes, with its line end: it has the counters of each interface that a capture has had.
pub const REPLY_BYTES_MAX: usize = 16 << 20;

/// Longest time that the transfer of one line may take. A client on a busy host may not run for seconds.
pub const TRANSFER_TIME: Duration = Duration::from_secs(5);
