//! Datagrams that wait for a reader.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, read, write};

/// Capacity for unread replies and notifications, as with the default receive buffer of Linux.
pub(super) const CAPACITY: usize = 256;

/// The unread datagrams of a socket.
#[derive(Debug)]
pub(super) struct Queue {
    datagrams: VecDeque<Vec<u8>>,
    capacity: usize,
    overrun: bool,
    /// Readable while a datagram is available.
    signal: OwnedFd,
}

impl Queue {
    pub fn new(capacity: usize) -> io::Result<Self> {
        let signal = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self {
            datagrams: VecDeque::new(),
            capacity,
            overrun: false,
            signal,
        })
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Adds a datagram; drops it if the queue is full.
    pub fn push(&mut self, datagram: Vec<u8>) {
        if self.datagrams.len() >= self.capacity {
            self.overrun = true;
        } else {
            self.datagrams.push_back(datagram);
        }
        self.mark();
    }

    /// Adds a part of a list: the kernel generates parts only when there is room.
    pub fn push_part(&mut self, datagram: Vec<u8>) {
        self.datagrams.push_back(datagram);
        self.mark();
    }

    pub fn pop(&mut self) -> io::Result<Vec<u8>> {
        if std::mem::take(&mut self.overrun) {
            return Err(Errno::NOBUFS.into());
        }
        let datagram = self.datagrams.pop_front();
        if self.datagrams.is_empty() {
            // The counter may be 0 already.
            let _ = read(&self.signal, &mut [0; 8]);
        }
        datagram.ok_or_else(|| Errno::AGAIN.into())
    }

    fn mark(&self) {
        // A saturated counter is readable too.
        let _ = write(&self.signal, &1_u64.to_ne_bytes());
    }

    /// Duplicates the descriptor that is readable while a datagram is available.
    pub fn signal(&self) -> io::Result<OwnedFd> {
        self.signal.try_clone()
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signal.as_fd()
    }
}
