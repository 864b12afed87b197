//! Numbers of errors, in the `value` of an error message (`PCAP_ERR_…`).
//!
//! # Source
//! `rpcap-protocol.h` of libpcap.

/// The initial time is over.
pub const INITIAL_TIME: u16 = 2;
/// The interfaces cannot be listed.
pub const LIST: u16 = 4;
/// An interface cannot be opened.
pub const OPEN: u16 = 6;
/// The filter was not changed.
pub const UPDATE_FILTER: u16 = 7;
/// The statistics cannot be read.
pub const STATISTICS: u16 = 8;
/// The capture has failed.
pub const READ: u16 = 9;
/// The host, or the user, may not connect.
pub const NOT_ALLOWED: u16 = 10;
/// The capture was not started.
pub const START: u16 = 12;
/// The capture was not ended.
pub const END: u16 = 13;
/// The time between requests is over.
pub const IDLE_TIME: u16 = 14;
/// The sampling was not set.
pub const SET_SAMPLING: u16 = 15;
/// A message that is unknown, or not expected.
pub const WRONG_MESSAGE: u16 = 16;
/// A version that is not supported.
pub const WRONG_VERSION: u16 = 17;
/// Wrong user or password.
pub const AUTHENTICATION: u16 = 18;
/// The server requires TLS.
pub const TLS_REQUIRED: u16 = 19;
/// The way to authenticate is not supported.
pub const AUTHENTICATION_TYPE: u16 = 20;
