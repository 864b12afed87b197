//! What can go wrong while a capture file is written.

use std::error::Error;
use std::fmt::{self, Display};
use std::io;
use std::path::PathBuf;

use crate::model::LinkType;

/// Why a capture file could not be written, and what that cost.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// A file could not be made.
    Create {
        /// The file.
        file: PathBuf,
        /// What the operating system answered.
        source: io::Error,
    },
    /// Part of the buffer could not be written: disk full, reader gone, input/output error.
    ///
    /// A regular file has been cut back to its last whole block and may be written on; a pipe or
    /// other stream takes nothing more.
    Write {
        /// The file, or the name the caller gave its descriptor.
        file: PathBuf,
        /// Bytes of this file that are written, up to its last whole block if it is a regular file.
        bytes_written: u64,
        /// Packets that had been accepted and are lost by this failure.
        packets_lost: u64,
        /// What the operating system answered.
        source: io::Error,
    },
    /// A file that is no longer to be kept could not be removed; the next one is open already.
    Remove {
        /// The file.
        file: PathBuf,
        /// What the operating system answered.
        source: io::Error,
    },
    /// The compressor could not be set up.
    Compressor {
        /// What the compressor answered.
        source: io::Error,
    },
    /// Rotation needs a path to make file names of; the output is a descriptor or stream.
    CannotRotate,
    /// A packet names an interface the file does not have.
    UnknownInterface {
        /// The interface it names.
        interface: u32,
        /// Interfaces the file has.
        count: u32,
    },
    /// A pcap file holds packets of one link-layer type only.
    LinkTypeDiffers {
        /// The file's type.
        file: LinkType,
        /// The type of the interface that does not fit.
        interface: LinkType,
    },
    /// A packet is longer than readers take.
    PacketTooLong {
        /// Its length, in bytes.
        bytes: usize,
        /// The longest that is written, in bytes.
        most: usize,
    },
    /// A pcap file has no room for the time: it ends in February 2106.
    TimeOutOfRange {
        /// The packet's time, nanoseconds since 1970 UTC.
        timestamp_ns: u64,
    },
    /// The file is closed.
    Closed,
}

impl Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create { file, .. } => write!(f, "cannot create {}", file.display()),
            Self::Write {
                file,
                bytes_written,
                ..
            } => write!(
                f,
                "cannot write to {} after {bytes_written} bytes",
                file.display()
            ),
            Self::Remove { file, .. } => write!(f, "cannot remove {}", file.display()),
            Self::Compressor { .. } => write!(f, "cannot set up the compressor"),
            Self::CannotRotate => write!(f, "rotation needs a file name, not a stream"),
            Self::UnknownInterface { interface, count } => {
                write!(
                    f,
                    "packet of interface {interface} in a file of {count} interfaces"
                )
            }
            Self::LinkTypeDiffers { file, interface } => write!(
                f,
                "a pcap file of link type {} cannot hold packets of link type {}",
                file.0, interface.0
            ),
            Self::PacketTooLong { bytes, most } => {
                write!(f, "packet of {bytes} bytes is longer than {most} bytes")
            }
            Self::TimeOutOfRange { timestamp_ns } => {
                write!(
                    f,
                    "time stamp {timestamp_ns} ns does not fit into a pcap file"
                )
            }
            Self::Closed => write!(f, "the capture file is closed"),
        }
    }
}

impl Error for WriteError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Create { source, .. }
            | Self::Write { source, .. }
            | Self::Remove { source, .. }
            | Self::Compressor { source } => Some(source),
            _ => None,
        }
    }
}
