//! Requests to the file of a running capture, from other threads.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use store::write::{CaptureFile, WriteError};

/// Requests that may wait for the reader.
const WAITING_MAX: usize = 64;

/// Longest wait for the reader.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// Why a request to the file of a capture was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileControlError {
    /// The options of the file have no rotation.
    #[error("the file does not rotate, so there is no next file")]
    NoRotation,
    /// Too many requests wait for the reader.
    #[error("{WAITING_MAX} requests to the file are pending already")]
    Busy,
    /// The reader has not come to the request within ten seconds, e.g. because the disk holds it up. It will.
    #[error(
        "the reader has not handled the request within 10 seconds, for example because of a slow disk or pipe (it handles \
         it as soon as it can: do not repeat the request)"
    )]
    Slow,
    /// The file is closed, or could not be written, which ends the capture.
    #[error("the capture is over")]
    Over,
}

enum Request {
    Note(String),
    Next,
}

type Waiting = Vec<(Request, Sender<Result<(), FileControlError>>)>;

#[derive(Default)]
struct Shared {
    is_waiting: AtomicBool,
    waiting: Mutex<Waiting>,
    is_over: AtomicBool,
    path: Mutex<Option<PathBuf>>,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // No panic leaves the list half changed.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self) -> MutexGuard<'_, Option<PathBuf>> {
        self.path.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds notes to the file of a running capture and starts its next file. Clones concern the same file.
///
/// The reader does so when no packet is waiting, and at the latest at its next tick.
#[derive(Clone, Default)]
pub struct FileControl(Arc<Shared>);

impl std::fmt::Debug for FileControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileControl").finish_non_exhaustive()
    }
}

/// The answer to a request to a file.
#[derive(Debug)]
#[must_use = "the request may be refused"]
pub struct FileAnswer {
    answered: Receiver<Result<(), FileControlError>>,
    until: Instant,
}

impl FileAnswer {
    /// Waits until the reader has carried the request out, at most until ten seconds after the request. The reading thread must
    /// not call this.
    ///
    /// # Errors
    /// [`FileControlError`].
    pub fn wait(self) -> Result<(), FileControlError> {
        let left = self.until.saturating_duration_since(Instant::now());
        match self.answered.recv_timeout(left) {
            Ok(done) => done,
            Err(RecvTimeoutError::Timeout) => Err(FileControlError::Slow),
            Err(RecvTimeoutError::Disconnected) => Err(FileControlError::Over),
        }
    }
}

impl FileControl {
    /// Adds a note with the present time ([`CaptureFile::note`]).
    pub fn note(&self, text: impl Into<String>) -> FileAnswer {
        self.add(Request::Note(text.into()))
    }

    /// Starts the next file of a rotation ([`CaptureFile::start_next`]).
    pub fn start_next(&self) -> FileAnswer {
        self.add(Request::Next)
    }

    /// Path of the file that is being written. Of a rotation that no request asked for, the next file is known after the
    /// reader's next tick.
    pub fn path(&self) -> Option<PathBuf> {
        self.0.path().clone()
    }

    /// Notes which file is being written.
    pub(super) fn follow(&self, file: &CaptureFile) {
        let newest = file.files().next_back().map(|file| &file.path);
        let mut path = self.0.path();
        if path.as_ref() != newest {
            *path = newest.cloned();
        }
    }

    fn add(&self, request: Request) -> FileAnswer {
        let (answer, answered) = channel();
        let mut waiting = self.0.waiting();
        if self.0.is_over.load(Ordering::Relaxed) {
            // The other end is here.
            let _ = answer.send(Err(FileControlError::Over));
        } else if waiting.len() < WAITING_MAX {
            waiting.push((request, answer));
            // Set and cleared under the lock; so `Relaxed` is enough.
            self.0.is_waiting.store(true, Ordering::Relaxed);
        } else {
            let _ = answer.send(Err(FileControlError::Busy));
        }
        FileAnswer {
            answered,
            until: Instant::now() + ANSWER_TIME,
        }
    }

    /// Carries out what is waiting. Cost: one load if nothing is.
    #[inline]
    pub(super) fn apply(&self, file: &mut CaptureFile, now_ns: u64) -> Result<(), WriteError> {
        if self.0.is_waiting.load(Ordering::Relaxed) {
            self.apply_waiting(file, now_ns)?;
        }
        Ok(())
    }

    #[cold]
    fn apply_waiting(&self, file: &mut CaptureFile, now_ns: u64) -> Result<(), WriteError> {
        let mut waiting = self.0.waiting();
        self.0.is_waiting.store(false, Ordering::Relaxed);
        for (request, answer) in waiting.drain(..) {
            let done = match request {
                Request::Note(text) => file.note(&text, now_ns),
                Request::Next => file.start_next(now_ns),
            };
            let told = match done {
                Ok(()) => Ok(()),
                Err(WriteError::NoRotation) => Err(FileControlError::NoRotation),
                // Those behind it get the same answer, from the lost channel.
                Err(error) => return Err(error),
            };
            self.follow(file);
            // The caller may have gone.
            let _ = answer.send(told);
        }
        Ok(())
    }

    /// The file is closed: refuses what is waiting, and what comes.
    pub(super) fn end(&self) {
        let mut waiting = self.0.waiting();
        // Read under the lock too.
        self.0.is_over.store(true, Ordering::Relaxed);
        waiting.clear();
    }
}
