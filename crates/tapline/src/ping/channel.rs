//! The sockets of one address family.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsFd, OwnedFd};

use abi::bpf::attach_classic;
use abi::datagram::{self, Datagram, Queue};
use abi::socket::{option, set_option};
use probe::{
    COOKIE_BYTES, EchoMessage, ErrorMessage, Message, Quote, read_icmpv4, read_icmpv6, read_ipv4,
};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Protocol, SendFlags, SocketFlags, SocketType, bind, ipproto, sendto,
    socket_with, sockopt,
};
use wire::Icmpv4;

use super::error::{PingError, Step, at};
use super::filter;
use super::options::{Backend, Options};

/// Room for probes that wait for a neighbour or a queue, so that one absent host does not hold up the
/// others.
const SEND_BUFFER_BYTES: u32 = 8 << 20;

const SOL_RAW: i32 = 255;
const ICMP_FILTER: i32 = 1;
const ICMP6_FILTER: i32 = 1;
/// Place of the drops in what `SO_MEMINFO` gives.
///
/// # Source
/// `SK_MEMINFO_DROPS`, linux/sock\_diag.h.
const MEMINFO_DROPS: usize = 8;

/// The sockets of one family, and its message.
#[derive(Debug)]
pub(super) struct Channel {
    pub receiver: OwnedFd,
    /// A raw socket that hears of errors cannot send without meeting them, so it has another to receive.
    sender: Option<OwnedFd>,
    pub message: EchoMessage,
    is_ipv6: bool,
}

/// What a channel is opened for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub is_ipv6: bool,
    pub backend: Backend,
    pub identifier: u16,
    pub link: Option<u32>,
    pub options: &'a Options,
}

impl Channel {
    /// Opens the sockets; the message is still without its filler.
    pub fn open(wanted: &Wanted<'_>) -> Result<Self, PingError> {
        let receiver = wanted.socket()?;
        let sender = match wanted.backend {
            Backend::Raw => {
                wanted.let_in(&receiver, true)?;
                let sender = wanted.socket()?;
                wanted.let_in(&sender, false)?;
                Some(sender)
            }
            Backend::PingSocket => None,
        };
        wanted.prepare_receiver(&receiver)?;
        wanted.prepare_sender(sender.as_ref().unwrap_or(&receiver))?;
        Ok(Self {
            receiver,
            sender,
            message: wanted.message(&[]),
            is_ipv6: wanted.is_ipv6,
        })
    }

    /// Sends a probe. Does not block.
    ///
    /// An error of an earlier probe that the kernel has kept for the socket is taken away, and the probe
    /// sent all the same.
    pub fn send(
        &mut self,
        to: IpAddr,
        zone: u32,
        sequence: u16,
        cookie: &[u8; COOKIE_BYTES],
    ) -> io::Result<()> {
        let bytes = self.message.write(sequence, cookie);
        let to = match to {
            IpAddr::V4(_) => SocketAddr::new(to, 0),
            IpAddr::V6(to) => SocketAddrV6::new(to, 0, 0, zone).into(),
        };
        let socket = self.sender.as_ref().unwrap_or(&self.receiver);
        let send = || sendto(socket, bytes, SendFlags::DONTWAIT, &to);
        match send() {
            Ok(_) => Ok(()),
            Err(error @ (Errno::NOBUFS | Errno::AGAIN | Errno::MSGSIZE)) => Err(error.into()),
            Err(_) => Ok(send().map(|_| ())?),
        }
    }

