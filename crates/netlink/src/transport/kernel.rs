//! A netlink socket of the running kernel.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use abi::namespace::{NamespaceError, NetNamespace};
use abi::socket::set_option;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{
    Timeout, set_socket_recv_buffer_size, set_socket_recv_buffer_size_force, set_socket_timeout,
    socket_recv_buffer_size,
};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, connect, recv,
    recvfrom, send, socket_with,
};

use super::{Transport, Wait};
use crate::error::{Action, Cause, NetlinkError, RequestTarget, Syscall};
use crate::uapi::{
    NETLINK_ADD_MEMBERSHIP, NETLINK_CAP_ACK, NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK, SOL_NETLINK,
};

/// The kernel replies before `send` returns, so a wait means that the reply was lost.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Receive buffer space of one acknowledgement or notification (`skb->truesize`).
const REPLY_BYTES: usize = 832;
/// A notification occupies [`REPLY_BYTES`] at least, so this holds about 5,000 unread ones.
const NOTIFICATION_BUFFER_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of datagrams of other senders to skip per call.
const MAX_FOREIGN: usize = 1024;

/// A netlink protocol. Default: rtnetlink.
pub(crate) type Protocols = Option<Protocol>;

/// An rtnetlink socket of the running kernel.
///
/// [`Netlink::open`](crate::Netlink::open) opens one itself. Use this type below another transport, such as a
/// [`Recorder`](super::Recorder). It belongs to the namespace of the thread that opened it.
#[derive(Debug)]
pub struct KernelSocket {
    descriptor: OwnedFd,
    buffer_bytes: usize,
    /// Nobody but the kernel can send to it.
    is_connected: bool,
}

impl KernelSocket {
    /// Opens a socket for requests.
    ///
    /// # Errors
    /// As [`Netlink::open`](crate::Netlink::open).
    pub fn open() -> Result<Self, NetlinkError> {
        Self::of(None).map_err(NetlinkError::about(Action::Open, RequestTarget::Socket))
    }

    /// Opens a socket that receives the notifications of `groups`
    /// ([`Object::GROUPS`](crate::Object::GROUPS)), of which about 5,000 fit unread; without `CAP_NET_ADMIN` as many as the
    /// system's limit allows, by default 250.
    ///
    /// # Errors
    /// `Cause::System` with the system call that failed.
    pub fn listen(groups: &[u32]) -> Result<Self, NetlinkError> {
        let about = NetlinkError::about(Action::Open, RequestTarget::Socket);
        Self::subscribe(groups).map_err(about)
    }

    /// Opens a socket for requests of `protocol`.
    pub(crate) fn of(protocol: Protocols) -> Result<Self, Cause> {
        let mut socket = Self::bound(protocol)?;
        socket.connect()?;
        for option in [NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK] {
            socket.set(option, 1)?;
        }
        set_socket_timeout(&socket.descriptor, Timeout::Recv, Some(ANSWER_TIMEOUT))
            .map_err(Cause::system(Syscall::SetOption))?;
        Ok(socket)
    }

    /// Opens a socket that receives the notifications of `groups` (`RTNLGRP_…`). A buffer above the system's limit
    /// requires `CAP_NET_ADMIN`; without it the limit applies.
    pub(crate) fn subscribe(groups: &[u32]) -> Result<Self, Cause> {
        let mut socket = Self::bound(None)?;
        let bytes = NOTIFICATION_BUFFER_BYTES;
        set_socket_recv_buffer_size_force(&socket.descriptor, bytes)
            .or_else(|_| set_socket_recv_buffer_size(&socket.descriptor, bytes))
            .map_err(Cause::system(Syscall::SetOption))?;
        socket.buffer_bytes = socket.granted()?;
        for group in groups {
            socket.set(NETLINK_ADD_MEMBERSHIP, *group)?;
        }
        Ok(socket)
    }

