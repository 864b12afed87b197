use std::{fmt, io};

use super::malformed::split;
use super::message::HEADER_BYTES;
use super::{Malformed, Message, attributes};
use crate::uapi::{
    NLM_F_ACK_TLVS, NLM_F_CAPPED, NLMSG_DONE, NLMSGERR_ATTR_MISS_NEST, NLMSGERR_ATTR_MISS_TYPE,
    NLMSGERR_ATTR_MSG, NLMSGERR_ATTR_OFFS,
};

/// The kernel's no to a request, with the reason it gave.
#[doc(alias = "nlmsgerr")]
#[derive(Debug)]
#[non_exhaustive]
pub struct Refusal {
    /// The error number.
    pub source: io::Error,
    /// The kernel's own words (extended acknowledgement), where it has any.
    pub text: Option<Box<str>>,
    /// Where in the request the attribute stands that it did not like, in bytes.
    pub offset: Option<u32>,
    /// Type of the attribute it misses.
    pub missing: Option<u32>,
    /// Where in the request the attribute stands in which it misses one, in bytes; `None` for the top.
    pub missing_in: Option<u32>,
    /// The attribute it points to or misses, by its names: `linkinfo.data.vlan-id`.
    pub path: Option<Box<str>>,
}

impl Refusal {
    /// Reads an `NLMSG_ERROR` or the `NLMSG_DONE` at the end of a dump; `None` when it says that all
    /// is well.
    ///
    /// # Errors
    /// [`Malformed`] when the message ends too early.
    /// # Source
    /// `netlink_ack` and `netlink_dump_done`, `net/netlink/af_netlink.c`.
    pub fn parse(message: Message<'_>) -> Result<Option<Self>, Malformed> {
        let (code, rest) = split("error code", 0, message.body)?;
        let code = i32::from_ne_bytes(*code);
        if code == 0 {
            return Ok(None);
        }
        let mut refusal = Self {
            source: io::Error::from_raw_os_error(code.wrapping_neg()),
            text: None,
            offset: None,
            missing: None,
            missing_in: None,
            path: None,
        };
        if message.flags & NLM_F_ACK_TLVS != 0 {
            refusal.read_attributes(message, rest)?;
        }
        Ok(Some(refusal))
    }

    fn read_attributes(&mut self, message: Message<'_>, rest: &[u8]) -> Result<(), Malformed> {
        let echoed = if message.kind == NLMSG_DONE {
            0
        } else {
            echoed_bytes(message, rest)?
        };
        let malformed = Malformed {
            layer: "refused request",
            at: 4,
            need: echoed,
            have: rest.len(),
        };
        let rest = rest.get(echoed..).ok_or(malformed)?;
        for attribute in attributes(rest, 4 + echoed) {
            let attribute = attribute?;
            match attribute.kind {
                NLMSGERR_ATTR_MSG => self.text = Some(attribute.text().into()),
                NLMSGERR_ATTR_OFFS => self.offset = Some(attribute.u32()?),
                NLMSGERR_ATTR_MISS_TYPE => self.missing = Some(attribute.u32()?),
                NLMSGERR_ATTR_MISS_NEST => self.missing_in = Some(attribute.u32()?),
                _ => {}
            }
        }
        Ok(())
    }
}

/// How much of the refused request stands before the attributes: its header, or all of it.
fn echoed_bytes(message: Message<'_>, rest: &[u8]) -> Result<usize, Malformed> {
    let (header, _) = split::<HEADER_BYTES>("refused request", 4, rest)?;
    if message.flags & NLM_F_CAPPED != 0 {
        return Ok(HEADER_BYTES);
    }
    let [l0, l1, l2, l3, ..] = *header;
    let length = u32::from_ne_bytes([l0, l1, l2, l3]) as usize;
    Ok(length.saturating_add(3) & !3)
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => write!(f, "the kernel refused: {text}"),
            None => f.write_str("the kernel refused"),
        }
    }
}

impl std::error::Error for Refusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
