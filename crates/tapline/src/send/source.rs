//! Sources of packets: fill queues on a thread of their own, ahead of the sender.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use abi::signal::with_signals_blocked;

use super::error::SendError;
use super::queue::{QueueSize, SendQueue};
use super::timing::is_stopped;
use crate::stop::Stop;

/// Why a source failed.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// Queues that a source may fill ahead of the sender.
const QUEUES: usize = 4;

/// How often the sender looks for a stop while the source has no packets, such as that of an idle pipe.
const STOP_INTERVAL: Duration = Duration::from_millis(20);

/// What a source has put into a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// The next packets.
    More,
    /// The first packets of a repetition: recorded times begin anew.
    Repeat,
    /// The last packets, or none.
    End,
}

/// A filled queue.
pub type FilledQueue = Result<(Fill, SendQueue), SourceError>;

/// The queues that a source fills, in order.
pub struct FilledQueues {
    filled: Receiver<FilledQueue>,
    empty: std::sync::mpsc::Sender<SendQueue>,
}

impl FilledQueues {
    /// Starts the thread of `source`. It ends when the source does, or when nobody takes its queues.
    pub fn start<S>(source: S, size: QueueSize) -> std::io::Result<Self>
    where
        S: FnMut(&mut SendQueue) -> Result<Fill, SourceError> + Send + 'static,
    {
        let (to_fill, empty) = channel();
        let (filled, ready) = sync_channel(QUEUES);
        for _ in 0..QUEUES {
            // The receiver is here.
            let _ = to_fill.send(SendQueue::for_source(size));
        }
        let thread = thread::Builder::new().name("tapline-source".into());
        with_signals_blocked(|| thread.spawn(move || fill(source, &empty, &filled)))?;
        Ok(Self {
            filled: ready,
            empty: to_fill,
        })
    }

    /// The next queue; `None` if `stop` was requested while the source had none.
    ///
    /// # Errors
    /// [`SendError::Source`] if the source failed or panicked.
    pub fn next(&self, stop: &Stop) -> Result<Option<(Fill, SendQueue)>, SendError> {
        self.next_or(stop, || Ok(()))
    }

    /// As [`next`](Self::next); calls `idle` now and then while the source has none.
    pub fn next_or(
        &self,
        stop: &Stop,
        mut idle: impl FnMut() -> Result<(), SendError>,
    ) -> Result<Option<(Fill, SendQueue)>, SendError> {
        loop {
            match self.filled.recv_timeout(STOP_INTERVAL) {
                Ok(filled) => return filled.map(Some).map_err(SendError::Source),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(SendError::Source("the source of packets panicked".into()));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let is_stopped = is_stopped(stop, 0);
                    if is_stopped.map_err(|source| SendError::Wait { source })? {
                        return Ok(None);
                    }
                    idle()?;
                }
            }
        }
    }

    /// Gives a queue back to be filled again.
    pub fn recycle(&self, mut queue: SendQueue) {
        queue.clear();
        // The source may have ended.
        let _ = self.empty.send(queue);
    }
}

fn fill<S>(mut source: S, empty: &Receiver<SendQueue>, filled: &SyncSender<FilledQueue>)
where
    S: FnMut(&mut SendQueue) -> Result<Fill, SourceError>,
{
    while let Ok(mut queue) = empty.recv() {
        let result = source(&mut queue);
        let is_last = !matches!(result, Ok(Fill::More | Fill::Repeat));
        let sent = filled.send(result.map(|fill| (fill, queue)));
        if sent.is_err() || is_last {
            return;
        }
    }
}