    fn bound(protocol: Protocols) -> Result<Self, Cause> {
        let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
        // NETLINK_ROUTE is protocol 0.
        let descriptor = socket_with(family, SocketType::RAW, flags, protocol)
            .map_err(Cause::system(Syscall::Socket))?;
        bind(&descriptor, &SocketAddrNetlink::new(0, 0)).map_err(Cause::system(Syscall::Bind))?;
        let mut socket = Self {
            descriptor,
            buffer_bytes: 0,
            is_connected: false,
        };
        socket.buffer_bytes = socket.granted()?;
        Ok(socket)
    }

    /// Connects to the kernel, which then refuses messages of other processes (`netlink_getsockbyportid`,
    /// net/netlink/af_netlink.c): replies need not be checked for their sender.
    fn connect(&mut self) -> Result<(), Cause> {
        connect(&self.descriptor, &SocketAddrNetlink::new(0, 0))
            .map_err(Cause::system(Syscall::Connect))?;
        // Messages that arrived before are dropped. No more can arrive.
        let mut buffer = [0; 1];
        while retry_on_intr(|| recv(&self.descriptor, &mut buffer[..], RecvFlags::DONTWAIT)).is_ok()
        {
        }
        self.is_connected = true;
        Ok(())
    }

    fn set(&self, option: i32, value: u32) -> Result<(), Cause> {
        let call = Syscall::SetOption;
        set_option(self.descriptor.as_fd(), SOL_NETLINK, option, &value)
            .map_err(|source| Cause::System { call, source })
    }

    fn granted(&self) -> Result<usize, Cause> {
        socket_recv_buffer_size(&self.descriptor).map_err(Cause::system(Syscall::SetOption))
    }
}

impl Transport for KernelSocket {
    fn send(&mut self, messages: &[u8]) -> io::Result<()> {
        // Without an address a message goes to the kernel, whether or not the socket is connected.
        retry_on_intr(|| send(&self.descriptor, messages, SendFlags::empty()))?;
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], wait: Wait) -> io::Result<usize> {
        let flags = RecvFlags::TRUNC
            | match wait {
                Wait::Answer => RecvFlags::empty(),
                Wait::No => RecvFlags::DONTWAIT,
            };
        if self.is_connected {
            let (_, bytes) = retry_on_intr(|| recv(&self.descriptor, &mut *buffer, flags))?;
            return Ok(bytes);
        }
        for _ in 0..MAX_FOREIGN {
            let (_, bytes, sender) =
                retry_on_intr(|| recvfrom(&self.descriptor, &mut *buffer, flags))?;
            let sender = sender.map(SocketAddrNetlink::try_from);
            // Other processes can send to this port too; the kernel's port is 0.
            if matches!(sender, Some(Ok(address)) if address.pid() == 0) {
                return Ok(bytes);
            }
        }
        Err(Errno::AGAIN.into())
    }

    fn reply_capacity(&self) -> usize {
        self.buffer_bytes / REPLY_BYTES
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    fn namespace(&self) -> Option<Result<NetNamespace, NamespaceError>> {
        Some(NetNamespace::of_socket(self.descriptor.as_fd()))
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{getsockname, sendto};

    use super::*;

    #[test]
    fn other_processes_cannot_send_to_a_socket_of_requests() {
        let socket = KernelSocket::open().expect("a socket");
        let other = KernelSocket::listen(&[]).expect("a socket");
        let send_to = |to: &KernelSocket| {
            let address = getsockname(&to.descriptor).expect("an address");
            let address = SocketAddrNetlink::try_from(address).expect("of netlink");
            let from = KernelSocket::listen(&[]).expect("a socket");
            sendto(&from.descriptor, b"forged", SendFlags::empty(), &address)
        };
        // Without CAP_NET_ADMIN they cannot send to each other at all.
        let refused = send_to(&socket).expect_err("refused");
        assert!(
            [Errno::CONNREFUSED, Errno::PERM].contains(&refused),
            "{refused}"
        );
        if refused == Errno::CONNREFUSED {
            assert_eq!(send_to(&other), Ok(6));
        }
    }
}
