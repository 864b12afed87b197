//! XDP programs that deliver an interface's packets to user space.
//!
//! ```text
//! select ─MATCH─▶ sample ─▶ deliver:  XskProgram         whole packets to AF_XDP sockets; they skip the stack
//!    │              │                 SlotProgram        packet beginnings to shared memory; drops the packets
//!    └──NO_MATCH────┴─▶ count         RingBufferProgram  packet beginnings to BPF ring buffers; passes the packets
//! ```

mod drop_to_slots;
mod drop_to_sockets;
mod metadata;
mod per_cpu;
mod ring_buffer;
mod select;

use std::io;
use std::ops::Add;

pub use self::drop_to_slots::{SlotProgram, SlotProgramOptions};
pub use self::drop_to_sockets::{XskProgram, XskProgramOptions};
pub use self::metadata::RxMetadata;
pub use self::ring_buffer::{CpuRingBuffers, RingBufferProgram, RingBufferProgramOptions};
use crate::map::MapError;
use crate::program::LoadError;
use crate::xdp::XdpAttachError;
use crate::{Insn, Label, Sampling};

/// Which packets a program delivers. The default delivers all.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketSelection<'c> {
    /// Filter code. It finds the context (`struct xdp_md`) in `R1`, leaves it in `R6`, and always jumps to
    /// [`MATCH`](Self::MATCH) or [`NO_MATCH`](Self::NO_MATCH), also at its end. Empty code matches every
    /// packet.
    pub code: &'c [Insn<'c>],
    /// Sampling of the packets that match. `None` keeps all.
    pub sampling: Option<Sampling>,
    /// Action for packets that do not match or are sampled out. [`RingBufferProgram`] ignores it: that
    /// program passes every packet.
    pub unmatched: UnmatchedAction,
}

impl PacketSelection<'_> {
    /// Label to which `code` jumps with packets that match.
    pub const MATCH: Label = select::MATCH;
    /// Label to which `code` jumps with packets that do not match.
    pub const NO_MATCH: Label = select::NO_MATCH;
}

/// Action for packets that do not match the filter or are sampled out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnmatchedAction {
    /// Pass them to the network stack.
    #[default]
    Pass,
    /// Drop them.
    Drop,
}

impl UnmatchedAction {
    /// The program's return value (`enum xdp_action`, include/uapi/linux/bpf.h).
    fn verdict(self) -> i32 {
        match self {
            Self::Pass => 2,
            Self::Drop => 1,
        }
    }
}

/// Packets that a program has seen since it was loaded, by what it did with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct XdpCounters {
    /// Delivered to a socket, a ring buffer or a slot. An AF_XDP socket may still drop some, and counts those.
    pub delivered: u64,
    /// Did not match.
    pub unmatched: u64,
    /// Matched, but sampled out.
    pub sampled_out: u64,
    /// Matched, but not delivered.
    ///
    /// - [`XskProgram`]: the packet's queue has no socket. The stack got the packet, unless the program had put a VLAN tag
    ///   back into it.
    /// - [`RingBufferProgram`]: the ring buffer was full, or the CPU went online after the program was loaded.
    ///   The stack got the packet.
    /// - [`SlotProgram`]: no slot was free. The packet was dropped.
    pub lost: u64,
    /// Delivered packets without a time stamp, because there was no headroom for it. Only [`XskProgram`]
    /// counts them.
    pub unstamped: u64,
}

impl XdpCounters {
    /// All packets that the program has seen.
    pub fn total(&self) -> u64 {
        self.delivered + self.unmatched + self.sampled_out + self.lost
    }
}

/// The sum of two programs' counters.
impl Add for XdpCounters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            delivered: self.delivered + other.delivered,
            unmatched: self.unmatched + other.unmatched,
            sampled_out: self.sampled_out + other.sampled_out,
            lost: self.lost + other.lost,
            unstamped: self.unstamped + other.unstamped,
        }
    }
}

/// Why a program cannot deliver packets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum XdpProgramError {
    /// The snaplen is 0 or larger than [`RingBufferProgram::MAX_SNAPLEN`].
    #[error("cannot copy packets with a snaplen of {snaplen}: it must be 1 to {max}", max = RingBufferProgram::MAX_SNAPLEN)]
    Snaplen {
        /// The snaplen in the options, bytes.
        snaplen: u32,
    },
    /// A map could not be created.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The program could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The kernel lacks the functions that read a device's metadata, or a description of them.
    #[error("the kernel cannot read the metadata of devices in XDP programs")]
    KernelFunction {
        /// Why they were not found.
        source: io::Error,
    },
    /// A socket could not be put into the program's map.
    #[error("cannot redirect packets of queue {queue} to a socket")]
    Socket {
        /// The queue.
        queue: u32,
        /// The kernel's error.
        source: io::Error,
    },
    /// The program could not be attached.
    #[error(transparent)]
    Attach(#[from] Box<XdpAttachError>),
}

impl From<XdpAttachError> for XdpProgramError {
    fn from(error: XdpAttachError) -> Self {
        Self::Attach(Box::new(error))
    }
}
