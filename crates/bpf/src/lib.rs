//! eBPF programs: assembled from typed instructions, loaded, and attached.
//!
//! ```text
//! [Insn] ──assemble──▶ slots ──Program::load──▶ Program ──XdpLink::attach──▶ XdpLink
//!    ▲                                            ▲
//!    └── Map (descriptor borrowed by the Insn)    └── CountingFilter (classic program + counters)
//! ```
//!
//! - [`Insn`]: one instruction. Jumps name a [`Label`], which [`assemble`] resolves.
//! - [`Program`]: a loaded program. [`LoadError`] holds the verifier's log.
//! - [`Map`]: memory shared by a program and this process.
//! - [`Counters`]: per-CPU counters; [`CounterTable`]: per-CPU counters for each of many keys.
//! - [`FilterMaps`]: the sets of a compiled filter (`filter::ebpf`).
//! - [`XdpLink`], [`TcLink`]: attach a program to an interface; dropping them detaches it.
//! - [`XskProgram`], [`RingBufferProgram`], [`SlotProgram`]: deliver an interface's packets to user space.
//! - [`EchoResponder`]: answers ICMP echo requests. [`EchoProber`]: sends them, and counts the replies.
//! - [`LiveFrames`]: sends frames through the XDP transmit path of a driver.
//! - [`Sampler`]: samples packets, in programs of any kind.
//! - [`SocketPorts`]: the local ports of the sockets of a control group.
//! - [`count`]: programs that count classes of packets.
//! - [`socket_filter`]: classic filters with counters.
//!
//! Nothing is pinned: the kernel detaches programs when the process ends, also after a crash. The only exception is tc
//! before Linux 6.6 ([`TcAttachMethod::Clsact`]): a filter can be left over. The next attachment removes it, or a guard
//! process that waits for the first process to end ([`TcLink::remove_leftovers`]).
//! Everything requires `CAP_BPF` (XDP also `CAP_NET_ADMIN`) and Linux 5.9 or later.

#![forbid(unsafe_code)]

mod assemble;
mod capture;
pub mod count;
mod echo;
mod filter_map;
mod kernel_function;
mod live_frames;
mod map;
mod program;
mod rtnetlink;
mod sampling;
pub mod socket_filter;
mod socket_ports;
mod table;
mod tc;
mod xdp;

pub use assemble::{AssembleError, assemble};
pub use capture::{
    CpuRingBuffers, PacketSelection, RingBufferProgram, RingBufferProgramOptions, RxMetadata,
    SlotProgram, SlotProgramOptions, UnmatchedAction, XdpCounters, XdpProgramError, XskProgram,
    XskProgramOptions,
};
pub use echo::{
    EchoAnswerCounts, EchoCounters, EchoError, EchoProber, EchoProberError, EchoProberOptions,
    EchoResponder, EchoResponderOptions, EchoTarget, EchoTotals,
};
pub use filter::ebpf::{Alu, Condition, Helper, Label, Operand, Reg, Size, Width};
pub use filter_map::FilterMaps;
pub use live_frames::{LiveFrames, LiveFramesError, LiveFramesSent};
pub use map::{Counters, Map, MapError};
pub use program::{LoadError, Program, ProgramKind, VerifierLog};
/// One instruction, or the position of a label. It borrows its maps' descriptors, so they are open when it is
/// loaded.
pub type Insn<'map> = filter::ebpf::Insn<std::os::fd::BorrowedFd<'map>>;

pub use sampling::{Probability, Sampler, SamplerLabels, Sampling};
pub use socket_ports::{SocketPorts, SocketPortsError};
pub use table::{CounterTable, FullTablePolicy, TableOptions};
pub use tc::{TcAttachError, TcAttachMethod, TcFilter, TcHook, TcLink, tc_filters, tcx_programs};
pub use xdp::{
    AttachedXdpProgram, OwnerProcess, XdpAttachError, XdpAttachMode, XdpLink, XdpMode, XdpMtuLimit,
    program_name,
};
