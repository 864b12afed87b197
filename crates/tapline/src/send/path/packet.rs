//! The path through a packet socket: many packets per system call.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use probe::Histogram;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};

use super::tx_stamps::TxStamps;
use super::{Refusal, Transmit};
use crate::send::options::SendPath;
use crate::send::queue::SendQueue;
use crate::wait::wait;

/// Packets handed to the kernel in one system call at most.
const BATCH: usize = 64;

/// A packet socket that only sends.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    has_qdisc: bool,
    /// For single packets, at a rate; `None` as fast as possible.
    stamps: Option<TxStamps>,
}

impl PacketSocket {
    /// Opens it on interface `ifindex`, in the namespace of the calling thread: through the queueing discipline, or
    /// not. With `is_stamped`, the kernel can stamp packets.
    pub fn open(ifindex: u32, has_qdisc: bool, is_stamped: bool) -> io::Result<Self> {
        let socket = Self::bound(ifindex, has_qdisc)?;
        // Without stamps, lateness is known at the system call.
        let stamps = || TxStamps::new(Self::bound(ifindex, has_qdisc)?);
        let stamps = is_stamped.then(|| stamps().ok()).flatten();
        Ok(Self {
            socket,
            has_qdisc,
            stamps,
        })
    }

    fn bound(ifindex: u32, has_qdisc: bool) -> io::Result<OwnedFd> {
        let socket = abi::socket::packet_socket()?;
        if !has_qdisc {
            abi::socket::set_option(
                socket.as_fd(),
                libc::SOL_PACKET,
                libc::PACKET_QDISC_BYPASS,
                &1i32,
            )?;
        }
        abi::socket::bind_to_send(socket.as_fd(), ifindex)?;
        Ok(socket)
    }

    fn send_many(&self, slices: &[IoSlice<'_>]) -> rustix::io::Result<usize> {
        let mut controls = [(); BATCH].map(|()| SendAncillaryBuffer::default());
        let mut rest = slices.iter();
        let mut messages = controls.each_mut().map(|control| {
            let slice = rest.next().map_or(&[][..], std::slice::from_ref);
            MMsgHdr::new(slice, control)
        });
        sendmmsg(
            &self.socket,
            &mut messages[..slices.len()],
            SendFlags::DONTWAIT,
        )
    }
}

impl Transmit for PacketSocket {
    fn path(&self) -> SendPath {
        if self.has_qdisc {
            SendPath::Qdisc
        } else {
            SendPath::Bypass
        }
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn send(&mut self, queue: &SendQueue, first: usize, end: usize) -> Result<usize, Refusal> {
        let end = end.min(first + BATCH);
        let mut slices = [IoSlice::new(&[]); BATCH];
        for (slice, index) in slices.iter_mut().zip(first..end) {
            *slice = IoSlice::new(queue.packet(index).bytes);
        }
        let slices = &slices[..end - first];
        let stamps = self.stamps.as_mut().filter(|stamps| stamps.is_next());
        let sent = match (slices, stamps) {
            ([only], Some(stamps)) => stamps.send(only).map(|()| 1),
            ([only], None) => rustix::net::send(&self.socket, only, SendFlags::DONTWAIT).map(|_| 1),
            _ => self.send_many(slices),
        };
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

    fn stamp_next(&mut self, planned_ns: u64) {
        if let Some(stamps) = &mut self.stamps {
            stamps.stamp_next(planned_ns);
        }
    }

    fn stamped_lateness(&mut self) -> Option<&Histogram> {
        Some(self.stamps.as_mut()?.lateness())
    }
}
