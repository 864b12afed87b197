//! What a client is to capture, and from where.

use std::time::Duration;

use super::PORT;
use super::message::Credentials;
use crate::capture::{Filter, Limits};

/// Bytes that a packet may have, whatever the snaplen is.
const SNAPLEN_MAX: u32 = filter::DEFAULT_SNAPLEN;

/// How packets come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataTransport {
    /// By a TCP connection of their own: none is lost on the way.
    #[default]
    Tcp,
    /// In UDP datagrams. What is lost on the way is counted.
    Udp,
}

/// A capture on another host.
///
/// # Privileges
/// None here.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RemoteOptions {
    /// Name or address of the host.
    pub host: String,
    /// TCP port. Default: [`PORT`].
    pub port: u16,
    /// Interface there. Empty: none, for [`list`](super::list).
    pub interface: String,
    /// User and password. Default: none.
    pub credentials: Option<Credentials>,
    /// Packets to capture. It is compiled here, for packets as in a file, and runs at the server. Default: all.
    pub filter: Option<Filter>,
    /// Bytes to keep of each packet. Default: 262144.
    pub snaplen: u32,
    /// Put the interface into promiscuous mode. Default: yes.
    pub promiscuous: bool,
    /// How packets come. Default: TCP.
    pub transport: DataTransport,
    /// When the capture ends by itself. Default: never.
    pub limits: Limits,
    /// Interval of [`Consumer::tick`](crate::capture::Consumer::tick). Default: 1 s.
    pub tick: Duration,
    /// Called before the credentials are sent beyond this host: who sees the connection reads them. Default: nothing.
    pub before_password: Option<fn()>,
}

impl RemoteOptions {
    /// A capture from `interface` of `host`.
    pub fn new(host: impl Into<String>, interface: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            port: PORT,
            interface: interface.into(),
            credentials: None,
            filter: None,
            snaplen: SNAPLEN_MAX,
            promiscuous: true,
            transport: DataTransport::default(),
            limits: Limits::default(),
            tick: Duration::from_secs(1),
            before_password: None,
        }
    }
}
