use super::lowering::{Lowered, Lowering, Place};
use crate::LinkType;
use crate::error::Reason;
use crate::graph::condition::Condition;
use crate::graph::values::Width;
use crate::options::At;

/// `PACKET_OUTGOING`, include/uapi/linux/if_packet.h.
const OUTGOING: u32 = 4;
/// Offsets of ancillary values (`SKF_AD_OFF`, include/uapi/linux/filter.h).
const PACKET_TYPE: u32 = (-0x1000_i32).cast_unsigned() + 4;
const INTERFACE_INDEX: u32 = (-0x1000_i32).cast_unsigned() + 8;

impl Lowering<'_> {
    /// `inbound` and `outbound`: from the bytes where the link type tells, else from the socket.
    pub(super) fn direction(&mut self, is_outbound: bool) -> Lowered {
        let (width, offset) = match self.frame.link {
            LinkType::LinuxSll => (Width::Half, 0),
            LinkType::LinuxSll2 => (Width::Byte, 10),
            LinkType::Slip => {
                return self.equal(Place::Header, 0, Width::Byte, u32::from(is_outbound));
            }
            LinkType::DsaBroadcom => {
                let tag = if is_outbound { 0x20 } else { 0 };
                return self.masked(Place::Header, 12, Width::Byte, 0xe0, tag);
            }
            LinkType::DsaMarvell => {
                let (mask, tag) = if is_outbound { (0xc0, 0x40) } else { (0x40, 0) };
                return self.masked(Place::Header, 12, Width::Byte, mask, tag);
            }
            link => {
                let what = if is_outbound { "outbound" } else { "inbound" };
                match self.options.at {
                    At::File => return Err(Reason::NotLive { what, link }),
                    At::Xdp | At::TcIngress => return Ok(Condition::Constant(!is_outbound)),
                    At::TcEgress => return Ok(Condition::Constant(is_outbound)),
                    At::Socket => {}
                }
                let kind = self.values.ancillary(Width::Half, PACKET_TYPE);
                let outgoing = self.values.equal(kind, OUTGOING);
                return Ok(if is_outbound {
                    outgoing
                } else {
                    outgoing.negate()
                });
            }
        };
        let outgoing = self.equal(Place::Header, offset, width, OUTGOING)?;
        Ok(if is_outbound {
            outgoing
        } else {
            outgoing.negate()
        })
    }

    pub(super) fn interface_index(&mut self, index: u32) -> Lowered {
        let link = self.frame.link;
        if link == LinkType::LinuxSll2 {
            return self.equal(Place::Header, 4, Width::Word, index);
        }
        if self.options.at == At::File {
            let what = "ifindex";
            return Err(Reason::NotLive { what, link });
        }
        let field = self.values.ancillary(Width::Word, INTERFACE_INDEX);
        Ok(self.values.equal(field, index))
    }
}
