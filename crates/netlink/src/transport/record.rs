//! Recording and replay of a conversation.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use abi::namespace::{NamespaceError, NetNamespace};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::{Transport, Wait};

/// One datagram or error of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RecordedDatagram {
    /// A datagram to the kernel.
    Sent(Vec<u8>),
    /// A datagram from the kernel.
    Received(Vec<u8>),
    /// Receiving failed with this error number.
    Failed(i32),
}

/// Records the conversation of another transport.
#[derive(Debug)]
pub struct Recorder<T> {
    inner: T,
    recording: Arc<Mutex<Vec<RecordedDatagram>>>,
}

/// The recording of a [`Recorder`], readable while it continues.
#[derive(Clone, Debug)]
pub struct Recording(Arc<Mutex<Vec<RecordedDatagram>>>);

impl<T: Transport> Recorder<T> {
    /// Records `inner`.
    pub fn new(inner: T) -> (Self, Recording) {
        let recording = Arc::default();
        let held = Recording(Arc::clone(&recording));
        (Self { inner, recording }, held)
    }

    fn note(&self, datagram: RecordedDatagram) {
        let mut recording = self
            .recording
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        recording.push(datagram);
    }
}

impl Recording {
    /// The conversation so far.
    pub fn datagrams(&self) -> Vec<RecordedDatagram> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl<T: Transport> Transport for Recorder<T> {
    fn send(&mut self, messages: &[u8]) -> io::Result<()> {
        self.note(RecordedDatagram::Sent(messages.to_vec()));
        self.inner.send(messages)
    }

    fn receive(&mut self, buffer: &mut [u8], wait: Wait) -> io::Result<usize> {
        let received = self.inner.receive(buffer, wait);
        self.note(match &received {
            Ok(bytes) => RecordedDatagram::Received(buffer[..(*bytes).min(buffer.len())].to_vec()),
            Err(error) => RecordedDatagram::Failed(error.raw_os_error().unwrap_or_default()),
        });
        received
    }

    fn reply_capacity(&self) -> usize {
        self.inner.reply_capacity()
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.inner.descriptor()
    }

    fn namespace(&self) -> Option<Result<NetNamespace, NamespaceError>> {
        self.inner.namespace()
    }
}

/// Replays the kernel's part of a recorded conversation.
#[derive(Debug)]
pub struct Replay {
    script: VecDeque<RecordedDatagram>,
    signal: OwnedFd,
    capacity: usize,
}

impl Replay {
    /// Replays `script`.
    ///
    /// # Errors
    /// Those of eventfd(2).
    pub fn new(script: impl IntoIterator<Item = RecordedDatagram>) -> io::Result<Self> {
        Ok(Self {
            script: script.into_iter().collect(),
            // Always readable: the whole script is available.
            signal: eventfd(1, EventfdFlags::CLOEXEC)?,
            capacity: 256,
        })
    }
}

impl Transport for Replay {
    /// # Errors
    /// EPROTO if the datagram differs from the recording.
    fn send(&mut self, messages: &[u8]) -> io::Result<()> {
        match self.script.pop_front() {
            Some(RecordedDatagram::Sent(sent)) if sent == messages => Ok(()),
            _ => Err(Errno::PROTO.into()),
        }
    }

    /// # Errors
    /// The recorded error; EPROTO if the recording has a sent datagram here, or has ended.
    fn receive(&mut self, buffer: &mut [u8], _: Wait) -> io::Result<usize> {
        match self.script.pop_front() {
            Some(RecordedDatagram::Received(bytes)) => {
                let fits = bytes.len().min(buffer.len());
                buffer[..fits].copy_from_slice(&bytes[..fits]);
                Ok(bytes.len())
            }
            Some(RecordedDatagram::Failed(number)) => Err(io::Error::from_raw_os_error(number)),
            _ => Err(Errno::PROTO.into()),
        }
    }

    fn reply_capacity(&self) -> usize {
        self.capacity
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.signal.as_fd()
    }
}
