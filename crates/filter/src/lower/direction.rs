//! Terms about the direction of a packet.

use crate::classic::Ancillary;
use crate::error::FilterErrorReason;
use crate::graph::condition::Condition;
use crate::graph::values::Width;
use crate::link_type::LinkType;
use crate::lower::lowering::{FieldBase, Lowered, Lowering};
use crate::options::FilterTarget;

const OUTGOING: u32 = libc::PACKET_OUTGOING as u32;

impl Lowering<'_> {
    /// `inbound` and `outbound`: from the bytes if the link type has a direction, otherwise from
    /// metadata.
    pub(super) fn direction(&mut self, is_outbound: bool) -> Lowered {
        let (width, offset) = match self.frame.link {
            LinkType::LinuxSll => (Width::Half, 0),
            LinkType::LinuxSll2 => (Width::Byte, 10),
            LinkType::Slip | LinkType::PppPppd => {
                return self.equal(FieldBase::Header, 0, Width::Byte, u32::from(is_outbound));
            }
            LinkType::Pflog => {
                let direction = if is_outbound { 2 } else { 1 };
                return self.equal(FieldBase::Header, 60, Width::Byte, direction);
            }
            LinkType::Ipnet => {
                let direction = if is_outbound { 1 } else { 2 };
                return self.equal(FieldBase::Header, 2, Width::Half, direction);
            }
            LinkType::Juniper(_) => {
                let flag = u32::from(!is_outbound);
                return self.masked(FieldBase::Header, 3, Width::Byte, 0x01, flag);
            }
            LinkType::DsaBroadcom => {
                let tag = if is_outbound { 0x20 } else { 0 };
                return self.masked(FieldBase::Header, 12, Width::Byte, 0xe0, tag);
            }
            LinkType::DsaMarvell => {
                let (mask, tag) = if is_outbound { (0xc0, 0x40) } else { (0x40, 0) };
                return self.masked(FieldBase::Header, 12, Width::Byte, mask, tag);
            }
            link => {
                let what = if is_outbound { "outbound" } else { "inbound" };
                match self.options.target {
                    FilterTarget::File => return Err(FilterErrorReason::NotLive { what, link }),
                    FilterTarget::Xdp | FilterTarget::TcIngress => {
                        return Ok(Condition::Constant(!is_outbound));
                    }
                    FilterTarget::TcEgress => return Ok(Condition::Constant(is_outbound)),
                    FilterTarget::Socket => {}
                }
                let kind = self.values.ancillary(Width::Half, Ancillary::PACKET_TYPE);
                let outgoing = self.values.equal(kind, OUTGOING);
                return Ok(if is_outbound {
                    outgoing
                } else {
                    outgoing.negate()
                });
            }
        };
        let outgoing = self.equal(FieldBase::Header, offset, width, OUTGOING)?;
        Ok(if is_outbound {
            outgoing
        } else {
            outgoing.negate()
        })
    }

    pub(super) fn interface_index(&mut self, index: u32) -> Lowered {
        let link = self.frame.link;
        if link == LinkType::LinuxSll2 {
            return self.equal(FieldBase::Header, 4, Width::Word, index);
        }
        if self.options.target == FilterTarget::File {
            let what = "ifindex";
            return Err(FilterErrorReason::NotLive { what, link });
        }
        let field = self
            .values
            .ancillary(Width::Word, Ancillary::INTERFACE_INDEX);
        Ok(self.values.equal(field, index))
    }
}
