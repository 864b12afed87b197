//! Where a job hangs up its counters for others to read.

use std::sync::{Arc, Mutex, PoisonError};

use super::family::Family;

/// The latest counters. Neither side waits for the other but for the exchange of a pointer.
#[derive(Debug)]
pub struct Board(Mutex<Arc<Vec<Family>>>);

impl Board {
    pub fn new(families: Vec<Family>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Arc::new(families))))
    }

    /// Takes the place of what was there.
    pub fn post(&self, families: Vec<Family>) {
        let families = Arc::new(families);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = families;
    }

    /// What is there now.
    pub fn read(&self) -> Arc<Vec<Family>> {
        let now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&now)
    }
}
