//! Filters as eBPF, for XDP and for tc.
//!
//! ```text
//! Filter ──ebpf──▶ Fragment ──code, once per filter──▶ a program of the caller's
//!                     │
//!                     └──────program(verdicts)───────▶ [Insn<SetId>] ──bpf: maps for sets──▶ kernel
//! ```
//!
//! - [`Insn`] is one instruction; jumps name a [`Label`]; maps are named by `M`.
//! - A [`Fragment`] asks one filter and goes to [`Fragment::ACCEPT`] or [`Fragment::REJECT`].
//! - [`prologue`] comes before the fragments of a program, once.
//! - [`sort`] tells packets apart, so that fragments for each [`Shape`] need not.
//! - [`Listing`] shows code as the kernel's verifier writes it.
//!
//! Registers: `R6` is the context, `R7` and `R8` are the packet's beginning and end; fragments keep
//! these three and use all others.
//!
//! A fragment gives what [`Filter::run`](crate::Filter::run) gives, for a packet that is whole in the
//! linear part of the frame. At tc, bytes behind the linear part are read by `bpf_skb_load_bytes`.
//! In XDP, frames of several buffers are not read behind the first: the programs do not declare
//! themselves fit for such (`BPF_F_XDP_HAS_FRAGS`), so the kernel gives them none.

mod fragment;
mod insn;
mod keys;
mod listing;
mod operand;
mod program;
mod shape;
mod write;

pub use fragment::Fragment;
pub use insn::{Insn, Label};
pub use keys::{MapKind, keys};
pub use listing::Listing;
pub use operand::{Alu, Condition, Helper, Operand, Reg, Size, Width};
pub use program::{Verdicts, prologue};
pub(crate) use shape::ETHER_TYPE;
pub use shape::{Packet, Shape, Sorted, Tag, sort};
