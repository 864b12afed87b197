//! The capture of a session: packets from the ring into the channel of the client, as fast as the client takes them.

use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use filter::classic::ClassicProgram;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

use super::super::error::RemoteError;
use super::super::message::{RemoteSampling, RemoteStatistics};
use super::super::packet::PacketMessage;
use super::access::LocalUsers;
use super::counters::ServerCounters;
use super::opener::{OpenCapture, OpenChannel, for_kernel};
use crate::capture::{Capture, CaptureSummary, Ended};
use crate::packet::Packet;

/// Bytes that wait for the client at most, beside those of one packet. More wait in the ring.
const OUT_BYTES: usize = 256 << 10;

/// Rounds of reading and sending before the session looks for requests again.
const ROUNDS: usize = 16;

/// The longest packet that fits a datagram with its headers.
const DATAGRAM_PACKET_BYTES: usize = 65_507 - PacketMessage::HEADER_BYTES;

/// Types behind the addresses of an Ethernet frame that begin a VLAN tag.
const VLAN_TYPES: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];

/// What became of the packets of a client's capture.
#[derive(Debug)]
#[non_exhaustive]
pub struct SessionReport {
    /// The client.
    pub peer: SocketAddr,
    /// The interface.
    pub interface: String,
    /// Packets that were sent to the client.
    pub sent: u64,
    /// Packets that the client's filter refused here, beside those that the kernel refused.
    pub refused: u64,
    /// Packets that were skipped because the client asked for sampling.
    pub sampled_out: u64,
    /// Packets that were read, and not sent because the client had gone.
    pub unsent: u64,
    /// The account of the capture: it delivered all of these. `None` if its end failed.
    pub summary: Option<CaptureSummary>,
}

enum Channel {
    /// The client with this address is to connect.
    Awaited(TcpListener, IpAddr),
    Stream(TcpStream),
    Datagrams(UdpSocket),
    Over,
}

/// Result of a round of reading and sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PumpOutcome {
    /// There may be more to do.
    MoreWork,
    /// Nothing to do before a descriptor is ready.
    Idle,
    /// The capture has ended, and all its packets are sent.
    Finished,
    /// The client has closed the channel.
    ClientGone,
}

/// A running capture.
pub struct Running {
    interface: String,
    capture: Capture,
    channel: Channel,
    out: OutputQueue,
    /// When the client last took something, or when nothing waited for it.
    pub progress: Instant,
    /// Whether the capture is being ended.
    pub is_ending: bool,
    has_ended: bool,
    counters: Arc<ServerCounters>,
    /// What of it is in the counters.
    counted: [u64; 4],
}

/// Selects packets and holds their bytes until the client reads them.
struct OutputQueue {
    is_datagrams: bool,
    snaplen: usize,
    filter: Option<ClassicProgram>,
    is_for_all: bool,
    sampling: Sampler,
    bytes: Vec<u8>,
    begin: usize,
    sent: u64,
    refused: u64,
    unsampled: u64,
    unsent: u64,
}

/// Decides which packets the client's sampling keeps.
struct Sampler {
    sampling: RemoteSampling,
    seen: u32,
    next_ns: u64,
}

impl Sampler {
    fn keeps(&mut self, time_ns: u64) -> bool {
        match self.sampling {
            RemoteSampling::None | RemoteSampling::EveryNth(0) => true,
            RemoteSampling::EveryNth(packets) => {
                self.seen = (self.seen + 1) % packets;
                self.seen == 0
            }
            RemoteSampling::FirstAfter(ms) => {
                let keeps = time_ns >= self.next_ns;
                if keeps {
                    self.next_ns = time_ns + u64::from(ms) * 1_000_000;
                }
                keeps
            }
        }
    }
}

impl OutputQueue {
    /// In the order of [`ServerCounters::add`].
    fn counts(&self) -> [u64; 4] {
        // What is abandoned is no longer sent.
        let chosen = self.sent + self.unsent;
        [chosen, self.refused, self.unsampled, self.unsent]
    }

    fn is_empty(&self) -> bool {
        self.begin == self.bytes.len()
    }

    fn is_full(&self) -> bool {
        // Each datagram leaves by itself.
        self.bytes.len() >= OUT_BYTES || self.is_datagrams && !self.is_empty()
    }

