//! Errors of the kernel with extended acknowledgements.

use std::{fmt, io};

use super::reader::HEADER_BYTES;
use super::reader::split;
use super::{Malformed, Message, attributes};
use crate::uapi::{
    NLM_F_ACK_TLVS, NLM_F_CAPPED, NLMSG_DONE, NLMSGERR_ATTR_MISS_NEST, NLMSGERR_ATTR_MISS_TYPE,
    NLMSGERR_ATTR_MSG, NLMSGERR_ATTR_OFFS,
};

/// An error reply of the kernel with its extended acknowledgement (ext-ack).
#[doc(alias = "nlmsgerr")]
#[derive(Debug)]
#[non_exhaustive]
pub struct KernelError {
    /// The error number.
    pub source: io::Error,
    /// The kernel's message, if it sent one.
    pub message: Option<Box<str>>,
    /// Offset of the rejected attribute in the request, in bytes.
    pub offset: Option<u32>,
    /// Type of a missing attribute.
    pub missing: Option<u32>,
    /// Offset of the nest with the missing attribute, in bytes; `None` for the top level.
    pub missing_in: Option<u32>,
    /// Path of the rejected or missing attribute: `linkinfo.data.vlan-id`.
    pub path: Option<Box<str>>,
}

impl KernelError {
    /// Decodes an `NLMSG_ERROR` or the `NLMSG_DONE` at the end of a list; `None` on success.
    ///
    /// # Errors
    /// [`Malformed`] if the message is truncated.
    /// # Source
    /// `netlink_ack` and `netlink_dump_done`, `net/netlink/af_netlink.c`.
    pub fn decode(message: Message<'_>) -> Result<Option<Self>, Malformed> {
        let (code, rest) = split("error code", 0, message.body)?;
        let code = i32::from_ne_bytes(*code);
        if code == 0 {
            return Ok(None);
        }
        let mut refusal = Self {
            source: io::Error::from_raw_os_error(code.wrapping_neg()),
            message: None,
            offset: None,
            missing: None,
            missing_in: None,
            path: None,
        };
        if message.flags & NLM_F_ACK_TLVS != 0 {
            refusal.attributes(message, rest)?;
        }
        Ok(Some(refusal))
    }

    fn attributes(&mut self, message: Message<'_>, rest: &[u8]) -> Result<(), Malformed> {
        let echoed = if message.kind == NLMSG_DONE {
            0
        } else {
            echoed_bytes(message, rest)?
        };
        let malformed = Malformed {
            layer: "rejected request",
            at: 4,
            need: echoed,
            have: rest.len(),
        };
        let rest = rest.get(echoed..).ok_or(malformed)?;
        for attribute in attributes(rest, 4 + echoed) {
            let attribute = attribute?;
            match attribute.kind {
                NLMSGERR_ATTR_MSG => self.message = Some(attribute.text().into()),
                NLMSGERR_ATTR_OFFS => self.offset = Some(attribute.u32()?),
                NLMSGERR_ATTR_MISS_TYPE => self.missing = Some(attribute.u32()?),
                NLMSGERR_ATTR_MISS_NEST => self.missing_in = Some(attribute.u32()?),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Length of the echoed request in front of the attributes: its header or all of it.
fn echoed_bytes(message: Message<'_>, rest: &[u8]) -> Result<usize, Malformed> {
    let (header, _) = split::<HEADER_BYTES>("rejected request", 4, rest)?;
    if message.flags & NLM_F_CAPPED != 0 {
        return Ok(HEADER_BYTES);
    }
    let [l0, l1, l2, l3, ..] = *header;
    let length = u32::from_ne_bytes([l0, l1, l2, l3]) as usize;
    Ok(length.saturating_add(3) & !3)
}

impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.message {
            Some(text) => write!(f, "the kernel refused: {text}"),
            None => f.write_str("the kernel refused"),
        }
    }
}

impl std::error::Error for KernelError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
