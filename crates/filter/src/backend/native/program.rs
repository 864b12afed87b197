//! A filter as native code, in executable memory.

use crate::classic::Ancillary;
use crate::filter::Filter;
use abi::executable::Executable;
use std::error::Error;
use std::fmt::Write;
use std::io;
use std::marker::PhantomData;
use std::mem::offset_of;

/// Code for one packet. Arguments: first byte, captured bytes, length on the wire, metadata.
type RunOne = unsafe extern "C" fn(*const u8, usize, u32, *const PacketMetadata) -> u32;
/// Code for a batch. Arguments: first packet, number of packets, first verdict.
type RunBatch = unsafe extern "C" fn(*const NativePacket<'_>, usize, *mut u32);

/// The metadata of packets from a file.
pub(super) static NOTHING: PacketMetadata = PacketMetadata::NOTHING;

/// A packet for [`NativeProgram::run_batch`]: its bytes and its length on the wire.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NativePacket<'packet> {
    start: *const u8,
    bytes: usize,
    original_len: u32,
    lent: PhantomData<&'packet [u8]>,
}

// SAFETY: pointer and length come from a `&[u8]`, which is `Send`.
unsafe impl Send for NativePacket<'_> {}
// SAFETY: as above; nothing is written through a `NativePacket`.
unsafe impl Sync for NativePacket<'_> {}

