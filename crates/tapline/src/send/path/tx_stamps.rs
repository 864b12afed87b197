//! Transmit time stamps of single packets: when the driver took them.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use abi::clock::{monotonic_ns, realtime_ns};
use abi::datagram::{self, Queue};
use probe::Histogram;
use rustix::io::Errno;

/// Packets whose stamps may be outstanding.
const MAX_WAITING: usize = 64;

/// A system call does not take longer, but in a queueing discipline that delays.
const MAX_DELAY_NS: u64 = 20_000;

/// A second packet socket, whose packets the kernel stamps.
///
/// # Source
/// Documentation/networking/timestamping.rst, `SOF_TIMESTAMPING_TX_SOFTWARE`.
#[derive(Debug)]
#[doc(alias = "SO_TIMESTAMPING")]
pub struct TxStamps {
    socket: OwnedFd,
    /// The planned time of the next packet, if that is to be stamped (`CLOCK_MONOTONIC`).
    next: Option<u64>,
    /// Number of the next packet on the socket.
    number: u32,
    waiting: VecDeque<Waiting>,
    lateness: Histogram,
    /// Packets that were dropped because their time had passed.
    missed: u64,
    /// The shortest time from a system call to its stamp.
    delay_ns: Option<u64>,
}

/// A packet whose stamp has not been read.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    number: u32,
    /// Both of `CLOCK_REALTIME`, as the stamp is.
    planned_ns: u64,
    called_ns: u64,
}

impl TxStamps {
    /// Takes a packet socket that is bound.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        let flags = libc::SOF_TIMESTAMPING_TX_SOFTWARE
            | libc::SOF_TIMESTAMPING_SOFTWARE
            | libc::SOF_TIMESTAMPING_OPT_ID
            | libc::SOF_TIMESTAMPING_OPT_TSONLY;
        let (level, name) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
        abi::socket::set_option(socket.as_fd(), level, name, &flags)?;
        Ok(Self {
            socket,
            next: None,
            number: 0,
            waiting: VecDeque::with_capacity(MAX_WAITING),
            lateness: Histogram::default(),
            missed: 0,
            delay_ns: None,
        })
    }

    /// Has the next packet stamped, which was planned for `planned_ns`.
    pub fn stamp_next(&mut self, planned_ns: u64) {
        self.next = Some(planned_ns);
    }

    /// Whether the next packet is to be stamped.
    pub fn is_next(&self) -> bool {
        self.next.is_some()
    }

    /// Sends a packet with `send` and has it stamped.
    pub fn send(
        &mut self,
        send: impl FnOnce(&OwnedFd) -> rustix::io::Result<usize>,
    ) -> rustix::io::Result<usize> {
        // Both clocks are read together, so that their difference is that of this moment.
        let (realtime_ns, monotonic_ns) = (realtime_ns(), monotonic_ns());
        let sent = send(&self.socket);
        // The kernel numbers a packet before it drops it.
        if matches!(sent, Ok(_) | Err(Errno::NOBUFS)) {
            self.number = self.number.wrapping_add(1);
        }
        let sent = sent?;
        if let Some(planned_ns) = self.next.take()
            && self.waiting.len() < MAX_WAITING
        {
            self.waiting.push_back(Waiting {
                number: self.number.wrapping_sub(1),
                planned_ns: realtime_ns
                    .wrapping_add(planned_ns)
                    .wrapping_sub(monotonic_ns),
                called_ns: realtime_ns,
            });
        }
        // Afterwards, so that it does not delay the packet.
        self.read();
        Ok(sent)
    }

    /// From the planned times of the stamped packets to their stamps. Empty if the driver makes none.
    pub fn lateness(&mut self) -> &Histogram {
        self.read();
        &self.lateness
    }

    /// The shortest time from a system call to the driver, as far as it is known: 0 at first.
    pub fn delay_ns(&self) -> u64 {
        self.delay_ns.unwrap_or(0)
    }

    /// Packets that were dropped because their time had passed, as far as it is known.
    pub fn missed(&mut self) -> u64 {
        self.read();
        self.missed
    }

    fn note(&mut self, waiting: Waiting, sent_ns: u64) {
        let late_ns = sent_ns.saturating_sub(waiting.planned_ns);
        self.lateness.record(late_ns);
        let delay_ns = sent_ns.saturating_sub(waiting.called_ns);
        self.delay_ns = Some(self.delay_ns.unwrap_or(MAX_DELAY_NS).min(delay_ns));
    }

    /// Reads the stamps that have arrived.
    fn read(&mut self) {
        for _ in 0..MAX_WAITING {
            let report = datagram::receive(self.socket.as_fd(), &mut [], Queue::Errors);
            let Ok(report) = report else {
                break;
            };
            self.missed += u64::from(report.error.is_some_and(|error| error.is_missed_time()));
            let stamp = report.error.filter(datagram::QueuedError::is_time_stamp);
            let (Some(stamp), Some(sent_ns)) = (stamp, report.sent_ns) else {
                continue;
            };
            let is_its = |waiting: &Waiting| waiting.number == stamp.data;
            if let Some(index) = self.waiting.iter().position(is_its) {
                // Stamps arrive in order, so that those before will not come.
                let waiting = self.waiting[index];
                self.waiting.drain(..=index);
                self.note(waiting, sent_ns);
            }
        }
    }
}
