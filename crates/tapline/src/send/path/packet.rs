//! The paths through a packet socket: many packets per system call.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use abi::clock::{monotonic_ns, tai_ns};
use abi::datagram::{self, Queue};
use probe::Histogram;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmmsg};

use super::transmit::{Refusal, Transmit};
use super::tx_stamps::TxStamps;
use crate::send::options::SendPath;
use crate::send::queue::SendQueue;
use crate::wait::wait;

/// Packets handed to the kernel in one system call at most.
const BATCH: usize = 64;

/// Bytes of a control message with a time.
const TIME_BYTES: usize = rustix::cmsg_space!(TxTime(1));

/// How long before its planned time a packet is handed to the queueing discipline: longer than most threads wait for a CPU.
pub const LEAD_NS: u64 = 5_000_000;

/// A time that has not passed when the packet reaches the queueing discipline.
const SOON_NS: u64 = 1_000_000;

/// Reports of dropped packets that are read at once.
const MAX_REPORTS: usize = 4096;

/// How long after its time a packet is reported as dropped at most, and how long the end of a job waits for that at most.
const REPORT_NS: u64 = 20_000_000;
const MAX_DRAIN_NS: u64 = 500_000_000;

/// How packets pass from the socket to the device: past the queueing discipline or through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QdiscMode {
    /// They skip the queueing discipline.
    Bypass,
    /// They pass the queueing discipline.
    Qdisc,
    /// The queueing discipline sends each at its time.
    Timed(Discipline),
}

/// A queueing discipline that sends packets at their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// Times of `CLOCK_MONOTONIC`.
    Fq,
    /// Times of `CLOCK_TAI`. It drops packets whose time has passed.
    Etf,
}

impl Discipline {
    /// The discipline with this name, as `tc qdisc` prints it.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "fq" => Some(Self::Fq),
            "etf" => Some(Self::Etf),
            _ => None,
        }
    }

    fn clock(self) -> i32 {
        match self {
            Self::Fq => libc::CLOCK_MONOTONIC,
            Self::Etf => libc::CLOCK_TAI,
        }
    }

    /// The earliest time for a packet that is handed over now (`CLOCK_MONOTONIC`): a late one is sent soon, not dropped.
    fn earliest_ns(self) -> u64 {
        match self {
            Self::Fq => 0,
            Self::Etf => monotonic_ns() + SOON_NS,
        }
    }

    /// What to add to a time of `CLOCK_MONOTONIC`.
    fn offset_ns(self) -> u64 {
        match self {
            Self::Fq => 0,
            // The socket has accepted the clock.
            Self::Etf => tai_ns().unwrap_or(0).wrapping_sub(monotonic_ns()),
        }
    }
}

/// A packet socket that only sends.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    mode: QdiscMode,
    /// Packets have planned times.
    is_paced: bool,
    /// For single packets, at a rate; `None` as fast as possible.
    stamps: Option<TxStamps>,
    /// Packets that `etf` dropped because their time had passed.
    missed: u64,
    /// The time of the last packet, if the queueing discipline knows one (`CLOCK_MONOTONIC`).
    last_ns: u64,
}

impl PacketSocket {
    /// Opens it on interface `ifindex`, in the namespace of the calling thread. If packets are paced, the kernel can stamp
    /// them.
    pub fn open(ifindex: u32, mode: QdiscMode, is_paced: bool) -> io::Result<Self> {
        let socket = bound(ifindex, mode)?;
        // Without stamps, lateness is known at the system call.
        let stamps = || TxStamps::new(bound(ifindex, mode)?);
        let stamps = is_paced.then(|| stamps().ok()).flatten();
        Ok(Self {
            socket,
            mode,
            is_paced,
            stamps,
            missed: 0,
            last_ns: 0,
        })
    }

    /// Reads which packets were dropped because their time had passed.
    fn read_missed(&mut self) {
        // The socket's buffer has room for fewer.
        for _ in 0..MAX_REPORTS {
            match datagram::receive(self.socket.as_fd(), &mut [], Queue::Errors) {
                Ok(report) => {
                    let is_missed = report.error.is_some_and(|error| error.is_missed_time());
                    self.missed += u64::from(is_missed);
                }
                Err(_) => break,
            }
        }
    }
}

/// A socket that is bound.
fn bound(ifindex: u32, mode: QdiscMode) -> io::Result<OwnedFd> {
    let socket = abi::socket::packet_socket()?;
    match mode {
        QdiscMode::Bypass => abi::socket::set_option(
            socket.as_fd(),
            libc::SOL_PACKET,
            libc::PACKET_QDISC_BYPASS,
            &1i32,
        )?,
        QdiscMode::Qdisc => {}
        QdiscMode::Timed(discipline) => {
            abi::socket::set_txtime(socket.as_fd(), discipline.clock())?;
        }
    }
    abi::socket::bind_to_send(socket.as_fd(), ifindex)?;
    Ok(socket)
}

