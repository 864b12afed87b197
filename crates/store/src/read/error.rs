//! Errors of reading, with their location in the file.

use std::{fmt, io};

use thiserror::Error;

/// The kind of a [`ReadError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input has no known capture format.
    NotACapture,
    /// The input ends inside a block: it was truncated, or is still being written.
    Truncated,
    /// The input contradicts itself or its format.
    Corrupt,
    /// The input is well-formed so far, but its version or size is not supported.
    Unsupported,
    /// The operating system returned an error, which is the source.
    Io,
}

/// Why reading stopped before the end of the input, and where.
///
/// Everything before this location has been returned.
#[derive(Debug, Error)]
#[non_exhaustive]
pub struct ReadError {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The part of the file, e.g. "enhanced packet block".
    pub part: &'static str,
    /// The invalid field, if there is one.
    pub field: Option<&'static str>,
    /// Number of the block (pcapng) or record (pcap), counted from 1. 0 is the pcap file header or
    /// the whole input.
    pub block: u64,
    /// Offset of that block in the (uncompressed) capture, in bytes.
    pub offset: u64,
    /// Bytes that the block or field needs.
    pub needed: u64,
    /// Bytes that were available.
    pub available: u64,
    /// What is wrong, as a clause.
    pub reason: &'static str,
    /// The error of the operating system or of the decompressor.
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
        let state = match self.kind {
            ErrorKind::NotACapture => return write!(out, "not a capture file: {}", self.reason),
            _ if *part == Location::INPUT.part => return write!(out, "{}", self.reason),
            ErrorKind::Truncated => "truncated",
            ErrorKind::Corrupt => "corrupt",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Io => "cannot read",
        };
        write!(out, "{state} {part} (block {block} at byte {offset}): ")?;
        if let Some(field) = self.field {
            write!(out, "{field} ")?;
        }
        write!(out, "{}", self.reason)?;
        if self.needed > self.available {
            let (needed, available) = (self.needed, self.available);
            write!(out, ", {needed} bytes needed, {available} available")?;
        }
        Ok(())
    }
}

/// The location of a block in the file. Builds the errors about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Location {
    pub(super) part: &'static str,
    pub(super) block: u64,
    pub(super) offset: u64,
}

impl Location {
    /// The whole input, before its format is known.
    pub(super) const INPUT: Self = Self {
        part: "input",
        block: 0,
        offset: 0,
    };

    /// An error without field, sizes and source.
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

    /// `field` has an invalid value.
    #[cold]
    pub(super) fn corrupt(self, field: &'static str, reason: &'static str) -> ReadError {
        ReadError {
            field: Some(field),
            ..self.error(ErrorKind::Corrupt, reason)
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
            ..self.corrupt(field, "does not fit in its block")
        }
    }

    /// The input ended inside this block.
    #[cold]
    pub(super) fn truncated(self, needed: usize, available: usize) -> ReadError {
        ReadError {
            needed: needed as u64,
            available: available as u64,
            ..self.error(ErrorKind::Truncated, "the input ends")
        }
    }
}
