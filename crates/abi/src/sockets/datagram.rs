//! Datagrams and their control messages.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::socket::check;

/// Room for control messages: those requested here take 200 bytes.
const CONTROL_BYTES: usize = 512;
/// `struct sockaddr_storage`.
const NAME_BYTES: usize = 128;
/// `struct cmsghdr`: length, level, kind.
const HEADER_BYTES: usize = size_of::<libc::cmsghdr>();
/// Messages follow each other at multiples of this.
const ALIGNMENT: usize = size_of::<usize>();

// linux/errqueue.h.
const SO_EE_ORIGIN_TXTIME: u8 = 6;
const SO_EE_CODE_TXTIME_MISSED: u8 = 2;

/// Memory as the kernel's address and control structs want it aligned.
#[repr(C, align(16))]
struct Aligned<const N: usize>([u8; N]);

/// Queue from which a socket's datagrams are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Received datagrams.
    Data,
    /// The error queue: reports about sent datagrams from the network and from this host.
    #[doc(alias = "MSG_ERRQUEUE")]
    Errors,
}

/// A datagram's metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Datagram {
    /// Bytes of it in the buffer.
    pub len: usize,
    /// The buffer was too short for it.
    pub is_cut: bool,
    /// Sender. For an error report, the destination of the datagram that it concerns.
    pub address: Option<IpAddr>,
    /// Arrival time, nanoseconds of `CLOCK_REALTIME`, if the socket requests it (`SO_TIMESTAMPNS`).
    pub stamp_ns: Option<u64>,
    /// In the error queue: when the driver took the sent datagram. In the receive queue: when the kernel
    /// received it. Nanoseconds of `CLOCK_REALTIME`, if the socket requests it (`SO_TIMESTAMPING`).
    pub sent_ns: Option<u64>,
    /// Time at which the device received the packet, nanoseconds of its own clock; as `sent_ns`.
    pub device_ns: Option<u64>,
    /// TTL or hop limit, if the socket requests it (`IP_RECVTTL`, `IPV6_RECVHOPLIMIT`).
    pub hops: Option<u8>,
    /// Of the error queue: which error it is.
    pub error: Option<QueuedError>,
}

/// An error of the error queue (`struct sock_extended_err`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedError {
    /// Its number, as of a system call.
    pub errno: u32,
    /// Origin of the error (`SO_EE_ORIGIN_*`).
    pub origin: u8,
    /// Type of the ICMP message.
    pub kind: u8,
    /// Code of the ICMP message.
    pub code: u8,
    /// Additional value: the MTU that the packet exceeded, the address of the better router, or the position of
    /// the fault (`ee_info`; `icmp_unreach` and `icmp_redirect`, net/ipv4/icmp.c).
    pub info: u32,
    /// Another value: of a time stamp, the number of the datagram on its socket, if the socket requests it
    /// (`SOF_TIMESTAMPING_OPT_ID`).
    pub data: u32,
    /// Reporting host, if a host reported the error.
    pub offender: Option<IpAddr>,
}

impl QueuedError {
    /// It is no error but the time at which a datagram was sent; the datagram itself, link-layer header
    /// included, is the data.
    #[doc(alias = "SO_EE_ORIGIN_TIMESTAMPING")]
    #[inline]
    pub fn is_time_stamp(&self) -> bool {
        self.origin == libc::SO_EE_ORIGIN_TIMESTAMPING
    }

    /// The queueing discipline dropped the datagram, since the time at which it was to be sent had passed.
    ///
    /// # Source
    /// `report_sock_error`, net/sched/sch_etf.c.
    #[doc(alias = "SO_EE_CODE_TXTIME_MISSED")]
    pub fn is_missed_time(&self) -> bool {
        self.origin == SO_EE_ORIGIN_TXTIME && self.code == SO_EE_CODE_TXTIME_MISSED
    }

    /// It came as an ICMP or ICMPv6 message.
    pub fn is_icmp(&self) -> bool {
        matches!(
            self.origin,
            libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6
        )
    }
}