impl<'packet> NativePacket<'packet> {
    /// Offsets of its fields: the first byte's address, the captured bytes, the length on the wire.
    pub(super) const OFFSETS: [i32; 3] = [
        offset_of!(NativePacket<'static>, start).cast_signed() as i32,
        offset_of!(NativePacket<'static>, bytes).cast_signed() as i32,
        offset_of!(NativePacket<'static>, original_len).cast_signed() as i32,
    ];

    /// `bytes` is the captured part, `original_len` the length on the wire in bytes.
    #[inline]
    pub fn new(bytes: &'packet [u8], original_len: u32) -> Self {
        Self {
            start: bytes.as_ptr(),
            bytes: bytes.len(),
            original_len,
            lent: PhantomData,
        }
    }
}

/// Native code for a filter. `Send` and `Sync`: threads may share it.
///
/// ```
/// use tapline_filter::native::NativePacket;
/// use tapline_filter::{Filter, LinkType, NoNames, FilterOptions};
///
/// let filter = Filter::new("ip", &FilterOptions::new(LinkType::Ethernet), &NoNames)?;
/// # if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
/// let program = filter.native()?;
/// let mut frame = [0; 60];
/// assert_eq!(program.run(&frame, 60), 0);
/// frame[12] = 8;
/// assert_eq!(program.run(&frame, 60), 262_144);
///
/// let mut verdicts = [0; 2];
/// program.run_batch(&[NativePacket::new(&frame, 60), NativePacket::new(&frame[..13], 60)], &mut verdicts);
/// assert_eq!(verdicts, [262_144, 0]);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NativeProgram {
    one: RunOne,
    many: RunBatch,
    /// The memory of the two functions.
    _code: Executable,
    /// The tables that the code refers to.
    _tables: Vec<Box<[u32]>>,
}

/// Machine code that is not executable yet.
pub(super) struct Code {
    /// A [`RunOne`] at offset 0, a [`RunBatch`] at offset `many`.
    pub bytes: Vec<u8>,
    pub many: usize,
    /// The tables that `bytes` refers to.
    pub tables: Vec<Box<[u32]>>,
    /// The listing, if requested.
    pub text: String,
}

impl Filter {
    /// Native code for this CPU. It returns the same verdicts as [`Filter::run`].
    ///
    /// Takes less than a millisecond for an ordinary filter; long lists become hash tables.
    ///
    /// # Errors
    /// [`NativeError`] if no code can be generated. The caller should fall back to [`Filter::run`]
    /// or to the classic program.
    pub fn native(&self) -> Result<NativeProgram, NativeError> {
        NativeProgram::of(crate::backend::native::generate(self, false)?)
    }

    /// A listing of the native code: its instructions, then its bytes in hex, 16 a line with their
    /// offset. The code for one packet comes first, then that of [`NativeProgram::run_batch`].
    ///
    /// Register names are the CPU's; addresses of sets are valid for this call only.
    ///
    /// # Errors
    /// Those of [`Filter::native`], except [`NativeError::Memory`].
    pub fn native_listing(&self) -> Result<String, NativeError> {
        let Code {
            bytes, mut text, ..
        } = crate::backend::native::generate(self, true)?;
        for (line, bytes) in bytes.chunks(16).enumerate() {
            // Writing to a string does not fail.
            let _ = write!(text, "{:04x}:", line * 16);
            for byte in bytes {
                let _ = write!(text, " {byte:02x}");
            }
            text.push('\n');
        }
        Ok(text)
    }
}

impl NativeProgram {
    fn of(code: Code) -> Result<Self, NativeError> {
        let Code {
            bytes,
            many,
            tables,
            ..
        } = code;
        let code = Executable::new(&bytes).map_err(|source| NativeError::Memory { source })?;
        let (one, many) = (code.as_ptr(), code[many..].as_ptr());
        Ok(Self {
            // SAFETY: `code` starts with a complete function of this type, generated for this CPU (`Code`),
            // in executable memory that lives as long as the `NativeProgram`.
            one: unsafe { std::mem::transmute::<*const u8, RunOne>(one) },
            // SAFETY: as above, at the offset `many`.
            many: unsafe { std::mem::transmute::<*const u8, RunBatch>(many) },
            _code: code,
            _tables: tables,
        })
    }

    /// The number of bytes of `packet` to keep; 0 rejects it. Nothing is known in the metadata.
    ///
    /// `packet` is the captured part, `original_len` the length on the wire in bytes. Never
    /// allocates.
    #[inline]
    pub fn run(&self, packet: &[u8], original_len: u32) -> u32 {
        // SAFETY: the code reads `packet` within its length, `NOTHING` and the tables, all of which
        // live during the call, and writes nothing.
        unsafe {
            (self.one)(
                packet.as_ptr(),
                packet.len(),
                original_len,
                &raw const NOTHING,
            )
        }
    }

    /// The same as [`NativeProgram::run`], with metadata.
    #[inline]
    pub fn run_with(&self, packet: &[u8], original_len: u32, ancillary: &Ancillary) -> u32 {
        let metadata = PacketMetadata::of(ancillary);
        // SAFETY: as in `run`; `metadata` lives during the call.
        unsafe {
            (self.one)(
                packet.as_ptr(),
                packet.len(),
                original_len,
                &raw const metadata,
            )
        }
    }

    /// Writes the verdict of [`NativeProgram::run`] for each of `packets` to the same index of
    /// `verdicts`.
    ///
    /// Faster than single calls, because the loop is part of the native code.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn run_batch(&self, packets: &[NativePacket<'_>], verdicts: &mut [u32]) {
        assert_eq!(packets.len(), verdicts.len(), "a verdict for each packet");
        // SAFETY: the code reads `packets.len()` packets, each within its length (a `NativePacket` is made
        // of a slice that is borrowed as long as it lives), writes as many verdicts, which is their
        // number, and reads `NOTHING` and the tables.
        unsafe { (self.many)(packets.as_ptr(), packets.len(), verdicts.as_mut_ptr()) }
    }
}

/// Why no native code could be generated. The other back ends still work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NativeError {
    /// Native code is supported on x86-64 and aarch64 only, and not on this CPU.
    #[error("native code is not supported on this {architecture} CPU")]
    Unsupported {
        /// The architecture of this program.
        architecture: &'static str,
    },
    /// The filter is too large for native code.
    #[error("filter too large for native code: {nodes} nodes (max {most})")]
    TooLarge {
        /// Nodes in its graph.
        nodes: usize,
        /// The maximum number of nodes.
        most: usize,
    },
    /// The keys of a set have too many hash collisions.
    #[error("too many hash collisions in a set of {keys} keys")]
    Set {
        /// Keys in the set.
        keys: usize,
    },
    /// Cranelift rejected the generated IR.
    #[error("cannot generate native code")]
    Code {
        /// Cranelift's error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Executable memory could not be allocated.
    #[error("cannot allocate executable memory")]
    Memory {
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Packet metadata as native code reads it: [`Ancillary`] with a fixed layout.
#[repr(C)]
pub(super) struct PacketMetadata {
    /// Which of the other fields are known, as a bit mask.
    pub known: u32,
    pub packet_type: u32,
    pub interface_index: u32,
    pub queue: u32,
    pub vlan_tag: u32,
    pub has_vlan_tag: u32,
}

impl PacketMetadata {
    pub(super) const PACKET_TYPE: u32 = 1;
    pub(super) const INTERFACE_INDEX: u32 = 2;
    pub(super) const QUEUE: u32 = 4;

    /// The metadata of a packet from a file.
    pub(super) const NOTHING: Self = Self {
        known: 0,
        packet_type: 0,
        interface_index: 0,
        queue: 0,
        vlan_tag: 0,
        has_vlan_tag: 0,
    };

    #[inline]
    pub(super) fn of(ancillary: &Ancillary) -> Self {
        let bit = |is_known, bit| if is_known { bit } else { 0 };
        Self {
            known: bit(ancillary.packet_type.is_some(), Self::PACKET_TYPE)
                | bit(ancillary.interface_index.is_some(), Self::INTERFACE_INDEX)
                | bit(ancillary.queue.is_some(), Self::QUEUE),
            packet_type: ancillary.packet_type.map_or(0, u32::from),
            interface_index: ancillary.interface_index.unwrap_or(0),
            queue: ancillary.queue.unwrap_or(0),
            vlan_tag: ancillary.vlan_tag.map_or(0, u32::from),
            has_vlan_tag: u32::from(ancillary.vlan_tag.is_some()),
        }
    }
}
