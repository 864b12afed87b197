//! Errors of writing a capture file.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::model::LinkType;

/// Why a capture file could not be written, and which packets were lost.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A file could not be created.
    #[error("cannot create {}", .file.display())]
    Create {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Part of the buffer could not be written: disk full, reader gone, input/output error.
    ///
    /// A regular file was truncated to its last whole block and can be written further. A pipe or
    /// other stream accepts nothing more.
    #[error("cannot write to {} after {bytes_written} bytes", .file.display())]
    Write {
        /// The file, or the name of the descriptor.
        file: PathBuf,
        /// Bytes of this file that are written; for a regular file, up to its last whole block.
        bytes_written: u64,
        /// Accepted packets that this failure lost.
        packets_lost: u64,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file beyond the limit of files to keep could not be removed. The next file is open.
    #[error("cannot remove {}", .file.display())]
    Remove {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The compressor could not be set up.
    #[error("cannot set up the compressor")]
    Compressor {
        /// The error of the compressor.
        source: io::Error,
    },
    /// Rotation needs a path for the file names, but the output is a descriptor or stream.
    #[error("rotation needs a file name, not a stream")]
    CannotRotate,
    /// The file cannot have an index.
    #[error("the capture cannot be indexed while it is written: {reason}")]
    CannotIndex {
        /// Why.
        reason: &'static str,
    },
    /// A file for each flow must be a pcapng file, to which sections can be added.
    #[error("a file for each flow must be pcapng")]
    NeedsPcapng,
    /// The next file needs a name of its own, and the options have no rotation.
    #[error("a file without rotation cannot be followed by another")]
    NoRotation,
    /// A packet refers to an interface that the file does not have.
    #[error("packet of interface {interface} in a file of {count} interfaces")]
    UnknownInterface {
        /// Number of the interface.
        interface: u32,
        /// Number of interfaces in the file.
        count: u32,
    },
    /// A pcap file can hold only one link type.
    #[error(
        "a pcap file of link type {} cannot hold packets of link type {}", .file.0, .interface.0
    )]
    LinkTypeDiffers {
        /// The file's link type.
        file: LinkType,
        /// The link type of the interface.
        interface: LinkType,
    },
    /// A packet is longer than readers accept.
    #[error("packet of {bytes} bytes is longer than {most} bytes")]
    PacketTooLong {
        /// Its length in bytes.
        bytes: usize,
        /// The maximum in bytes.
        most: usize,
    },
    /// A pcap file cannot store times after February 2106.
    #[error("time stamp {timestamp_ns} ns does not fit into a pcap file")]
    TimeOutOfRange {
        /// The packet's time, nanoseconds since 1970 UTC.
        timestamp_ns: u64,
    },
    /// The file is closed.
    #[error("the capture file is closed")]
    Closed,
}
