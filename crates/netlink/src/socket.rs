//! A netlink socket: numbered requests, their replies, and notifications.

use std::io;
use std::os::fd::BorrowedFd;

use abi::namespace::{NamespaceError, NetNamespace};
use rustix::io::Errno;

use crate::codec::Malformed;
use crate::codec::{KernelError, Message, Request, messages};
use crate::error::{Cause, Syscall};
use crate::transport::{KernelSocket, Protocols, Transport, Wait};
use crate::uapi::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLMSG_DONE, NLMSG_ERROR, NLMSG_MIN_TYPE,
};
use crate::validate::check_attributes;

/// The sequence numbers of this crate. Those with bit 31 are for programs that send on the same socket.
pub(crate) const SEQUENCES: u32 = u32::MAX >> 1;

/// The kernel fills at most this much of a buffer in a dump.
const USUAL_DATAGRAM_BYTES: usize = 32 * 1024;
/// Upper limit for one object. A link with many virtual functions exceeds a usual datagram.
const MAX_DATAGRAM_BYTES: usize = 16 * 1024 * 1024;
/// Maximum number of messages to skip that belong to earlier, abandoned requests.
const MAX_STRAYS: usize = 65_536;

/// How often a list that changed meanwhile is requested.
const ATTEMPTS: usize = 4;

/// A list of objects.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Listing<T> {
    /// The objects, in the kernel's order.
    pub items: Vec<T>,
    /// Objects were added or deleted while the kernel made the list, in each of four attempts. Objects may
    /// be missing or listed twice.
    pub interrupted: bool,
}

