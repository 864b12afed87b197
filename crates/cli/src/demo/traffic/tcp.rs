//! TCP through the sockets of both kernels.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::PollFlags;

use super::{Did, Frames, text};
use crate::demo::hosts::{Family, Hosts};
use crate::demo::patience::Patience;
use crate::failure::{Exit, Failure};

/// Bytes each way.
const BYTES: usize = 4 << 20;
const CHUNK_BYTES: usize = 64 << 10;
const PORT: u16 = 47_001;
const CONNECT: Duration = Duration::from_secs(5);

/// Moves [`BYTES`] from each host to the other at the same time, over one connection.
///
/// Once both ends have read the other's end, every segment has been sent: an end is acknowledged
/// at once (`tcp_fin`, net/ipv4/tcp_input.c), all but the first with nothing left to come.
pub fn both_ways(hosts: &Hosts, family: Family, patience: &Patience<'_>) -> Result<Did, Failure> {
    let to = SocketAddr::new(hosts.right.ip(family), PORT);
    let listener = hosts
        .right
        .open("a TCP port on the right host", || TcpListener::bind(to))?;
    let near = hosts.left.open("a TCP connection to the right host", || {
        TcpStream::connect_timeout(&to, CONNECT)
    })?;
    listener.set_nonblocking(true)?;
    let accept = || listener.accept();
    let (far, _) = patience.when("a TCP connection", &listener, PollFlags::IN, accept)?;

    let payload = text(CHUNK_BYTES);
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut ends = [End::new(near)?, End::new(far)?];
    while !ends.iter().all(End::is_done) {
        let mut moved = false;
        for end in &mut ends {
            moved |= end
                .step(&payload, &mut buffer)
                .map_err(|error| Failure::job_on("the TCP connection broke", &error))?;
        }
        if !moved {
            let waiting: Vec<_> = ends.iter().filter_map(End::waits_for).collect();
            patience.wait("the rest of a TCP stream", &waiting)?;
        }
    }
    if ends.iter().any(|end| end.received != BYTES) {
        let line = "a TCP stream ended with bytes missing";
        return Err(Failure::new(Exit::Failed, line));
    }
    Ok(Did {
        what: format!(
            "{} MiB each way through sockets, segments joined (TSO)",
            BYTES >> 20
        ),
        packets: None,
        frames: Frames::default(),
    })
}

/// One end of the connection, which sends and receives.
struct End {
    stream: TcpStream,
    unsent: usize,
    received: usize,
    /// The other end has said that no more will come.
    ended: bool,
}

impl End {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            unsent: BYTES,
            received: 0,
            ended: false,
        })
    }

    fn is_done(&self) -> bool {
        self.unsent == 0 && self.ended
    }

    /// Sends and receives what can be at once; says whether that was anything.
    fn step(&mut self, payload: &[u8], buffer: &mut [u8]) -> io::Result<bool> {
        let mut moved = false;
        if self.unsent > 0 {
            let chunk = &payload[..payload.len().min(self.unsent)];
            if let Some(bytes) = at_once(self.stream.write(chunk))? {
                moved = true;
                self.unsent -= bytes;
                if self.unsent == 0 {
                    self.stream.shutdown(Shutdown::Write)?;
                }
            }
        }
        if !self.ended
            && let Some(bytes) = at_once(self.stream.read(buffer))?
        {
            moved = true;
            self.received += bytes;
            self.ended = bytes == 0;
        }
        Ok(moved)
    }

    fn waits_for(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::OUT, self.unsent > 0);
        flags.set(PollFlags::IN, !self.ended);
        (!flags.is_empty()).then(|| (self.stream.as_fd(), flags))
    }
}

/// `None` when it cannot be done now.
fn at_once(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
