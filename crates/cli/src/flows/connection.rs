//! TCP connections to a collector of flows.

use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::args::SandboxArgs;
use crate::failure::Failure;
use crate::sandbox::{self, Sandbox};

/// How long a collector may take to accept a connection or data, and to close the connection at the end.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Collectors do not answer. If one does, so many pieces of its answer are discarded before each message.
const IGNORED_PIECES: usize = 16;
const PIECE_BYTES: usize = 2048;

/// The least and the longest pause between two attempts to connect. There is none before the first attempt, unless the connection
/// before it did not last for the longest pause.
const PAUSE_LEAST: Duration = Duration::from_secs(1);
const PAUSE_MOST: Duration = Duration::from_secs(30);

/// Connects to a collector.
pub fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Fails if the collector has closed the connection: it reads nothing more.
pub fn check_open(stream: &TcpStream) -> io::Result<()> {
    let mut piece = [0; PIECE_BYTES];
    for _ in 0..IGNORED_PIECES {
        match recv(stream, &mut piece, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => {
                let text = "the collector has closed the connection";
                return Err(io::Error::new(ErrorKind::ConnectionAborted, text));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Closes the connection to the collector, and waits until the collector has closed it after it read everything.
pub fn close(stream: &TcpStream) -> io::Result<()> {
    check_open(stream)?;
    stream.shutdown(Shutdown::Write)?;
    let until = Instant::now() + TIMEOUT;
    let mut piece = [0; PIECE_BYTES];
    // Bound: each wait has a limit, and so do all together.
    while Instant::now() < until {
        match recv(stream, &mut piece, RecvFlags::empty()) {
            Ok((_, 0)) => return Ok(()),
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let text = "the collector did not close the connection, so it may not have received all flows";
    Err(io::Error::new(ErrorKind::TimedOut, text))
}

/// Connects to a collector again on a thread, so that packets do not wait meanwhile.
pub struct Reconnector {
    requests: Sender<()>,
    connections: Receiver<TcpStream>,
}

impl Reconnector {
    /// Starts the thread, which ends with this value.
    pub fn start(to: SocketAddr, args: SandboxArgs) -> Result<Self, Failure> {
        let (requests, requested) = mpsc::channel();
        let (connected, connections) = mpsc::channel();
        let limits = Sandbox::new(&sandbox::IPFIX)
            .open_sockets(true)
            .connect(to.port());
        limits.spawn(args, move || serve(to, &requested, &connected))?;
        Ok(Self {
            requests,
            connections,
        })
    }

    /// Requests a connection.
    pub fn request(&self) {
        // The thread ends only with this value.
        let _ = self.requests.send(());
    }

    /// Returns the requested connection if it has been made.
    pub fn connected(&self) -> Option<TcpStream> {
        self.connections.try_recv().ok()
    }
}

/// Makes a connection for each request, however long that takes.
fn serve(to: SocketAddr, requested: &Receiver<()>, connected: &Sender<TcpStream>) {
    let (mut pause, mut since) = (Duration::ZERO, Instant::now());
    while requested.recv().is_ok() {
        if since.elapsed() >= PAUSE_MOST {
            pause = Duration::ZERO;
        }
        let stream = loop {
            // There is no further request before this connection is delivered. The end of the job ends the pause.
            if requested.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            pause = longer(pause);
            if let Ok(stream) = connect(to) {
                break stream;
            }
        };
        since = Instant::now();
        if connected.send(stream).is_err() {
            return;
        }
    }
}

/// The pause after this one.
fn longer(pause: Duration) -> Duration {
    (pause * 2).clamp(PAUSE_LEAST, PAUSE_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        let pauses = std::iter::successors(Some(Duration::ZERO), |pause| Some(longer(*pause)));
        let seconds: Vec<u64> = pauses.take(8).map(|pause| pause.as_secs()).collect();
        assert_eq!(seconds, [0, 1, 2, 4, 8, 16, 30, 30]);
    }
}
