//! The sockets of one address family.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsFd, OwnedFd};

use abi::datagram::{self, Datagram, Queue};
use abi::socket::option;
use probe::{
    COOKIE_BYTES, EchoMessage, ErrorMessage, Message, Quote, read_icmpv4, read_icmpv6, read_ipv4,
};
use rustix::io::Errno;
use rustix::net::{SendFlags, sendto, sockopt};
use wire::Icmpv4;

use super::damage::Damage;
use super::error::PingError;
use super::options::Backend;
use super::setup::{Wanted, set_stamps};

/// Errors of earlier probes that are taken away at once: in between others may come.
const MAX_KEPT_ERRORS: usize = 4;

/// Datagrams that a socket takes before it has its filter, at most: it has little room then.
const MAX_BEFORE_FILTER: usize = 4096;

/// Place of the drops in what `SO_MEMINFO` gives.
///
/// # Source
/// `SK_MEMINFO_DROPS`, linux/sock\_diag.h.
const MEMINFO_DROPS: usize = 8;

/// Whether the kernel tells when probes leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stamps {
    /// It cannot, or is never to.
    None,
    Off,
    On,
}

/// The sockets of one family, and its message.
#[derive(Debug)]
pub(super) struct Channel {
    pub receiver: OwnedFd,
    /// A raw socket that hears of errors cannot send without meeting them, so it has another to receive.
    sender: Option<OwnedFd>,
    pub message: EchoMessage,
    is_ipv6: bool,
    /// Answers come into the receiver.
    pub hears: bool,
    stamps: Stamps,
    /// Where the drops of the receiver may be damaged messages.
    damage: Option<Damage>,
}

/// Answers that a socket did not give away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dropped {
    /// For want of room.
    pub overruns: u64,
    /// For a wrong checksum.
    pub damaged: u64,
}

impl Channel {
    /// Opens the sockets; the message is still without its filler.
    pub fn open(wanted: &Wanted<'_>) -> Result<Self, PingError> {
        let is_raw = wanted.backend != Backend::PingSocket;
        let damage = (is_raw && wanted.is_ipv6).then(Damage::open);
        let receiver = wanted.socket()?;
        let sender = match (wanted.backend, wanted.hears()) {
            (Backend::Raw | Backend::Ring, true) => {
                wanted.let_in(&receiver, true)?;
                let sender = wanted.socket()?;
                wanted.let_in(&sender, false)?;
                Some(sender)
            }
            (Backend::Raw | Backend::Ring, false) => {
                wanted.let_in(&receiver, false)?;
                None
            }
            (Backend::PingSocket, _) => None,
        };
        empty(&receiver);
        if wanted.hears() {
            wanted.prepare_receiver(&receiver)?;
        }
        wanted.prepare_sender(sender.as_ref().unwrap_or(&receiver))?;
        let has_stamps = wanted.stamps && set_stamps(sender.as_ref().unwrap_or(&receiver), true);
        Ok(Self {
            receiver,
            sender,
            message: wanted.message(&[]),
            is_ipv6: wanted.is_ipv6,
            hears: wanted.hears(),
            damage: damage.flatten(),
            stamps: if has_stamps { Stamps::On } else { Stamps::None },
        })
    }

    /// Asks the kernel to tell when the probes that follow leave, or not to; whether it will.
    #[inline]
    pub fn ask_for_stamps(&mut self, on: bool) -> bool {
        let wanted = if on { Stamps::On } else { Stamps::Off };
        if ![Stamps::None, wanted].contains(&self.stamps) && set_stamps(self.sender(), on) {
            self.stamps = wanted;
        }
        self.stamps == Stamps::On
    }

