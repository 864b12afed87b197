//! Runs filters at a packet socket of the kernel.

use std::os::fd::{AsFd, OwnedFd};

use abi::bpf::{SockFilter, attach_classic};
use filter::classic::{Ancillary, ClassicProgram};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};

use super::engine::Engine;
use super::packet::Packet;

/// Larger than any packet of the corpus.
const MOST_BYTES: usize = 128 * 1024;

/// Runs a classic program as the socket filter of a datagram socket.
///
/// The length of a received datagram is the filter's value, at most the packet's length.
pub struct KernelSocket {
    sender: OwnedFd,
    receiver: OwnedFd,
    buffer: Vec<u8>,
}

impl KernelSocket {
    /// Creates a connected pair of sockets without a filter.
    pub fn new() -> Self {
        let kind = (AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC);
        let (sender, receiver) = socketpair(kind.0, kind.1, kind.2, None).expect("two sockets");
        Self {
            sender,
            receiver,
            buffer: vec![0; MOST_BYTES],
        }
    }

    /// Replaces the filter by `program`.
    pub fn attach(&mut self, program: &ClassicProgram) {
        let filter: Vec<SockFilter> = program
            .instructions()
            .iter()
            .map(|&instruction| SockFilter {
                code: instruction.code,
                jt: instruction.jt,
                jf: instruction.jf,
                k: instruction.k,
            })
            .collect();
        attach_classic(self.receiver.as_fd(), &filter).expect("the kernel takes the program");
    }

    /// The metadata of every datagram on this socket.
    pub fn ancillary() -> Ancillary {
        Ancillary {
            packet_type: Some(0),
            ..Ancillary::default()
        }
    }
}

impl Default for KernelSocket {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine for KernelSocket {
    fn name(&self) -> &'static str {
        "kernel, socket"
    }

    fn answers(&self, packet: &Packet) -> bool {
        // An empty datagram looks the same as a rejected one.
        packet.is_whole() && !packet.bytes.is_empty()
    }

    /// The filter's value, at most the packet's length.
    fn value(&mut self, packet: &Packet) -> u32 {
        send(&self.sender, &packet.bytes, SendFlags::DONTWAIT).expect("a place in the queue");
        match recv(&self.receiver, &mut self.buffer[..], RecvFlags::DONTWAIT) {
            Ok((bytes, _)) => bytes as u32,
            Err(Errno::AGAIN) => 0,
            Err(error) => panic!("receiving: {error}"),
        }
    }
}
