//! Capturing on another host by `rpcap://`, libpcap's remote protocol: both ends.
//!
//! ```text
//! RemoteCapture ── control connection (TCP): one request, one reply ──▶ Session ─▶ Capture
//!       ▲                                                                  │
//!       └────────────── data channel (TCP or UDP): packets ────────────────┘
//! ```
//!
//! [`RemoteOptions`] configures a client, [`RemoteCapture`] is a running one, and [`list`] lists the interfaces of a
//! server. A server accepts [`Client`]s with a [`Listener`]. A [`Session`] serves one of them: it needs no privileges, because
//! an [`Opener`] opens what it captures from, in a thread of its own.
//!
//! The protocol is not encrypted: who sees the connection reads the password and the packets.
//!
//! | limit | value |
//! |---|---|
//! | payload of a request | [`REQUEST_BYTES_MAX`]; before the client is authenticated [`AUTHENTICATION_BYTES_MAX`] |
//! | payload of a reply | [`REPLY_BYTES_MAX`] |
//! | time to authenticate, or to complete a message | [`MESSAGE_TIME`] |
//! | time without a capture and without a request | [`IDLE_TIME`] |
//! | time in which a client takes no packet | [`STALL_TIME`] |
//! | passwords in a connection | [`ATTEMPTS_MAX`], with [`ATTEMPT_DELAY`] after each wrong one |
//!
//! | file | subject |
//! |---|---|
//! | `message` | requests and replies as bytes; `start`, `interface_list`, `packet` those that have structure; `fields` reads them |
//! | `connection` | a control connection: whole messages within a time |
//! | `client`, `data` | the client: set-up, the channel of packets |
//! | `server` | the session of one client |
//!
//! # Source
//! `rpcap-protocol.h` of libpcap, version 0 of the protocol.

mod client;
mod connection;
mod data;
mod error;
pub mod error_code;
mod fields;
mod interface_list;
mod link_type;
mod message;
mod options;
mod packet;
mod receive;
mod server;
mod start;

use std::time::Duration;

pub use client::list;
pub use error::{MessageError, RemoteError};
pub use interface_list::{RemoteAddress, RemoteInterface};
pub use message::{
    Credentials, Header, RemoteSampling, RemoteStatistics, Reply, Request, Versions,
};
pub use options::{DataTransport, RemoteOptions};
pub use packet::PacketMessage;
pub use receive::{RemoteAccount, RemoteCapture, RemoteEnd, RemoteSummary};
pub use server::{
    Access, Client, Listener, LocalUsers, Opener, OpenerClient, Password, PasswordError,
    ServerCounters, Session, SessionEnd, SessionReport,
};
pub use start::{StartReply, StartRequest};

/// Port of a server.
pub const PORT: u16 = 2002;

/// Longest payload of a request, bytes: a filter of 4096 instructions has 32 KiB.
pub const REQUEST_BYTES_MAX: usize = 64_000;

/// Longest payload of a request before the client is authenticated, bytes.
pub const AUTHENTICATION_BYTES_MAX: usize = 4096;

/// Longest payload of a reply, bytes: each address of an interface takes 512.
pub const REPLY_BYTES_MAX: usize = 4 << 20;

/// Longest time to authenticate, and for the rest of a message that has begun.
pub const MESSAGE_TIME: Duration = Duration::from_secs(10);

/// Longest time without a capture and without a request.
pub const IDLE_TIME: Duration = Duration::from_mins(3);

/// Longest time in which a client takes no packet although some wait for it.
pub const STALL_TIME: Duration = Duration::from_mins(1);

/// Passwords that a client may try in one connection.
pub const ATTEMPTS_MAX: u32 = 3;

/// Time between a wrong password and the answer to it.
pub const ATTEMPT_DELAY: Duration = Duration::from_secs(2);
