use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;

use super::kernel::FakeKernel;
use super::queue::Queue;
use crate::codec::messages;
use crate::transport::{Transport, Wait};

/// A socket of a [`FakeKernel`].
#[derive(Debug)]
pub struct FakeSocket {
    kernel: FakeKernel,
    queue: Arc<Mutex<Queue>>,
    signal: OwnedFd,
    capacity: usize,
}

impl FakeSocket {
    pub(super) fn new(kernel: FakeKernel, queue: Arc<Mutex<Queue>>) -> io::Result<Self> {
        let (signal, capacity) = {
            let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            (queue.signal()?, queue.capacity())
        };
        Ok(Self {
            kernel,
            queue,
            signal,
            capacity,
        })
    }
}

impl Transport for FakeSocket {
    fn send(&mut self, datagram: &[u8]) -> io::Result<()> {
        for message in messages(datagram) {
            let message = message.map_err(|_| io::Error::from(Errno::INVAL))?;
            let answers = self.kernel.carry_out(message);
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            answers
                .parts
                .into_iter()
                .for_each(|part| queue.push_part(part));
            answers
                .whole
                .into_iter()
                .for_each(|answer| queue.push(answer));
        }
        Ok(())
    }

    /// Nothing is waited for: a kernel answers before `send` returns.
    fn receive(&mut self, buffer: &mut [u8], _: Wait) -> io::Result<usize> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let datagram = queue.pop()?;
        let fits = datagram.len().min(buffer.len());
        buffer[..fits].copy_from_slice(&datagram[..fits]);
        Ok(datagram.len())
    }

    fn reply_capacity(&self) -> usize {
        self.capacity
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.signal.as_fd()
    }
}
