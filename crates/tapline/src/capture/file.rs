//! Packets into a capture file.

use std::path::PathBuf;
use std::time::Duration;

use store::model::{Packet, Statistics};
use store::write::{CaptureFile, FileMade};

use super::account::Account;
use super::consumer::{Consumer, ConsumerError};

/// Writes the packets of a capture to a file.
pub struct FileConsumer {
    file: CaptureFile,
    flush_after_ns: u64,
    flushed_ns: u64,
}

impl FileConsumer {
    /// Writes to `file`. Packets wait in its buffer until it is full, or until none is waiting in the
    /// rings and `flush_after` has passed; zero suits a pipe, whose reader wants them at once.
    pub fn new(file: CaptureFile, flush_after: Duration) -> Self {
        let flush_after_ns = u64::try_from(flush_after.as_nanos()).unwrap_or(u64::MAX);
        Self {
            file,
            flush_after_ns,
            flushed_ns: abi::clock::realtime_ns(),
        }
    }

    /// Packets that are written in whole.
    pub fn packets_written(&self) -> u64 {
        self.file.packets_written()
    }

    /// Bytes written to all files.
    pub fn bytes_written(&self) -> u64 {
        self.file.bytes_written()
    }

    /// The files made and kept, oldest first.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &FileMade> {
        self.file.files()
    }

    /// Names of the files made and kept, oldest first.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.file.files().map(|file| file.path.clone()).collect()
    }
}

impl Consumer for FileConsumer {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for every packet, which then stays in registers from ring to file"
    )]
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConsumerError> {
        Ok(self.file.write(packet)?)
    }

    fn idle(&mut self, now_ns: u64) -> Result<(), ConsumerError> {
        // A clock that was set back looks like a time that has long passed.
        if now_ns.wrapping_sub(self.flushed_ns) >= self.flush_after_ns {
            self.flushed_ns = now_ns;
            self.file.flush()?;
        }
        Ok(())
    }

    fn tick(&mut self, now_ns: u64, _account: &Account) -> Result<(), ConsumerError> {
        Ok(self.file.tick(now_ns)?)
    }

    fn finish(&mut self, statistics: &[Statistics]) -> Result<(), ConsumerError> {
        Ok(self.file.close(statistics)?)
    }

    fn lost(&self) -> u64 {
        self.file.packets_lost()
    }
}
