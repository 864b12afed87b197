//! A control connection: whole messages, each within a time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
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
        // A host that is gone says nothing.
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

/// Sends a request and waits for its reply.
pub fn ask(control: &mut Connection, request: &Request) -> Result<Reply, RemoteError> {
    (control.send(&request.bytes(), MESSAGE_TIME)).map_err(RemoteError::Connection)?;
    let (header, payload) = control.receive(REPLY_BYTES_MAX, MESSAGE_TIME)?;
    match Reply::parse(header, &payload)? {
        Reply::Error(code, text) => Err(RemoteError::refused(code, &text)),
        reply => Ok(reply),
    }
}
