//! The controller of a capture that is one of many: a thread of the hotplug capture borrows it for each change.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::controller::Controller;

/// A controller that can be borrowed until its capture closes the rings. Clones share it.
#[derive(Clone)]
pub struct SharedController(Arc<Mutex<State>>);

enum State {
    Here(Box<Controller>),
    Borrowed,
    /// The capture closes its rings.
    Over,
}

/// The capture's end of a [`SharedController`]. Dropping it ends the changes: the controller is dropped, with its rings and its XDP
/// program. If it is borrowed, that happens when it is given back; dropping this does not wait for it.
pub struct ControlEnd(SharedController);

impl SharedController {
    pub fn new(controller: Controller) -> (Self, ControlEnd) {
        let state = State::Here(Box::new(controller));
        let shared = Self(Arc::new(Mutex::new(state)));
        (shared.clone(), ControlEnd(shared))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No panic leaves it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Borrows it; `None` if the capture closes its rings.
    pub fn borrow(&self) -> Option<Box<Controller>> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Borrowed) {
            State::Here(controller) => Some(controller),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Gives it back. It is dropped if the capture has begun to close its rings meanwhile.
    pub fn give_back(&self, controller: Box<Controller>) {
        let mut state = self.state();
        if matches!(*state, State::Borrowed) {
            *state = State::Here(controller);
        }
    }
}

impl Drop for ControlEnd {
    fn drop(&mut self) {
        let before = std::mem::replace(&mut *self.0.state(), State::Over);
        // Its sockets are closed without the lock.
        drop(before);
    }
}
