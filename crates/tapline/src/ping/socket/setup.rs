//! Options of the sockets of one address family.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use abi::bpf::attach_classic;
use abi::socket::{option, set_option};
use probe::{COOKIE_BYTES, EchoRequest};
use rustix::net::{
    AddressFamily, Protocol, SocketFlags, SocketType, bind, ipproto, socket_with, sockopt,
};

use wire::{Ipv4, Ipv6};

use super::filter::{self, RingScope};
use crate::ping::error::{PingError, PingOperation, during};
use crate::ping::options::{Backend, PingOptions};

/// Send buffer: room for probes that wait for a neighbour or a queue, so that an absent host does not delay the
/// others.
const SEND_BUFFER_BYTES: u32 = 8 << 20;

/// Maximum payload that is certain not to be fragmented: every common link has a larger MTU.
const SHORT_PAYLOAD_BYTES: usize = 64;

const ICMP_HEADER_BYTES: usize = 8;
const SOL_RAW: i32 = 255;
const ICMP_FILTER: i32 = 1;
const ICMP6_FILTER: i32 = 1;
/// What a [`FamilySocket`](super::FamilySocket) is opened for.
#[derive(Clone, Copy, Debug)]
pub(in crate::ping) struct SocketSetup<'a> {
    pub is_ipv6: bool,
    pub backend: Backend,
    pub identifier: u16,
    pub interface: Option<u32>,
    /// Which replies the ring receives.
    pub ring: Option<RingScope>,
    /// Request transmit time stamps.
    pub tx_timestamps: bool,
    pub options: &'a PingOptions,
}

