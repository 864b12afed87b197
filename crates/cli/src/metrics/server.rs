//! The HTTP server: one thread, which never blocks the job.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

use super::family::{self, Family};
use super::request::{self, MOST_BYTES, Request};
use crate::args::SandboxArgs;
use crate::failure::{Exit, Failure};
use crate::sandbox::{METRICS, Sandbox};

/// Maximum connections; further clients wait in the listen queue.
const MOST: usize = 16;

/// Pause after accept(2) failed, for example because no descriptors are left.
const PAUSE: Duration = Duration::from_secs(1);

/// A listening socket that does not serve yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens on `address`. Port 0 selects a free port.
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

    /// URL of the metrics.
    pub fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }

    /// Serves the families that `counters` returns, from its own thread until the program ends.
    ///
    /// The thread inherits the privileges of the caller, and needs none. It restricts itself, because strangers may connect,
    /// and may not be called behind a sandbox whose calls do not include those of a server.
    pub fn serve(
        self,
        sandbox: SandboxArgs,
        counters: impl Fn() -> Vec<Family> + Send + 'static,
    ) -> Result<(), Failure> {
        let mut clients = Clients {
            listener: self.listener,
            connections: Vec::new(),
            paused_until: None,
        };
        let counters = move || family::text(counters()).ok();
        let serve = move || while clients.round(&counters).is_ok() {};
        Sandbox::new(&METRICS).spawn(sandbox, serve)?;
        Ok(())
    }
}

/// The listening socket and the connections.
struct Clients {
    listener: TcpListener,
    connections: Vec<Connection>,
    paused_until: Option<Instant>,
}

impl Clients {
    /// Waits for the next event or deadline, and handles it.
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
                let (descriptor, flags) = connection.interest();
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

    /// Accepts waiting clients, up to the maximum.
    fn accept(&mut self, now: Instant) {
        for _ in self.connections.len()..MOST {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let stream = match accept_with(&self.listener, flags) {
                Ok(stream) => TcpStream::from(stream),
                Err(error) => {
                    let is_usual =
                        matches!(error, Errno::WOULDBLOCK | Errno::INTR | Errno::CONNABORTED);
                    if !is_usual {
                        self.paused_until = Some(now + PAUSE);
                    }
                    return;
                }
            };
            self.connections.push(Connection {
                stream,
                deadline: now + TIME,
                progress: Progress::Request(Vec::new()),
            });
        }
    }
}

/// Maximum lifetime of a connection.
const TIME: Duration = Duration::from_secs(5);

/// Bytes per read.
const PIECE: usize = 2 << 10;

/// Maximum bytes discarded after the answer. Closing a connection with unread bytes resets it, and the answer may
/// be lost.
const MOST_IGNORED: usize = 64 << 10;

/// A connection and its progress.
struct Connection {
    stream: TcpStream,
    deadline: Instant,
    progress: Progress,
}

enum Progress {
    /// Reading: the request so far.
    Request(Vec<u8>),
    /// Writing: the answer, and the number of bytes written.
    Answer(Vec<u8>, usize),
    /// Discarding: the number of bytes discarded.
    Discard(usize),
}

impl Connection {
    fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The descriptor and the events to poll for.
    fn interest(&self) -> (BorrowedFd<'_>, PollFlags) {
        let flags = match self.progress {
            Progress::Answer(..) => PollFlags::OUT,
            Progress::Request(_) | Progress::Discard(_) => PollFlags::IN,
        };
        (self.stream.as_fd(), flags)
    }

    /// Reads and writes without blocking. Returns whether the connection stays open.
    fn advance(&mut self, counters: &dyn Fn() -> Option<String>) -> bool {
        loop {
            match self.step(counters) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }

    /// One read or write. Returns whether another may follow.
    fn step(&mut self, counters: &dyn Fn() -> Option<String>) -> io::Result<bool> {
        match &mut self.progress {
            Progress::Request(bytes) => {
                let mut piece = [0; PIECE];
                let room = PIECE.min(MOST_BYTES - bytes.len());
                let read = self.stream.read(&mut piece[..room])?;
                if read == 0 && bytes.is_empty() {
                    return Ok(false);
                }
                bytes.extend(&piece[..read]);
                let cut_off = (read == 0).then_some(Request::Garbage);
                if let Some(request) = request::read(bytes).or(cut_off) {
                    self.progress = Progress::Answer(request::answer(request, counters), 0);
                }
            }
            Progress::Answer(answer, written) => {
                *written += self.stream.write(&answer[*written..])?;
                if *written == answer.len() {
                    self.stream.shutdown(Shutdown::Write)?;
                    self.progress = Progress::Discard(0);
                }
            }
            Progress::Discard(ignored) => {
                let read = self.stream.read(&mut [0; PIECE])?;
                *ignored += read;
                return Ok(read > 0 && *ignored < MOST_IGNORED);
            }
        }
        Ok(true)
    }
}

/// Parses `ADDR:PORT`. `:PORT` and `PORT` listen on the loopback only.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
    let port = ["localhost:", ":", ""]
        .iter()
        .find_map(|start| port(text.strip_prefix(start)?));
    if let Some(port) = port {
        return Ok(SocketAddr::new(loopback, port));
    }
    text.parse().map_err(|_| {
        "use PORT on the loopback, or ADDR:PORT such as 192.0.2.1:9000 or [::]:9000".to_owned()
    })
}

/// A number without a sign.
fn port(text: &str) -> Option<u16> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_on_the_loopback() {
        for (text, expected) in [
            ("9000", "127.0.0.1:9000"),
            (":9000", "127.0.0.1:9000"),
            ("localhost:9000", "127.0.0.1:9000"),
            ("0", "127.0.0.1:0"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("0.0.0.0:65535", "0.0.0.0:65535"),
            ("[::1]:9000", "[::1]:9000"),
        ] {
            assert_eq!(address(text), Ok(expected.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for wrong in [
            "",
            ":",
            "65536",
            ":-1",
            "+1",
            ":+1",
            "192.0.2.1",
            "192.0.2.1:",
            "::1",
            "[::1]",
            "192.0.2.256:80",
            "host.example:80",
            "localhost",
            "localhost:",
            "http://[::1]:80",
        ] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
