//! Ending a job from outside.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::pipe::{PipeFlags, pipe_with};

/// What a job watches to learn that it is to end.
#[derive(Debug)]
pub struct Stop {
    reader: OwnedFd,
    stopper: Stopper,
}

/// Ends a job, from any thread or from a signal handler; clones end the same job.
#[derive(Clone, Debug)]
pub struct Stopper {
    writer: Arc<OwnedFd>,
}

impl Stop {
    /// A stop that has not been asked for.
    ///
    /// # Errors
    /// What pipe2(2) says.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Self {
            reader,
            stopper: Stopper {
                writer: Arc::new(writer),
            },
        })
    }

    /// The other end.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }
}

/// Readable once the stop has been asked for, for good: nobody reads it.
impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

impl Stopper {
    /// Asks the job to end in order. Asking again changes nothing.
    pub fn stop(&self) {
        // The only failure is a full pipe: the stop has been asked for 65536 times.
        let _ = rustix::io::write(&*self.writer, b"s");
    }
}

/// The end to write to, for a signal handler that can do no more.
impl AsFd for Stopper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.writer.as_fd()
    }
}
