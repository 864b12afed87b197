//! Configuration changes that the reader has not applied yet.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ring::DeliveryMode;
use rustix::event::{EventfdFlags, eventfd};

use super::hand_over::NewRings;
use super::new_interface::NewInterface;

/// Pending configuration changes, handed from the control thread to the reader.
pub struct PendingChanges {
    is_pending: AtomicBool,
    /// Readable while a change is pending.
    event: OwnedFd,
    state: Mutex<State>,
    settled: Condvar,
    /// Held during a change. Whether the capture has begun to close its rings.
    is_closing: Mutex<bool>,
}

#[derive(Default)]
struct State {
    changes: Option<Changes>,
    /// Replacements that are not read yet, because the rings before them are, and interfaces that have not left yet.
    unread_replacements: usize,
    is_over: bool,
}

/// The changes to apply.
pub struct Changes {
    pub delivery: DeliveryMode,
    pub spin: Duration,
    /// What has been changed, in this order.
    pub steps: Vec<Step>,
}

/// A change that the reader follows. Interfaces are given by their place among those that the capture ever had.
pub enum Step {
    /// Rings that have taken over.
    Rings(usize, NewRings),
    /// An interface joins.
    Add(Box<NewInterface>),
    /// An interface leaves, once its rings are read.
    Remove(usize),
    /// The interface leaves, and joins again with another back end.
    Exchange(usize, Box<NewInterface>),
}

impl Step {
    /// Rings that are to be read before the change is complete.
    fn unread(&self) -> usize {
        match self {
            Self::Rings(_, new) => new.rings.len(),
            Self::Add(_) => 0,
            Self::Remove(_) | Self::Exchange(..) => 1,
        }
    }
}

impl PendingChanges {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            is_pending: AtomicBool::new(false),
            event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            state: Mutex::default(),
            settled: Condvar::new(),
            is_closing: Mutex::new(false),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked here left consistent values.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds changes and wakes the reader.
    pub fn add(&self, delivery: DeliveryMode, spin: Duration, steps: Vec<Step>) {
        let mut state = self.state();
        state.unread_replacements += steps.iter().map(Step::unread).sum::<usize>();
        let before = state.changes.take().map(|changes| changes.steps);
        let steps = before.into_iter().flatten().chain(steps).collect();
        state.changes = Some(Changes {
            delivery,
            spin,
            steps,
        });
        // Set and cleared under the lock, which orders the changes themselves; so `Relaxed` is enough.
        self.is_pending.store(true, Ordering::Relaxed);
        // Fails only if the counter of 64 bits is full; the event is readable then.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// Wakes the reader without a change, so that its consumer becomes idle.
    pub fn wake(&self) {
        let _state = self.state();
        self.is_pending.store(true, Ordering::Relaxed);
        // As in `add`.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// The capture is to end: the change is complete when it has.
    pub fn await_end(&self) {
        self.state().unread_replacements += 1;
    }

    /// Whether a replacement is not read yet.
    pub fn is_settling(&self) -> bool {
        self.state().unread_replacements > 0
    }

    /// Whether a change is pending. Cost: one load.
    pub fn is_pending(&self) -> bool {
        self.is_pending.load(Ordering::Relaxed)
    }

    /// Takes all pending changes.
    pub fn take(&self) -> Option<Changes> {
        if !self.is_pending() {
            return None;
        }
        let mut state = self.state();
        self.is_pending.store(false, Ordering::Relaxed);
        // Fails only if the event is not readable, which is the purpose.
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
        state.changes.take()
    }

    /// The reader has begun to read a replacement, or an interface has left.
    pub fn settle_one(&self) {
        self.state().unread_replacements -= 1;
        self.settled.notify_all();
    }

    /// Keeps the reader from closing its rings while a change is carried out; `None` if it has begun to.
    pub fn begin_change(&self) -> Option<MutexGuard<'_, bool>> {
        let is_closing = self.is_closing.lock();
        let is_closing = is_closing.unwrap_or_else(PoisonError::into_inner);
        (!*is_closing).then_some(is_closing)
    }

    /// The reader closes its rings. Waits for a change that is being carried out; no other one begins.
    pub fn close(&self) {
        let is_closing = self.is_closing.lock();
        *is_closing.unwrap_or_else(PoisonError::into_inner) = true;
    }

    /// The capture is over.
    pub fn end(&self) {
        self.state().is_over = true;
        self.settled.notify_all();
    }

    /// Whether the capture is over.
    pub fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// Waits until every replacement is read, or until the capture is over.
    pub fn wait(&self) {
        let is_settling = |state: &mut State| state.unread_replacements > 0 && !state.is_over;
        let waited = self.settled.wait_while(self.state(), is_settling);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl PendingChanges {
    /// As [`wait`](Self::wait), at most for this time. Returns whether every replacement is read or the capture
    /// is over.
    pub fn wait_for(&self, time: Duration) -> bool {
        let is_settling = |state: &mut State| state.unread_replacements > 0 && !state.is_over;
        let waited = (self.settled).wait_timeout_while(self.state(), time, is_settling);
        let (state, result) = waited.unwrap_or_else(PoisonError::into_inner);
        drop(state);
        !result.timed_out()
    }
}

impl fmt::Debug for PendingChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("PendingChanges");
        fields
            .field("is_pending", &self.is_pending)
            .finish_non_exhaustive()
    }
}

impl AsFd for PendingChanges {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
