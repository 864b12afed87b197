//! Creates, ends and rotates files.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::super::WriteError;
use super::super::options::Output;
use super::super::rotation::{self, Budget, local_zone};
use super::super::sink::Sink;
use super::{CaptureFile, CreatedFile};
use crate::model::Statistics;

impl CaptureFile {
    /// Opens `output`, or creates the next file, and writes the header.
    pub(super) fn open(&mut self, output: Option<Output>, start_ns: u64) -> Result<(), WriteError> {
        let number = self.files_created + 1;
        let path = self.file_name(number, start_ns, output.is_some());
        let sink = match output {
            Some(output) => Sink::of_output(output),
            None => Sink::create(&path),
        };
        let sink = sink.map_err(|source| WriteError::Create {
            file: path.clone(),
            source,
        })?;
        let preamble = self.encoder.preamble();
        let spent = preamble.len() as u64 + self.encoder.epilogue_bytes();
        let rules = self.budget.rules();
        self.budget = Budget::new(rules, self.frames.is_some(), start_ns, spent);
        self.accepted_before = self.accepted;
        self.written_before = self.packets_written();
        self.files.push_back(CreatedFile {
            path,
            packets: 0,
            bytes: 0,
        });
        self.sink = Some(sink);
        // Written at once: the file is valid from the start, and errors are reported early.
        if let Err(error) = self.append(&preamble).and_then(|()| self.flush()) {
            let is_empty = self.sink.take().is_some_and(|sink| sink.bytes() == 0);
            let made = self.files.pop_back();
            if let Some(made) = made.filter(|_| is_empty && rules.is_any()) {
                // Readers of the rotated files would fail at an empty one.
                let _ = std::fs::remove_file(&made.path);
            }
            return Err(error);
        }
        self.begin_index(&preamble)?;
        self.encoder.preface.forget_once();
        self.files_created = number;
        self.is_pcapng = self.encoder.unit().is_none();
        self.is_plain = self.is_pcapng && !rules.is_any();
        Ok(())
    }

    /// Begins the index of the file that was opened last.
    fn begin_index(&mut self, header: &[u8]) -> Result<(), WriteError> {
        let (Some(file), Some(sink)) = (self.files.back(), &self.sink) else {
            return Ok(());
        };
        let is_first = self.files_created == 0;
        (self.indexes).begin(&file.path, sink.is_regular(), header, is_first)
    }

    fn file_name(&self, number: u64, start_ns: u64, is_stream: bool) -> PathBuf {
        let path: &Path = &self.path;
        let compressed = self.frames.is_some();
        if is_stream {
            path.to_owned()
        } else if self.budget.rules().is_any() {
            rotation::numbered_name(path, compressed, number, start_ns, local_zone())
        } else {
            rotation::plain_name(path, compressed)
        }
    }

    /// Ends the file, creates the next one and removes the oldest beyond the limit.
    ///
    /// The next file is created even if the end of this one could not be written.
    pub(super) fn rotate(&mut self, start_ns: u64) -> Result<(), WriteError> {
        let statistics = (self.statistics)();
        let finished = self.finish(&statistics);
        self.end_file();
        let begun = self.open(None, start_ns).and_then(|()| self.remove_old());
        finished.and(begun)
    }

    /// Writes the buffered packets, then the statistics. These may fit even if the packets do not, and
    /// record the loss.
    pub(super) fn finish(&mut self, statistics: &[Statistics]) -> Result<(), WriteError> {
        let packets = self.flush();
        let epilogue = self.encoder.epilogue(statistics);
        let counters = match self.sink {
            Some(_) => self.append(&epilogue).and_then(|()| self.flush()),
            None => Ok(()),
        };
        packets.and(counters)
    }

    pub(super) fn end_file(&mut self) {
        (self.is_pcapng, self.is_plain) = (false, false);
        self.indexes.end();
        if let Some(sink) = self.sink.take() {
            self.bytes_before += sink.bytes();
        }
    }

    fn remove_old(&mut self) -> Result<(), WriteError> {
        let keep = self.budget.rules().keep.map_or(usize::MAX, usize::from);
        while self.files.len() > keep {
            let Some(oldest) = self.files.front() else {
                break;
            };
            match std::fs::remove_file(&oldest.path) {
                // Another process removed it.
                Err(source) if source.kind() != ErrorKind::NotFound => {
                    return Err(WriteError::Remove {
                        file: oldest.path.clone(),
                        source,
                    });
                }
                _ => {}
            }
            self.indexes.remove(&oldest.path)?;
            self.removed.files += 1;
            self.removed.packets += oldest.packets;
            self.removed.bytes += oldest.bytes;
            self.files.pop_front();
        }
        Ok(())
    }

    /// Appends whole blocks to the buffer.
    pub(super) fn append(&mut self, blocks: &[u8]) -> Result<(), WriteError> {
        self.make_room(blocks.len())?;
        self.buffer.claim(blocks.len()).copy_from_slice(blocks);
        Ok(())
    }

    pub(super) fn make_room(&mut self, length: usize) -> Result<(), WriteError> {
        if self.buffer.room() < length {
            self.flush()?;
            self.buffer.grow(length);
        }
        Ok(())
    }
}
