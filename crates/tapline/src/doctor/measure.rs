//! Rings on the loopback interface, and datagrams through them: what the kernel does with a packet.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use abi::bpf::SockFilter;
use abi::clock::{monotonic_ns, realtime_ns};
use filter::{At, LinkType, NoNames};
use ring::{Backend, Delivery, DirectionFilter, OpenError, Options, PacketRing};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::capture::sock_filter;

/// How long a packet may take to its reader before it is given up.
const PATIENCE: Duration = Duration::from_millis(300);
/// Wake-ups for one packet, at most.
const MAX_WAKES: usize = 1000;

/// A ring on the loopback that sees the datagrams of one socket and nothing else.
pub(super) struct Loop {
    ring: PacketRing,
    socket: UdpSocket,
}

/// Why there is no such ring, or a packet did not come.
#[derive(Debug)]
pub(super) enum LoopError {
    Socket(io::Error),
    Ring(OpenError),
    /// The packet was sent and did not reach the reader in time.
    Silence,
}

impl fmt::Display for LoopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(_) => f.write_str("cannot send on lo"),
            Self::Ring(error) if is_down(error) => {
                f.write_str("lo is down ('ip link set lo up' changes that)")
            }
            Self::Ring(error) => error.fmt(f),
            Self::Silence => write!(f, "a packet on lo did not come within {PATIENCE:?}"),
        }
    }
}

impl Error for LoopError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Socket(error) => Some(error),
            Self::Ring(error) => error.source(),
            Self::Silence => None,
        }
    }
}

fn is_down(error: &OpenError) -> bool {
    match error {
        OpenError::Setup(error) => Errno::from_io_error(&error.source) == Some(Errno::NETDOWN),
        _ => false,
    }
}

impl Loop {
    /// Opens a socket and a ring that sees what it sends to itself.
    pub fn open(backend: Backend, delivery: Delivery) -> Result<Self, LoopError> {
        let socket = own_socket().map_err(LoopError::Socket)?;
        let port = socket.local_addr().map_err(LoopError::Socket)?.port();
        let options = Options {
            backend: Some(backend),
            promiscuous: false,
            direction: DirectionFilter::In,
            snaplen: 128,
            buffer_bytes: 256 << 10,
            delivery,
            filter: ring::Filter::Classic(datagrams_to(port)),
            ..Options::default()
        };
        let ring = PacketRing::open("lo", &options).map_err(LoopError::Ring)?;
        Ok(Self { ring, socket })
    }

    /// Sends a datagram and waits for it; gives the time between the kernel's stamp and its delivery,
    /// nanoseconds.
    pub fn deliver(&mut self) -> Result<u64, LoopError> {
        self.socket.send(b"tapline").map_err(LoopError::Socket)?;
        let end_ns = monotonic_ns() + PATIENCE.as_nanos() as u64;
        let mut is_over = false;
        for _ in 0..MAX_WAKES {
            if let Some(mut batch) = self.ring.next_batch() {
                let now_ns = realtime_ns();
                if let Some(packet) = batch.packets().next() {
                    return Ok(now_ns.saturating_sub(packet.timestamp_ns));
                }
                continue;
            }
            if is_over {
                break;
            }
            let left_ns = end_ns.saturating_sub(monotonic_ns());
            let timeout = Timespec::try_from(Duration::from_nanos(left_ns));
            let mut descriptors = [PollFd::from_borrowed_fd(self.ring.as_fd(), PollFlags::IN)];
            match poll(&mut descriptors, timeout.ok().as_ref()) {
                // On a busy machine it may have come since.
                Ok(0) => is_over = true,
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(LoopError::Socket(errno.into())),
            }
        }
        Err(LoopError::Silence)
    }
}

/// A socket whose datagrams come back to it, where they are left unread.
fn own_socket() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(socket.local_addr()?)?;
    Ok(socket)
}

/// A program that takes the datagrams to `port`; an empty one, which the kernel refuses, should the
/// text not compile.
fn datagrams_to(port: u16) -> Vec<SockFilter> {
    let mut options = filter::Options::new(LinkType::Ethernet);
    options.at = At::Socket;
    let text = format!("ip dst 127.0.0.1 and udp dst port {port}");
    let filter = filter::Filter::new(&text, &options, &NoNames);
    let program = filter.ok().and_then(|filter| filter.classic().ok());
    program.map_or_else(Vec::new, |program| sock_filter(&program))
}