/// Receives a datagram of `queue` into `buffer`. Does not block.
///
/// # Errors
/// EAGAIN if there is none; the pending error of the socket.
/// # Source
/// recvmsg(2), cmsg(3), ip(7) on `IP_RECVERR`.
#[doc(alias = "recvmsg")]
#[inline]
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8], queue: Queue) -> io::Result<Datagram> {
    let mut name = Aligned([0; NAME_BYTES]);
    let mut control = Aligned([0; CONTROL_BYTES]);
    let mut piece = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: all zeros is a valid `msghdr`: null pointers with lengths of 0.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = name.0.as_mut_ptr().cast();
    header.msg_namelen = NAME_BYTES as libc::socklen_t;
    header.msg_iov = &raw mut piece;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = CONTROL_BYTES as _;
    let flags = match queue {
        Queue::Data => libc::MSG_DONTWAIT,
        Queue::Errors => libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE,
    };
    // SAFETY: the header points to the three places, which are borrowed or owned here until the call
    // has ended, with the lengths they have; the kernel writes no more than these.
    let result = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) };
    let len = match usize::try_from(result) {
        Ok(len) => len.min(buffer.len()),
        Err(_) => return Err(check(-1).expect_err("the call has failed")),
    };
    let mut datagram = Datagram {
        len,
        is_cut: header.msg_flags & libc::MSG_TRUNC != 0,
        address: address(&name.0[..(header.msg_namelen as usize).min(NAME_BYTES)]),
        ..Datagram::default()
    };
    let said = (header.msg_controllen as usize).min(CONTROL_BYTES);
    datagram.take_in(&control.0[..said]);
    Ok(datagram)
}

impl Datagram {
    /// Reads the control messages; the walk ends at one that is not whole.
    #[inline]
    fn take_in(&mut self, mut control: &[u8]) {
        while let Some((kind, body, rest)) = message(control) {
            control = rest;
            match kind {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => self.stamp_ns = time(body),
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                    // Three time stamps: software, a deprecated one, hardware. 0 means absent.
                    self.sent_ns = time(body).filter(|&ns| ns > 0);
                    self.device_ns = body.get(32..).and_then(time).filter(|&ns| ns > 0);
                }
                (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                    self.hops = body
                        .first_chunk()
                        .map(|hops| u32::from_ne_bytes(*hops) as u8);
                }
                (libc::IPPROTO_IP, libc::IP_RECVERR)
                | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
                | (libc::SOL_PACKET, libc::PACKET_TX_TIMESTAMP) => {
                    self.error = error(body);
                }
                _ => {}
            }
        }
    }
}

/// The first control message: level and type, body, and the following messages.
#[expect(clippy::type_complexity, reason = "it is taken apart where it is used")]
#[inline]
fn message(control: &[u8]) -> Option<((i32, i32), &[u8], &[u8])> {
    let (len, rest) = control.split_first_chunk()?;
    let len = usize::from_ne_bytes(*len);
    let (level, rest) = rest.split_first_chunk()?;
    let (kind, _) = rest.split_first_chunk()?;
    let body = control.get(HEADER_BYTES..len)?;
    let rest = control
        .get(len.next_multiple_of(ALIGNMENT)..)
        .unwrap_or_default();
    let kind = (i32::from_ne_bytes(*level), i32::from_ne_bytes(*kind));
    Some((kind, body, rest))
}

/// A `struct timespec` of two 64-bit words.
#[inline]
fn time(body: &[u8]) -> Option<u64> {
    let (seconds, rest) = body.split_first_chunk()?;
    let nanoseconds = u64::from_ne_bytes(*rest.first_chunk()?);
    u64::from_ne_bytes(*seconds)
        .checked_mul(1_000_000_000)?
        .checked_add(nanoseconds)
}

/// A `struct sock_extended_err` and the address that follows it.
fn error(body: &[u8]) -> Option<QueuedError> {
    let (fields, offender) = body.split_first_chunk::<16>()?;
    let [
        e0,
        e1,
        e2,
        e3,
        origin,
        kind,
        code,
        _,
        i0,
        i1,
        i2,
        i3,
        d0,
        d1,
        d2,
        d3,
    ] = *fields;
    Some(QueuedError {
        errno: u32::from_ne_bytes([e0, e1, e2, e3]),
        origin,
        kind,
        code,
        info: u32::from_ne_bytes([i0, i1, i2, i3]),
        data: u32::from_ne_bytes([d0, d1, d2, d3]),
        offender: address(offender),
    })
}

/// The address in a `struct sockaddr_in` or `sockaddr_in6`.
#[inline]
fn address(name: &[u8]) -> Option<IpAddr> {
    let (family, rest) = name.split_first_chunk()?;
    match i32::from(u16::from_ne_bytes(*family)) {
        libc::AF_INET => {
            let octets: &[u8; 4] = rest.get(2..)?.first_chunk()?;
            Some(Ipv4Addr::from_octets(*octets).into())
        }
        libc::AF_INET6 => {
            let octets: &[u8; 16] = rest.get(6..)?.first_chunk()?;
            Some(Ipv6Addr::from_octets(*octets).into())
        }
        _ => None,
    }
}
