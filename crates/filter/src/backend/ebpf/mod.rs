//! Filters as eBPF, for XDP and tc.
//!
//! ```text
//! Filter ──ebpf──▶ Fragment ──code, once per filter──▶ a program of the caller
//!                     │
//!                     └──────program(verdicts)───────▶ [Insn<SetId>] ──bpf: maps for sets──▶ kernel
//! ```
//!
//! - [`Insn`] is one instruction. Jumps name a [`Label`]; the type parameter `M` names a map.
//! - A [`Fragment`] evaluates one filter and jumps to [`Fragment::ACCEPT`] or [`Fragment::REJECT`].
//! - [`prologue`] comes once, before the fragments of a program.
//! - [`classify`] finds the protocol of a packet, so that fragments can be specialized by
//!   [`PacketAssumptions`].
//! - [`EbpfListing`] prints code in the notation of the kernel's verifier.
//!
//! Registers: `R6` is the context, `R7` and `R8` are the start and the end of the packet. Fragments
//! preserve these three and clobber all others.
//!
//! A fragment gives the verdict of [`Filter::run`](crate::Filter::run) if the whole packet is in
//! the linear part of the frame. At tc, `bpf_skb_load_bytes` reads bytes after the linear part. XDP
//! programs read only the first buffer of a frame. They are loaded without `BPF_F_XDP_HAS_FRAGS`,
//! so the kernel passes them no frames of several buffers.

mod classify;
mod codegen;
mod context;
mod fragment;
mod insn;
mod listing;
mod map_keys;

pub use crate::graph::assumptions::{KnownProtocol, PacketAssumptions, TagLocation};
pub use classify::{ClassifierLabels, classify};
pub use context::{Verdicts, prologue};
pub use fragment::Fragment;
pub use insn::{Alu, Condition, Helper, Insn, Label, Operand, Reg, Size, Width};
pub use listing::EbpfListing;
pub use map_keys::{MapKind, map_keys};
