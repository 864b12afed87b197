//! Messages to the thread that changes a running capture.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::event::{EventfdFlags, eventfd};

use super::error::ChangeError;
use super::requested::Change;
use super::settings::RunningSettings;

/// A message to the thread.
pub enum Message {
    Change(Change, Sender<Result<(), ChangeError>>),
    Settings(Sender<RunningSettings>),
    Over,
}

/// Readable once it is set, until it is cleared. Clones share it.
#[derive(Clone, Debug)]
pub struct Wake(Arc<OwnedFd>);

impl Wake {
    pub fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(event)))
    }

    pub fn set(&self) {
        // Fails only if the counter of 64 bits is full; the event is readable then.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    pub fn clear(&self) {
        // Fails only if the event is not readable, which is the purpose.
        let _ = rustix::io::read(&*self.0, &mut [0; 8]);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The sending end. Clones reach the same thread.
#[derive(Clone, Debug)]
pub struct MessageSender {
    messages: Sender<Message>,
    /// Wakes a thread that waits for descriptors, too.
    wake: Option<Wake>,
}

impl MessageSender {
    /// To a thread that waits for messages only.
    pub fn channel() -> (Self, Receiver<Message>) {
        let (messages, received) = channel();
        let sender = Self {
            messages,
            wake: None,
        };
        (sender, received)
    }

    /// To a thread that waits for `wake`.
    pub fn waking(wake: Wake) -> (Self, Receiver<Message>) {
        let (sender, received) = Self::channel();
        let wake = Some(wake);
        (Self { wake, ..sender }, received)
    }

    /// Sends a message; [`ChangeError::Over`] if the thread has ended.
    pub fn send(&self, message: Message) -> Result<(), ChangeError> {
        let sent = self.messages.send(message);
        if let Some(wake) = &self.wake {
            wake.set();
        }
        sent.map_err(|_| ChangeError::Over)
    }
}
