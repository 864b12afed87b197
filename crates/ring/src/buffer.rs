//! BPF ring buffers: copies that a program makes, of packets that go on their way.
//!
//! ```text
//!  driver ─▶ XDP program ─▶ stack
//!               └─ copies the beginning ─▶ ring buffer of the CPU ─▶ Batch
//! ```
//!
//! A [`RingBuffer`] is our end of one `BPF_MAP_TYPE_RINGBUF`, which `bpf::Mirror` fills. It
//! is memory: it lives on when the program is gone, and what is in it can still be read.

mod copies;
mod error;
mod ring;
mod walk;

pub use error::{BufferError, BufferStep};
pub use ring::{BufferOptions, RingBuffer};
pub(crate) use walk::{Records, Span};
