//! Inputs that are no regular files: pipes, standard input.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// A stream that ends when a signal asks the job to end, also while nothing arrives.
pub struct Stream {
    file: File,
    stop: OwnedFd,
    bytes: Arc<AtomicU64>,
}

impl Stream {
    /// `stop` is readable once the job is to end.
    pub fn new(file: File, stop: impl AsFd) -> io::Result<Self> {
        Ok(Self {
            file,
            stop: stop.as_fd().try_clone_to_owned()?,
            bytes: Arc::default(),
        })
    }

    /// Bytes that have arrived, as they are (still) compressed.
    pub fn bytes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bytes)
    }

    /// Waits for bytes, for the end of the stream, or for the stop; `false` if it was the stop.
    fn wait(&self) -> io::Result<bool> {
        let mut waits = [
            PollFd::new(&self.file, PollFlags::IN),
            PollFd::new(&self.stop, PollFlags::IN),
        ];
        // Bound: a signal that interrupts either sets the stop or is somebody else's.
        while let Err(errno) = poll(&mut waits, None) {
            if errno != Errno::INTR {
                return Err(errno.into());
            }
        }
        Ok(waits[1].revents().is_empty())
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if !self.wait()? {
            return Ok(0);
        }
        let bytes = self.file.read(into)?;
        // Relaxed: the same thread reads and counts.
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}
