//! The indexes of the files, if they are wanted.

use std::fs::remove_file;
use std::io::{self, ErrorKind};
use std::path::Path;

use super::super::WriteError;
use super::super::options::{Compression, Output};
use crate::index::{Builder, LiveIndex, index_path};

/// The indexes that were written beside the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexCounts {
    /// Files with a complete index.
    pub complete: u64,
    /// Files whose index ends early, because it could not be written further. What it lacks is read without it.
    pub incomplete: u64,
    /// Bytes of all indexes.
    pub bytes: u64,
    /// Why the last incomplete one is.
    pub failure: Option<String>,
}

/// Fails if files of these options cannot be indexed.
pub(super) fn check(output: &Output, compression: Compression) -> Result<(), WriteError> {
    let reason = match (output, compression) {
        (Output::Path(_), Compression::None) => return Ok(()),
        (Output::Path(_), _) => "offsets in a compressed file lead nowhere",
        _ => "only a regular file can be indexed",
    };
    Err(WriteError::CannotIndex { reason })
}

impl IndexCounts {
    /// Adds those of other files.
    pub fn add(&mut self, others: Self) {
        self.complete += others.complete;
        self.incomplete += others.incomplete;
        self.bytes += others.bytes;
        self.failure = others.failure.or(self.failure.take());
    }
}

pub(super) struct Indexes {
    are_wanted: bool,
    /// The index of the open file. `None` also if it failed.
    open: Option<LiveIndex>,
    /// Of the file before.
    builder: Option<Builder>,
    counts: IndexCounts,
}

impl Indexes {
    pub(super) fn new(are_wanted: bool) -> Self {
        Self {
            are_wanted,
            open: None,
            builder: None,
            counts: IndexCounts::default(),
        }
    }

    pub(super) fn counts(&self) -> Option<IndexCounts> {
        let open = self.open.as_ref().map_or(0, LiveIndex::bytes);
        self.are_wanted.then(|| IndexCounts {
            bytes: self.counts.bytes + open,
            ..self.counts.clone()
        })
    }

    /// Begins the index of the file at `path`, which has only its `header`. What the first file cannot have is an error of the
    /// options.
    pub(super) fn begin(
        &mut self,
        path: &Path,
        is_regular: bool,
        header: &[u8],
        is_first: bool,
    ) -> Result<(), WriteError> {
        if !self.are_wanted {
            return Ok(());
        }
        if is_first && !is_regular {
            return Err(WriteError::CannotIndex {
                reason: "only a regular file can be indexed",
            });
        }
        let builder = self.builder.take().unwrap_or_default();
        match LiveIndex::create(path, header, builder) {
            Ok(index) => self.open = Some(index),
            Err(source) if is_first => {
                return Err(WriteError::Create {
                    file: index_path(path),
                    source,
                });
            }
            Err(error) => self.fail(&error),
        }
        Ok(())
    }

    /// Indexes blocks that were written. A failure ends the index, not the file.
    pub(super) fn add(&mut self, blocks: &[u8]) {
        if let Some(index) = &mut self.open
            && let Err(error) = index.add(blocks)
        {
            self.fail(&error);
        }
    }

    /// Completes the index of the open file, which ends.
    pub(super) fn end(&mut self) {
        let Some(index) = &mut self.open else {
            return;
        };
        match index.finish() {
            Ok(()) => {
                self.counts.bytes += index.bytes();
                self.counts.complete += 1;
                self.builder = self.open.take().map(LiveIndex::into_builder);
            }
            Err(error) => self.fail(&error),
        }
    }

    fn fail(&mut self, error: &io::Error) {
        // It stays as it is: its whole extents are right.
        let index = self.open.take();
        self.counts.bytes += index.map_or(0, |index| index.bytes());
        self.counts.incomplete += 1;
        self.counts.failure = Some(error.to_string());
    }

    /// Removes the index of the file at `path`, which was removed.
    pub(super) fn remove(&self, path: &Path) -> Result<(), WriteError> {
        if !self.are_wanted {
            return Ok(());
        }
        let file = index_path(path);
        match remove_file(&file) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                Err(WriteError::Remove { file, source })
            }
            _ => Ok(()),
        }
    }
}
