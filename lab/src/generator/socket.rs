//! Given frames through a packet socket.

use std::io;
use std::os::fd::AsFd;

use abi::bpf::SockFilter;
use netlink::IfIndex;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::live::refuse_this_machine;

/// Sends each of `frames` once, in order, out of interface `out`; returns their number. Call it on
/// the sending host.
///
/// A frame starts with its Ethernet header and is sent as it is: tags, odd lengths from 14 bytes on
/// and wrong checksums included. The interface's queue may still drop it.
///
/// # Errors
/// What the kernel says of the first frame it refuses: EMSGSIZE beyond the MTU, EINVAL below 14
/// bytes, ENETDOWN, ENOBUFS; ENODEV when there is no such interface.
/// # Panics
/// In the machine's own namespace.
#[track_caller]
pub fn send_frames<F: AsRef<[u8]>>(
    out: IfIndex,
    frames: impl IntoIterator<Item = F>,
) -> io::Result<u64> {
    refuse_this_machine();
    let socket = abi::socket::packet_socket()?;
    // A filter that refuses all, so that nothing is queued for reading.
    let refuse = SockFilter {
        code: 0x06,
        jt: 0,
        jf: 0,
        k: 0,
    };
    abi::bpf::attach_classic(socket.as_fd(), &[refuse])?;
    abi::socket::bind_link(socket.as_fd(), out.0)?;
    let mut sent = 0;
    for frame in frames {
        while let Err(error) = send(&socket, frame.as_ref(), SendFlags::empty()) {
            if error != Errno::AGAIN {
                return Err(error.into());
            }
            poll(&mut [PollFd::new(&socket, PollFlags::OUT)], None)?;
        }
        sent += 1;
    }
    Ok(sent)
}
