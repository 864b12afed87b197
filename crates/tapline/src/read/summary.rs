//! The summary of a read job.

use std::fmt;
use std::path::PathBuf;

use super::indexed::IndexUse;
use super::left_out::LeftOut;

/// The result of a read job: `received = delivered + filtered + duplicates + lost`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct ReadSummary {
    /// Packets read from the inputs.
    pub received: u64,
    /// Packets delivered to the consumer or written to the file.
    pub delivered: u64,
    /// Packets that the selection rejected.
    pub filtered: u64,
    /// Packets that [`Edits::duplicates`](super::Edits::duplicates) left out.
    pub duplicates: u64,
    /// Packets of which [`Edits::anonymize`](super::Edits::anonymize) left no bytes, because their link type is not
    /// known.
    pub emptied: u64,
    /// Packets that [`Edits::shift_ns`](super::Edits::shift_ns) would move before 1970 or after 2554: they have the first or the
    /// last possible time.
    pub limited_times: u64,
    /// Packets that [`Edits::sort_bytes`](super::Edits::sort_bytes) did not put into their place: a later packet had been written
    /// already.
    pub unsorted: u64,
    /// Comments of [`Edits::packet_comments`](super::Edits::packet_comments) for packets that were not written.
    pub unused_comments: u64,
    /// Packets that were selected and could not be written.
    pub lost: u64,
    /// The inputs, in the order of the builder.
    pub inputs: Vec<InputSummary>,
    /// The files written.
    pub written: WrittenFiles,
    /// How much was read with [`ReadBuilder::indexes`](super::ReadBuilder::indexes).
    pub index: Option<IndexUse>,
}

/// An input of a read job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputSummary {
    /// Its name.
    pub name: String,
    /// Why it could not be read to its end.
    pub error: Option<String>,
}

/// The files that a read job wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenFiles {
    /// Packets in all files, removed ones included.
    pub packets: u64,
    /// Bytes in all files, removed ones included.
    pub bytes: u64,
    /// The files that were kept, oldest first.
    pub paths: Vec<PathBuf>,
    /// What the files cannot hold.
    pub left_out: LeftOut,
    /// Packets of flows that did not get a file: see [`Edits::flow_files_max`](super::Edits::flow_files_max).
    pub overflow_packets: u64,
}

impl fmt::Display for ReadSummary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            received,
            delivered,
            filtered,
            duplicates,
            emptied,
            limited_times,
            unsorted,
            unused_comments,
            lost,
            ..
        } = self;
        write!(
            out,
            "{received} packets read: {delivered} delivered, {filtered} filtered, {lost} lost"
        )?;
        match duplicates {
            0 => write!(out, ".")?,
            _ => write!(out, ", {duplicates} duplicates left out.")?,
        }
        if *emptied > 0 {
            write!(
                out,
                " Of {emptied} packets nothing was left when they were anonymized."
            )?;
        }
        if *limited_times > 0 {
            write!(
                out,
                " {limited_times} packets were limited to the years 1970 to 2554 when times were shifted."
            )?;
        }
        if *unsorted > 0 {
            write!(
                out,
                " {unsorted} packets are not in time order: sorting needs more memory."
            )?;
        }
        if *unused_comments > 0 {
            write!(
                out,
                " {unused_comments} comments are for packets that were not written."
            )?;
        }
        let WrittenFiles {
            packets,
            bytes,
            paths,
            left_out,
            overflow_packets,
        } = &self.written;
        if let Some(path) = paths.first() {
            write!(out, " {packets} packets ({bytes} bytes) written to ")?;
            match paths.len() {
                1 => write!(out, "{}.", path.display())?,
                files => write!(out, "{files} files from {} on.", path.display())?,
            }
            if *overflow_packets > 0 {
                write!(
                    out,
                    " {overflow_packets} packets are of flows without a file."
                )?;
            }
            if !left_out.is_empty() {
                write!(out, " {left_out}.")?;
            }
        }
        for input in &self.inputs {
            if let Some(error) = &input.error {
                write!(out, " {}: {error}.", input.name)?;
            }
        }
        Ok(())
    }
}
