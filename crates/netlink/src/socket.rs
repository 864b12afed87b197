//! A netlink socket: numbered requests, their answers, notifications.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use abi::socket::set_option;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{
    Timeout, set_socket_recv_buffer_size, set_socket_recv_buffer_size_force, set_socket_timeout,
};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, recvfrom,
    sendto, socket_with,
};

use crate::codec::{Malformed, Message, Refusal, Request, messages};
use crate::error::{Cause, Step};
use crate::uapi::{
    NETLINK_CAP_ACK, NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK, NLM_F_DUMP_INTR, NLMSG_DONE,
    NLMSG_ERROR, NLMSG_NOOP, SOL_NETLINK,
};

/// The kernel fills no more than this in a dump, whatever it is offered.
const USUAL_DATAGRAM_BYTES: usize = 32 * 1024;
/// One object may be longer than that (a link with many virtual functions), but not without end.
const MAX_DATAGRAM_BYTES: usize = 16 * 1024 * 1024;
/// The kernel answers before `sendto` returns, so a wait means that the answer was lost.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Messages of earlier, abandoned requests that are passed over before giving up.
const MAX_STRAYS: usize = 65_536;
/// Notifications take 832 bytes each of the buffer, so this holds some 5,000 unread ones.
const NOTIFICATION_BUFFER_BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Socket {
    descriptor: OwnedFd,
    /// Number of the last request.
    sequence: u32,
    buffer: Vec<u8>,
}

/// Whether the objects of a dump changed while it ran: it may lack some and have others twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consistency {
    Whole,
    Interrupted,
}

impl Socket {
    /// Opens a socket for requests, in the namespace of the calling thread. Without a `protocol` it
    /// is that of links, addresses and routes.
    pub(crate) fn open(protocol: Option<Protocol>) -> Result<Self, Cause> {
        let socket = Self::open_raw(protocol)?;
        for option in [NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK] {
            set_option(socket.as_fd(), SOL_NETLINK, option, &1_i32).map_err(|source| {
                Cause::System {
                    step: Step::Option,
                    source,
                }
            })?;
        }
        set_socket_timeout(&socket.descriptor, Timeout::Recv, Some(ANSWER_TIMEOUT))
            .map_err(Cause::system(Step::Option))?;
        socket.bind(0)?;
        Ok(socket)
    }

    /// Opens a socket that receives the notifications of `groups` (`RTMGRP_…`).
    pub(crate) fn subscribe(groups: u32) -> Result<Self, Cause> {
        let socket = Self::open_raw(None)?;
        let bytes = NOTIFICATION_BUFFER_BYTES;
        // Beyond the system's limit needs CAP_NET_ADMIN; without it the limit is what there is.
        set_socket_recv_buffer_size_force(&socket.descriptor, bytes)
            .or_else(|_| set_socket_recv_buffer_size(&socket.descriptor, bytes))
            .map_err(Cause::system(Step::Option))?;
        socket.bind(groups)?;
        Ok(socket)
    }

    fn open_raw(protocol: Option<Protocol>) -> Result<Self, Cause> {
        let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
        // NETLINK_ROUTE is protocol 0.
        let descriptor = socket_with(family, SocketType::RAW, flags, protocol)
            .map_err(Cause::system(Step::Socket))?;
        Ok(Self {
            descriptor,
            sequence: 0,
            buffer: vec![0; USUAL_DATAGRAM_BYTES],
        })
    }

    fn bind(&self, groups: u32) -> Result<(), Cause> {
        bind(&self.descriptor, &SocketAddrNetlink::new(0, groups))
            .map_err(Cause::system(Step::Bind))
    }

    /// Sends `request`, hands each message of the answer to `take`, and returns after the last.
    ///
    /// The answer is read to its end even if `take` fails, so that the next request starts clean.
    pub(crate) fn exchange(
        &mut self,
        request: Request,
        mut take: impl FnMut(Message<'_>) -> Result<(), Malformed>,
    ) -> Result<Consistency, Cause> {
        self.sequence = self.sequence.wrapping_add(1);
        let sequence = self.sequence;
        let bytes = request.finish(sequence);
        let kernel = SocketAddrNetlink::new(0, 0);
        retry_on_intr(|| sendto(&self.descriptor, &bytes, SendFlags::empty(), &kernel))
            .map_err(Cause::system(Step::Send))?;

        let mut consistency = Consistency::Whole;
        let mut taken = Ok(());
        let mut strays = 0;
        while strays < MAX_STRAYS {
            let datagram = self
                .receive(RecvFlags::empty())
                .map_err(Cause::system(Step::Receive))?;
            for message in messages(datagram) {
                let message = message?;
                if message.sequence != sequence {
                    strays += 1;
                    continue;
                }
                if message.flags & NLM_F_DUMP_INTR != 0 {
                    consistency = Consistency::Interrupted;
                }
                match message.kind {
                    NLMSG_ERROR | NLMSG_DONE => {
                        return match Refusal::parse(message)? {
                            Some(refusal) => Err(Cause::Refused(refusal)),
                            None => taken.map(|()| consistency).map_err(Cause::Malformed),
                        };
                    }
                    NLMSG_NOOP => {}
                    _ => taken = taken.and_then(|()| take(message)),
                }
            }
        }
        Err(Cause::Unanswered)
    }

    /// The next datagram from the kernel, whole.
    pub(crate) fn receive(&mut self, flags: RecvFlags) -> Result<&[u8], Errno> {
        loop {
            // Asking first costs a system call, but what does not fit the buffer would be lost.
            let ask = flags | RecvFlags::PEEK | RecvFlags::TRUNC;
            let (_, bytes) = retry_on_intr(|| recv(&self.descriptor, &mut [0; 0], ask))?;
            if bytes > MAX_DATAGRAM_BYTES {
                return Err(Errno::MSGSIZE);
            }
            if bytes > self.buffer.len() {
                self.buffer.resize(bytes, 0);
            }
            let buffer = self.buffer.as_mut_slice();
            let (_, bytes, sender) =
                retry_on_intr(|| recvfrom(&self.descriptor, &mut *buffer, flags))?;
            let sender = sender.map(SocketAddrNetlink::try_from);
            // Other processes may send to this port too; the kernel's is 0.
            if matches!(sender, Some(Ok(address)) if address.pid() == 0) {
                return Ok(&self.buffer[..bytes]);
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
