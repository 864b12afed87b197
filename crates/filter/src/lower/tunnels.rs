//! Terms about tags and tunnels, which shift the terms after them.

use crate::classic::Ancillary;
use crate::error::FilterErrorReason;
use crate::graph::condition::{Comparison, Condition};
use crate::graph::values::{Variable, Width};
use crate::language::tree::Operator;
use crate::link_type::LinkType;
use crate::lower::frame::{Frame, Offset, Tunnel};
use crate::lower::lowering::{FieldBase, Lowered, Lowering, at_most};
use crate::lower::protocol_numbers::{
    ETHERNET_IN_GENEVE, GENEVE_PORT, IPV4, IPV6, MPLS, PPP_MPLS, PPPOE_DISCOVERY, PPPOE_SESSION,
    UDP, VLAN, VLAN_8021AD, VLAN_QINQ, VXLAN_PORT,
};

const TAG_BYTES: u32 = 4;
const ID_MASK: u32 = 0x0fff;

impl Lowering<'_> {
    /// A VLAN tag, with this id. The terms to its right test what follows the tag.
    pub(super) fn vlan(&mut self, id: Option<u32>) -> Lowered {
        let (what, link) = ("vlan", self.frame.link);
        if self.frame.labels > 0 {
            return Err(FilterErrorReason::Inside {
                what,
                tunnel: "MPLS",
            });
        }
        let is_wlan = link.is_wlan() && link != LinkType::Ppi;
        if !link.is_ethernet() && !is_wlan {
            return Err(FilterErrorReason::NotSupported { what, link });
        }
        let is_outermost = self.frame.vlans == 0 && self.frame.header == Offset::fixed(0);
        let has_metadata = link == LinkType::Ethernet && self.options.target.has_tag_beside();
        let found = if is_outermost && has_metadata {
            self.outermost_tag(id)?
        } else {
            let types = [VLAN, VLAN_8021AD, VLAN_QINQ];
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
        self.masked(
            FieldBase::Payload,
            self.frame.network,
            Width::Half,
            ID_MASK,
            id,
        )
    }

    /// The kernel moves the outermost tag of received packets to the metadata. In packets that this
    /// host wrote with a tag, it stays in the bytes. Test both.
    fn outermost_tag(&mut self, id: Option<u32>) -> Lowered {
        let present = self
            .values
            .ancillary(Width::Byte, Ancillary::VLAN_TAG_PRESENT);
        let present = self.values.equal(present, 1);
        let types = [VLAN, VLAN_8021AD, VLAN_QINQ];
        let types: Result<Vec<_>, _> = types
            .map(|kind| self.link_protocol(kind))
            .into_iter()
            .collect();
        let in_bytes = self.tag_id(id)?;
        let in_metadata = match id {
            Some(id) => {
                let tag = self.values.ancillary(Width::Half, Ancillary::VLAN_TAG);
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
            // If a tag is in the metadata, a tag in the bytes is not the outermost one.
            Condition::all([
                present.negate(),
                Condition::Let(shift, behind),
                Condition::any(types?),
                in_bytes,
            ]),
        ]))
    }
}

const MAX_VNI: u32 = 0x00ff_ffff;
const LABEL_BYTES: u32 = 4;

