//! The sockets of one address family.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsFd, OwnedFd};

use abi::datagram::{self, Datagram, Queue};
use abi::socket::option;
use probe::{
    BALANCE_BYTES, COOKIE_BYTES, EchoRequest, IcmpError, IcmpMessage, QuotedProbe, parse_icmpv4,
    parse_icmpv6, parse_ipv4,
};
use rustix::io::Errno;
use rustix::net::{SendFlags, sendto, sockopt};
use wire::Icmpv4;

use super::checksum_errors::ChecksumErrors;
use super::setup::{SocketSetup, set_tx_timestamps};
use crate::ping::error::PingError;
use crate::ping::options::Backend;

/// Maximum pending errors of earlier probes that one send clears; further errors may arrive in between.
const MAX_KEPT_ERRORS: usize = 4;

/// Lengths of requests that are kept.
const MAX_SHORTER: usize = 64;

/// Maximum datagrams that a socket receives before its filter is attached.
const MAX_BEFORE_FILTER: usize = 4096;

/// Index of the drop counter in `SO_MEMINFO`.
///
/// # Source
/// `SK_MEMINFO_DROPS`, linux/sock\_diag.h.
const MEMINFO_DROPS: usize = 8;

/// State of transmit time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TxStamping {
    /// Unsupported or not requested.
    Unavailable,
    Off,
    On,
}

/// The sockets of one address family, and its echo request.
#[derive(Debug)]
pub(in crate::ping) struct FamilySocket {
    pub receiver: OwnedFd,
    /// Sending on a raw socket that receives errors would return them, so a second socket sends.
    sender: Option<OwnedFd>,
    pub message: EchoRequest,
    /// The request with other lengths of the payload.
    shorter: Vec<(usize, EchoRequest)>,
    is_ipv6: bool,
    /// Whether replies arrive on the receiver.
    pub receives: bool,
    tx_stamping: TxStamping,
    /// Present if drops of the receiver may be checksum errors.
    checksum_errors: Option<ChecksumErrors>,
}

/// Where a probe is sent.
#[derive(Clone, Copy, Debug)]
pub(in crate::ping) struct Destination {
    pub address: IpAddr,
    /// Interface index of a link-local address, or 0.
    pub zone: u32,
    /// IPv6 flow label; 0 lets the kernel choose.
    pub flow_label: u32,
}

/// Replies that a socket dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::ping) struct Dropped {
    /// The buffer was full.
    pub overruns: u64,
    /// The checksum was wrong.
    pub damaged: u64,
}

impl FamilySocket {
    /// Opens the sockets. The echo request has no filler yet.
    pub fn open(setup: &SocketSetup<'_>) -> Result<Self, PingError> {
        let is_raw = setup.backend != Backend::PingSocket;
        let checksum_errors = (is_raw && setup.is_ipv6).then(ChecksumErrors::open);
        let receiver = setup.socket()?;
        let sender = match (setup.backend, setup.receives()) {
            (Backend::Raw | Backend::Ring | Backend::Xdp, true) => {
                setup.attach_filter(&receiver, true)?;
                let sender = setup.socket()?;
                setup.attach_filter(&sender, false)?;
                Some(sender)
            }
            (Backend::Raw | Backend::Ring | Backend::Xdp, false) => {
                setup.attach_filter(&receiver, false)?;
                None
            }
            (Backend::PingSocket, _) => None,
        };
        drain(&receiver);
        if setup.receives() {
            setup.prepare_receiver(&receiver)?;
        }
        setup.prepare_sender(sender.as_ref().unwrap_or(&receiver))?;
        let has_stamps =
            setup.tx_timestamps && set_tx_timestamps(sender.as_ref().unwrap_or(&receiver), true);
        Ok(Self {
            receiver,
            sender,
            message: setup.message(&[]),
            shorter: Vec::new(),
            is_ipv6: setup.is_ipv6,
            receives: setup.receives(),
            checksum_errors: checksum_errors.flatten(),
            tx_stamping: if has_stamps {
                TxStamping::On
            } else {
                TxStamping::Unavailable
            },
        })
    }

    /// Enables or disables transmit time stamps for the next probes. Returns whether they are enabled.
    #[inline]
    pub fn request_tx_timestamps(&mut self, on: bool) -> bool {
        let requested = if on { TxStamping::On } else { TxStamping::Off };
        if ![TxStamping::Unavailable, requested].contains(&self.tx_stamping)
            && set_tx_timestamps(self.sender(), on)
        {
            self.tx_stamping = requested;
        }
        self.tx_stamping == TxStamping::On
    }

    /// Sends a probe with `payload_bytes` bytes of payload, at most those of [`Self::message`]. Does not block.
    ///
    /// Clears pending errors of earlier probes that the kernel returns instead of sending.
    #[inline]
    pub fn send(
        &mut self,
        to: &Destination,
        sequence: u16,
        cookie: &[u8; COOKIE_BYTES],
        balance: Option<[u8; BALANCE_BYTES]>,
        payload_bytes: usize,
    ) -> io::Result<()> {
        let message = if payload_bytes + Icmpv4::LEN == self.message.len() {
            &mut self.message
        } else {
            shortened(&mut self.shorter, &self.message, payload_bytes)
        };
        let bytes = match balance {
            Some(balance) => message.write_balanced(sequence, cookie, balance),
            None => message.write(sequence, cookie),
        };
        let to = match to.address {
            IpAddr::V4(_) => SocketAddr::new(to.address, 0),
            IpAddr::V6(address) => SocketAddrV6::new(address, 0, to.flow_label, to.zone).into(),
        };
        let socket = self.sender.as_ref().unwrap_or(&self.receiver);
        let mut sent = Ok(());
        for _ in 0..MAX_KEPT_ERRORS {
            let before = sent;
            sent = sendto(socket, bytes, SendFlags::DONTWAIT, &to).map(|_| ());
            match sent {
                Ok(()) | Err(Errno::NOBUFS | Errno::AGAIN) => break,
                // The first may be the error of a router about an earlier probe.
                Err(Errno::MSGSIZE) if before == sent => break,
                Err(_) => {}
            }
        }
        Ok(sent?)
    }

