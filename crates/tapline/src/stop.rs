//! Stopping a job from another thread or a signal handler.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::epoll;
use rustix::pipe::{PipeFlags, pipe_with};

/// The receiving end of a stop request: its descriptor becomes readable when a [`Stopper`] stops the job.
#[derive(Debug)]
pub struct Stop {
    reader: OwnedFd,
    stopper: Stopper,
}

/// Stops a job, from any thread or from a signal handler. Clones stop the same job.
#[derive(Clone, Debug)]
pub struct Stopper {
    writer: Arc<OwnedFd>,
}

impl Stop {
    /// A stop that nobody has requested yet.
    ///
    /// # Errors
    /// As pipe2(2).
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Self {
            reader,
            stopper: Stopper {
                writer: Arc::new(writer),
            },
        })
    }

    /// A stop that is requested when this one or `other` is. Its stopper is that of `other`.
    pub(crate) fn or(&self, other: &Self) -> io::Result<Self> {
        let either = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for stop in [self, other] {
            let data = epoll::EventData::new_u64(0);
            epoll::add(&either, stop, data, epoll::EventFlags::IN)?;
        }
        Ok(Self {
            reader: either,
            stopper: other.stopper(),
        })
    }

    /// The other end.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }
}

/// Readable from the first stop request on. Nobody reads it, so it stays readable.
impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

impl Stopper {
    /// Requests the job to end in order. Further calls change nothing.
    pub fn stop(&self) {
        // Fails only if the pipe is full: after 65536 requests.
        let _ = rustix::io::write(&*self.writer, b"s");
    }
}

/// The end to write to, for signal handlers that can do no more than write(2).
impl AsFd for Stopper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.writer.as_fd()
    }
}
