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
pub(crate) fn body_of<O: Object>(verb: Verb, message: &[u8]) -> Result<&[u8], InvalidRequest> {
    let (header, body) = match message.split_first_chunk::<HEADER_BYTES>() {
        Some((header, body)) if body.len() >= O::HEADER_BYTES => (header, body),
        _ => return Err(InvalidRequest::new("the message is truncated")),
    };
    let [l0, l1, l2, l3, k0, k1, f0, f1, ..] = *header;
    let length = u32::from_ne_bytes([l0, l1, l2, l3]) as usize;
    reject_if!(
        length != message.len() || !length.is_multiple_of(4),
        "the message has {} bytes and states {length}",
        message.len()
    );
    let kind = u16::from_ne_bytes([k0, k1]);
    reject_if!(
        kind != O::MESSAGES.of(verb),
        "message type {kind} does not fit the change"
    );
    let flags = u16::from_ne_bytes([f0, f1]);
    reject_if!(
        flags | NLM_F_ACK != O::netlink_flags(verb) | NLM_F_REQUEST | NLM_F_ACK,
        "the flags {flags:#x} are not those of this change"
    );
    Ok(body)
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
        Ok(None) => Cause::Unanswered,
        Err(malformed) => Cause::Malformed(malformed),
    }
}
