//! The listening socket of a server.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

/// Accepts clients, without waiting.
#[derive(Debug)]
pub struct Listener(TcpListener);

/// A client that has connected, and has not said anything yet.
#[derive(Debug)]
pub struct Client {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    pub(super) local: SocketAddr,
}

impl Client {
    /// Its address.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }
}

impl Listener {
    /// Listens on `address`. Port 0 selects a free port.
    ///
    /// # Errors
    /// As bind(2) and listen(2).
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self(listener))
    }

    /// Where it listens.
    ///
    /// # Errors
    /// As getsockname(2).
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// The next client that waits; `None` if none does, or if it has gone again.
    ///
    /// # Errors
    /// As accept(2), for example EMFILE.
    pub fn accept(&self) -> io::Result<Option<Client>> {
        let gone = [
            ErrorKind::WouldBlock,
            ErrorKind::Interrupted,
            ErrorKind::ConnectionAborted,
        ];
        let (stream, peer) = match self.0.accept() {
            Ok(accepted) => accepted,
            Err(error) if gone.contains(&error.kind()) => return Ok(None),
            Err(error) => return Err(error),
        };
        let local = stream.local_addr()?;
        Ok(Some(Client {
            stream,
            peer,
            local,
        }))
    }
}

/// Readable when a client waits.
impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
