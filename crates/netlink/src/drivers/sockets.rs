//! The TCP and UDP sockets of a network namespace, found by their addresses.

use std::net::{IpAddr, SocketAddr};

use rustix::io::Errno;
use rustix::net::netlink::SOCK_DIAG;
use rustix::net::{AddressFamily, ipproto};

use crate::codec::{Malformed, Message, Request, split};
use crate::error::{Action, NetlinkError, RequestTarget};
use crate::socket::Socket;
use crate::values::interface::IfIndex;

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// The states of a socket to find: all.
const ANY_STATE: u32 = u32::MAX;
/// `INET_DIAG_NOCOOKIE`: a socket with any cookie.
const ANY_COOKIE: [u8; 8] = [0xff; 8];

/// Length of `struct inet_diag_req_v2`.
const REQUEST_BYTES: usize = 56;
/// Length of `struct inet_diag_msg`.
const REPLY_BYTES: usize = 72;
/// Place of the user in it.
const USER_AT: usize = 64;
/// Place of the inode in it.
const INODE_AT: usize = 68;

/// A transport protocol whose sockets can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SocketProtocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// The sockets of one network namespace.
///
/// Holds one socket; a query costs two system calls, some microseconds.
///
/// # Privileges
/// None.
/// # Kernel
/// Linux 3.3; the modules `tcp_diag` and `udp_diag`, which the kernel loads by itself.
/// # Source
/// sock_diag(7).
#[doc(alias = "inet_diag")]
#[derive(Debug)]
pub struct SocketTable {
    socket: Socket,
}

/// A socket that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundSocket {
    /// Its inode, as `/proc/PID/fd` has it; `None` if no process has the socket, e.g. after it was closed.
    pub inode: Option<u32>,
    /// The user that owns it.
    pub user: u32,
}

impl SocketTable {
    /// Opens a handle on the sockets of the calling thread's network namespace.
    ///
    /// # Errors
    /// `Cause::Io` with EPROTONOSUPPORT if the kernel has no `sock_diag`.
    pub fn open() -> Result<Self, NetlinkError> {
        let socket = Socket::open(Some(SOCK_DIAG));
        let about = NetlinkError::about(Action::Open, RequestTarget::Socket);
        Ok(Self {
            socket: socket.map_err(about)?,
        })
    }

    /// The socket that sends packets from `local` to `remote` through `link`: the connection, or the socket that is bound to
    /// `local`. `None` if there is none, and on a kernel without the module for the protocol.
    ///
    /// # Errors
    /// `Cause::NoReply` if the kernel does not reply.
    #[doc(alias = "SOCK_DIAG_BY_FAMILY")]
    pub fn find(
        &mut self,
        protocol: SocketProtocol,
        local: SocketAddr,
        remote: SocketAddr,
        link: IfIndex,
    ) -> Result<Option<FoundSocket>, NetlinkError> {
        let mut request = Request::new(BY_FAMILY, 0, &body(protocol, local, remote, link));
        let about = NetlinkError::about(Action::Get, RequestTarget::TransportSocket);
        let found = (self.socket).query(&mut request, |message| found(&message).map(Some));
        match found.map_err(about) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.errno() == Some(Errno::NOENT.raw_os_error()) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// `struct inet_diag_req_v2`.
fn body(
    protocol: SocketProtocol,
    local: SocketAddr,
    remote: SocketAddr,
    link: IfIndex,
) -> [u8; REQUEST_BYTES] {
    // For UDP the kernel looks for the receiver of a packet that comes from the request's source
    // (`udp_dump_one`, net/ipv4/udp_diag.c).
    let (number, source, destination) = match protocol {
        SocketProtocol::Tcp => (ipproto::TCP, local, remote),
        SocketProtocol::Udp => (ipproto::UDP, remote, local),
    };
    let family = match local {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let mut body = [0; REQUEST_BYTES];
    body[0] = family.as_raw() as u8;
    body[1] = number.as_raw().get() as u8;
    body[4..8].copy_from_slice(&ANY_STATE.to_ne_bytes());
    body[8..10].copy_from_slice(&source.port().to_be_bytes());
    body[10..12].copy_from_slice(&destination.port().to_be_bytes());
    body[12..28].copy_from_slice(&address(source.ip()));
    body[28..44].copy_from_slice(&address(destination.ip()));
    body[44..48].copy_from_slice(&link.0.to_ne_bytes());
    body[48..56].copy_from_slice(&ANY_COOKIE);
    body
}

fn address(address: IpAddr) -> [u8; 16] {
    let mut bytes = [0; 16];
    match address {
        IpAddr::V4(address) => bytes[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => bytes = address.octets(),
    }
    bytes
}

fn found(message: &Message<'_>) -> Result<FoundSocket, Malformed> {
    let (body, _) = split::<REPLY_BYTES>("socket", 0, message.body)?;
    let number =
        |at: usize| u32::from_ne_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
    Ok(FoundSocket {
        inode: Some(number(INODE_AT)).filter(|&inode| inode != 0),
        user: number(USER_AT),
    })
}
