//! Writing capture files: packets in, whole blocks out.
//!
//! [`CaptureFile`] joins what a capture needs of its file: a format ([`Format`]), a place
//! ([`Output`]), compression, rotation and an exact account of what is on disk. What holds for all
//! of it:
//!
//! * Packets gather in one large buffer and leave it by `write(2)`, always in whole blocks: a
//!   process that is killed leaves a file that ends at a block (only a kill inside `write(2)`
//!   itself can cut one). What was still in the buffer is not in the file, so whoever wants
//!   packets on disk soon calls [`CaptureFile::flush`].
//! * With zstd each flush makes a frame of its own, with its checksum. The file is readable up to
//!   the last whole frame; many small flushes compress badly.
//! * A packet is *accepted* when [`CaptureFile::write`] returned `Ok` and *written* when the
//!   operating system took all of its bytes. After a failure the difference is what was lost, and
//!   a regular file is cut back to its last whole block, so it stays readable.
//! * Buffers are written by `write(2)` from the thread that fills them: buffered writes of this size
//!   are bound by the copy into the page cache, and io_uring measured no faster.
//! * Time comes from the caller: packets' time stamps, [`CaptureFile::tick`].
//!
//! Descriptors must be blocking; nothing is synced to the medium (`fsync`). A reader that went away
//! is an error (EPIPE) only where the process ignores SIGPIPE, as Rust programs do.
//!
//! # Source
//! draft-ietf-opsawg-pcapng; draft-ietf-opsawg-pcap.

mod buffer;
mod encoder;
mod error;
mod file;
mod frame;
mod options;
mod pcap;
mod pcapng;
mod rotation;
mod sink;

pub use error::WriteError;
pub use file::{CaptureFile, FileMade, Removed};
pub use options::{Compression, Format, Options, Output, Rotation, StatisticsSource};
