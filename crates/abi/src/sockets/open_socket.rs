//! Whether a socket is still open after its descriptors have been closed.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{Timespec, poll};

/// Interval at which [`OpenSocket::wait`] checks the socket: the kernel reports nothing when it is released.
const INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

/// Tells whether a packet socket is open. Does not keep it open.
///
/// A process that another thread has forked has the descriptors too, and the mapped memory of a ring, until it calls execve(2) or
/// ends. The kernel releases a socket when the last of them is gone.
///
/// # Source
/// `__fput`, fs/file_table.c: it takes the file out of each epoll set (`eventpoll_release`), and then releases the socket.
#[derive(Debug)]
pub struct OpenSocket(OwnedFd);

impl OpenSocket {
    /// Observes `socket`. Costs a descriptor.
    ///
    /// # Errors
    /// Errors of epoll_create1(2) and epoll_ctl(2): EMFILE, ENFILE, ENOMEM, ENOSPC.
    pub fn new(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        // Always writable: it sends nothing.
        epoll::add(&epoll, socket, EventData::new_u64(0), EventFlags::OUT)?;
        Ok(Self(epoll))
    }

    /// Whether a process has it. After `false`, the kernel may still be releasing it.
    pub fn is_open(&self) -> bool {
        let mut events = [MaybeUninit::<Event>::uninit(); 1];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        match epoll::wait(&self.0, &mut events, Some(&at_once)) {
            Ok((found, _)) => !found.is_empty(),
            // No wait can be interrupted here, and the arguments are valid.
            Err(_) => true,
        }
    }

    /// Waits until no process has it, for about `longest` at most. Returns whether none has.
    pub fn wait(&self, longest: Duration) -> bool {
        let end = Instant::now() + longest;
        while self.is_open() {
            if Instant::now() >= end {
                return false;
            }
            // Waits for nothing but the time. A signal may make it shorter.
            let _ = poll(&mut [], Some(&INTERVAL));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn a_socket_is_open_until_its_last_descriptor_is_closed() {
        let socket = UnixDatagram::unbound().expect("a socket");
        let open = OpenSocket::new(socket.as_fd()).expect("an epoll set");
        assert!(open.is_open());
        let other = socket.try_clone().expect("a descriptor");
        drop(socket);
        assert!(open.is_open());
        assert!(open.is_open());
        drop(other);
        // A process that another test forks may have it for a moment.
        assert!(open.wait(Duration::from_mins(1)));
    }
}
