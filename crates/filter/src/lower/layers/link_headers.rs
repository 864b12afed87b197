//! Skips link-layer headers and tags.

use crate::graph::condition::Condition;
use crate::graph::values::Width;
use crate::link_type::LinkType;
use crate::lower::layers::limits::{LABELS, VLAN_TAGS};
use crate::lower::lowering::{FieldBase, Lowered, Lowering};
use crate::lower::protocol_numbers::{
    ETHERNET_IN_GENEVE, IPV4, IPV6, MPLS, MPLS_UPSTREAM, PPP_IPV4, PPP_IPV6, PPP_MPLS,
    PPPOE_SESSION, VLAN, VLAN_8021AD, VLAN_QINQ,
};

/// The EtherTypes of tags.
const TAGS: [u32; 3] = [VLAN, VLAN_8021AD, VLAN_QINQ];
/// All EtherTypes that [`Lowering::link_headers`] passes.
const LINK_HEADERS: [u32; 6] = [
    VLAN,
    VLAN_8021AD,
    VLAN_QINQ,
    PPPOE_SESSION,
    MPLS,
    MPLS_UPSTREAM,
];
/// Offset of the EtherType in an Ethernet header, and its length.
const ETHER_TYPE: u32 = 12;
const ETHERNET_BYTES: u32 = 14;
/// Length of a PPPoE session header with the PPP protocol.
const PPPOE_BYTES: u32 = 8;

impl Lowering<'_> {
    /// The outermost frame begins with a header that [`Self::link_headers`] passes; sets `KIND` to its EtherType.
    pub(super) fn link_headers_at_start(&mut self) -> Lowered {
        if self.frame.labels > 0 {
            let is_last = self.any_bit(FieldBase::Label, 2, 0x01)?;
            return Ok(Condition::all([is_last.negate(), self.set_kind(MPLS)]));
        }
        match self.frame.link {
            LinkType::Ethernet
            | LinkType::DsaBroadcom
            | LinkType::DsaMarvell
            | LinkType::Netanalyzer
            | LinkType::NetanalyzerTransparent
            | LinkType::LinuxSll
            | LinkType::LinuxSll2
            | LinkType::CiscoHdlc => self.ether_type_of_header(FieldBase::LinkType, 0),
            link if link.is_wlan() => {
                let is_data = self.is_data_frame()?;
                let found = self.ether_type_of_header(FieldBase::Payload, 6)?;
                Ok(Condition::all([is_data, found]))
            }
            LinkType::Ppp => {
                let found = self.link_protocol(PPP_MPLS)?;
                Ok(Condition::all([found, self.set_kind(MPLS)]))
            }
            _ => Ok(Condition::Constant(false)),
        }
    }

    fn ether_type_of_header(&mut self, base: FieldBase, offset: u32) -> Lowered {
        let field = self.load(base, offset, Width::Half)?;
        let mut kinds = LINK_HEADERS;
        kinds.sort_unstable();
        let kinds = kinds.map(|kind| (kind, self.set_kind(kind)));
        Ok(Condition::Choice(field, kinds.into()))
    }

    /// Passes an Ethernet header, if there is one.
    pub(super) fn ethernet_header(&mut self) -> Condition {
        let is_ethernet = self.is_kind(ETHERNET_IN_GENEVE);
        let pass = [
            self.load_kind(Width::Half, ETHER_TYPE),
            self.advance(ETHERNET_BYTES),
        ];
        Condition::choose(is_ethernet, Condition::all(pass), Condition::Constant(true))
    }

    /// Passes VLAN tags, a PPPoE session header and MPLS labels, in this order. An IP header, with at most one tag before
    /// it, is recognized by the first tests.
    pub(super) fn link_headers(&mut self) -> Condition {
        let is_session = self.is_kind(PPPOE_SESSION);
        let session = self.pppoe_header();
        let is_mpls = self.is_kind_of(&[MPLS, MPLS_UPSTREAM]);
        let labels = Condition::choose(is_mpls, self.labels(), Condition::Constant(true));
        let behind_tags = Condition::choose(is_session, session, labels);
        let is_ip = self.is_kind_of(&[IPV4, IPV6]);
        let mut rest = behind_tags.clone();
        for left in 1..=VLAN_TAGS {
            let is_tag = self.is_kind_of(&TAGS);
            let pass = [self.load_kind(Width::Half, 2), self.advance(4), rest];
            rest = Condition::choose(is_tag, Condition::all(pass), behind_tags.clone());
            // Few packets have a second tag.
            if left + 1 >= VLAN_TAGS {
                rest = Condition::choose(is_ip.clone(), Condition::Constant(true), rest);
            }
        }
        rest
    }

    fn pppoe_header(&mut self) -> Condition {
        let load = self.load_kind(Width::Half, PPPOE_BYTES - 2);
        let pass = self.advance(PPPOE_BYTES);
        let is_ip6 = Condition::all([self.is_kind(PPP_IPV6), self.set_kind(IPV6)]);
        let is_ip = self.is_kind(PPP_IPV4);
        let set = Condition::choose(is_ip, self.set_kind(IPV4), is_ip6);
        Condition::all([load, pass, set])
    }

    /// Passes MPLS labels up to the last one. What follows must be an IP header.
    fn labels(&mut self) -> Condition {
        let mut ends = Vec::new();
        for label in 0..LABELS {
            let field = self.position_field(Width::Byte, 4 * label + 2);
            let is_last = self.values.any_bit(field, 0x01);
            ends.push(Condition::all([is_last, self.advance(4 * (label + 1))]));
        }
        let version = self.ip_version();
        Condition::all([Condition::any(ends), version])
    }

    /// Sets `KIND` by the version of the IP header at `POSITION`.
    pub(super) fn ip_version(&mut self) -> Condition {
        let byte = self.position_field(Width::Byte, 0);
        let is_ip = self.values.masked_equal(byte, 0xf0, 0x40);
        let is_ip6 = self.values.masked_equal(byte, 0xf0, 0x60);
        let ip6 = Condition::all([is_ip6, self.set_kind(IPV6)]);
        Condition::choose(is_ip, self.set_kind(IPV4), ip6)
    }
}