    fn put(&mut self, packet: &Packet<'_>) {
        let (bytes, original_len) = (packet.data(), packet.record().original_len);
        let mut keep = self.snaplen;
        if let Some(filter) = &self.filter
            && (self.is_for_all || is_tagged(bytes))
        {
            match filter.run(bytes, original_len) as usize {
                0 => {
                    self.refused += 1;
                    return;
                }
                verdict => keep = keep.min(verdict),
            }
        }
        let time_ns = packet.time().as_nanos().unwrap_or(0);
        if !self.sampling.keeps(time_ns) {
            self.unsampled += 1;
            return;
        }
        if self.is_datagrams {
            keep = keep.min(DATAGRAM_PACKET_BYTES);
        }
        let bytes = &bytes[..bytes.len().min(keep)];
        self.sent += 1;
        let message = PacketMessage {
            seconds: (time_ns / 1_000_000_000) as u32,
            micros: (time_ns % 1_000_000_000 / 1000) as u32,
            original_len: original_len.max(bytes.len() as u32),
            number: self.sent as u32,
            bytes,
        };
        message.put(&mut self.bytes);
    }

    /// Sends what waits, as far as it can without waiting.
    fn flush(&mut self, channel: &mut Channel) -> io::Result<()> {
        while !self.is_empty() {
            let written = match channel {
                Channel::Awaited(..) => return Ok(()),
                Channel::Stream(stream) => stream.write(&self.bytes[self.begin..]),
                Channel::Datagrams(socket) => socket.send(&self.bytes),
                Channel::Over => Err(ErrorKind::BrokenPipe.into()),
            };
            match written {
                Ok(written) => self.begin += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Of a datagram before: nobody listened, or it was too long for the way. The client counts what is missing.
                Err(_) if self.is_datagrams => self.begin = self.bytes.len(),
                Err(error) => return Err(error),
            }
        }
        self.bytes.clear();
        self.begin = 0;
        Ok(())
    }

    /// Counts what waits as not sent.
    fn abandon(&mut self) {
        let mut at = 0;
        let mut unsent = 0;
        while let Ok(Some((_, rest))) = PacketMessage::split(&self.bytes[at..], usize::MAX / 2) {
            at = self.bytes.len() - rest.len();
            unsent += u64::from(at > self.begin);
        }
        self.sent -= unsent;
        self.unsent += unsent;
        self.bytes.clear();
        self.begin = 0;
    }
}

fn is_tagged(frame: &[u8]) -> bool {
    let kind = frame.get(12..14).and_then(|bytes| bytes.try_into().ok());
    kind.is_some_and(|kind| VLAN_TYPES.contains(&u16::from_be_bytes(kind)))
}

/// Whether the kernel does not run the filter: it is too long with what is in front of it.
fn is_for_all(filter: Option<&ClassicProgram>) -> bool {
    filter.is_some_and(|filter| for_kernel(filter).instructions().len() == 1)
}

impl Running {
    pub fn new(
        interface: String,
        opened: OpenCapture,
        client: IpAddr,
        snaplen: u32,
        filter: Option<ClassicProgram>,
        sampling: RemoteSampling,
        counters: Arc<ServerCounters>,
    ) -> Self {
        counters.begin();
        let channel = match opened.channel {
            OpenChannel::Listener(listener) => Channel::Awaited(listener, client),
            OpenChannel::Stream(stream) => Channel::Stream(stream),
            OpenChannel::Datagrams(socket) => Channel::Datagrams(socket),
        };
        Self {
            interface,
            capture: opened.capture,
            out: OutputQueue {
                is_datagrams: matches!(channel, Channel::Datagrams(_)),
                snaplen: snaplen as usize,
                is_for_all: is_for_all(filter.as_ref()),
                filter,
                sampling: Sampler {
                    sampling,
                    seen: 0,
                    next_ns: 0,
                },
                bytes: Vec::new(),
                begin: 0,
                sent: 0,
                refused: 0,
                unsampled: 0,
                unsent: 0,
            },
            channel,
            progress: Instant::now(),
            is_ending: false,
            has_ended: false,
            counters,
            counted: [0; 4],
        }
    }

    /// Whether the client has not connected yet.
    pub fn is_awaited(&self) -> bool {
        matches!(self.channel, Channel::Awaited(..))
    }

    /// Whether packets wait for the client.
    pub fn is_blocked(&self) -> bool {
        !self.out.is_empty()
    }

