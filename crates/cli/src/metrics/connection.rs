//! One client: its request is read and answered, and its end awaited.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::request::{self, MOST_BYTES, Request};

/// How long a client may take in all.
const TIME: Duration = Duration::from_secs(5);

/// Bytes read at once.
const PIECE: usize = 2 << 10;

/// Bytes that are read and thrown away after the answer at most: a connection that is closed over
/// unread bytes is reset, and the answer may be lost with it.
const MOST_IGNORED: usize = 64 << 10;

/// A client, and how far it got.
pub struct Connection {
    stream: TcpStream,
    deadline: Instant,
    state: State,
}

enum State {
    /// The request so far.
    Asking(Vec<u8>),
    /// The answer, and how much of it is written.
    Answering(Vec<u8>, usize),
    /// Bytes ignored since.
    Ending(usize),
}

impl Connection {
    /// A client that has just come.
    pub fn new(stream: TcpStream, now: Instant) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            deadline: now + TIME,
            state: State::Asking(Vec::new()),
        })
    }

    /// When its time is over.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// What it waits for.
    pub fn wanted(&self) -> (BorrowedFd<'_>, PollFlags) {
        let flags = match self.state {
            State::Answering(..) => PollFlags::OUT,
            State::Asking(_) | State::Ending(_) => PollFlags::IN,
        };
        (self.stream.as_fd(), flags)
    }

    /// Does what can be done without waiting; tells whether there is more to do later.
    pub fn advance(&mut self, counters: &dyn Fn() -> Option<String>) -> bool {
        loop {
            match self.step(counters) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }

    /// One read or write; tells whether another is to follow.
    fn step(&mut self, counters: &dyn Fn() -> Option<String>) -> io::Result<bool> {
        match &mut self.state {
            State::Asking(bytes) => {
                let mut piece = [0; PIECE];
                let room = PIECE.min(MOST_BYTES - bytes.len());
                let read = self.stream.read(&mut piece[..room])?;
                if read == 0 && bytes.is_empty() {
                    return Ok(false);
                }
                bytes.extend(&piece[..read]);
                let cut_off = (read == 0).then_some(Request::Garbage);
                if let Some(request) = request::read(bytes).or(cut_off) {
                    self.state = State::Answering(request::answer(request, counters), 0);
                }
            }
            State::Answering(answer, written) => {
                *written += self.stream.write(&answer[*written..])?;
                if *written == answer.len() {
                    self.stream.shutdown(Shutdown::Write)?;
                    self.state = State::Ending(0);
                }
            }
            State::Ending(ignored) => {
                let read = self.stream.read(&mut [0; PIECE])?;
                *ignored += read;
                return Ok(read > 0 && *ignored < MOST_IGNORED);
            }
        }
        Ok(true)
    }
}
