//! A packet ring on loopback that receives only the check's own datagrams.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use abi::bpf::SockFilter;
use abi::clock::{monotonic_ns, realtime_ns};
use filter::{FilterTarget, LinkType, NoNames};
use ring::{DeliveryMode, DirectionFilter, PacketRing, RingOpenError, RingOptions, TpacketVersion};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::capture::sock_filter;

/// How long to wait for a test packet.
const MAX_WAIT: Duration = Duration::from_millis(300);
/// Wake-ups per test packet, at most.
const MAX_WAKES: usize = 1000;

/// A packet ring on loopback that sees the datagrams of one socket and nothing else.
pub(super) struct LoopbackRing {
    ring: PacketRing,
    socket: UdpSocket,
}

/// Why the ring could not be opened, or a test packet did not arrive.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoopbackError {
    #[error("cannot send on lo")]
    Socket(#[source] io::Error),
    #[error("lo is down; run 'ip link set lo up'")]
    Down,
    #[error(transparent)]
    Ring(RingOpenError),
    #[error("a test packet on lo did not arrive within {MAX_WAIT:?}")]
    NoPacket,
}

impl From<RingOpenError> for LoopbackError {
    fn from(error: RingOpenError) -> Self {
        match &error {
            RingOpenError::Setup(setup)
                if Errno::from_io_error(&setup.source) == Some(Errno::NETDOWN) =>
            {
                Self::Down
            }
            _ => Self::Ring(error),
        }
    }
}

impl LoopbackRing {
    /// Opens a socket and a ring that sees what the socket sends to itself.
    pub fn open(version: TpacketVersion, delivery: DeliveryMode) -> Result<Self, LoopbackError> {
        let socket = connected_to_itself().map_err(LoopbackError::Socket)?;
        let port = socket.local_addr().map_err(LoopbackError::Socket)?.port();
        let options = RingOptions {
            version: Some(version),
            promiscuous: false,
            direction: DirectionFilter::In,
            snaplen: 128,
            buffer_bytes: 256 << 10,
            delivery,
            filter: ring::RingFilter::Classic(datagrams_to(port)),
            ..RingOptions::default()
        };
        let ring = PacketRing::open("lo", &options)?;
        Ok(Self { ring, socket })
    }

    /// Sends a datagram and waits for it. Returns the time from the kernel's stamp to the delivery,
    /// nanoseconds.
    pub fn deliver(&mut self) -> Result<u64, LoopbackError> {
        self.socket
            .send(b"tapline")
            .map_err(LoopbackError::Socket)?;
        let end_ns = monotonic_ns() + MAX_WAIT.as_nanos() as u64;
        let mut timed_out = false;
        for _ in 0..MAX_WAKES {
            if let Some(mut batch) = self.ring.next_batch() {
                let now_ns = realtime_ns();
                if let Some(packet) = batch.packets().next() {
                    return Ok(now_ns.saturating_sub(packet.timestamp_ns));
                }
                continue;
            }
            if timed_out {
                break;
            }
            let left_ns = end_ns.saturating_sub(monotonic_ns());
            let timeout = Timespec::try_from(Duration::from_nanos(left_ns));
            let mut descriptors = [PollFd::from_borrowed_fd(self.ring.as_fd(), PollFlags::IN)];
            match poll(&mut descriptors, timeout.ok().as_ref()) {
                // On a busy host the packet may have arrived since: look once more.
                Ok(0) => timed_out = true,
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(LoopbackError::Socket(errno.into())),
            }
        }
        Err(LoopbackError::NoPacket)
    }
}

/// A socket whose datagrams return to it and stay unread.
fn connected_to_itself() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(socket.local_addr()?)?;
    Ok(socket)
}

/// A program that accepts datagrams to `port`. An empty program, which the kernel rejects, if the
/// expression does not compile.
fn datagrams_to(port: u16) -> Vec<SockFilter> {
    let mut options = filter::FilterOptions::new(LinkType::Ethernet);
    options.target = FilterTarget::Socket;
    let text = format!("ip dst 127.0.0.1 and udp dst port {port}");
    let filter = filter::Filter::new(&text, &options, &NoNames);
    let program = filter.ok().and_then(|filter| filter.classic().ok());
    program.map_or_else(Vec::new, |program| sock_filter(&program))
}