    /// Accepts the client's connection, if it has come. Only the client itself may take the packets: on a server without a password,
    /// the connection must also be that of a trusted user.
    pub fn accept(&mut self, users: Option<&mut LocalUsers>) -> io::Result<()> {
        let Channel::Awaited(listener, client) = &self.channel else {
            return Ok(());
        };
        // A restricted thread has no ioctl(2), by which the standard library sets the flag.
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let stream = match accept_with(listener, flags) {
            Ok(stream) => TcpStream::from(stream),
            Err(Errno::WOULDBLOCK | Errno::INTR | Errno::CONNABORTED) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let (peer, local) = (stream.peer_addr()?, stream.local_addr()?);
        let is_trusted = users.is_none_or(|users| users.trusts(peer, local));
        if peer.ip() == *client && is_trusted {
            self.channel = Channel::Stream(stream);
            self.progress = Instant::now();
        }
        Ok(())
    }

    /// Reads packets and sends them, without waiting.
    pub fn pump(&mut self) -> PumpOutcome {
        let pumped = self.read_and_send();
        self.counters.add(self.out.counts(), &mut self.counted);
        pumped
    }

    fn read_and_send(&mut self) -> PumpOutcome {
        if self.is_awaited() {
            return PumpOutcome::Idle;
        }
        for _ in 0..ROUNDS {
            let waited = self.out.bytes.len() - self.out.begin;
            if self.out.flush(&mut self.channel).is_err() {
                return PumpOutcome::ClientGone;
            }
            let waits = self.out.bytes.len() - self.out.begin;
            if waits == 0 || waits < waited {
                self.progress = Instant::now();
            }
            if waits > 0 {
                return PumpOutcome::Idle;
            }
            if self.has_ended {
                return PumpOutcome::Finished;
            }
            if !self.read() && !self.has_ended {
                return PumpOutcome::Idle;
            }
        }
        PumpOutcome::MoreWork
    }

    /// Takes packets from the ring. Returns whether there were some.
    fn read(&mut self) -> bool {
        let Self { capture, out, .. } = self;
        // Skips malformed packets.
        let Ok(Some(mut batch)) = capture.next_batch(Duration::ZERO) else {
            self.has_ended = self.capture.ended().is_some();
            return false;
        };
        let mut has_read = false;
        while !out.is_full()
            && let Some(packet) = batch.next()
        {
            has_read = true;
            out.put(&packet);
        }
        has_read
    }

    /// Lets no more packets into the ring. Those in it are still sent.
    pub fn end(&mut self) {
        self.capture.stopper().stop();
        self.is_ending = true;
        self.progress = Instant::now();
    }

    /// Why the capture ended by itself.
    pub fn ended(&self) -> Option<&Ended> {
        self.capture.ended().filter(|_| !self.is_ending)
    }

    /// Replaces the filter, also for packets in the ring.
    pub fn set_filter(&mut self, filter: Option<ClassicProgram>) -> Result<(), RemoteError> {
        let everything = ClassicProgram::keep(filter::DEFAULT_SNAPLEN);
        let kernel = filter.as_ref().map_or(everything, for_kernel);
        let replaced = self.capture.replace_filter(&kernel);
        let failed = |error| RemoteError::Connection(io::Error::other(error));
        replaced.map_err(failed)?;
        self.out.is_for_all = is_for_all(filter.as_ref());
        self.out.filter = filter;
        Ok(())
    }

    pub fn statistics(&mut self) -> RemoteStatistics {
        let counters = self.capture.ring_counters();
        let dropped = counters.dropped + counters.unreadable;
        let not_sent = self.out.refused + self.out.unsampled;
        let lost = self.capture.live().accounts();
        let lost = lost
            .iter()
            .filter_map(|one| one.account.lost.nic)
            .sum::<u64>();
        RemoteStatistics {
            received: counters.accepted.saturating_sub(not_sent) as u32,
            dropped_by_interface: lost as u32,
            dropped_by_kernel: dropped as u32,
            sent: self.out.sent as u32,
        }
    }

    /// Ends it, whatever is left.
    pub fn finish(mut self, peer: SocketAddr) -> SessionReport {
        self.out.abandon();
        self.counters.add(self.out.counts(), &mut self.counted);
        if let Channel::Stream(stream) = &self.channel {
            // It may have been closed from the other side.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.channel = Channel::Over;
        SessionReport {
            peer,
            interface: self.interface,
            sent: self.out.sent,
            refused: self.out.refused,
            sampled_out: self.out.unsampled,
            unsent: self.out.unsent,
            summary: self.capture.finish().ok(),
        }
    }

    /// The descriptors to wait for.
    pub fn interests<'r>(&'r self, mut add: impl FnMut(BorrowedFd<'r>, PollFlags)) {
        use std::os::fd::AsFd;
        match &self.channel {
            Channel::Awaited(listener, _) => return add(listener.as_fd(), PollFlags::IN),
            Channel::Stream(stream) if self.is_blocked() => {
                return add(stream.as_fd(), PollFlags::OUT);
            }
            Channel::Datagrams(socket) if self.is_blocked() => {
                return add(socket.as_fd(), PollFlags::OUT);
            }
            // The client sends nothing there: it closes.
            Channel::Stream(stream) => add(stream.as_fd(), PollFlags::RDHUP),
            Channel::Datagrams(_) | Channel::Over => {}
        }
        add(self.capture.as_fd(), PollFlags::IN);
    }

    /// Whether the client has closed the channel of packets.
    pub fn is_closed(&self) -> bool {
        let Channel::Stream(stream) = &self.channel else {
            return false;
        };
        let mut byte = [0];
        match stream.peek(&mut byte) {
            Ok(read) => read == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }
}
