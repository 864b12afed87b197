//! The socket that is listened on, and the thread that serves it.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::connection::Connection;
use super::family::{self, Family};
use crate::failure::{Exit, Failure};

/// Clients served at once; others wait in the kernel until one is done.
const MOST: usize = 16;

/// How long nobody is let in after the kernel could not, as for want of descriptors.
const PAUSE: Duration = Duration::from_secs(1);

/// Listens, and serves nobody yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens at `address`, and with port 0 at one that is free.
    pub fn bind(address: SocketAddr) -> Result<Self, Failure> {
        let open = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok(Self { listener, address })
        };
        open().map_err(|error: io::Error| {
            let (exit, advice) = match error.kind() {
                ErrorKind::PermissionDenied => (
                    Exit::Privilege,
                    " (needs CAP_NET_BIND_SERVICE; use a port from 1024 on)",
                ),
                ErrorKind::AddrInUse => (Exit::Failed, " (use another port)"),
                ErrorKind::AddrNotAvailable => (Exit::Failed, " (no interface has this address)"),
                _ => (Exit::Failed, ""),
            };
            let failure = Failure::job_on(format!("cannot serve metrics at {address}"), &error);
            Failure::new(exit, failure.line + advice)
        })
    }

    /// Where the counters are, as a client asks for them.
    pub fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }

    /// Serves what `counters` gives each time, from a thread of its own and until the program ends.
    ///
    /// The thread has the privileges of the caller, which needs none for this.
    pub fn serve(self, counters: impl Fn() -> Vec<Family> + Send + 'static) -> io::Result<()> {
        let mut clients = Clients {
            listener: self.listener,
            connections: Vec::new(),
            paused_until: None,
        };
        let counters = move || family::text(counters()).ok();
        thread::Builder::new()
            .name("metrics".into())
            .spawn(move || while clients.round(&counters).is_ok() {})?;
        Ok(())
    }
}

/// Those who are connected and those who want to be.
struct Clients {
    listener: TcpListener,
    connections: Vec<Connection>,
    paused_until: Option<Instant>,
}

impl Clients {
    /// Waits until somebody can be served or has had his time, and sees to it.
    fn round(&mut self, counters: &dyn Fn() -> Option<String>) -> Result<(), Errno> {
        let ready = self.wait()?;
        let now = Instant::now();
        let mut ready = ready.into_iter();
        self.connections.retain_mut(|connection| {
            let goes_on = !ready.next().unwrap_or(false) || connection.advance(counters);
            goes_on && now < connection.deadline()
        });
        self.paused_until = self.paused_until.filter(|&until| now < until);
        if self.is_open() {
            self.accept(now);
        }
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.connections.len() < MOST && self.paused_until.is_none()
    }

    /// Which connections are ready.
    fn wait(&self) -> Result<Vec<bool>, Errno> {
        let mut polled: Vec<PollFd<'_>> = (self.connections.iter())
            .map(|connection| {
                let (descriptor, flags) = connection.wanted();
                PollFd::from_borrowed_fd(descriptor, flags)
            })
            .collect();
        if self.is_open() {
            polled.push(PollFd::new(&self.listener, PollFlags::IN));
        }
        let deadlines = self.connections.iter().map(Connection::deadline);
        let until = deadlines.chain(self.paused_until).min();
        let timeout = until.and_then(|until| {
            let left = until.saturating_duration_since(Instant::now());
            Timespec::try_from(left).ok()
        });
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        let ready = polled.iter().map(|one| !one.revents().is_empty());
        Ok(ready.collect())
    }

    /// Lets in who waits, as far as there is room.
    fn accept(&mut self, now: Instant) {
        for _ in self.connections.len()..MOST {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) => {
                    let is_usual = matches!(
                        error.kind(),
                        ErrorKind::WouldBlock
                            | ErrorKind::Interrupted
                            | ErrorKind::ConnectionAborted
                    );
                    if !is_usual {
                        self.paused_until = Some(now + PAUSE);
                    }
                    return;
                }
            };
            // A connection that cannot be used is closed.
            self.connections.extend(Connection::new(stream, now));
        }
    }
}