    /// Takes what has come next; `None` when there is nothing. Does not block.
    pub fn receive(&self, buffer: &mut [u8]) -> Option<(Datagram, Queue)> {
        let take =
            |buffer: &mut [u8], queue| datagram::receive(self.receiver.as_fd(), buffer, queue);
        match take(buffer, Queue::Data) {
            Ok(datagram) => Some((datagram, Queue::Data)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.sender.is_some() => {
                None
            }
            // A ping socket gets the errors about its probes in the other queue.
            Err(_) => {
                let datagram = take(buffer, Queue::Errors).ok()?;
                Some((datagram, Queue::Errors))
            }
        }
    }

    /// Reads what was received.
    pub fn read<'a>(
        &self,
        datagram: &Datagram,
        queue: Queue,
        bytes: &'a [u8],
    ) -> Option<Message<'a>> {
        if queue == Queue::Errors {
            return queued(datagram, bytes);
        }
        let source = datagram.address?;
        match source {
            IpAddr::V6(source) => read_icmpv6(source, datagram.hops, bytes),
            IpAddr::V4(_) if self.sender.is_some() => read_ipv4(bytes),
            IpAddr::V4(_) => read_icmpv4(source, datagram.hops, bytes, true),
        }
    }

    /// Answers that the kernel dropped for want of room; `None` when it does not say.
    pub fn overruns(&self) -> Option<u64> {
        let memory: [u32; 9] =
            option(self.receiver.as_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO).ok()?;
        Some(memory[MEMINFO_DROPS].into())
    }

    pub fn is_for(&self, address: IpAddr) -> bool {
        address.is_ipv6() == self.is_ipv6
    }
}

/// The ICMP error that a ping socket's error queue tells of: the bytes are those of the probe, as far as
/// they were quoted, from its ICMP header on.
fn queued<'a>(datagram: &Datagram, bytes: &'a [u8]) -> Option<Message<'a>> {
    let error = datagram.error.filter(abi::datagram::QueuedError::is_icmp)?;
    let (header, payload) = Icmpv4::split(bytes, 0).ok()?;
    let [a, b, c, d] = header.parameter();
    Some(Message::Error(ErrorMessage {
        router: error.offender?,
        kind: error.kind,
        code: error.code,
        intact: true,
        quote: Quote {
            destination: datagram.address?,
            identifier: u16::from_be_bytes([a, b]),
            sequence: u16::from_be_bytes([c, d]),
            payload,
        },
    }))
}