    /// Receives the next datagram of a queue; `None` if there is none. Does not block.
    ///
    /// Errors that the kernel has kept for the socket are taken away: the queue of errors has them.
    #[inline]
    pub fn receive(&self, queue: Queue, buffer: &mut [u8]) -> Option<Datagram> {
        let socket = match queue {
            Queue::Data => &self.receiver,
            Queue::Errors => self.sender(),
        };
        let take = |buffer: &mut [u8]| datagram::receive(socket.as_fd(), buffer, queue);
        for _ in 0..MAX_KEPT_ERRORS {
            match take(buffer) {
                Ok(datagram) => return Some(datagram),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(_) => {}
            }
        }
        None
    }

    /// Whether the error queue can hold reports that are delivered nowhere else.
    #[inline]
    pub fn may_have_errors(&self) -> bool {
        self.sender.is_none() || self.tx_stamping != TxStamping::Unavailable
    }

    #[inline]
    fn sender(&self) -> &OwnedFd {
        self.sender.as_ref().unwrap_or(&self.receiver)
    }

    /// Parses a received datagram.
    #[inline]
    pub fn parse<'a>(
        &self,
        datagram: &Datagram,
        queue: Queue,
        bytes: &'a [u8],
    ) -> Option<IcmpMessage<'a>> {
        if queue == Queue::Errors {
            // A raw socket receives ICMP errors as messages.
            return self
                .sender
                .is_none()
                .then(|| parse_queued_error(datagram, bytes))?;
        }
        let source = datagram.address?;
        match source {
            IpAddr::V6(source) => parse_icmpv6(source, datagram.hops, bytes),
            IpAddr::V4(_) if self.sender.is_some() => parse_ipv4(bytes),
            IpAddr::V4(_) => parse_icmpv4(source, datagram.hops, bytes, true),
        }
    }

    /// Reserves the identifier, which until now both families of this run could bind.
    pub fn reserve_identifier(&self) -> Result<(), Errno> {
        if self.sender.is_some() {
            return Ok(());
        }
        sockopt::set_socket_reuseaddr(&self.receiver, false)
    }

    /// Size of the receive buffer as the kernel counts it. An unprivileged process may get less than requested.
    pub fn room(&self) -> usize {
        let bytes = option::<i32>(self.receiver.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF);
        bytes
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .unwrap_or(0)
    }

    /// Replies that the kernel dropped; `None` if the number or the reason is unknown.
    pub fn dropped(&self) -> Option<Dropped> {
        let memory: [u32; 9] =
            option(self.receiver.as_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO).ok()?;
        let drops = u64::from(memory[MEMINFO_DROPS]);
        // Other sockets count only overruns.
        let has_damaged = self.is_ipv6 && self.sender.is_some() && drops > 0;
        let damaged = if has_damaged {
            self.checksum_errors.as_ref()?.since()?.min(drops)
        } else {
            0
        };
        Some(Dropped {
            overruns: drops - damaged,
            damaged,
        })
    }

    #[inline]
    pub fn is_for(&self, address: IpAddr) -> bool {
        address.is_ipv6() == self.is_ipv6
    }
}

/// The request with `payload_bytes` bytes of payload, which is made if it is not among the latest ones.
fn shortened<'a>(
    shorter: &'a mut Vec<(usize, EchoRequest)>,
    message: &EchoRequest,
    payload_bytes: usize,
) -> &'a mut EchoRequest {
    let known = shorter
        .iter()
        .position(|(bytes, _)| *bytes == payload_bytes);
    let at = known.unwrap_or_else(|| {
        if shorter.len() == MAX_SHORTER {
            shorter.remove(0);
        }
        shorter.push((payload_bytes, message.shortened(payload_bytes)));
        shorter.len() - 1
    });
    &mut shorter[at].1
}

/// Discards what arrived on a socket before its filter was attached.
fn drain(socket: &OwnedFd) {
    for _ in 0..MAX_BEFORE_FILTER {
        if datagram::receive(socket.as_fd(), &mut [], Queue::Data).is_err() {
            return;
        }
    }
}

/// Parses the ICMP error in the error queue of a ping socket. The bytes are the quoted probe from its ICMP header on.
fn parse_queued_error<'a>(datagram: &Datagram, bytes: &'a [u8]) -> Option<IcmpMessage<'a>> {
    let error = datagram.error.filter(abi::datagram::QueuedError::is_icmp)?;
    let (header, payload) = Icmpv4::split(bytes, 0).ok()?;
    let [a, b, c, d] = header.parameter();
    // The kernel reports the pointer, the first byte of the ICMP parameter, as a number.
    let info = match (error.origin, error.kind) {
        (libc::SO_EE_ORIGIN_ICMP, 12) => error.info << 24,
        _ => error.info,
    };
    Some(IcmpMessage::Error(IcmpError {
        router: error.offender?,
        kind: error.kind,
        code: error.code,
        parameter: info.to_be_bytes(),
        intact: true,
        quote: QuotedProbe {
            destination: datagram.address?,
            identifier: u16::from_be_bytes([a, b]),
            sequence: u16::from_be_bytes([c, d]),
            checksum: header.checksum(),
            payload,
        },
    }))
}
