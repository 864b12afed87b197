//! Why a capture file could not be read further, and where.

use std::{error, fmt, io};

/// What kind of trouble ended the reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input begins like no capture file that is known.
    NotACapture,
    /// The input ends in the middle of something: it was cut short, or is still being written.
    Truncated,
    /// The input contradicts itself or its format.
    Damaged,
    /// The input is well-formed as far as seen, but of a version or size that is not read.
    Unsupported,
    /// The operating system refused; its answer is the error's source.
    Io,
}

/// Why reading ended before the end of the input, and where.
///
/// Everything before the place has been handed out already.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReadError {
    /// What kind of trouble it is.
    pub kind: ErrorKind,
    /// Which part of the file, e.g. "enhanced packet block".
    pub part: &'static str,
    /// Which field of the part, where one is to blame.
    pub field: Option<&'static str>,
    /// Number of the block (pcapng) or record (pcap), counted from 1; 0 is the pcap file header or
    /// the input as a whole.
    pub block: u64,
    /// Where that block begins: bytes from the start of the (uncompressed) capture.
    pub offset: u64,
    /// Bytes that the block or field needed.
    pub needed: u64,
    /// Bytes that were there for it.
    pub available: u64,
    /// What is wrong, as a clause.
    pub reason: &'static str,
    /// The answer of the operating system or of the decompressor.
    pub source: Option<io::Error>,
}

impl fmt::Display for ReadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            part,
            block,
            offset,
            ..
        } = self;
        match self.kind {
            ErrorKind::NotACapture => return write!(out, "not a capture file: {}", self.reason),
            _ if *part == Place::INPUT.part => return write!(out, "{}", self.reason),
            ErrorKind::Truncated => write!(out, "cut short")?,
            ErrorKind::Damaged => write!(out, "damaged")?,
            ErrorKind::Unsupported => write!(out, "not supported")?,
            ErrorKind::Io => write!(out, "cannot read on")?,
        }
        write!(out, " in {part} (block {block} at byte {offset}): ")?;
        if let Some(field) = self.field {
            write!(out, "{field} ")?;
        }
        write!(out, "{}", self.reason)?;
        if self.needed > self.available {
            write!(
                out,
                ", {} bytes needed, {} there",
                self.needed, self.available
            )?;
        }
        Ok(())
    }
}

impl error::Error for ReadError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

/// Where in the file a part lies; makes the errors about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) part: &'static str,
    pub(super) block: u64,
    pub(super) offset: u64,
}

impl Place {
    /// The input as a whole, before anything of the capture is known.
    pub(super) const INPUT: Self = Self {
        part: "input",
        block: 0,
        offset: 0,
    };

    /// An error at this place with no field, sizes or source.
    #[cold]
    pub(super) fn error(self, kind: ErrorKind, reason: &'static str) -> ReadError {
        ReadError {
            kind,
            part: self.part,
            field: None,
            block: self.block,
            offset: self.offset,
            needed: 0,
            available: 0,
            reason,
            source: None,
        }
    }

    /// `field` holds a value that cannot be.
    #[cold]
    pub(super) fn damaged(self, field: &'static str, reason: &'static str) -> ReadError {
        ReadError {
            field: Some(field),
            ..self.error(ErrorKind::Damaged, reason)
        }
    }

    /// `field` needs more bytes than its block has.
    #[cold]
    pub(super) fn too_short(
        self,
        field: &'static str,
        needed: usize,
        available: usize,
    ) -> ReadError {
        ReadError {
            needed: needed as u64,
            available: available as u64,
            ..self.damaged(field, "does not fit in its block")
        }
    }

    /// The input ended within this part.
    #[cold]
    pub(super) fn cut(self, needed: usize, available: usize) -> ReadError {
        ReadError {
            needed: needed as u64,
            available: available as u64,
            ..self.error(ErrorKind::Truncated, "the input ends")
        }
    }
}