impl Transmit for PacketSocket {
    fn path(&self) -> SendPath {
        match self.mode {
            QdiscMode::Bypass => SendPath::Bypass,
            QdiscMode::Qdisc => SendPath::Qdisc,
            QdiscMode::Timed(_) => SendPath::Timed,
        }
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn keeps_times(&self) -> bool {
        matches!(self.mode, QdiscMode::Timed(_))
    }

    fn lead_ns(&self) -> u64 {
        match self.mode {
            QdiscMode::Timed(_) => LEAD_NS,
            QdiscMode::Bypass | QdiscMode::Qdisc => {
                self.stamps.as_ref().map_or(0, TxStamps::delay_ns)
            }
        }
    }

    fn send(&mut self, queue: &SendQueue, first: usize, end: usize) -> Result<usize, Refusal> {
        let end = end.min(first + BATCH);
        let (mode, is_paced) = (self.mode, self.is_paced);
        let send = |socket: &OwnedFd| match mode {
            QdiscMode::Timed(discipline) => {
                send_timed(socket, queue, first..end, discipline, is_paced)
            }
            _ if end - first == 1 => {
                let frame = queue.packet(first).bytes;
                rustix::net::send(socket, frame, SendFlags::DONTWAIT).map(|_| 1)
            }
            _ => send_many(socket, queue, first, end),
        };
        let stamps = self.stamps.as_mut().filter(|stamps| stamps.is_next());
        let sent = match stamps {
            Some(stamps) if end - first == 1 => stamps.send(send),
            _ => send(&self.socket),
        };
        if mode == QdiscMode::Timed(Discipline::Etf) {
            let last = queue.packet(end - 1).time_ns;
            self.last_ns = self.last_ns.max(if is_paced { last } else { 0 });
            self.read_missed();
        }
        sent.map_err(|error| match error {
            // The kernel freed the packet: with a queueing discipline or without.
            Errno::NOBUFS | Errno::AGAIN | Errno::INTR => Refusal::Full,
            error => Refusal::Error(error),
        })
    }

    /// Waits for room in the socket's buffer.
    fn wait(&self, time: Duration) -> io::Result<()> {
        wait(&mut [PollFd::new(&self.socket, PollFlags::OUT)], time).map(drop)
    }

    /// Waits until `etf` has sent or dropped the last packet.
    fn drain(&mut self) {
        if self.mode != QdiscMode::Timed(Discipline::Etf) {
            return;
        }
        let now_ns = monotonic_ns();
        let most_ns = now_ns + MAX_DRAIN_NS;
        let end_ns = (self.last_ns.max(now_ns + SOON_NS) + REPORT_NS).min(most_ns);
        while let Some(left_ns) = end_ns.checked_sub(monotonic_ns()).filter(|left| *left > 0) {
            self.read_missed();
            // Errors wake it; a signal only shortens the wait.
            let errors = PollFd::new(&self.socket, PollFlags::empty());
            if wait(&mut [errors], Duration::from_nanos(left_ns)).is_err() {
                break;
            }
        }
        self.read_missed();
    }

    fn missed(&mut self) -> u64 {
        self.missed + self.stamps.as_mut().map_or(0, TxStamps::missed)
    }

    fn stamp_next(&mut self, planned_ns: u64) {
        if let Some(stamps) = &mut self.stamps {
            stamps.stamp_next(planned_ns);
        }
    }

    fn stamped_lateness(&mut self) -> Option<&Histogram> {
        Some(self.stamps.as_mut()?.lateness())
    }
}

/// The packets `first..end` as slices, at most [`BATCH`].
fn slices(queue: &SendQueue, first: usize, end: usize) -> [IoSlice<'_>; BATCH] {
    let mut slices = [IoSlice::new(&[]); BATCH];
    for (slice, index) in slices.iter_mut().zip(first..end) {
        *slice = IoSlice::new(queue.packet(index).bytes);
    }
    slices
}

fn send_many(
    socket: &OwnedFd,
    queue: &SendQueue,
    first: usize,
    end: usize,
) -> rustix::io::Result<usize> {
    let slices = slices(queue, first, end);
    let mut controls = [(); BATCH].map(|()| SendAncillaryBuffer::default());
    send_with(socket, &slices[..end - first], &mut controls)
}

/// Each packet with its time; those without a planned one as soon as the queueing discipline permits.
fn send_timed(
    socket: &OwnedFd,
    queue: &SendQueue,
    packets: Range<usize>,
    discipline: Discipline,
    is_paced: bool,
) -> rustix::io::Result<usize> {
    let slices = slices(queue, packets.start, packets.end);
    let (earliest_ns, offset_ns) = (discipline.earliest_ns(), discipline.offset_ns());
    let mut spaces = [[MaybeUninit::uninit(); TIME_BYTES]; BATCH];
    let mut controls = spaces
        .each_mut()
        .map(|space| SendAncillaryBuffer::new(space));
    let count = packets.len();
    for (control, index) in controls.iter_mut().zip(packets) {
        let planned_ns = if is_paced {
            queue.packet(index).time_ns
        } else {
            0
        };
        let time_ns = planned_ns.max(earliest_ns).wrapping_add(offset_ns);
        // There is room for one.
        control.push(SendAncillaryMessage::TxTime(time_ns));
    }
    send_with(socket, &slices[..count], &mut controls)
}

fn send_with(
    socket: &OwnedFd,
    slices: &[IoSlice<'_>],
    controls: &mut [SendAncillaryBuffer<'_, '_, '_>; BATCH],
) -> rustix::io::Result<usize> {
    let mut rest = slices.iter();
    let mut messages = controls.each_mut().map(|control| {
        let slice = rest.next().map_or(&[][..], std::slice::from_ref);
        MMsgHdr::new(slice, control)
    });
    sendmmsg(socket, &mut messages[..slices.len()], SendFlags::DONTWAIT)
}
