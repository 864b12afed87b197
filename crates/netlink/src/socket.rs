//! A conversation with a kernel: numbered requests, their answers, notifications.

use std::io;
use std::os::fd::BorrowedFd;

use abi::namespace::{NamespaceError, NetNamespace};
use rustix::io::Errno;

use crate::codec::Malformed;
use crate::codec::{Message, Refusal, Request, messages};
use crate::error::{Cause, Step};
use crate::transport::{KernelSocket, Protocols, Transport, Wait};
use crate::uapi::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLMSG_DONE, NLMSG_ERROR, NLMSG_MIN_TYPE,
};

/// The kernel fills no more than this in a dump, whatever it is offered.
const USUAL_DATAGRAM_BYTES: usize = 32 * 1024;
/// One object may be longer than that (a link with many virtual functions), but not without end.
const MAX_DATAGRAM_BYTES: usize = 16 * 1024 * 1024;
/// Messages of earlier, abandoned requests that are passed over before giving up.
const MAX_STRAYS: usize = 65_536;
/// Notifications take 832 bytes each of the buffer, so this holds some 5,000 unread ones.
const NOTIFICATION_BUFFER_BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Socket {
    transport: Box<dyn Transport>,
    /// Number of the last request.
    sequence: u32,
    buffer: Vec<u8>,
}

/// What became of an answer that was read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consistency {
    Whole,
    /// The objects changed while they were listed: some may be missing and others there twice.
    Interrupted,
    /// A part was lost, for want of room here or in the socket.
    Cut,
}

/// A datagram, or what stood in its place.
enum Datagram {
    Whole(usize),
    /// It was longer than the buffer, which has grown since.
    Cut,
}

impl Socket {
    /// Opens a socket for requests, in the namespace of the calling thread. Without a protocol it
    /// is that of links, addresses and routes.
    pub(crate) fn open(protocol: Protocols) -> Result<Self, Cause> {
        KernelSocket::of(protocol).map(|socket| Self::over(Box::new(socket)))
    }

    /// Opens a socket that receives the notifications of `groups` (`RTNLGRP_…`).
    pub(crate) fn subscribe(groups: &[u32]) -> Result<Self, Cause> {
        KernelSocket::subscribe(groups, Some(NOTIFICATION_BUFFER_BYTES))
            .map(|socket| Self::over(Box::new(socket)))
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

    /// The number for the next request.
    pub(crate) fn number(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1);
        self.sequence
    }

    /// The number that was given last.
    pub(crate) fn last_number(&self) -> u32 {
        self.sequence
    }

    pub(crate) fn send(&mut self, messages: &[u8]) -> Result<(), Cause> {
        self.transport.send(messages).map_err(failed(Step::Send))
    }

    /// Sends `request`, hands each object of the answer to `take`, and returns after the last.
    ///
    /// The answer is read to its end even if `take` fails, so that the next request starts clean.
    pub(crate) fn exchange(
        &mut self,
        request: &mut Request,
        mut take: impl FnMut(Message<'_>) -> Result<(), Malformed>,
    ) -> Result<Consistency, Cause> {
        let sequence = self.number();
        request.finish(sequence);
        self.send(request.bytes())?;
        let is_dump = request.flags() & NLM_F_DUMP == NLM_F_DUMP;
        let ends_with_object = !is_dump && request.flags() & NLM_F_ACK == 0;

        let mut consistency = Consistency::Whole;
        let mut taken = Ok(());
        let mut strays = 0;
        while strays < MAX_STRAYS {
            let bytes = match self.datagram(Wait::Answer) {
                Ok(Datagram::Whole(bytes)) => bytes,
                // What ends the answer is still to come: the last part of a list, which goes on whatever became of
                // the others, or the acknowledgement.
                Ok(Datagram::Cut) if !ends_with_object => {
                    consistency = Consistency::Cut;
                    strays += 1;
                    continue;
                }
                Ok(Datagram::Cut) => return Ok(Consistency::Cut),
                Err(error) if is_dump && is(&error, Errno::NOBUFS) => {
                    consistency = Consistency::Cut;
                    strays += 1;
                    continue;
                }
                Err(error) => return Err(failed(Step::Receive)(error)),
            };
            for message in messages(&self.buffer[..bytes]) {
                let message = message?;
                if message.sequence != sequence {
                    strays += 1;
                    continue;
                }
                if message.flags & NLM_F_DUMP_INTR != 0 && consistency == Consistency::Whole {
                    consistency = Consistency::Interrupted;
                }
                match message.kind {
                    // Objects first: there are very many of them.
                    NLMSG_MIN_TYPE.. => {
                        if taken.is_ok() {
                            taken = take(message);
                        }
                        if ends_with_object {
                            return taken.map(|()| consistency).map_err(Cause::Malformed);
                        }
                    }
                    NLMSG_ERROR | NLMSG_DONE => {
                        return match Refusal::parse(message)? {
                            Some(refusal) => Err(Cause::Refused(refusal)),
                            None => taken.map(|()| consistency).map_err(Cause::Malformed),
                        };
                    }
                    // NLMSG_NOOP, NLMSG_OVERRUN and what is reserved.
                    _ => {}
                }
            }
        }
        Err(Cause::Unanswered)
    }

    /// Reads the next datagram and hands its messages to `take`; `Ok(false)` when there is none now.
    ///
    /// # Errors
    /// `Cause::System` with ENOBUFS when datagrams were lost; so it is, too, when one was cut.
    pub(crate) fn receive(
        &mut self,
        wait: Wait,
        mut take: impl FnMut(Message<'_>) -> Result<(), Malformed>,
    ) -> Result<bool, Cause> {
        let bytes = match self.datagram(wait) {
            Ok(Datagram::Whole(bytes)) => bytes,
            Ok(Datagram::Cut) => return Err(failed(Step::Receive)(Errno::NOBUFS.into())),
            Err(error) if wait == Wait::No && is(&error, Errno::AGAIN) => return Ok(false),
            Err(error) => return Err(failed(Step::Receive)(error)),
        };
        for message in messages(&self.buffer[..bytes]) {
            take(message?)?;
        }
        Ok(true)
    }

    fn datagram(&mut self, wait: Wait) -> io::Result<Datagram> {
        let bytes = self.transport.receive(&mut self.buffer, wait)?;
        if bytes <= self.buffer.len() {
            return Ok(Datagram::Whole(bytes));
        }
        if bytes > MAX_DATAGRAM_BYTES {
            return Err(Errno::MSGSIZE.into());
        }
        self.buffer.resize(bytes, 0);
        Ok(Datagram::Cut)
    }
}

fn failed(step: Step) -> impl FnOnce(io::Error) -> Cause {
    move |source| Cause::System { step, source }
}

fn is(error: &io::Error, errno: Errno) -> bool {
    Errno::from_io_error(error) == Some(errno)
}