impl Lowering<'_> {
    /// An MPLS label. The terms to its right test what follows the label.
    pub(super) fn mpls(&mut self, label: Option<u32>) -> Lowered {
        let (what, link) = ("mpls", self.frame.link);
        let found = if self.frame.labels > 0 {
            self.any_bit(FieldBase::Label, 2, 0x01)?.negate()
        } else if link.is_ethernet() || link == LinkType::CiscoHdlc {
            self.link_protocol(MPLS)?
        } else if link == LinkType::Ppp {
            self.link_protocol(PPP_MPLS)?
        } else {
            return Err(FilterErrorReason::NotSupported { what, link });
        };
        let label = match label {
            Some(label) => {
                at_most("MPLS label", label, 0xf_ffff)?;
                let offset = self.frame.network;
                self.masked(
                    FieldBase::Payload,
                    offset,
                    Width::Word,
                    0xffff_f000,
                    label << 12,
                )?
            }
            None => Condition::Constant(true),
        };
        self.frame.network += LABEL_BYTES;
        self.frame.network_nosnap = self.frame.network_nosnap.map(|bytes| bytes + LABEL_BYTES);
        self.frame.labels += 1;
        Ok(Condition::all([found, label]))
    }

    /// After the last label, the first four bits are the IP version.
    pub(super) fn behind_labels(&mut self, number: u32) -> Lowered {
        let version = match number {
            IPV4 => 0x40,
            IPV6 => 0x60,
            _ => return Err(FilterErrorReason::AfterMpls),
        };
        let is_last = self.any_bit(FieldBase::Label, 2, 0x01)?;
        let version = self.masked(FieldBase::Network, 0, Width::Byte, 0xf0, version)?;
        Ok(Condition::all([is_last, version]))
    }

    pub(super) fn pppoe_discovery(&mut self) -> Lowered {
        self.link_protocol(PPPOE_DISCOVERY)
    }

    /// A PPPoE session. The terms to its right test the packet inside.
    pub(super) fn pppoe_session(&mut self, session: Option<u32>) -> Lowered {
        let found = self.link_protocol(PPPOE_SESSION)?;
        let session = match session {
            Some(session) => {
                at_most("PPPoE session number", session, 0xffff)?;
                self.equal(FieldBase::Network, 2, Width::Half, session)?
            }
            None => Condition::Constant(true),
        };
        let payload = self.frame.payload.ok_or(self.no_protocols())?;
        let header = payload.plus(self.frame.network + 6);
        self.frame = Frame {
            link: LinkType::Ppp,
            header,
            link_type: Some(header),
            payload: Some(header.plus(2)),
            network: 0,
            network_nosnap: Some(0),
            ..self.frame.clone()
        };
        Ok(Condition::all([found, session]))
    }

    /// A VXLAN packet. The terms to its right test the Ethernet frame inside.
    pub(super) fn vxlan(&mut self, network: Option<u32>) -> Lowered {
        let network = network
            .map(|id| at_most("VXLAN VNI", id, MAX_VNI))
            .transpose()?;
        let header = self.new_variable()?;
        let flags = (0xff, 0x08);
        let found = self.over_udp(VXLAN_PORT, flags, network, header, 16)?;
        let at = |constant| Offset {
            base: Some(header),
            constant,
        };
        self.enter(Tunnel::Vxlan, at(0), at(12), at(14));
        Ok(found)
    }

    /// A Geneve packet. The terms to its right test the packet inside, with or without an Ethernet
    /// header.
    pub(super) fn geneve(&mut self, network: Option<u32>) -> Lowered {
        let network = network
            .map(|id| at_most("Geneve VNI", id, MAX_VNI))
            .transpose()?;
        let [geneve, header, link_type, payload] = [
            self.new_variable()?,
            self.new_variable()?,
            self.new_variable()?,
            self.new_variable()?,
        ];
        let version = (0xc0, 0);
        let found = self.over_udp(GENEVE_PORT, version, network, geneve, 8)?;
        let values = &mut self.values;
        let start = values.variable(geneve);
        let options = values.load(Width::Byte, Some(start), 0);
        let options = values.binary_constant(Operator::And, options, 0x3f);
        let options = values.binary_constant(Operator::Multiply, options, 4);
        let options = values.binary_constant(Operator::Add, options, 8);
        let inner = values.binary(Operator::Add, options, start);
        let number = values.load(Width::Half, Some(start), 2);
        let outer_type = values.binary_constant(Operator::Add, start, 2);
        let frame = values.variable(header);
        let inner_type = values.binary_constant(Operator::Add, frame, 12);
        let inner_payload = values.binary_constant(Operator::Add, frame, 14);
        // The variable of the Geneve header is no longer needed; reuse it for the inner protocol.
        let is_ethernet = values.equal(start, ETHERNET_IN_GENEVE);
        let offsets = [
            Condition::Let(header, inner),
            Condition::Let(link_type, outer_type),
            Condition::Let(payload, frame),
            Condition::Let(geneve, number),
            Condition::any([
                Condition::all([
                    is_ethernet,
                    Condition::Let(link_type, inner_type),
                    Condition::Let(payload, inner_payload),
                ]),
                Condition::Constant(true),
            ]),
        ];
        let at = |variable| Offset {
            base: Some(variable),
            constant: 0,
        };
        self.enter(Tunnel::Geneve, at(header), at(link_type), at(payload));
        Ok(Condition::all([found].into_iter().chain(offsets)))
    }

    fn enter(&mut self, tunnel: Tunnel, header: Offset, link_type: Offset, payload: Offset) {
        self.frame = Frame {
            link: LinkType::Ethernet,
            header,
            link_type: Some(link_type),
            payload: Some(payload),
            network: 0,
            tunnel: Some(tunnel),
            ..self.frame.clone()
        };
    }

    /// UDP to `port`, with this first payload byte and this network id. Sets `start` to the offset
    /// `behind` bytes after the start of the UDP header.
    fn over_udp(
        &mut self,
        port: u32,
        (mask, first): (u32, u32),
        network: Option<u32>,
        start: Variable,
        behind: u32,
    ) -> Lowered {
        let over = |lowering: &mut Self, number, at, place| {
            let mut terms = vec![
                lowering.link_protocol(number)?,
                lowering.equal(FieldBase::Network, at, Width::Byte, UDP)?,
            ];
            if number == IPV4 {
                terms.push(lowering.is_first_fragment()?);
            }
            terms.push(lowering.equal(place, 2, Width::Half, port)?);
            terms.push(lowering.masked(place, 8, Width::Byte, mask, first)?);
            if let Some(network) = network {
                let id = lowering.masked(place, 12, Width::Word, 0xffff_ff00, network << 8)?;
                terms.push(id);
            }
            let (base, constant) = lowering.locate(place)?;
            let value = match base {
                Some(base) => {
                    let bytes = constant + behind;
                    lowering.values.binary_constant(Operator::Add, base, bytes)
                }
                None => lowering.values.constant(constant + behind),
            };
            terms.push(Condition::Let(start, value));
            Ok(Condition::all(terms))
        };
        let over4 = over(self, IPV4, 9, FieldBase::Transport4)?;
        let over6 = over(self, IPV6, 6, FieldBase::Transport6)?;
        Ok(Condition::any([over4, over6]))
    }

    /// Whether the packet has the Ethernet header that addresses are in; true outside of tunnels.
    pub(super) fn has_inner_header(&mut self) -> Condition {
        match self.frame.tunnel {
            Some(Tunnel::LanEmulation) => self.is_lan_data(),
            Some(Tunnel::Geneve) => self.geneve_has_header(),
            Some(Tunnel::Vxlan) | None => Condition::Constant(true),
        }
    }

    fn geneve_has_header(&mut self) -> Condition {
        let (Some(header), Some(payload)) = (
            self.frame.header.base,
            self.frame.payload.and_then(|payload| payload.base),
        ) else {
            return Condition::Constant(true);
        };
        let header = self.values.variable(header);
        let payload = self.values.variable(payload);
        let same = self.values.test(Comparison::Equal, header, payload);
        same.negate()
    }
}