impl Wanted<'_> {
    pub fn message(&self, filler: &[u8]) -> EchoMessage {
        if self.is_ipv6 {
            EchoMessage::icmpv6(self.identifier, filler)
        } else {
            EchoMessage::icmpv4(self.identifier, filler)
        }
    }

    fn socket(&self) -> Result<OwnedFd, PingError> {
        let (family, protocol) = if self.is_ipv6 {
            (AddressFamily::INET6, ipproto::ICMPV6)
        } else {
            (AddressFamily::INET, ipproto::ICMP)
        };
        let kind = match self.backend {
            Backend::Raw => SocketType::RAW,
            Backend::PingSocket => SocketType::DGRAM,
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let protocol: Option<Protocol> = Some(protocol);
        let socket = socket_with(family, kind, flags, protocol);
        socket.map_err(at(Step::Socket(self.backend)))
    }

    /// Lets answers to this run into a raw socket, or nothing at all.
    fn let_in(&self, socket: &OwnedFd, answers: bool) -> Result<(), PingError> {
        let socket = socket.as_fd();
        let attached = match (answers, self.is_ipv6) {
            (true, false) => attach_classic(socket, &filter::icmpv4(self.identifier)),
            (true, true) => attach_classic(socket, &filter::icmpv6(self.identifier)),
            (false, _) => attach_classic(socket, &filter::nothing()),
        };
        attached.map_err(at(Step::Filter))?;
        // By type the kernel refuses before it makes a copy for the socket.
        let refused = match (answers, self.is_ipv6) {
            (true, false) => set_option(socket, SOL_RAW, ICMP_FILTER, &filter::BLOCKED_V4),
            (false, false) => set_option(socket, SOL_RAW, ICMP_FILTER, &filter::BLOCKED_ALL_V4),
            (true, true) => set_option(
                socket,
                libc::IPPROTO_ICMPV6,
                ICMP6_FILTER,
                &filter::BLOCKED_V6,
            ),
            (false, true) => set_option(socket, libc::IPPROTO_ICMPV6, ICMP6_FILTER, &[u32::MAX; 8]),
        };
        refused.map_err(at(Step::Filter))
    }

    fn prepare_receiver(&self, socket: &OwnedFd) -> Result<(), PingError> {
        let set = |level, name, words| {
            let done = set_option(socket.as_fd(), level, name, &1_i32);
            done.map_err(at(Step::Option(words)))
        };
        set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, "SO_TIMESTAMPNS")?;
        if self.is_ipv6 {
            let name = libc::IPV6_RECVHOPLIMIT;
            set(libc::IPPROTO_IPV6, name, "IPV6_RECVHOPLIMIT")?;
        } else {
            set(libc::IPPROTO_IP, libc::IP_RECVTTL, "IP_RECVTTL")?;
        }
        let bytes = self.options.buffer_bytes.min(i32::MAX as usize) as u32;
        self.set_room(socket, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, bytes)?;
        self.set_link(socket)
    }

    fn prepare_sender(&self, socket: &OwnedFd) -> Result<(), PingError> {
        let fd = socket.as_fd();
        let set = |level, name, value: i32, words| {
            let done = set_option(fd, level, name, &value);
            done.map_err(at(Step::Option(words)))
        };
        let (ttl, tos) = (self.options.ttl, self.options.tos);
        let discover = |on: i32| if self.options.dont_fragment { on } else { 0 };
        // Without this the kernel keeps silent when a queue has no room.
        if self.is_ipv6 {
            set(libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1, "IPV6_RECVERR")?;
            let done = sockopt::set_ipv6_unicast_hops(socket, ttl);
            done.map_err(at(Step::Option("IPV6_UNICAST_HOPS")))?;
            set(
                libc::IPPROTO_IPV6,
                libc::IPV6_TCLASS,
                tos.into(),
                "IPV6_TCLASS",
            )?;
            let value = discover(libc::IPV6_PMTUDISC_DO);
            set(
                libc::IPPROTO_IPV6,
                libc::IPV6_MTU_DISCOVER,
                value,
                "IPV6_MTU_DISCOVER",
            )?;
        } else {
            set(libc::IPPROTO_IP, libc::IP_RECVERR, 1, "IP_RECVERR")?;
            if let Some(ttl) = ttl {
                set(libc::IPPROTO_IP, libc::IP_TTL, ttl.into(), "IP_TTL")?;
            }
            set(libc::IPPROTO_IP, libc::IP_TOS, tos.into(), "IP_TOS")?;
            let value = discover(libc::IP_PMTUDISC_DO);
            set(
                libc::IPPROTO_IP,
                libc::IP_MTU_DISCOVER,
                value,
                "IP_MTU_DISCOVER",
            )?;
        }
        self.set_room(
            socket,
            libc::SO_SNDBUFFORCE,
            libc::SO_SNDBUF,
            SEND_BUFFER_BYTES,
        )?;
        self.set_link(socket)?;
        self.set_source(socket)
    }

    /// Asks for room, beyond the system's limit where that is permitted.
    fn set_room(
        &self,
        socket: &OwnedFd,
        force: i32,
        plain: i32,
        bytes: u32,
    ) -> Result<(), PingError> {
        let set = |name| set_option(socket.as_fd(), libc::SOL_SOCKET, name, &bytes);
        set(force)
            .or_else(|_| set(plain))
            .map_err(at(Step::Option("buffer size")))
    }

    fn set_link(&self, socket: &OwnedFd) -> Result<(), PingError> {
        let Some(index) = self.link else {
            return Ok(());
        };
        let done = set_option(
            socket.as_fd(),
            libc::SOL_SOCKET,
            libc::SO_BINDTOIFINDEX,
            &index,
        );
        done.map_err(at(Step::Link))
    }

    /// Binds to the address that was asked for; a ping socket gets its identifier thereby, which is
    /// shared with that of the other family.
    fn set_source(&self, socket: &OwnedFd) -> Result<(), PingError> {
        let source = self
            .options
            .source
            .filter(|source| source.is_ipv6() == self.is_ipv6);
        let any = match self.is_ipv6 {
            true => IpAddr::from(Ipv6Addr::UNSPECIFIED),
            false => Ipv4Addr::UNSPECIFIED.into(),
        };
        let port = match (self.backend, source) {
            (Backend::Raw, None) => return Ok(()),
            (Backend::Raw, Some(_)) => 0,
            (Backend::PingSocket, _) => {
                sockopt::set_socket_reuseaddr(socket, true).map_err(at(Step::Source))?;
                self.identifier
            }
        };
        let address = SocketAddr::new(source.unwrap_or(any), port);
        bind(socket, &address).map_err(at(Step::Source))
    }
}
