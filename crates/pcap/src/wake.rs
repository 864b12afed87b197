//! `pcap_breakloop`: a request that any thread and any signal handler may make.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::ffi::cancel::without_cancellation;

/// A pending request to end the loop, and a descriptor that ends its sleep.
pub struct Wake {
    requested: AtomicBool,
    /// `None` for a handle that never sleeps.
    event: Option<OwnedFd>,
}

impl Wake {
    /// For a handle that never sleeps.
    pub const fn without_sleep() -> Self {
        Self {
            requested: AtomicBool::new(false),
            event: None,
        }
    }

    /// # Errors
    /// Errors of eventfd(2).
    pub fn new() -> std::io::Result<Self> {
        // SAFETY: no pointers are passed.
        let event = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if event < 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just opened, and nothing else owns it.
        let event = unsafe { OwnedFd::from_raw_fd(event) };
        Ok(Self {
            requested: AtomicBool::new(false),
            event: Some(event),
        })
    }

    /// Asks the loop to end. Only a store and write(2): a signal handler may do both.
    pub fn request(&self) {
        // Release pairs with the Acquire of `take`: what the requesting thread wrote before is visible to the loop.
        self.requested.store(true, Ordering::Release);
        if let Some(event) = &self.event {
            let one = 1_u64;
            // A full counter wakes the loop, too.
            // SAFETY: eight bytes that live.
            unsafe { libc::write(event.as_raw_fd(), (&raw const one).cast(), 8) };
        }
    }

    /// Whether there is a request.
    #[inline]
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Takes the request.
    pub fn take(&self) -> bool {
        let was = self.requested.swap(false, Ordering::Acquire);
        if was {
            self.drain();
        }
        was
    }

    /// Makes the descriptor unreadable. It stays readable without a request if the request was taken between its two
    /// steps, or was made in the child of a fork.
    pub fn drain(&self) {
        if let Some(event) = &self.event {
            let mut count = 0_u64;
            // SAFETY: eight bytes that live.
            let read = || unsafe { libc::read(event.as_raw_fd(), (&raw mut count).cast(), 8) };
            without_cancellation(read);
        }
    }

    /// Readable after a request; -1 without sleep.
    pub fn fd(&self) -> RawFd {
        self.event.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }
}