    /// Sends a probe. Does not block.
    ///
    /// An error of an earlier probe that the kernel has kept for the socket is taken away, and the probe
    /// sent all the same.
    #[inline]
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
        let mut sent = Ok(());
        for _ in 0..MAX_KEPT_ERRORS {
            let before = sent;
            sent = sendto(socket, bytes, SendFlags::DONTWAIT, &to).map(|_| ());
            match sent {
                Ok(()) | Err(Errno::NOBUFS | Errno::AGAIN) => break,
                // The first may be what a router said of an earlier one.
                Err(Errno::MSGSIZE) if before == sent => break,
                Err(_) => {}
            }
        }
        Ok(sent?)
    }

    /// Takes the next datagram of a queue; `None` when there is none. Does not block.
    ///
    /// Errors that the kernel has kept for the socket are taken away: the queue of errors has them.
    #[inline]
    pub fn take(&self, queue: Queue, buffer: &mut [u8]) -> Option<Datagram> {
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

    /// Whether the queue of errors tells something that nothing else tells.
    #[inline]
    pub fn has_news_of_errors(&self) -> bool {
        self.sender.is_none() || self.stamps != Stamps::None
    }

    #[inline]
    fn sender(&self) -> &OwnedFd {
        self.sender.as_ref().unwrap_or(&self.receiver)
    }

    /// Reads what was received.
    #[inline]
    pub fn read<'a>(
        &self,
        datagram: &Datagram,
        queue: Queue,
        bytes: &'a [u8],
    ) -> Option<Message<'a>> {
        if queue == Queue::Errors {
            // What a raw socket sent is told of by the messages themselves.
            return self.sender.is_none().then(|| queued(datagram, bytes))?;
        }
        let source = datagram.address?;
        match source {
            IpAddr::V6(source) => read_icmpv6(source, datagram.hops, bytes),
            IpAddr::V4(_) if self.sender.is_some() => read_ipv4(bytes),
            IpAddr::V4(_) => read_icmpv4(source, datagram.hops, bytes, true),
        }
    }

    /// Lets no other ping socket have the identifier, as those of both families of this run do.
    pub fn keep_identifier(&self) -> Result<(), Errno> {
        if self.sender.is_some() {
            return Ok(());
        }
        sockopt::set_socket_reuseaddr(&self.receiver, false)
    }

    /// Room for answers that have not been read, bytes as the kernel counts them: without privileges it may be less than
    /// what was asked for.
    pub fn room(&self) -> usize {
        let bytes = option::<i32>(self.receiver.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF);
        bytes
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .unwrap_or(0)
    }

    /// Answers that the kernel dropped; `None` when it does not say, or not why.
    pub fn dropped(&self) -> Option<Dropped> {
        let memory: [u32; 9] =
            option(self.receiver.as_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO).ok()?;
        let drops = u64::from(memory[MEMINFO_DROPS]);
        // Elsewhere nothing is counted but what there was no room for.
        let has_damaged = self.is_ipv6 && self.sender.is_some() && drops > 0;
        let damaged = if has_damaged {
            self.damage.as_ref()?.since()?.min(drops)
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

/// Throws away what came into a socket before it had its filter.
fn empty(socket: &OwnedFd) {
    for _ in 0..MAX_BEFORE_FILTER {
        if datagram::receive(socket.as_fd(), &mut [], Queue::Data).is_err() {
            return;
        }
    }
}

/// The ICMP error that a ping socket's error queue tells of: the bytes are those of the probe, as far as
/// they were quoted, from its ICMP header on.
fn queued<'a>(datagram: &Datagram, bytes: &'a [u8]) -> Option<Message<'a>> {
    let error = datagram.error.filter(abi::datagram::QueuedError::is_icmp)?;
    let (header, payload) = Icmpv4::split(bytes, 0).ok()?;
    let [a, b, c, d] = header.parameter();
    // Of ICMP's word the kernel tells the place of a fault, its first byte, as a number.
    let info = match (error.origin, error.kind) {
        (libc::SO_EE_ORIGIN_ICMP, 12) => error.info << 24,
        _ => error.info,
    };
    Some(Message::Error(ErrorMessage {
        router: error.offender?,
        kind: error.kind,
        code: error.code,
        parameter: info.to_be_bytes(),
        intact: true,
        quote: Quote {
            destination: datagram.address?,
            identifier: u16::from_be_bytes([a, b]),
            sequence: u16::from_be_bytes([c, d]),
            payload,
        },
    }))
}
