//! Sends given frames through a packet socket.

use std::io;
use std::os::fd::AsFd;

use abi::bpf::SockFilter;
use netlink::IfIndex;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::live::refuse_this_machine;

/// Sends each of `frames` once, in order, through interface `out`, and returns their number. Call it on the sending
/// host.
///
/// A frame starts with its Ethernet header and is sent unchanged. Tags, odd lengths (from 14 bytes) and wrong checksums
/// are allowed. The interface's queue may still drop it.
///
/// # Errors
/// The kernel's error for the first frame that it rejects: EMSGSIZE beyond the MTU, EINVAL below 14 bytes, ENETDOWN,
/// ENOBUFS, or ENODEV if the interface does not exist.
/// # Panics
/// In the machine's own namespace.
#[track_caller]
pub fn send_frames<F: AsRef<[u8]>>(
    out: IfIndex,
    frames: impl IntoIterator<Item = F>,
) -> io::Result<u64> {
    match offer_frames(out, frames)? {
        Offered {
            carried,
            dropped: 0,
        } => Ok(carried),
        _ => Err(Errno::NOBUFS.into()),
    }
}

/// How many of the frames an interface sent and dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Frames sent.
    pub carried: u64,
    /// Frames dropped on egress because the queue was full (ENOBUFS).
    pub dropped: u64,
}

/// Like [`send_frames`], but counts a frame that the interface drops and continues with the next one.
///
/// # Errors
/// As [`send_frames`], except ENOBUFS.
/// # Panics
/// In the machine's own namespace.
#[track_caller]
pub fn offer_frames<F: AsRef<[u8]>>(
    out: IfIndex,
    frames: impl IntoIterator<Item = F>,
) -> io::Result<Offered> {
    refuse_this_machine();
    let socket = abi::socket::packet_socket()?;
    // A filter that rejects everything, so that the socket queues no received packets.
    let refuse = SockFilter {
        code: 0x06,
        jt: 0,
        jf: 0,
        k: 0,
    };
    abi::bpf::attach_classic(socket.as_fd(), &[refuse])?;
    abi::socket::bind_link(socket.as_fd(), out.0)?;
    let (mut carried, mut dropped) = (0, 0);
    for frame in frames {
        loop {
            match send(&socket, frame.as_ref(), SendFlags::empty()) {
                Ok(_) => carried += 1,
                Err(Errno::NOBUFS) => dropped += 1,
                Err(Errno::AGAIN) => {
                    poll(&mut [PollFd::new(&socket, PollFlags::OUT)], None)?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            break;
        }
    }
    Ok(Offered { carried, dropped })
}
