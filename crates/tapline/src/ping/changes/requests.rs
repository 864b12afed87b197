//! The mailbox between the threads that change the targets and the one that sends.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use probe::targets::Targets;
use rustix::event::{EventfdFlags, eventfd};

use crate::ping::resolver::Lookup;
use crate::ping::route::OnLink;

/// Maximum requests that wait.
const MAX_REQUESTS: usize = 1024;

/// A host and its name.
pub type NamedHost = (u32, Arc<str>);

/// A change of the targets, to be made by the sending thread.
#[derive(Debug)]
pub enum Request {
    /// `OnLink` is present if the hosts of a large list may overflow the neighbour table.
    Add(Targets, Option<OnLink>),
    Remove(Targets),
    Replace(Targets, Option<OnLink>),
    Lookups(Vec<(NamedHost, Lookup)>),
}

/// Requests to the sending thread, and the names that are looked up for it.
#[derive(Debug)]
pub struct TargetRequests {
    is_pending: AtomicBool,
    /// Readable while a request is pending.
    event: OwnedFd,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    requests: VecDeque<Request>,
    names: Arc<[NamedHost]>,
    is_over: bool,
}

impl TargetRequests {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            is_pending: AtomicBool::new(false),
            event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            state: Mutex::default(),
            ended: Condvar::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked here left consistent values.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request and wakes the sending thread.
    ///
    /// # Errors
    /// `BrokenPipe` if the run is over, `WouldBlock` if too many requests wait.
    pub fn add(&self, request: Request) -> io::Result<()> {
        let mut state = self.state();
        if state.is_over {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if state.requests.len() == MAX_REQUESTS {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        state.requests.push_back(request);
        // Set and cleared under the lock, which orders the requests themselves; so `Relaxed` is enough.
        self.is_pending.store(true, Ordering::Relaxed);
        // Fails only if the counter of 64 bits is full; the event is readable then.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        Ok(())
    }

    /// The next request. Cost without one: one load.
    #[inline]
    pub fn take(&self) -> Option<Request> {
        if !self.is_pending.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = self.state();
        let request = state.requests.pop_front();
        if state.requests.is_empty() {
            self.is_pending.store(false, Ordering::Relaxed);
            // Fails only if the event is not readable, which is the purpose.
            let _ = rustix::io::read(&self.event, &mut [0; 8]);
        }
        request
    }

    /// The names to look up.
    pub fn names(&self) -> Arc<[NamedHost]> {
        self.state().names.clone()
    }

    pub fn set_names(&self, names: Vec<NamedHost>) {
        self.state().names = names.into();
    }

    /// The run is over.
    pub fn end(&self) {
        self.state().is_over = true;
        self.ended.notify_all();
    }

    /// Waits for `time`, or until the run is over. Returns whether it is over.
    pub fn wait_for_end(&self, time: Duration) -> bool {
        let is_running = |state: &mut State| !state.is_over;
        let waited = self
            .ended
            .wait_timeout_while(self.state(), time, is_running);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_over
    }
}

/// The requests of a run. When it is dropped, the run is over.
#[derive(Debug)]
pub struct RunRequests(pub Arc<TargetRequests>);

impl Drop for RunRequests {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl AsFd for TargetRequests {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
