use std::os::fd::{AsFd, OwnedFd};

use abi::bpf::{SockFilter, attach_classic};
use filter::classic::{Ancillary, ClassicProgram};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};

use super::engine::Engine;
use super::packet::Packet;

/// More than any packet of the corpus has.
const MOST_BYTES: usize = 128 * 1024;

/// A classic program as the filter of a socket that datagrams of another are sent to.
///
/// What is received is as long as the value says, and no longer than the packet.
pub struct KernelSocket {
    sender: OwnedFd,
    receiver: OwnedFd,
    buffer: Vec<u8>,
}

impl KernelSocket {
    /// Two joined sockets without a filter.
    pub fn new() -> Self {
        let kind = (AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC);
        let (sender, receiver) = socketpair(kind.0, kind.1, kind.2, None).expect("two sockets");
        Self {
            sender,
            receiver,
            buffer: vec![0; MOST_BYTES],
        }
    }

    /// Puts `program` in the place of the filter before.
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

    /// What is known of every datagram beside its bytes.
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
        // An empty datagram looks the same whether it came or not.
        packet.is_whole() && !packet.bytes.is_empty()
    }

    /// The value, but at most the packet's length.
    fn value(&mut self, packet: &Packet) -> u32 {
        send(&self.sender, &packet.bytes, SendFlags::DONTWAIT).expect("a place in the queue");
        match recv(&self.receiver, &mut self.buffer[..], RecvFlags::DONTWAIT) {
            Ok((bytes, _)) => bytes as u32,
            Err(Errno::AGAIN) => 0,
            Err(error) => panic!("receiving: {error}"),
        }
    }
}