impl SocketSetup<'_> {
    /// Whether replies arrive on its sockets. With a ring, the sockets receive replies on other interfaces, replies that
    /// are too long for the ring, and IPv6 replies with extension headers.
    pub fn receives(&self) -> bool {
        let fits_ring = self.ring.is_some_and(|ring| {
            reply_bytes(self.is_ipv6, self.options) <= ring.most_bytes as usize
        });
        self.backend != Backend::Ring || self.interface.is_none() || self.is_ipv6 || !fits_ring
    }

    pub fn message(&self, filler: &[u8]) -> EchoRequest {
        let whole = if self.is_ipv6 {
            EchoRequest::icmpv6(self.identifier, filler)
        } else {
            EchoRequest::icmpv4(self.identifier, filler)
        };
        if self.options.payload_bytes < COOKIE_BYTES {
            return whole.shortened(self.options.payload_bytes);
        }
        whole
    }

    pub fn socket(&self) -> Result<OwnedFd, PingError> {
        let (family, protocol) = if self.is_ipv6 {
            (AddressFamily::INET6, ipproto::ICMPV6)
        } else {
            (AddressFamily::INET, ipproto::ICMP)
        };
        let kind = match self.backend {
            // The XDP back end opens no socket.
            Backend::Raw | Backend::Ring | Backend::Xdp => SocketType::RAW,
            Backend::PingSocket => SocketType::DGRAM,
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let protocol: Option<Protocol> = Some(protocol);
        let socket = socket_with(family, kind, flags, protocol);
        socket.map_err(during(PingOperation::OpenSocket(self.backend)))
    }

    /// Attaches the filter to a raw socket: replies to this run only, or nothing at all.
    pub fn attach_filter(&self, socket: &OwnedFd, replies: bool) -> Result<(), PingError> {
        let socket = socket.as_fd();
        let (v4, v6) = (
            filter::icmpv4(self.identifier),
            filter::icmpv6(self.identifier),
        );
        let program = match (replies, self.is_ipv6, self.ring) {
            (true, false, None) => v4.to_vec(),
            (true, false, Some(ring)) => filter::beside_icmpv4(ring, &v4),
            (true, true, None) => v6.to_vec(),
            (true, true, Some(ring)) => filter::beside_icmpv6(ring, &v6),
            (false, ..) => filter::nothing().to_vec(),
        };
        attach_classic(socket, &program).map_err(during(PingOperation::AttachFilter))?;
        // The type filter applies before the kernel copies a packet for the socket.
        let blocked = match (replies, self.is_ipv6) {
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
        blocked.map_err(during(PingOperation::AttachFilter))
    }

    pub fn prepare_receiver(&self, socket: &OwnedFd) -> Result<(), PingError> {
        let set = |level, name, words| {
            let done = set_option(socket.as_fd(), level, name, &1_i32);
            done.map_err(during(PingOperation::SetOption(words)))
        };
        set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, "SO_TIMESTAMPNS")?;
        if self.is_ipv6 {
            let name = libc::IPV6_RECVHOPLIMIT;
            set(libc::IPPROTO_IPV6, name, "IPV6_RECVHOPLIMIT")?;
        } else if self.backend == Backend::PingSocket {
            // A raw IPv4 socket receives the IP header, which has it.
            set(libc::IPPROTO_IP, libc::IP_RECVTTL, "IP_RECVTTL")?;
        }
        let bytes = self.options.buffer_bytes.min(i32::MAX as usize) as u32;
        set_buffer(socket, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, bytes)?;
        self.bind_interface(socket)
    }

    /// Whether probes are never fragmented anyway: they are short, and the kernel sets DF by default. A socket that
    /// sets DF explicitly saves the kernel the selection of an IP identification, a memory access per target
    /// (`ip_select_ident_segs`, include/net/ip.h).
    fn is_never_fragmented(&self, socket: &OwnedFd) -> bool {
        let mode = option::<i32>(socket.as_fd(), libc::IPPROTO_IP, libc::IP_MTU_DISCOVER);
        self.options.payload_bytes <= SHORT_PAYLOAD_BYTES
            && mode.is_ok_and(|mode| mode == libc::IP_PMTUDISC_WANT)
    }

    pub fn prepare_sender(&self, socket: &OwnedFd) -> Result<(), PingError> {
        let fd = socket.as_fd();
        let set = |level, name, value: i32, words| {
            let done = set_option(fd, level, name, &value);
            done.map_err(during(PingOperation::SetOption(words)))
        };
        let (ttl, tos) = (self.options.ttl, self.options.tos);
        // Without this option the kernel does not report a full queue.
        if self.is_ipv6 {
            set(libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1, "IPV6_RECVERR")?;
            let done = sockopt::set_ipv6_unicast_hops(socket, ttl);
            done.map_err(during(PingOperation::SetOption("IPV6_UNICAST_HOPS")))?;
            set(
                libc::IPPROTO_IPV6,
                libc::IPV6_TCLASS,
                tos.into(),
                "IPV6_TCLASS",
            )?;
            if self.options.paths.is_some() {
                let name = libc::IPV6_FLOWINFO_SEND;
                set(libc::IPPROTO_IPV6, name, 1, "IPV6_FLOWINFO_SEND")?;
            }
            if self.options.dont_fragment {
                let name = libc::IPV6_MTU_DISCOVER;
                let value = libc::IPV6_PMTUDISC_DO;
                set(libc::IPPROTO_IPV6, name, value, "IPV6_MTU_DISCOVER")?;
            }
        } else {
            set(libc::IPPROTO_IP, libc::IP_RECVERR, 1, "IP_RECVERR")?;
            if let Some(ttl) = ttl {
                set(libc::IPPROTO_IP, libc::IP_TTL, ttl.into(), "IP_TTL")?;
            }
            set(libc::IPPROTO_IP, libc::IP_TOS, tos.into(), "IP_TOS")?;
            let name = libc::IP_MTU_DISCOVER;
            if self.options.dont_fragment || self.is_never_fragmented(socket) {
                set(
                    libc::IPPROTO_IP,
                    name,
                    libc::IP_PMTUDISC_DO,
                    "IP_MTU_DISCOVER",
                )?;
            }
        }
        set_buffer(
            socket,
            libc::SO_SNDBUFFORCE,
            libc::SO_SNDBUF,
            SEND_BUFFER_BYTES,
        )?;
        self.bind_interface(socket)?;
        self.bind_source(socket)
    }

    fn bind_interface(&self, socket: &OwnedFd) -> Result<(), PingError> {
        let Some(index) = self.interface else {
            return Ok(());
        };
        let (socket, level, name) = (socket.as_fd(), libc::SOL_SOCKET, libc::SO_BINDTOIFINDEX);
        // An unprivileged process can do this once, and a ping socket both sends and receives.
        if option::<u32>(socket, level, name).is_ok_and(|bound| bound == index) {
            return Ok(());
        }
        let done = set_option(socket, level, name, &index);
        done.map_err(|source| PingError::Interface {
            link: self.options.interface.clone().unwrap_or_default(),
            source,
        })
    }

    /// Binds to the source address. This also sets the identifier of a ping socket, which both families share.
    fn bind_source(&self, socket: &OwnedFd) -> Result<(), PingError> {
        let source = self
            .options
            .source
            .filter(|source| source.is_ipv6() == self.is_ipv6);
        let any = if self.is_ipv6 {
            IpAddr::from(Ipv6Addr::UNSPECIFIED)
        } else {
            Ipv4Addr::UNSPECIFIED.into()
        };
        let port = match (self.backend, source) {
            (Backend::Raw | Backend::Ring | Backend::Xdp, None) => return Ok(()),
            (Backend::Raw | Backend::Ring | Backend::Xdp, Some(_)) => 0,
            (Backend::PingSocket, _) => {
                sockopt::set_socket_reuseaddr(socket, true)
                    .map_err(during(PingOperation::BindSource))?;
                self.identifier
            }
        };
        let address = SocketAddr::new(source.unwrap_or(any), port);
        bind(socket, &address).map_err(during(PingOperation::BindSource))
    }
}

/// Enables or disables transmit time stamps. Returns whether the kernel supports them.
pub(super) fn set_tx_timestamps(socket: &OwnedFd, on: bool) -> bool {
    // Queued stamps are still reported after disabling.
    let reporting = libc::SOF_TIMESTAMPING_SOFTWARE;
    let recording = if on {
        libc::SOF_TIMESTAMPING_TX_SOFTWARE
    } else {
        0
    };
    let flags = reporting | recording;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
    set_option(socket.as_fd(), level, name, &flags).is_ok()
}

/// Sets a buffer size, beyond the system limit if permitted.
fn set_buffer(socket: &OwnedFd, force: i32, plain: i32, bytes: u32) -> Result<(), PingError> {
    let set = |name| set_option(socket.as_fd(), libc::SOL_SOCKET, name, &bytes);
    set(force)
        .or_else(|_| set(plain))
        .map_err(during(PingOperation::SetOption("SO_RCVBUF or SO_SNDBUF")))
}

/// Length of the longest reply to a probe, from its IP header on.
pub(in crate::ping) fn reply_bytes(is_ipv6: bool, options: &PingOptions) -> usize {
    let header_bytes = if is_ipv6 { Ipv6::LEN } else { Ipv4::LEN };
    header_bytes + ICMP_HEADER_BYTES + options.payload_bytes
}
