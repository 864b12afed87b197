//! The path through a packet socket: many packets per system call.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};

use super::options::SendPath;
use super::queue::SendQueue;
use crate::wait::wait;

/// Packets handed to the kernel in one system call at most.
pub const BATCH: usize = 64;

/// A packet socket that only sends.
#[derive(Debug)]
pub struct SendSocket(OwnedFd);

/// Why the kernel did not take the first packet of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The device's queue or the socket's buffer is full: try again.
    Full,
    /// Another reason.
    Error(Errno),
}

impl SendSocket {
    /// Opens it on interface `ifindex`, in the namespace of the calling thread.
    pub fn open(ifindex: u32, path: SendPath) -> io::Result<Self> {
        let socket = abi::socket::packet_socket()?;
        if path == SendPath::Bypass {
            abi::socket::set_option(
                socket.as_fd(),
                libc::SOL_PACKET,
                libc::PACKET_QDISC_BYPASS,
                &1i32,
            )?;
        }
        abi::socket::bind_to_send(socket.as_fd(), ifindex)?;
        Ok(Self(socket))
    }

    /// Sends packets `first..end` of `queue`, at most [`BATCH`]. Returns how many the kernel took.
    pub fn send(&self, queue: &SendQueue, first: usize, end: usize) -> Result<usize, Refusal> {
        let end = end.min(first + BATCH);
        let mut slices = [IoSlice::new(&[]); BATCH];
        for (slice, index) in slices.iter_mut().zip(first..end) {
            *slice = IoSlice::new(queue.packet(index).bytes);
        }
        let slices = &slices[..end - first];
        let sent = if let [only] = slices {
            rustix::net::send(&self.0, only, SendFlags::DONTWAIT).map(|_| 1)
        } else {
            self.send_many(slices)
        };
        sent.map_err(|error| match error {
            // The kernel freed the packet: with a queueing discipline or without.
            Errno::NOBUFS | Errno::AGAIN | Errno::INTR => Refusal::Full,
            error => Refusal::Error(error),
        })
    }

    fn send_many(&self, slices: &[IoSlice<'_>]) -> rustix::io::Result<usize> {
        let mut controls = [(); BATCH].map(|()| SendAncillaryBuffer::default());
        let mut rest = slices.iter();
        let mut messages = controls.each_mut().map(|control| {
            let slice = rest.next().map_or(&[][..], std::slice::from_ref);
            MMsgHdr::new(slice, control)
        });
        sendmmsg(&self.0, &mut messages[..slices.len()], SendFlags::DONTWAIT)
    }

    /// Waits until the socket's buffer has room, for `time` at most.
    pub fn wait(&self, time: Duration) -> io::Result<()> {
        wait(&mut [PollFd::new(&self.0, PollFlags::OUT)], time).map(drop)
    }
}
