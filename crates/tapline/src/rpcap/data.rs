//! The client's end of the channel through which packets come.

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use super::error::MessageError;
use super::packet::PacketMessage;

/// Bytes of a stream that are held: those that are read at once, behind a part of the largest packet.
const BUFFER_BYTES: usize = 640 << 10;

/// Asked for as the receive buffer of a socket for datagrams, which nothing slows down. The kernel gives less without
/// privileges (`net.core.rmem_max`).
const DATAGRAM_BUFFER_BYTES: usize = 8 << 20;

/// The longest datagram.
const DATAGRAM_BYTES: usize = 65_535;

/// The channel of packets.
pub enum DataChannel {
    /// A stream of messages.
    Stream {
        stream: TcpStream,
        /// What has come and was not taken is between `begin` and `end`.
        come: Vec<u8>,
        begin: usize,
        end: usize,
    },
    /// A message in each datagram, from this host.
    Datagrams {
        socket: UdpSocket,
        from: IpAddr,
        come: Vec<u8>,
        /// Length of the datagram that waits in `come`; 0 if none does.
        length: usize,
    },
}

/// Result of reading from a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// Data arrived.
    Data,
    /// No data is available.
    Nothing,
    /// The server has closed the channel.
    End,
}

impl DataChannel {
    /// Connects to the server's port.
    pub fn connect(to: SocketAddr, time: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&to, time)?;
        stream.set_nonblocking(true)?;
        Ok(Self::Stream {
            stream,
            come: vec![0; BUFFER_BYTES],
            begin: 0,
            end: 0,
        })
    }

    /// A socket at this address for the datagrams of the server `from`, and its port.
    pub fn bind(local: IpAddr, from: IpAddr) -> io::Result<(Self, u16)> {
        let socket = UdpSocket::bind((local, 0))?;
        socket.set_nonblocking(true)?;
        // The limit of the kernel applies, and what is lost is counted.
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&socket, DATAGRAM_BUFFER_BYTES);
        let port = socket.local_addr()?.port();
        let channel = Self::Datagrams {
            socket,
            from,
            come: vec![0; DATAGRAM_BYTES],
            length: 0,
        };
        Ok((channel, port))
    }

    /// Reads what has come, without waiting. All packets must have been taken.
    pub fn fill(&mut self) -> io::Result<ReadOutcome> {
        match self {
            Self::Stream {
                stream,
                come,
                begin,
                end,
            } => {
                come.copy_within(*begin..*end, 0);
                *end -= std::mem::take(begin);
                match stream.read(&mut come[*end..]) {
                    Ok(0) => Ok(ReadOutcome::End),
                    Ok(read) => {
                        *end += read;
                        Ok(ReadOutcome::Data)
                    }
                    Err(error) => nothing(error),
                }
            }
            Self::Datagrams {
                socket,
                from,
                come,
                length,
            } => match socket.recv_from(come) {
                Ok((read, sender)) => {
                    // Others may send to the port, too.
                    *length = if sender.ip() == *from { read } else { 0 };
                    Ok(ReadOutcome::Data)
                }
                Err(error) => nothing(error),
            },
        }
    }

    /// The next packet that has come.
    ///
    /// # Errors
    /// The bytes are no packet. After that, a stream has no more packets.
    pub fn take(&mut self, max_bytes: usize) -> Result<Option<PacketMessage<'_>>, MessageError> {
        match self {
            Self::Stream {
                come, begin, end, ..
            } => {
                let bytes = &come[*begin..*end];
                let Some((packet, rest)) = PacketMessage::split(bytes, max_bytes)? else {
                    return Ok(None);
                };
                *begin += bytes.len() - rest.len();
                Ok(Some(packet))
            }
            Self::Datagrams { come, length, .. } => {
                let bytes = &come[..std::mem::take(length)];
                if bytes.is_empty() {
                    return Ok(None);
                }
                match PacketMessage::split(bytes, max_bytes)? {
                    Some((packet, [])) => Ok(Some(packet)),
                    _ => Err(MessageError::Packet),
                }
            }
        }
    }

    /// Whether a part of a packet has come that can no longer be completed.
    pub fn has_part(&self) -> bool {
        matches!(self, Self::Stream { begin, end, .. } if begin < end)
    }

    /// Whether a message that is no packet damages all that follow.
    pub fn is_stream(&self) -> bool {
        matches!(self, Self::Stream { .. })
    }
}

fn nothing(error: io::Error) -> io::Result<ReadOutcome> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(ReadOutcome::Nothing),
        // The server closes the channel although the client has sent nothing; a reset is an end, too.
        ErrorKind::ConnectionReset => Ok(ReadOutcome::End),
        _ => Err(error),
    }
}

impl AsFd for DataChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Stream { stream, .. } => stream.as_fd(),
            Self::Datagrams { socket, .. } => socket.as_fd(),
        }
    }
}
