use super::frame::{Frame, Offset, Tunnel};
use super::lowering::{Lowered, Lowering, Place, at_most};
use super::numbers::{
    ETHERNET_IN_GENEVE, IPV4, IPV6, MPLS, PPP_MPLS, PPPOE_DISCOVERY, PPPOE_SESSION, UDP,
};
use crate::LinkType;
use crate::error::Reason;
use crate::graph::condition::{Comparison, Condition};
use crate::graph::values::{Variable, Width};
use crate::language::tree::Operator;

const GENEVE_PORT: u32 = 6081;
const VXLAN_PORT: u32 = 4789;
const MOST_VNI: u32 = 0x00ff_ffff;
const LABEL_BYTES: u32 = 4;

impl Lowering<'_> {
    /// An MPLS label; what follows is behind it.
    pub(super) fn mpls(&mut self, label: Option<u32>) -> Lowered {
        let (what, link) = ("mpls", self.frame.link);
        let found = if self.frame.labels > 0 {
            self.any_bit(Place::Label, 2, 0x01)?.negate()
        } else if link.is_ethernet() || link == LinkType::CiscoHdlc {
            self.link_protocol(MPLS)?
        } else if link == LinkType::Ppp {
            self.link_protocol(PPP_MPLS)?
        } else {
            return Err(Reason::NotSupported { what, link });
        };
        let label = match label {
            Some(label) => {
                at_most("MPLS label", label, 0xf_ffff)?;
                let offset = self.frame.network;
                self.masked(
                    Place::Payload,
                    offset,
                    Width::Word,
                    0xffff_f000,
                    label << 12,
                )?
            }
            None => Condition::Constant(true),
        };
        self.frame.network += LABEL_BYTES;
        self.frame.network_nosnap += LABEL_BYTES;
        self.frame.labels += 1;
        Ok(Condition::all([found, label]))
    }

    /// Behind the last label the first four bits tell IPv4 from IPv6.
    pub(super) fn behind_labels(&mut self, number: u32) -> Lowered {
        let version = match number {
            IPV4 => 0x40,
            IPV6 => 0x60,
            _ => return Err(Reason::BehindMpls),
        };
        let is_last = self.any_bit(Place::Label, 2, 0x01)?;
        let version = self.masked(Place::Network, 0, Width::Byte, 0xf0, version)?;
        Ok(Condition::all([is_last, version]))
    }

    pub(super) fn pppoe_discovery(&mut self) -> Lowered {
        self.link_protocol(PPPOE_DISCOVERY)
    }

    /// A PPPoE session; what follows is inside of it.
    pub(super) fn pppoe_session(&mut self, session: Option<u32>) -> Lowered {
        let found = self.link_protocol(PPPOE_SESSION)?;
        let session = match session {
            Some(session) => {
                at_most("PPPoE session number", session, 0xffff)?;
                self.equal(Place::Network, 2, Width::Half, session)?
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
            network_nosnap: 0,
            ..self.frame.clone()
        };
        Ok(Condition::all([found, session]))
    }

    /// A VXLAN packet; what follows is in the Ethernet frame inside.
    pub(super) fn vxlan(&mut self, network: Option<u32>) -> Lowered {
        let network = network
            .map(|id| at_most("VXLAN VNI", id, MOST_VNI))
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

    /// A Geneve packet; what follows is inside, in an Ethernet frame or without one.
    pub(super) fn geneve(&mut self, network: Option<u32>) -> Lowered {
        let network = network
            .map(|id| at_most("Geneve VNI", id, MOST_VNI))
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
        // The variable of the Geneve header is free by then, and takes the protocol inside.
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

    /// UDP to `port`, with this first byte behind its header and this network id; `start` becomes
    /// the place `behind` bytes behind the start of the UDP header.
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
                lowering.equal(Place::Network, at, Width::Byte, UDP)?,
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
            let (base, constant) = lowering.place(place)?;
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
        let over4 = over(self, IPV4, 9, Place::Transport4)?;
        let over6 = over(self, IPV6, 6, Place::Transport6)?;
        Ok(Condition::any([over4, over6]))
    }

    /// Whether there is an Ethernet header inside of the tunnel; true outside of one.
    pub(super) fn has_inner_header(&mut self) -> Condition {
        let (Some(Tunnel::Geneve), Some(payload)) = (self.frame.tunnel, self.frame.payload) else {
            return Condition::Constant(true);
        };
        let (Some(header), Some(payload)) = (self.frame.header.base, payload.base) else {
            return Condition::Constant(true);
        };
        let header = self.values.variable(header);
        let payload = self.values.variable(payload);
        let same = self.values.test(Comparison::Equal, header, payload);
        same.negate()
    }
}
