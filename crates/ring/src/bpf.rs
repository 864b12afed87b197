//! BPF ring buffers and shared slots, filled by an XDP program.
//!
//! ```text
//!  driver ─▶ XDP program ─▶ network stack
//!               └─ copies the packet's beginning ─▶ ring buffer of the CPU ─▶ Batch
//! ```
//!
//! A [`BpfRing`] is the reader's end of one `BPF_MAP_TYPE_RINGBUF`, which `bpf::RingBufferProgram` fills, or of
//! one CPU's slots, which `bpf::SlotProgram` fills. The memory outlives the program: packets in it can still be
//! read after the program is gone.

mod error;
mod memory;
mod ring;
mod slot_copies;
mod walk;

pub use error::{BpfRingError, BpfRingSetupStep};
pub(crate) use memory::Span;
pub use ring::{BpfRing, BpfRingOptions};
pub(crate) use walk::Records;
