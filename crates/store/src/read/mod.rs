//! Reading capture files: pcapng and pcap, from a file, from memory or from a stream.
//!
//! [`Reader`] detects the format, the byte order and the compression (gzip, zstd), and lends one
//! [`Item`] after another. [`Merge`] does the same for several inputs in time order. Packets are
//! borrowed from the read buffer: reading copies and allocates nothing per packet.
//!
//! Reading never panics, whatever the bytes, and memory stays bounded: by the current block
//! ([`BLOCK_BYTES_MAX`]), by the interfaces of a file ([`INTERFACES_MAX`], [`INTERFACES_BYTES_MAX`]), and
//! always by the bytes that have arrived. A broken file yields everything before the break, then a [`ReadError`] with the
//! location and the reason. A truncated file and a corrupt file are different errors. In a compressed
//! file up to 4 KiB and one block of the decompressor before the break may be lost.
//!
//! ```
//! # fn main() -> Result<(), tapline_store::read::ReadError> {
//! # let pcap = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
//! let mut reader = tapline_store::read::Reader::from_bytes(pcap.to_vec())?;
//! let mut bytes = 0;
//! while let Some(packet) = reader.next_packet()? {
//!     bytes += packet.bytes.len();
//! }
//! assert_eq!(bytes, 0);
//! # Ok(())
//! # }
//! ```

mod clock;
mod error;
mod format;
mod input;
mod merge;
mod pcap;
mod pcapng;
mod reader;
mod scan;

pub use error::{ErrorKind, ReadError};
pub(crate) use format::Frame;
pub use format::{
    BLOCK_BYTES_MAX, ByteOrder, DetectedFormat, Header, INTERFACES_BYTES_MAX, INTERFACES_MAX,
    packet_bytes_max,
};
pub use input::DetectedCompression;
pub use merge::{Merge, MergeError};
pub use reader::{Item, ReadEnd, Reader};
pub use scan::{BlockDecoder, PacketBlock, Part, PartScanner, Position};
