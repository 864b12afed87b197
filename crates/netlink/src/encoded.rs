//! Changes that the caller has encoded: ready messages.
//!
//! A program in another language can encode an object itself and send the message over the socket of a
//! [`Netlink`](crate::Netlink). What remains to do here are the rare cases: a refusal, a batch, a fake kernel.

use std::io;

use crate::codec::{HEADER_BYTES, KernelError, messages};
use crate::error::{Cause, InvalidRequest, NetlinkError, Syscall, reject_if};
use crate::object::Object;
use crate::schema::attribute_path;
use crate::uapi::{NLM_F_ACK, NLM_F_REQUEST};
use crate::verb::Verb;

/// Checks that `message` is one request for `verb` on an `O`, and returns its body.
///
/// # Errors
/// [`InvalidRequest`] if it is not.
#[inline]
pub(crate) fn body_of<O: Object>(verb: Verb, message: &[u8]) -> Result<&[u8], InvalidRequest> {
    if let Some((header, body)) = message.split_first_chunk()
        && body.len() >= O::HEADER_BYTES
        && stated(header) == expected::<O>(verb, message.len(), flags_of(header) & NLM_F_ACK)
        && message.len().is_multiple_of(4)
    {
        return Ok(body);
    }
    Err(mismatch::<O>(verb, message))
}

/// The length, the type and the flags in the header of a message.
#[inline]
fn stated(header: &[u8; HEADER_BYTES]) -> (usize, u16, u16) {
    let [l0, l1, l2, l3, k0, k1, ..] = *header;
    let length = u32::from_ne_bytes([l0, l1, l2, l3]) as usize;
    (length, u16::from_ne_bytes([k0, k1]), flags_of(header))
}

#[inline]
fn flags_of(header: &[u8; HEADER_BYTES]) -> u16 {
    u16::from_ne_bytes([header[6], header[7]])
}

/// What the header of a request for `verb` on an `O` states, with or without `NLM_F_ACK`.
#[inline]
fn expected<O: Object>(verb: Verb, length: usize, ack: u16) -> (usize, u16, u16) {
    let flags = flags_without_ack::<O>(verb) | ack;
    (length, O::MESSAGES.of(verb), flags)
}

/// The flags of a request for `verb` on an `O` that need not be acknowledged.
#[inline]
pub(crate) fn flags_without_ack<O: Object>(verb: Verb) -> u16 {
    (O::netlink_flags(verb) | NLM_F_REQUEST) & !NLM_F_ACK
}

/// Why `message` is not a request for `verb` on an `O`.
#[cold]
fn mismatch<O: Object>(verb: Verb, message: &[u8]) -> InvalidRequest {
    let header = match message.split_first_chunk() {
        Some((header, body)) if body.len() >= O::HEADER_BYTES => header,
        _ => return InvalidRequest::new("the message is truncated"),
    };
    let (length, kind, flags) = stated(header);
    InvalidRequest::new(if length != message.len() || !length.is_multiple_of(4) {
        format!(
            "the message has {} bytes and states {length}",
            message.len()
        )
    } else if kind != O::MESSAGES.of(verb) {
        format!("message type {kind} does not fit the change")
    } else {
        format!("the flags {flags:#x} are not those of this change")
    })
}

/// The object in a request for `verb`.
///
/// # Errors
/// [`InvalidRequest`] if `message` is not such a request.
pub fn decode_change<O: Object>(verb: Verb, message: &[u8]) -> Result<O, InvalidRequest> {
    let body = body_of::<O>(verb, message)?;
    reject_if!(
        !O::DECODES_REQUESTS,
        "requests about this kind of object cannot be decoded"
    );
    match O::decode_request(body) {
        Ok(Some(object)) => Ok(object),
        Ok(None) => Err(InvalidRequest::new(
            "the message is about another kind of object",
        )),
        Err(malformed) => Err(InvalidRequest::new(malformed.to_string())),
    }
}

impl NetlinkError {
    /// Why the change in `message` failed, to which the kernel gave this reply, or whose reply could not be received.
    ///
    /// # Errors
    /// [`InvalidRequest`] if `message` is not a request for `verb` on an `O`.
    pub fn of_reply<O: Object>(
        verb: Verb,
        message: &[u8],
        reply: io::Result<&[u8]>,
    ) -> Result<Self, InvalidRequest> {
        let target = decode_change::<O>(verb, message)?.target();
        let cause = match reply {
            Ok(reply) => cause_in::<O>(verb, message, reply),
            Err(source) => Cause::System {
                call: Syscall::Receive,
                source,
            },
        };
        Ok(Self::new(verb.into(), target, cause))
    }
}

fn cause_in<O: Object>(verb: Verb, message: &[u8], reply: &[u8]) -> Cause {
    let decoded = match messages(reply).next() {
        Some(Ok(reply)) => KernelError::decode(reply),
        Some(Err(malformed)) => Err(malformed),
        None => Ok(None),
    };
    match decoded {
        Ok(Some(mut error)) => {
            let (header_bytes, specs) = O::request_layout(verb);
            error.path = attribute_path(&error, message, header_bytes, specs);
            Cause::Refused(error)
        }
        Ok(None) => Cause::NoReply,
        Err(malformed) => Cause::Malformed(malformed),
    }
}
