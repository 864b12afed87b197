//! Writing capture files.
//!
//! [`CaptureFile`] combines a format ([`Format`]), an output ([`Output`]), compression and rotation, and
//! counts exactly what is on disk:
//!
//! * Packets are buffered and written with `write(2)`, always in whole blocks. A killed process leaves a
//!   file that ends at a block, unless it was killed inside `write(2)`. Buffered packets are then lost:
//!   call [`CaptureFile::flush`] to write them early.
//! * With zstd each flush writes an independent frame with a checksum. A file is readable up to its
//!   last whole frame. Many small flushes compress badly.
//! * A packet is *accepted* when [`CaptureFile::write`] returns `Ok`, and *written* when the operating
//!   system took all of its bytes. After a failure the difference is lost, and a regular file is
//!   truncated to its last whole block, so it stays readable.
//! * With [`CaptureFileOptions::index`] each file has an [index](crate::index) of what is on disk, which grows with it.
//! * Buffers are written by the thread that fills them. The copy into the page cache dominates, and
//!   io_uring was not faster.
//! * Time comes from the caller: packets' time stamps, [`CaptureFile::tick`].
//!
//! * Several threads can encode packets ([`ChunkEncoder`]) for one that writes them in the order of their time
//!   stamps ([`ChunkMerge`]).
//!
//! Descriptors must be blocking. Nothing is synced to disk (`fsync`). A reader that went away is an error
//! (EPIPE) only if the process ignores SIGPIPE, as Rust programs do.
//!
//! # Source
//! draft-ietf-opsawg-pcapng; draft-ietf-opsawg-pcap.

mod buffer;
mod chunk;
mod chunk_merge;
mod encoder;
mod error;
mod file;
mod merge_order;
mod options;
mod pcap;
mod pcapng;
mod preface;
mod recent;
mod rotation;
mod sink;

pub use chunk::{ChunkEncoder, PacketChunk};
pub use chunk_merge::{ChunkMerge, InputCounts};
pub use error::WriteError;
pub use file::{CaptureFile, CreatedFile, IndexCounts, Removed};
pub use options::{
    CaptureFileOptions, Compression, Format, Output, Rotation, SecretsSource, StatisticsSource,
};
pub use preface::Preface;
pub use recent::RecentPackets;
pub use rotation::read_time_zone;
