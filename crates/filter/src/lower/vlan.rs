use super::frame::Offset;
use super::lowering::{Lowered, Lowering, Place, at_most};
use super::numbers::{VLAN, VLAN_OLD_SERVICE, VLAN_SERVICE};
use crate::LinkType;
use crate::error::Reason;
use crate::graph::condition::Condition;
use crate::graph::values::Width;
use crate::language::tree::Operator;

const TAG_BYTES: u32 = 4;
const ID_MASK: u32 = 0x0fff;
/// Offsets of ancillary values (`SKF_AD_OFF`, include/uapi/linux/filter.h).
const TAG: u32 = (-0x1000_i32).cast_unsigned() + 44;
const TAG_PRESENT: u32 = (-0x1000_i32).cast_unsigned() + 48;

impl Lowering<'_> {
    /// The packet has a VLAN tag here, of this id; what follows is behind the tag.
    pub(super) fn vlan(&mut self, id: Option<u32>) -> Lowered {
        let (what, link) = ("vlan", self.frame.link);
        if self.frame.labels > 0 {
            return Err(Reason::Inside {
                what,
                tunnel: "MPLS",
            });
        }
        if !link.is_ethernet() && !matches!(link, LinkType::Wlan | LinkType::Radiotap) {
            return Err(Reason::NotSupported { what, link });
        }
        let is_outermost = self.frame.vlans == 0 && self.frame.header == Offset::fixed(0);
        let has_metadata = link == LinkType::Ethernet && self.options.at.has_tag_beside();
        let found = if is_outermost && has_metadata {
            self.outermost_tag(id)?
        } else {
            let types = [VLAN, VLAN_SERVICE, VLAN_OLD_SERVICE];
            let types: Result<Vec<_>, _> = types
                .map(|kind| self.link_protocol(kind))
                .into_iter()
                .collect();
            let tag = Condition::any(types?);
            let found = Condition::all([tag, self.tag_id(id)?]);
            let behind = |offset: Option<Offset>| offset.map(|offset| offset.plus(TAG_BYTES));
            self.frame.payload = behind(self.frame.payload);
            self.frame.link_type = behind(self.frame.link_type);
            found
        };
        self.frame.vlans += 1;
        Ok(found)
    }

    fn tag_id(&mut self, id: Option<u32>) -> Lowered {
        let Some(id) = id else {
            return Ok(Condition::Constant(true));
        };
        at_most("VLAN tag", id, ID_MASK)?;
        self.masked(Place::Payload, self.frame.network, Width::Half, ID_MASK, id)
    }

    /// The kernel takes the outermost tag out of the bytes when the packet comes from the wire, and
    /// leaves it in when the machine itself wrote it there: both have to be asked.
    fn outermost_tag(&mut self, id: Option<u32>) -> Lowered {
        let present = self.values.ancillary(Width::Byte, TAG_PRESENT);
        let present = self.values.equal(present, 1);
        let types = [VLAN, VLAN_SERVICE, VLAN_OLD_SERVICE];
        let types: Result<Vec<_>, _> = types
            .map(|kind| self.link_protocol(kind))
            .into_iter()
            .collect();
        let in_bytes = self.tag_id(id)?;
        let in_metadata = match id {
            Some(id) => {
                let tag = self.values.ancillary(Width::Half, TAG);
                self.values.masked_equal(tag, ID_MASK, id)
            }
            None => Condition::Constant(true),
        };
        let shift = self.new_variable()?;
        let before = self.values.variable(shift);
        let behind = self
            .values
            .binary_constant(Operator::Add, before, TAG_BYTES);
        let shifted = |offset: Option<Offset>| {
            offset.map(|offset| Offset {
                base: Some(shift),
                ..offset
            })
        };
        self.frame.payload = shifted(self.frame.payload);
        self.frame.link_type = shifted(self.frame.link_type);
        Ok(Condition::any([
            Condition::all([present.clone(), in_metadata]),
            // A tag in the bytes of a packet that has one beside them is not the outermost.
            Condition::all([
                present.negate(),
                Condition::Let(shift, behind),
                Condition::any(types?),
                in_bytes,
            ]),
        ]))
    }
}
