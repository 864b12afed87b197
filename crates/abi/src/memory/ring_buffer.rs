//! Layout of BPF ring buffers (kernel/bpf/ringbuf.c; Documentation/bpf/ringbuf.rst).
//!
//! Each record begins with a header, whose first word is the record's length and two flags.

/// Bytes of a record's header (`BPF_RINGBUF_HDR_SZ`).
pub const HEADER_BYTES: u64 = 8;

/// Flag of the length: the record is unfinished (`BPF_RINGBUF_BUSY_BIT`).
pub const BUSY: u32 = 1 << 31;
