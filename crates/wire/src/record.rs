//! Records that tapline's XDP programs write for its rings.
//!
//! The kernel defines none of these layouts. They are an agreement between the programs of crate `bpf` and the readers of
//! crate `ring`.
//!
//! ```text
//! BPF ring buffer   kernel's record header (8 bytes) │ RecordHeader │ packet bytes
//!                                               … │ RecordHeader │ DeviceMetadata │ packet bytes
//! slot              length (8 bytes)                 │ RecordHeader │ packet bytes
//! AF_XDP chunk      headroom … FrameMetadata         │ packet bytes
//!                   … DeviceMetadata │ FrameMetadata │ packet bytes
//! ```

use std::os::fd::BorrowedFd;

/// Precedes a packet's bytes in a BPF ring buffer and in a slot.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordHeader {
    /// `CLOCK_MONOTONIC` when the program saw the packet, nanoseconds.
    pub monotonic_ns: u64,
    /// Packets lost in this buffer since the program was loaded.
    pub lost: u64,
    /// Length of the packet, bytes.
    pub original_len: u32,
    /// Receive queue, modulo 2¹⁶.
    pub queue: u16,
    /// Zero.
    pub padding: u16,
}

/// Bytes of a [`RecordHeader`].
pub const RECORD_HEADER_BYTES: usize = size_of::<RecordHeader>();

/// 8-byte words of a [`RecordHeader`].
pub const RECORD_HEADER_WORDS: usize = RECORD_HEADER_BYTES / 8;

impl RecordHeader {
    /// Decodes a header.
    #[inline]
    pub fn from_words(words: &[[u8; 8]; RECORD_HEADER_WORDS]) -> Self {
        let [time, lost, [l0, l1, l2, l3, q0, q1, p0, p1]] = *words;
        Self {
            monotonic_ns: u64::from_ne_bytes(time),
            lost: u64::from_ne_bytes(lost),
            original_len: u32::from_ne_bytes([l0, l1, l2, l3]),
            queue: u16::from_ne_bytes([q0, q1]),
            padding: u16::from_ne_bytes([p0, p1]),
        }
    }
}

/// Precedes a packet in the packet memory of an AF_XDP socket.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameMetadata {
    /// `CLOCK_MONOTONIC` when the program saw the packet, nanoseconds.
    pub monotonic_ns: u64,
    /// [`METADATA_MARK`]; distinguishes metadata from other bytes in its place.
    pub mark: u64,
}

/// Mark of [`FrameMetadata`]. It is a sign-extended 32-bit constant, which one eBPF instruction can store.
pub const METADATA_MARK: u64 = 0x7461_706c;

/// Mark of [`FrameMetadata`] that [`DeviceMetadata`] precedes.
pub const DEVICE_METADATA_MARK: u64 = 0x7461_7064;

/// What the interface's device reported to the program about a packet. Precedes its [`FrameMetadata`], or its bytes in a BPF ring
/// buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceMetadata {
    /// Time stamp by the device's clock, nanoseconds; 0 if the packet has none.
    pub device_ns: u64,
    /// The device's hash of the packet, if `flags` has [`HAS_HASH`](Self::HAS_HASH).
    pub hash: u32,
    /// Bits 0 and 1 say what is there; bits 16 to 31 are the tag control information of the VLAN tag.
    pub flags: u32,
}

impl DeviceMetadata {
    /// Decodes it.
    #[inline]
    pub fn from_bytes(bytes: &[u8; size_of::<Self>()]) -> Self {
        let [
            t0,
            t1,
            t2,
            t3,
            t4,
            t5,
            t6,
            t7,
            h0,
            h1,
            h2,
            h3,
            f0,
            f1,
            f2,
            f3,
        ] = *bytes;
        Self {
            device_ns: u64::from_ne_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
            hash: u32::from_ne_bytes([h0, h1, h2, h3]),
            flags: u32::from_ne_bytes([f0, f1, f2, f3]),
        }
    }

    /// There is a hash.
    pub const HAS_HASH: u32 = 1;
    /// The device had stripped a VLAN tag, which the program has put back.
    pub const HAS_VLAN: u32 = 2;

    /// The device's time stamp.
    #[inline]
    pub fn time_ns(&self) -> Option<u64> {
        (self.device_ns != 0).then_some(self.device_ns)
    }

    /// The device's hash.
    #[inline]
    pub fn hash(&self) -> Option<u32> {
        (self.flags & Self::HAS_HASH != 0).then_some(self.hash)
    }

    /// Tag control information of the tag that was put back.
    #[inline]
    pub fn vlan_tag(&self) -> Option<u16> {
        (self.flags & Self::HAS_VLAN != 0).then_some((self.flags >> 16) as u16)
    }
}

/// Largest size of a slot, bytes.
pub const MAX_SLOT_BYTES: u32 = 4096;

/// Offset of the wake-up flag in the reader's page of slots: 0 asks the program to wake the reader, 1 means it did. It
/// does not share a cache line with the read position, because the program reads it after each NAPI poll.
pub const WOKEN_AT: usize = 128;

/// Offset of the loss counter in the program's page of slots.
pub const LOST_AT: usize = 8;

/// One CPU's slots: an array of records of equal size, shared by a program and its reader.
#[derive(Clone, Copy, Debug)]
pub struct SlotRing<'m> {
    /// A mappable array. Each value is laid out like a BPF ring buffer, with the data mapped once.
    pub map: BorrowedFd<'m>,
    /// A BPF ring buffer of one page, into which the program writes to wake the reader.
    pub wakes: BorrowedFd<'m>,
    /// Index of the value.
    pub index: u32,
    /// Size of a slot: a power of two, at most [`MAX_SLOT_BYTES`].
    pub slot_bytes: u32,
}
