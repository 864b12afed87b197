//! A transport that injects faults.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;

use abi::namespace::{NamespaceError, NetNamespace};
use rustix::io::Errno;

use super::{Transport, Wait};
use crate::uapi::NLM_F_DUMP_INTR;

/// A fault of a received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// No fault.
    None,
    /// It is lost because of a full buffer; the reader gets ENOBUFS.
    Overrun,
    /// Its messages report an interrupted list (`NLM_F_DUMP_INTR`).
    Interrupted,
    /// It is longer than the reader's buffer.
    Truncated,
    /// It arrives after the next one.
    Late,
    /// Reading it fails with EIO. It stays in the socket.
    Failed,
}

/// Injects faults into another transport.
#[derive(Debug)]
pub struct Faulty<T> {
    inner: T,
    faults: VecDeque<Fault>,
    late: Option<Vec<u8>>,
}

impl<T: Transport> Faulty<T> {
    /// Injects `faults` into the received datagrams, one each, in order. Later datagrams are unchanged.
    pub fn new(inner: T, faults: impl IntoIterator<Item = Fault>) -> Self {
        Self {
            inner,
            faults: faults.into_iter().collect(),
            late: None,
        }
    }

    fn next(&mut self, buffer: &mut [u8], wait: Wait) -> io::Result<usize> {
        match self.inner.receive(buffer, wait) {
            // A delayed datagram is delivered when no other follows.
            Err(error) if self.late.is_none() => Err(error),
            Err(_) => Ok(self.deliver_late(buffer)),
            Ok(bytes) => Ok(bytes),
        }
    }

    fn deliver_late(&mut self, buffer: &mut [u8]) -> usize {
        let late = self.late.take().unwrap_or_default();
        let fits = late.len().min(buffer.len());
        buffer[..fits].copy_from_slice(&late[..fits]);
        late.len()
    }
}

impl<T: Transport> Transport for Faulty<T> {
    fn send(&mut self, messages: &[u8]) -> io::Result<()> {
        self.inner.send(messages)
    }

    fn receive(&mut self, buffer: &mut [u8], wait: Wait) -> io::Result<usize> {
        if self.faults.is_empty() && self.late.is_some() {
            return Ok(self.deliver_late(buffer));
        }
        if self.faults.front() == Some(&Fault::Failed) {
            self.faults.pop_front();
            return Err(Errno::IO.into());
        }
        let bytes = self.next(buffer, wait)?;
        let fits = bytes.min(buffer.len());
        match self.faults.pop_front().unwrap_or(Fault::None) {
            Fault::None | Fault::Failed => Ok(bytes),
            Fault::Overrun => Err(Errno::NOBUFS.into()),
            Fault::Interrupted => {
                mark_interrupted(&mut buffer[..fits]);
                Ok(bytes)
            }
            Fault::Truncated => Ok(bytes.max(buffer.len()) + 1),
            Fault::Late => {
                self.late = Some(buffer[..fits].to_vec());
                self.next(buffer, wait)
            }
        }
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

/// Sets the flag in each message of `datagram`.
fn mark_interrupted(datagram: &mut [u8]) {
    let mut at = 0;
    while let Some([l0, l1, l2, l3, _, _, f0, f1, ..]) = datagram.get_mut(at..at + 16) {
        let length = u32::from_ne_bytes([*l0, *l1, *l2, *l3]) as usize;
        let flags = u16::from_ne_bytes([*f0, *f1]) | NLM_F_DUMP_INTR;
        [*f0, *f1] = flags.to_ne_bytes();
        at += length.max(16).next_multiple_of(4);
    }
}
