//! Reading capture files: pcapng and pcap, from a file, from memory or from a stream.
//!
//! [`Reader`] finds out the format, the byte order and the compression (gzip, zstd) by itself and
//! lends one [`Item`] after another; [`Merge`] does the same for several inputs in time order.
//! Packets are borrowed from the mapped file or from the buffer of the stream: nothing is copied or
//! allocated for them.
//!
//! Whatever the bytes, reading never panics, and memory stays bounded: by the block that is being
//! read ([`BLOCK_BYTES_MAX`]), by the interfaces of a file ([`INTERFACES_MAX`]), and always by the
//! bytes that have really arrived. A broken file yields everything before the break and then a
//! [`ReadError`] that says where and why; a file that merely ends early is told apart from a
//! damaged one. Of a compressed file up to 4 KiB and the decompressor's block before the break may
//! be missing.
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

mod compressed;
mod error;
mod event;
mod limits;
mod merge;
mod order;
mod parts;
mod pcap;
mod pcapng;
mod reader;
mod source;
mod time;

pub use compressed::Compression;
pub use error::{ErrorKind, ReadError};
pub use limits::{BLOCK_BYTES_MAX, INTERFACES_MAX, packet_bytes_max};
pub use merge::{Merge, MergeError};
pub use order::ByteOrder;
pub use parts::{Mark, Part, Parts, Spot};
pub use reader::{End, Format, Header, Item, Reader};
