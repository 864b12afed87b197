//! Setting up the sockets of one address family.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use abi::bpf::attach_classic;
use abi::socket::{option, set_option};
use probe::EchoMessage;
use rustix::net::{
    AddressFamily, Protocol, SocketFlags, SocketType, bind, ipproto, socket_with, sockopt,
};

use super::error::{PingError, Step, at};
use super::filter::{self, OfRing};
use super::opening;
use super::options::{Backend, Options};

/// Room for probes that wait for a neighbour or a queue, so that one absent host does not hold up the
/// others.
const SEND_BUFFER_BYTES: u32 = 8 << 20;

/// A payload with which a probe fits every link: IPv4 asks for 68 bytes (RFC 791), and links have far more.
const SHORT_PAYLOAD_BYTES: usize = 64;

const SOL_RAW: i32 = 255;
const ICMP_FILTER: i32 = 1;
const ICMP6_FILTER: i32 = 1;
/// What a channel is opened for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub is_ipv6: bool,
    pub backend: Backend,
    pub identifier: u16,
    pub link: Option<u32>,
    /// What a ring takes.
    pub ring: Option<OfRing>,
    /// Ask the kernel when probes leave.
    pub stamps: bool,
    pub options: &'a Options,
}

impl Wanted<'_> {
    /// Answers come into its sockets, and not only into a ring: those by other interfaces than the
    /// ring's, unless all are to come by that one, those that are too long for it, and those of IPv6 with
    /// extension headers.
    pub fn hears(&self) -> bool {
        let is_all_of_ring = self.ring.is_some_and(|ring| {
            opening::answer_bytes(self.is_ipv6, self.options) <= ring.most_bytes as usize
        });
        self.backend != Backend::Ring || self.link.is_none() || self.is_ipv6 || !is_all_of_ring
    }

    pub fn message(&self, filler: &[u8]) -> EchoMessage {
        if self.is_ipv6 {
            EchoMessage::icmpv6(self.identifier, filler)
        } else {
            EchoMessage::icmpv4(self.identifier, filler)
        }
    }

    pub fn socket(&self) -> Result<OwnedFd, PingError> {
        let (family, protocol) = if self.is_ipv6 {
            (AddressFamily::INET6, ipproto::ICMPV6)
        } else {
            (AddressFamily::INET, ipproto::ICMP)
        };
        let kind = match self.backend {
            Backend::Raw | Backend::Ring => SocketType::RAW,
            Backend::PingSocket => SocketType::DGRAM,
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let protocol: Option<Protocol> = Some(protocol);
        let socket = socket_with(family, kind, flags, protocol);
        socket.map_err(at(Step::Socket(self.backend)))
    }

    /// Lets answers to this run into a raw socket, or nothing at all.
    pub fn let_in(&self, socket: &OwnedFd, answers: bool) -> Result<(), PingError> {
        let socket = socket.as_fd();
        let (v4, v6) = (
            filter::icmpv4(self.identifier),
            filter::icmpv6(self.identifier),
        );
        let program = match (answers, self.is_ipv6, self.ring) {
            (true, false, None) => v4.to_vec(),
            (true, false, Some(ring)) => filter::beside_icmpv4(ring, &v4),
            (true, true, None) => v6.to_vec(),
            (true, true, Some(ring)) => filter::beside_icmpv6(ring, &v6),
            (false, ..) => filter::nothing().to_vec(),
        };
        attach_classic(socket, &program).map_err(at(Step::Filter))?;
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

    pub fn prepare_receiver(&self, socket: &OwnedFd) -> Result<(), PingError> {
        let set = |level, name, words| {
            let done = set_option(socket.as_fd(), level, name, &1_i32);
            done.map_err(at(Step::Option(words)))
        };
        set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, "SO_TIMESTAMPNS")?;
        if self.is_ipv6 {
            let name = libc::IPV6_RECVHOPLIMIT;
            set(libc::IPPROTO_IPV6, name, "IPV6_RECVHOPLIMIT")?;
        } else if self.backend == Backend::PingSocket {
            // A raw socket of IPv4 gets the header that has it.
            set(libc::IPPROTO_IP, libc::IP_RECVTTL, "IP_RECVTTL")?;
        }
        let bytes = self.options.buffer_bytes.min(i32::MAX as usize) as u32;
        set_room(socket, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, bytes)?;
        self.set_link(socket)
    }

    /// Whether probes are never fragmented as it is: short, and marked so by the kernel's default. A socket
    /// that demands it is spared the search for an identification, a memory access of its own for each
    /// target (`ip_select_ident_segs`, include/net/ip.h).
    fn is_whole_anyway(&self, socket: &OwnedFd) -> bool {
        let mode = option::<i32>(socket.as_fd(), libc::IPPROTO_IP, libc::IP_MTU_DISCOVER);
        self.options.payload_bytes <= SHORT_PAYLOAD_BYTES
            && mode.is_ok_and(|mode| mode == libc::IP_PMTUDISC_WANT)
    }

    pub fn prepare_sender(&self, socket: &OwnedFd) -> Result<(), PingError> {
        let fd = socket.as_fd();
        let set = |level, name, value: i32, words| {
            let done = set_option(fd, level, name, &value);
            done.map_err(at(Step::Option(words)))
        };
        let (ttl, tos) = (self.options.ttl, self.options.tos);
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
            if self.options.dont_fragment || self.is_whole_anyway(socket) {
                set(
                    libc::IPPROTO_IP,
                    name,
                    libc::IP_PMTUDISC_DO,
                    "IP_MTU_DISCOVER",
                )?;
            }
        }
        set_room(
            socket,
            libc::SO_SNDBUFFORCE,
            libc::SO_SNDBUF,
            SEND_BUFFER_BYTES,
        )?;
        self.set_link(socket)?;
        self.set_source(socket)
    }

    fn set_link(&self, socket: &OwnedFd) -> Result<(), PingError> {
        let Some(index) = self.link else {
            return Ok(());
        };
        let (socket, level, name) = (socket.as_fd(), libc::SOL_SOCKET, libc::SO_BINDTOIFINDEX);
        // Without privileges it can be done once, and a ping socket both sends and receives.
        if option::<u32>(socket, level, name).is_ok_and(|bound| bound == index) {
            return Ok(());
        }
        let done = set_option(socket, level, name, &index);
        done.map_err(at(Step::Link))
    }

    /// Binds to the address that was asked for; a ping socket gets its identifier thereby, which is
    /// shared with that of the other family.
    fn set_source(&self, socket: &OwnedFd) -> Result<(), PingError> {
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
            (Backend::Raw | Backend::Ring, None) => return Ok(()),
            (Backend::Raw | Backend::Ring, Some(_)) => 0,
            (Backend::PingSocket, _) => {
                sockopt::set_socket_reuseaddr(socket, true).map_err(at(Step::Source))?;
                self.identifier
            }
        };
        let address = SocketAddr::new(source.unwrap_or(any), port);
        bind(socket, &address).map_err(at(Step::Source))
    }
}

/// Asks for the time at which the driver takes each probe, or no longer; whether the kernel does it.
pub(super) fn set_stamps(socket: &OwnedFd, on: bool) -> bool {
    // Those that are in the queue are told of all the same.
    let told = libc::SOF_TIMESTAMPING_SOFTWARE;
    let made = if on {
        libc::SOF_TIMESTAMPING_TX_SOFTWARE
    } else {
        0
    };
    let flags = told | made;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
    set_option(socket.as_fd(), level, name, &flags).is_ok()
}

/// Asks for room, beyond the system's limit where that is permitted.
fn set_room(socket: &OwnedFd, force: i32, plain: i32, bytes: u32) -> Result<(), PingError> {
    let set = |name| set_option(socket.as_fd(), libc::SOL_SOCKET, name, &bytes);
    set(force)
        .or_else(|_| set(plain))
        .map_err(at(Step::Option("buffer size")))
}
