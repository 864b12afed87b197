//! A control connection: whole messages, each within a time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::net::sockopt;

use super::error::{MessageError, RemoteError};
use super::message::{Header, Reply, Request};
use super::{MESSAGE_TIME, REPLY_BYTES_MAX};
use crate::wait::wait;

/// Silence after which the kernel asks whether the other host is still there.
const KEEPALIVE_TIME: Duration = Duration::from_mins(1);

/// Bytes per read.
const PIECE_BYTES: usize = 4096;

/// Bytes that are discarded at most before a connection is closed.
const DISCARDED_BYTES_MAX: usize = 1 << 20;

/// A connection that does not block.
pub struct Connection {
    stream: TcpStream,
    /// Bytes that have come and belong to no message that was taken.
    come: Vec<u8>,
    is_over: bool,
}

impl Connection {
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // Requests and replies are small, and each waits for the other.
        stream.set_nodelay(true)?;
        // A host that is gone closes no connection.
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, KEEPALIVE_TIME)?;
        Ok(Self {
            stream,
            come: Vec::new(),
            is_over: false,
        })
    }

    pub fn local(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }

    /// Whether the other side has closed the connection. There may still be messages.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether a message has begun that is not complete.
    pub fn has_begun(&self) -> bool {
        !self.come.is_empty()
    }

    /// Reads what has come, up to a message with a payload of `max`.
    pub fn fill(&mut self, max: usize) -> io::Result<()> {
        while !self.is_over && self.come.len() < Header::BYTES + max {
            let mut piece = [0; PIECE_BYTES];
            match self.stream.read(&mut piece) {
                Ok(0) => self.is_over = true,
                Ok(read) => self.come.extend_from_slice(&piece[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // What came before the reset is still read.
                Err(error) if is_closed(&error) && !self.come.is_empty() => self.is_over = true,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The next message that has come completely, with a payload of at most `max` bytes.
    ///
    /// # Errors
    /// [`MessageError::TooLong`] as soon as the header has come.
    pub fn take(&mut self, max: usize) -> Result<Option<(Header, Vec<u8>)>, MessageError> {
        let Some(header) = self.come.first_chunk() else {
            return Ok(None);
        };
        let header = Header::parse(*header);
        let bytes = header.payload_bytes;
        let Some(payload) = usize::try_from(bytes).ok().filter(|&length| length <= max) else {
            return Err(MessageError::TooLong { bytes, max });
        };
        let end = Header::BYTES + payload;
        if self.come.len() < end {
            return Ok(None);
        }
        let payload = self.come[Header::BYTES..end].to_vec();
        self.come.drain(..end);
        Ok(Some((header, payload)))
    }

    /// Waits for the next message.
    ///
    /// # Errors
    /// [`RemoteError::Closed`]; [`RemoteError::Connection`] with `TimedOut` if it has not come after `time`.
    pub fn receive(
        &mut self,
        max: usize,
        time: Duration,
    ) -> Result<(Header, Vec<u8>), RemoteError> {
        let until = Instant::now() + time;
        loop {
            self.fill(max).map_err(RemoteError::Connection)?;
            if let Some(message) = self.take(max)? {
                return Ok(message);
            }
            if self.is_over {
                return Err(RemoteError::Closed);
            }
            self.wait(PollFlags::IN, until)
                .map_err(RemoteError::Connection)?;
        }
    }

    /// Sends a message within `time`.
    pub fn send(&mut self, mut bytes: &[u8], time: Duration) -> io::Result<()> {
        let until = Instant::now() + time;
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(PollFlags::OUT, until)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends nothing more, and discards what comes until the other side closes the connection, for at most `time`. A connection that
    /// is closed with unread bytes is reset, and the other side may then not read the last message.
    ///
    /// # Source
    /// RFC 9293, section 3.6.1; `tcp_close`, net/ipv4/tcp.c.
    pub fn close_after_reading(&mut self, time: Duration) {
        let until = Instant::now() + time;
        if self.stream.shutdown(Shutdown::Write).is_err() {
            return;
        }
        let mut discarded = 0;
        while discarded < DISCARDED_BYTES_MAX {
            let mut piece = [0; PIECE_BYTES];
            match self.stream.read(&mut piece) {
                Ok(0) => return,
                Ok(read) => discarded += read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.wait(PollFlags::IN, until).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    fn wait(&self, flags: PollFlags, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        wait(&mut [PollFd::new(&self.stream, flags)], left)?;
        Ok(())
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Whether the other side has closed the connection.
fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    )
}

/// Sends a request and waits for its reply.
pub fn ask(control: &mut Connection, request: &Request) -> Result<Reply, RemoteError> {
    let unsent = match control.send(&request.bytes(), MESSAGE_TIME) {
        Ok(()) => None,
        Err(error) if is_closed(&error) => Some(error),
        Err(error) => return Err(RemoteError::Connection(error)),
    };
    let (header, payload) = match (control.receive(REPLY_BYTES_MAX, MESSAGE_TIME), unsent) {
        // A server that refuses a client may close the connection without reading the request.
        (Ok(reply), _) => reply,
        (Err(_), Some(error)) => return Err(RemoteError::Connection(error)),
        (Err(error), None) => return Err(error),
    };
    match Reply::parse(header, &payload)? {
        Reply::Error(code, text) => Err(RemoteError::refused(code, &text)),
        reply => Ok(reply),
    }
}
