//! Transmit time stamps of single packets: when the driver took them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use abi::clock::{monotonic_ns, realtime_ns};
use abi::datagram::{self, Queue};
use probe::Histogram;
use rustix::net::SendFlags;

/// Error reports read at once, so that a foreign one does not stay before a time stamp.
const MAX_REPORTS: usize = 8;

/// A second packet socket, whose packets the kernel stamps. One packet is stamped at a time.
///
/// # Source
/// Documentation/networking/timestamping.rst, `SOF_TIMESTAMPING_TX_SOFTWARE`.
#[derive(Debug)]
#[doc(alias = "SO_TIMESTAMPING")]
pub struct TxStamps {
    socket: OwnedFd,
    /// The planned time of the next packet, if that is to be stamped (`CLOCK_MONOTONIC`).
    next: Option<u64>,
    waiting: Option<Waiting>,
    lateness: Histogram,
}

/// A packet whose stamp has not been read. Both times are of `CLOCK_REALTIME`, as stamps are.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    planned_ns: u64,
    called_ns: u64,
}

impl TxStamps {
    /// Takes a packet socket that is bound.
    pub fn new(socket: OwnedFd) -> io::Result<Self> {
        let flags = libc::SOF_TIMESTAMPING_TX_SOFTWARE
            | libc::SOF_TIMESTAMPING_SOFTWARE
            | libc::SOF_TIMESTAMPING_OPT_TSONLY;
        let (level, name) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
        abi::socket::set_option(socket.as_fd(), level, name, &flags)?;
        Ok(Self {
            socket,
            next: None,
            waiting: None,
            lateness: Histogram::default(),
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

    /// Sends a packet and has it stamped.
    pub fn send(&mut self, frame: &[u8]) -> rustix::io::Result<()> {
        self.read();
        let called_ns = realtime_ns();
        let since_plan_ns = self
            .next
            .map(|planned| monotonic_ns().saturating_sub(planned));
        rustix::net::send(&self.socket, frame, SendFlags::DONTWAIT)?;
        self.next = None;
        self.waiting = since_plan_ns.map(|late_ns| Waiting {
            planned_ns: called_ns.saturating_sub(late_ns),
            called_ns,
        });
        Ok(())
    }

    /// From the planned times of the stamped packets to their stamps. Empty if the driver makes none.
    pub fn lateness(&mut self) -> &Histogram {
        self.read();
        &self.lateness
    }

    fn read(&mut self) {
        for _ in 0..MAX_REPORTS {
            let report = datagram::receive(self.socket.as_fd(), &mut [], Queue::Errors);
            let Ok(report) = report else {
                break;
            };
            if let (Some(waiting), Some(sent_ns)) = (self.waiting, report.sent_ns)
                // A stamp that came too late belongs to a packet before.
                && sent_ns >= waiting.called_ns
            {
                self.lateness
                    .record(sent_ns.saturating_sub(waiting.planned_ns));
                self.waiting = None;
            }
        }
    }
}
