//! TCP over IPv4 and IPv6.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::PollFlags;

use super::kind::Kind;
use super::sent::{Sent, payload};
use crate::demo::deadline::Deadline;
use crate::demo::hosts::{Family, Hosts};
use crate::failure::{Exit, Failure};

const TCP_PORT: u16 = 47_001;
/// Bytes in each direction.
const TCP_BYTES: usize = 4 << 20;
const CHUNK_BYTES: usize = 64 << 10;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends [`TCP_BYTES`] in both directions at the same time over one connection.
///
/// Once both ends have read the other's FIN, every segment has been sent: the kernel acknowledges a FIN at
/// once (`tcp_fin`, net/ipv4/tcp_input.c).
pub fn exchange(
    kind: Kind,
    hosts: &Hosts,
    family: Family,
    deadline: &Deadline<'_>,
) -> Result<Sent, Failure> {
    let to = SocketAddr::new(hosts.right.ip(family), TCP_PORT);
    let listener = hosts
        .right
        .open("a TCP port on the right host", || TcpListener::bind(to))?;
    let client = hosts.left.open("a TCP connection to the right host", || {
        TcpStream::connect_timeout(&to, CONNECT_TIMEOUT)
    })?;
    listener.set_nonblocking(true)?;
    let accept = || listener.accept();
    let (server, _) = deadline.retry("a TCP connection", &listener, PollFlags::IN, accept)?;

    let data = payload(CHUNK_BYTES);
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut ends = [TcpEnd::new(client)?, TcpEnd::new(server)?];
    while !ends.iter().all(TcpEnd::is_done) {
        let mut progress = false;
        for end in &mut ends {
            progress |= end
                .transfer(&data, &mut buffer)
                .map_err(|error| Failure::job_on("the TCP connection broke", &error))?;
        }
        if !progress {
            let awaited: Vec<_> = ends.iter().filter_map(TcpEnd::awaits).collect();
            deadline.wait("the rest of a TCP stream", &awaited)?;
        }
    }
    if ends.iter().any(|end| end.received != TCP_BYTES) {
        let line = "a TCP stream ended with bytes missing";
        return Err(Failure::new(Exit::Failed, line));
    }
    let mebibytes = TCP_BYTES >> 20;
    let description = format!("{mebibytes} MiB each way through sockets, large segments (TSO)");
    Ok(Sent::new(kind, description, None))
}

/// One end of the TCP connection; sends and receives.
struct TcpEnd {
    stream: TcpStream,
    unsent: usize,
    received: usize,
    /// The other end has sent its FIN.
    is_ended: bool,
}

impl TcpEnd {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            unsent: TCP_BYTES,
            received: 0,
            is_ended: false,
        })
    }

    fn is_done(&self) -> bool {
        self.unsent == 0 && self.is_ended
    }

    /// Sends and receives once without blocking. Returns whether anything was transferred.
    fn transfer(&mut self, data: &[u8], buffer: &mut [u8]) -> io::Result<bool> {
        let mut progress = false;
        if self.unsent > 0 {
            let chunk = &data[..data.len().min(self.unsent)];
            if let Some(bytes) = unless_blocked(self.stream.write(chunk))? {
                progress = true;
                self.unsent -= bytes;
                if self.unsent == 0 {
                    self.stream.shutdown(Shutdown::Write)?;
                }
            }
        }
        if !self.is_ended
            && let Some(bytes) = unless_blocked(self.stream.read(buffer))?
        {
            progress = true;
            self.received += bytes;
            self.is_ended = bytes == 0;
        }
        Ok(progress)
    }

    fn awaits(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::OUT, self.unsent > 0);
        flags.set(PollFlags::IN, !self.is_ended);
        (!flags.is_empty()).then(|| (self.stream.as_fd(), flags))
    }
}

/// `None` if the operation would block.
fn unless_blocked(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