impl<T> Default for Listing<T> {
    /// An empty, consistent list.
    fn default() -> Self {
        Self {
            items: Vec::new(),
            interrupted: false,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Socket {
    transport: Box<dyn Transport>,
    /// Sequence number of the last request.
    sequence: u32,
    buffer: Vec<u8>,
}

/// Whether a complete reply is consistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consistency {
    Consistent,
    /// The objects changed while they were listed: some may be missing, others listed twice.
    Interrupted,
    /// A part was lost because this buffer or that of the socket was too small.
    Truncated,
}

/// A received datagram.
enum Datagram {
    Complete(usize),
    /// It was longer than the buffer, which has been enlarged.
    Truncated,
}

impl Socket {
    /// Opens a socket for requests in the namespace of the calling thread. Default protocol: rtnetlink.
    pub(crate) fn open(protocol: Protocols) -> Result<Self, Cause> {
        KernelSocket::of(protocol).map(|socket| Self::over(Box::new(socket)))
    }

    /// Opens a socket that receives the notifications of `groups` (`RTNLGRP_…`).
    pub(crate) fn subscribe(groups: &[u32]) -> Result<Self, Cause> {
        KernelSocket::subscribe(groups).map(|socket| Self::over(Box::new(socket)))
    }

    pub(crate) fn over(transport: Box<dyn Transport>) -> Self {
        Self {
            transport,
            sequence: 0,
            buffer: vec![0; USUAL_DATAGRAM_BYTES],
        }
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.transport.descriptor()
    }

    pub(crate) fn reply_capacity(&self) -> usize {
        self.transport.reply_capacity()
    }

    /// As [`Transport::namespace`].
    pub(crate) fn namespace(&self) -> Option<Result<NetNamespace, NamespaceError>> {
        self.transport.namespace()
    }

    /// The sequence number of the next request, within [`SEQUENCES`].
    #[inline]
    pub(crate) fn next_sequence(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1) & SEQUENCES;
        self.sequence
    }

    /// The sequence number of the last request.
    pub(crate) fn last_sequence(&self) -> u32 {
        self.sequence
    }

    pub(crate) fn send(&mut self, messages: &[u8]) -> Result<(), Cause> {
        self.transport.send(messages).map_err(failed(Syscall::Send))
    }

    /// Sends `request` and calls `visit` with each object of the reply.
    ///
    /// Reads the reply to its end even if `visit` fails, so that the next request starts clean.
    pub(crate) fn exchange(
        &mut self,
        request: &mut Request,
        mut visit: impl FnMut(Message<'_>) -> Result<(), Malformed>,
    ) -> Result<Consistency, Cause> {
        // Requests about objects have been checked, with the names of their attributes.
        check_attributes(request, (0, &[])).map_err(Cause::Invalid)?;
        let sequence = self.next_sequence();
        request.finish(sequence);
        self.send(request.bytes())?;
        let is_dump = request.flags() & NLM_F_DUMP == NLM_F_DUMP;
        let ends_with_object = !is_dump && request.flags() & NLM_F_ACK == 0;

        let mut consistency = Consistency::Consistent;
        let mut visited = Ok(());
        let mut strays = 0;
        while strays < MAX_STRAYS {
            let bytes = match self.datagram(Wait::Answer) {
                Ok(Datagram::Complete(bytes)) => bytes,
                // The end of the reply is still to come: the last part of the list or the acknowledgement.
                Ok(Datagram::Truncated) if !ends_with_object => {
                    consistency = Consistency::Truncated;
                    strays += 1;
                    continue;
                }
                Ok(Datagram::Truncated) => return Ok(Consistency::Truncated),
                Err(error) if is_dump && is(&error, Errno::NOBUFS) => {
                    consistency = Consistency::Truncated;
                    strays += 1;
                    continue;
                }
                Err(error) => return Err(failed(Syscall::Receive)(error)),
            };
            for message in messages(&self.buffer[..bytes]) {
                let message = message?;
                if message.sequence != sequence {
                    strays += 1;
                    continue;
                }
                if message.flags & NLM_F_DUMP_INTR != 0 && consistency == Consistency::Consistent {
                    consistency = Consistency::Interrupted;
                }
                match message.kind {
                    // Objects first: they are by far the most frequent.
                    NLMSG_MIN_TYPE.. => {
                        if visited.is_ok() {
                            visited = visit(message);
                        }
                        if ends_with_object {
                            return visited.map(|()| consistency).map_err(Cause::Malformed);
                        }
                    }
                    NLMSG_ERROR | NLMSG_DONE => {
                        return match KernelError::decode(message)? {
                            Some(refusal) => Err(Cause::Refused(refusal)),
                            None => visited.map(|()| consistency).map_err(Cause::Malformed),
                        };
                    }
                    // NLMSG_NOOP, NLMSG_OVERRUN and reserved types.
                    _ => {}
                }
            }
        }
        Err(Cause::NoReply)
    }

    /// Sends a change, whose only reply is an acknowledgement.
    pub(crate) fn change(&mut self, request: &mut Request) -> Result<(), Cause> {
        self.exchange(request, |_| Ok(())).map(|_| ())
    }

    /// Requests one object, or creates one that the kernel echoes.
    ///
    /// Repeats the request if the object is too long for the buffer, unless the request changes something.
    pub(crate) fn query<T>(
        &mut self,
        request: &mut Request,
        decode: impl Fn(Message<'_>) -> Result<Option<T>, Malformed>,
    ) -> Result<T, Cause> {
        let mut reply = None;
        for _ in 0..ATTEMPTS {
            let consistency = self.exchange(request, |message| {
                reply = decode(message)?.or(reply.take());
                Ok(())
            })?;
            if consistency == Consistency::Consistent || request.changes() {
                break;
            }
        }
        reply.ok_or(Cause::NoReply)
    }

    /// Requests a list, which `decode` collects. Repeats the request if the list changed meanwhile.
    pub(crate) fn list<T>(
        &mut self,
        request: &mut Request,
        mut decode: impl FnMut(Message<'_>, &mut Vec<T>) -> Result<(), Malformed>,
    ) -> Result<Listing<T>, Cause> {
        let mut items = Vec::new();
        let mut truncated = false;
        for _ in 0..ATTEMPTS {
            items.clear();
            let consistency = self.exchange(request, |message| decode(message, &mut items))?;
            truncated = consistency == Consistency::Truncated;
            if consistency == Consistency::Consistent {
                return Ok(Listing {
                    items,
                    interrupted: false,
                });
            }
        }
        if truncated {
            return Err(Cause::NoReply);
        }
        Ok(Listing {
            items,
            interrupted: true,
        })
    }

    /// Receives the next datagram and calls `visit` with its messages. Returns `Ok(false)` if none is available.
    ///
    /// # Errors
    /// `Cause::System` with ENOBUFS if datagrams were lost or one was truncated.
    pub(crate) fn receive(
        &mut self,
        wait: Wait,
        mut visit: impl FnMut(Message<'_>) -> Result<(), Malformed>,
    ) -> Result<bool, Cause> {
        let bytes = match self.datagram(wait) {
            Ok(Datagram::Complete(bytes)) => bytes,
            Ok(Datagram::Truncated) => return Err(failed(Syscall::Receive)(Errno::NOBUFS.into())),
            Err(error) if wait == Wait::No && is(&error, Errno::AGAIN) => return Ok(false),
            Err(error) => return Err(failed(Syscall::Receive)(error)),
        };
        for message in messages(&self.buffer[..bytes]) {
            visit(message?)?;
        }
        Ok(true)
    }

    fn datagram(&mut self, wait: Wait) -> io::Result<Datagram> {
        let bytes = match self.transport.receive(&mut self.buffer, wait) {
            // The kernel replied before `send` returned. Only an overrun loses the reply: after another error it is there.
            Err(error) if wait == Wait::Answer && !is(&error, Errno::NOBUFS) => (self.transport)
                .receive(&mut self.buffer, Wait::No)
                .map_err(|_| error)?,
            received => received?,
        };
        if bytes <= self.buffer.len() {
            return Ok(Datagram::Complete(bytes));
        }
        if bytes > MAX_DATAGRAM_BYTES {
            return Err(Errno::MSGSIZE.into());
        }
        self.buffer.resize(bytes, 0);
        Ok(Datagram::Truncated)
    }
}

fn failed(call: Syscall) -> impl FnOnce(io::Error) -> Cause {
    move |source| Cause::System { call, source }
}

fn is(error: &io::Error, errno: Errno) -> bool {
    Errno::from_io_error(error) == Some(errno)
}
