use super::lowering::{Lowered, Lowering, Place, at_most};
use super::numbers::{APPLETALK, MAX_LENGTH, SAP_IP, SAP_IPX, SAP_ISO, SAP_NETBEUI};
use crate::error::Reason;
use crate::graph::condition::Condition;
use crate::graph::values::Width;
use crate::language::tree::Llc;

impl Lowering<'_> {
    /// The LLC header is a SNAP header with these numbers.
    pub(super) fn snap(&mut self, organisation: u32, number: u32) -> Lowered {
        let [_, high, middle, low] = organisation.to_be_bytes();
        let [_, _, first, last] = number.to_be_bytes();
        let header = [0xaa, 0xaa, 0x03, high, middle, low, first, last];
        self.bytes(Place::Payload, 0, &header)
    }

    /// As [`Self::link_protocol`], for frames that always have an LLC header.
    pub(super) fn llc_protocol(&mut self, number: u32) -> Lowered {
        match number {
            SAP_ISO | SAP_IP | SAP_NETBEUI => {
                self.equal(Place::Payload, 0, Width::Half, number << 8 | number)
            }
            SAP_IPX => self.equal(Place::Payload, 0, Width::Byte, SAP_IPX),
            APPLETALK => self.snap(0x08_0007, APPLETALK),
            0..=MAX_LENGTH => {
                at_most("LLC DSAP", number, 255)?;
                self.equal(Place::Payload, 0, Width::Byte, number)
            }
            _ => {
                at_most("EtherType", number, 0xffff)?;
                self.equal(Place::Payload, 6, Width::Half, number)
            }
        }
    }

    /// The frame has an LLC header, of this kind.
    pub(super) fn llc(&mut self, kind: Llc) -> Lowered {
        let is_llc = self.has_llc()?;
        let kind = match kind {
            Llc::Any => return Ok(is_llc),
            Llc::Information => self.any_bit(Place::Payload, 2, 0x01)?.negate(),
            Llc::Supervisory(None) => self.masked(Place::Payload, 2, Width::Byte, 0x03, 0x01)?,
            Llc::Unnumbered(None) => self.masked(Place::Payload, 2, Width::Byte, 0x03, 0x03)?,
            Llc::Supervisory(Some(command)) => {
                self.masked(Place::Payload, 2, Width::Byte, 0x0f, u32::from(command))?
            }
            Llc::Unnumbered(Some(command)) => {
                self.masked(Place::Payload, 2, Width::Byte, 0xef, u32::from(command))?
            }
        };
        Ok(Condition::all([is_llc, kind]))
    }

    fn has_llc(&mut self) -> Lowered {
        if self.frame.link.is_ethernet() {
            let is_802_3 = self.is_802_3()?;
            let is_raw = self.equal(Place::Payload, 0, Width::Half, 0xffff)?;
            return Ok(Condition::all([is_802_3, is_raw.negate()]));
        }
        if self.frame.link.is_wlan() {
            return self.is_data_frame();
        }
        Err(Reason::NotSupported {
            what: "llc",
            link: self.frame.link,
        })
    }
}
