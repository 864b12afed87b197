//! eBPF at run time: programs are put together from typed instructions, loaded, and attached.
//!
//! ```text
//! [Insn] ──assemble──▶ slots ──Program::load──▶ Program ──XdpLink::attach──▶ XdpLink
//!    ▲                                            ▲
//!    └── Map (descriptor borrowed by the Insn)    └── CountingFilter (classic program + counters)
//! ```
//!
//! - [`Insn`] is one instruction; jumps name a [`Label`], which [`assemble`] resolves.
//! - [`Program`] is a loaded program; a refusal keeps the verifier's log ([`LoadError`]).
//! - [`Map`] is memory that a program and this process share.
//! - [`Counters`] are kept once per CPU; a [`CounterTable`] keeps some for each of many keys.
//! - [`FilterMaps`] are the sets of a filter's code (`filter::ebpf`), which becomes [`Insn`]s with them.
//! - [`XdpLink`] and [`TcLink`] tie a program to an interface for as long as they live.
//! - [`Mirror`] copies the beginnings of an interface's packets into ring buffers.
//! - An [`Intake`] takes packets from the driver and keeps their beginnings.
//! - [`Redirect`] sends an interface's packets to AF_XDP sockets.
//! - A [`Sampler`] keeps some of many packets, in programs of any kind.
//! - [`count`] makes the programs that count classes of packets.
//! - [`socket_filter`] makes a classic filter count what it is offered and what it accepts.
//!
//! Nothing is pinned: what a program attached is gone with its process, also after a crash. The one
//! exception is tc before Linux 6.6 ([`TcAttach::Clsact`]), where the next start clears up, or a second
//! process that waits for the end of the first ([`TcLink::remove_leftovers`]).
//! Everything here asks for `CAP_BPF` (XDP for `CAP_NET_ADMIN` too) and Linux 5.9 or later.

#![forbid(unsafe_code)]

mod assemble;
mod choice;
pub mod count;
mod filter_map;
mod intake;
mod map;
mod mirror;
mod per_cpu;
mod program;
mod rtnetlink;
mod sampling;
pub mod socket_filter;
mod table;
mod tc;
mod xdp;
mod xsk;

pub use assemble::{AssembleError, assemble};
pub use filter::ebpf::{Alu, Condition, Helper, Label, Operand, Reg, Size, Width};
pub use filter_map::FilterMaps;
pub use intake::{Intake, IntakeCounts, IntakeOptions};
pub use map::{Counters, Map, MapError};
pub use mirror::{Mirror, MirrorBuffers, MirrorCounts, MirrorError, MirrorOptions};
pub use program::{LoadError, Program, ProgramKind, VerifierLog};
/// One instruction, or the mark of a place; a map is named by its borrowed descriptor, so it is open
/// when the program is loaded.
pub type Insn<'map> = filter::ebpf::Insn<std::os::fd::BorrowedFd<'map>>;

pub use sampling::{Probability, Sampler, SamplerPlaces, Sampling};
pub use table::{CounterTable, TableOptions, WhenFull};
pub use tc::{TcAttach, TcAttachError, TcFilter, TcLink, TcPlace, tc_filters, tcx_programs};
pub use xdp::{
    HoldingProcess, XdpAttachError, XdpHolder, XdpLink, XdpMode, XdpMtu, XdpPlace, program_name,
};
pub use xsk::{Others, Redirect, RedirectCounts, RedirectError, RedirectOptions};
