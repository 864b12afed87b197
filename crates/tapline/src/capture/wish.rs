//! What a capture is to do next, as its reader is told.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ring::Delivery;
use rustix::event::{EventfdFlags, eventfd};

use super::take_over::TakenOver;

/// A place where changes lie until the reader takes them.
#[derive(Debug)]
pub(super) struct Wish {
    is_there: AtomicBool,
    /// Readable while there is one.
    event: OwnedFd,
    state: Mutex<State>,
    settled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    next: Option<Next>,
    /// Rings that take over and are not read yet, because those before them are.
    following: usize,
    is_over: bool,
}

/// What is to be done.
#[derive(Debug)]
pub(super) struct Next {
    pub delivery: Delivery,
    pub spin: Duration,
    /// What has taken over, with the places of the interfaces.
    pub taken_over: Vec<(usize, TakenOver)>,
}

impl Wish {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            is_there: AtomicBool::new(false),
            event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            state: Mutex::default(),
            settled: Condvar::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked here left whole values.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a change down, and wakes the reader.
    pub fn deliver(&self, delivery: Delivery, spin: Duration, taken_over: Vec<(usize, TakenOver)>) {
        let mut state = self.state();
        let rings = |(_, taken_over): &(usize, TakenOver)| taken_over.sources.len();
        state.following += taken_over.iter().map(rings).sum::<usize>();
        let before = state.next.take().map(|next| next.taken_over);
        let taken_over = before.into_iter().flatten().chain(taken_over).collect();
        state.next = Some(Next {
            delivery,
            spin,
            taken_over,
        });
        // Under the lock, as where it is taken back, so that it says of each wish that it is there. The
        // lock orders the wish itself, so `Relaxed` is enough.
        self.is_there.store(true, Ordering::Relaxed);
        // It counts in 64 bits and is readable already if that should not be enough.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// Whether a ring took over that is not read yet.
    pub fn is_settling(&self) -> bool {
        self.state().following > 0
    }

    /// Whether there is one. Costs a load.
    pub fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Relaxed)
    }

    /// The latest one, with the rings of all.
    pub fn take(&self) -> Option<Next> {
        if !self.is_there() {
            return None;
        }
        let mut state = self.state();
        self.is_there.store(false, Ordering::Relaxed);
        // Not readable is what it is to be.
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
        state.next.take()
    }

    /// A ring that took over is read from here on.
    pub fn settle_one(&self) {
        self.state().following -= 1;
        self.settled.notify_all();
    }

    /// The capture is over.
    pub fn end(&self) {
        self.state().is_over = true;
        self.settled.notify_all();
    }

    /// Waits until every ring that took over is read, or the capture is over.
    pub fn wait(&self) {
        let is_changing = |state: &mut State| state.following > 0 && !state.is_over;
        let waited = self.settled.wait_while(self.state(), is_changing);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl AsFd for Wish {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
