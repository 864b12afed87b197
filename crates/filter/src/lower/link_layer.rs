//! Terms about the link layer and its protocol field.

use crate::graph::condition::{Comparison, Condition};
use crate::graph::values::Width;
use crate::language::tree::Llc;
use crate::link_type::LinkType;
use crate::lower::frame::Tunnel;
use crate::lower::lowering::{FieldBase, Lowered, Lowering, at_most};
use crate::lower::protocol_numbers::{
    AARP, APPLETALK, ARP, DECNET, IPV4, IPV6, IPX, MAX_LENGTH, NLPID_CLNP, NLPID_ESIS, NLPID_IPV4,
    NLPID_IPV6, NLPID_ISIS, PPP_IPV4, PPP_IPV6, RARP, SAP_IP, SAP_IPX, SAP_ISO, SAP_NETBEUI,
    SAP_STP,
};
use crate::options::LoopbackFamilies;

/// Van Jacobson's compression of TCP/IP headers over PPP.
const PPP_COMPRESSED: u32 = 0x002d;
const PPP_UNCOMPRESSED: u32 = 0x002f;

/// Protocol families of Solaris.
const IPNET_IPV4: u32 = 2;
const IPNET_IPV6: u32 = 26;

/// The first three bytes of a Juniper header: "MGC".
const JUNIPER_MAGIC: u32 = 0x4d_4743;

/// Values of the protocol field of Linux cooked captures that are not EtherTypes (`ETH_P_802_3`,
/// `ETH_P_802_2`).
const COOKED_802_3: u32 = libc::ETH_P_802_3.cast_unsigned();
const COOKED_802_2: u32 = libc::ETH_P_802_2.cast_unsigned();

impl Lowering<'_> {
    /// The payload has protocol `number`: an EtherType, or (up to 1500) an LLC service access
    /// point.
    pub(super) fn link_protocol(&mut self, number: u32) -> Lowered {
        if self.frame.labels > 0 {
            return self.behind_labels(number);
        }
        match self.frame.link {
            LinkType::Ethernet
            | LinkType::DsaBroadcom
            | LinkType::DsaMarvell
            | LinkType::Netanalyzer
            | LinkType::NetanalyzerTransparent => {
                let found = self.ethernet_protocol(number)?;
                if self.frame.tunnel == Some(Tunnel::LanEmulation) {
                    return Ok(Condition::all([self.is_lan_data(), found]));
                }
                Ok(found)
            }
            LinkType::LinuxSll => self.cooked_protocol(number),
            LinkType::Wlan
            | LinkType::Radiotap
            | LinkType::Ppi
            | LinkType::Prism
            | LinkType::Avs => {
                let is_data = self.is_data_frame()?;
                let llc = self.llc_protocol(number)?;
                Ok(Condition::all([is_data, llc]))
            }
            LinkType::Fddi
            | LinkType::TokenRing
            | LinkType::AtmRfc1483
            | LinkType::AtmClip
            | LinkType::IpOverFc => self.llc_protocol(number),
            LinkType::SunAtm => {
                let is_llc = self.is_llc_over_atm()?;
                let llc = self.llc_protocol(number)?;
                Ok(Condition::all([is_llc, llc]))
            }
            LinkType::Raw | LinkType::Slip | LinkType::SlipBsdos => match number {
                IPV4 => self.masked(FieldBase::Header, 0, Width::Byte, 0xf0, 0x40),
                IPV6 => self.masked(FieldBase::Header, 0, Width::Byte, 0xf0, 0x60),
                _ => Ok(Condition::Constant(false)),
            },
            LinkType::Ipv4 => Ok(Condition::Constant(number == IPV4)),
            LinkType::Ipv6 => Ok(Condition::Constant(number == IPV6)),
            LinkType::LocalTalk => Ok(Condition::Constant(number == APPLETALK)),
            LinkType::Null | LinkType::Loop | LinkType::Enc => self.family(number),
            LinkType::Pflog => self.byte_family(number),
            LinkType::Ppp | LinkType::PppPppd | LinkType::PppSerial | LinkType::PppEther => {
                self.ppp_protocol(number)
            }
            LinkType::PppBsdos if number == IPV4 => {
                let field = self.load(FieldBase::LinkType, 0, Width::Half)?;
                let numbers = [PPP_IPV4, PPP_COMPRESSED, PPP_UNCOMPRESSED];
                let tests = numbers.map(|number| self.values.equal(field, number));
                Ok(Condition::any(tests))
            }
            LinkType::PppBsdos => self.ppp_protocol(number),
            LinkType::CiscoHdlc => {
                at_most("HDLC protocol", number, 0xffff)?;
                let number = if number == SAP_ISO {
                    SAP_ISO << 8 | SAP_ISO
                } else {
                    number
                };
                self.equal(FieldBase::LinkType, 0, Width::Half, number)
            }
            LinkType::Arcnet | LinkType::ArcnetLinux => self.coded(
                number,
                &[
                    (IPV4, 212),
                    (ARP, 213),
                    (RARP, 214),
                    (APPLETALK, 221),
                    (IPV6, 196),
                ],
            ),
            LinkType::Ipnet => self.coded(number, &[(IPV4, IPNET_IPV4), (IPV6, IPNET_IPV6)]),
            LinkType::FrameRelay => self.frame_relay_protocol(number),
            // What follows the magic number depends on the router's configuration.
            LinkType::Juniper(_) => self.masked(
                FieldBase::Header,
                0,
                Width::Word,
                0xffff_ff00,
                JUNIPER_MAGIC << 8,
            ),
            LinkType::LinuxSll2 | LinkType::AppleIpOver1394 | LinkType::SymantecFirewall => {
                at_most("EtherType", number, 0xffff)?;
                self.equal(FieldBase::LinkType, 0, Width::Half, number)
            }
            LinkType::BacnetMsTp
            | LinkType::Mtp2
            | LinkType::Mtp2WithHeader
            | LinkType::Erf
            | LinkType::Other(_) => Err(self.no_protocols()),
        }
    }

    fn ppp_protocol(&mut self, number: u32) -> Lowered {
        let number = at_most("PPP protocol", ppp_number(number), 0xffff)?;
        self.equal(FieldBase::LinkType, 0, Width::Half, number)
    }

    /// The byte of the type is the code of this EtherType in `codes`.
    fn coded(&mut self, number: u32, codes: &[(u32, u32)]) -> Lowered {
        match codes.iter().find(|row| row.0 == number) {
            Some((_, code)) => self.equal(FieldBase::LinkType, 0, Width::Byte, *code),
            None => Ok(Condition::Constant(false)),
        }
    }

    fn frame_relay_protocol(&mut self, number: u32) -> Lowered {
        let numbers: &[u32] = match number {
            IPV4 => &[NLPID_IPV4],
            IPV6 => &[NLPID_IPV6],
            SAP_ISO => &[NLPID_CLNP, NLPID_ESIS, NLPID_ISIS],
            _ => return Ok(Condition::Constant(false)),
        };
        let tests: Result<Vec<_>, _> = numbers
            .iter()
            .map(|number| self.frame_relay(*number))
            .collect();
        Ok(Condition::any(tests?))
    }

    /// An unnumbered information frame with this NLPID. Assumes an address of two bytes.
    fn frame_relay(&mut self, number: u32) -> Lowered {
        self.equal(FieldBase::Header, 2, Width::Half, 0x0300 | number)
    }

    fn ethernet_protocol(&mut self, number: u32) -> Lowered {
        match number {
            SAP_ISO | SAP_IP | SAP_NETBEUI => {
                let is_802_3 = self.is_802_3()?;
                let both = self.equal(FieldBase::Payload, 0, Width::Half, number << 8 | number)?;
                Ok(Condition::all([is_802_3, both]))
            }
            SAP_IPX => {
                let ethernet = self.equal(FieldBase::LinkType, 0, Width::Half, IPX)?;
                let is_802_3 = self.is_802_3()?;
                let snap = self.snap(0, IPX)?;
                let llc = self.equal(FieldBase::Payload, 0, Width::Byte, SAP_IPX)?;
                let raw = self.equal(FieldBase::Payload, 0, Width::Half, 0xffff)?;
                let inner = Condition::any([snap, llc, raw]);
                Ok(Condition::any([
                    ethernet,
                    Condition::all([is_802_3, inner]),
                ]))
            }
            APPLETALK | AARP => {
                let ethernet = self.equal(FieldBase::LinkType, 0, Width::Half, number)?;
                let is_802_3 = self.is_802_3()?;
                let snap = self.appletalk_snap(number)?;
                Ok(Condition::any([ethernet, Condition::all([is_802_3, snap])]))
            }
            0..=MAX_LENGTH => {
                at_most("LLC DSAP", number, 255)?;
                let is_802_3 = self.is_802_3()?;
                let access = self.equal(FieldBase::LinkType, 2, Width::Byte, number)?;
                Ok(Condition::all([is_802_3, access]))
            }
            _ => {
                at_most("EtherType", number, 0xffff)?;
                self.equal(FieldBase::LinkType, 0, Width::Half, number)
            }
        }
    }

    /// The EtherType field is a length, so this is an 802.3 frame.
    pub(super) fn is_802_3(&mut self) -> Lowered {
        let field = self.load(FieldBase::LinkType, 0, Width::Half)?;
        let most = self.values.constant(MAX_LENGTH);
        let is_type = self.values.test(Comparison::Greater, field, most);
        Ok(is_type.negate())
    }

    fn appletalk_snap(&mut self, number: u32) -> Lowered {
        let organisation = if number == APPLETALK { 0x08_0007 } else { 0 };
        self.snap(organisation, number)
    }

    fn cooked_protocol(&mut self, number: u32) -> Lowered {
        match number {
            SAP_ISO | SAP_IP | SAP_NETBEUI => {
                let is_llc = self.equal(FieldBase::LinkType, 0, Width::Half, COOKED_802_2)?;
                let both = self.equal(FieldBase::Payload, 0, Width::Half, number << 8 | number)?;
                Ok(Condition::all([is_llc, both]))
            }
            SAP_IPX => {
                let ethernet = self.equal(FieldBase::LinkType, 0, Width::Half, IPX)?;
                let raw = self.equal(FieldBase::LinkType, 0, Width::Half, COOKED_802_3)?;
                let is_llc = self.equal(FieldBase::LinkType, 0, Width::Half, COOKED_802_2)?;
                let snap = self.snap(0, IPX)?;
                let llc = self.equal(FieldBase::Payload, 0, Width::Byte, SAP_IPX)?;
                let inner = Condition::any([llc, snap]);
                Ok(Condition::any([
                    ethernet,
                    raw,
                    Condition::all([is_llc, inner]),
                ]))
            }
            APPLETALK | AARP => {
                let ethernet = self.equal(FieldBase::LinkType, 0, Width::Half, number)?;
                let is_llc = self.equal(FieldBase::LinkType, 0, Width::Half, COOKED_802_2)?;
                let snap = self.appletalk_snap(number)?;
                Ok(Condition::any([ethernet, Condition::all([is_llc, snap])]))
            }
            0..=MAX_LENGTH => {
                at_most("LLC DSAP", number, 255)?;
                let is_llc = self.equal(FieldBase::LinkType, 0, Width::Half, COOKED_802_2)?;
                let access = self.equal(FieldBase::Payload, 0, Width::Byte, number)?;
                Ok(Condition::all([is_llc, access]))
            }
            _ => {
                at_most("EtherType", number, 0xffff)?;
                self.equal(FieldBase::LinkType, 0, Width::Half, number)
            }
        }
    }

    /// The protocol families of an EtherType; none for protocols other than IP.
    fn families(&self, number: u32) -> Vec<u32> {
        match (number, self.options.families) {
            (IPV4, LoopbackFamilies::Any) => vec![2],
            (IPV4, LoopbackFamilies::One { ip4, .. }) => vec![ip4],
            (IPV6, LoopbackFamilies::Any) => vec![30, 24, 28],
            (IPV6, LoopbackFamilies::One { ip6, .. }) => vec![ip6],
            _ => Vec::new(),
        }
    }

    /// The protocol family in the second byte of the header.
    fn byte_family(&mut self, number: u32) -> Lowered {
        let families = self.families(number);
        let field = self.load(FieldBase::Header, 1, Width::Byte)?;
        let tests = families.into_iter();
        let tests: Vec<_> = tests
            .map(|family| self.values.equal(field, family))
            .collect();
        Ok(Condition::any(tests))
    }

    fn family(&mut self, number: u32) -> Lowered {
        let is_loop = self.frame.link == LinkType::Loop;
        let families = self.families(number);
        if families.is_empty() {
            return Ok(Condition::Constant(false));
        }
        let swapped = families.iter().map(|family| family.swap_bytes());
        let numbers: Vec<u32> = match self.options.families {
            LoopbackFamilies::Any if is_loop => families,
            LoopbackFamilies::Any => families.iter().copied().chain(swapped).collect(),
            LoopbackFamilies::One { is_big_endian, .. } if is_loop || is_big_endian => families,
            LoopbackFamilies::One { .. } => swapped.collect(),
        };
        let field = self.load(FieldBase::Header, 0, Width::Word)?;
        let tests: Vec<_> = numbers
            .into_iter()
            .map(|number| self.values.equal(field, number))
            .collect();
        Ok(Condition::any(tests))
    }
}

/// The PPP protocol number for an EtherType or service access point.
fn ppp_number(number: u32) -> u32 {
    match number {
        IPV4 => PPP_IPV4,
        IPV6 => PPP_IPV6,
        DECNET => 0x0027,
        APPLETALK => 0x0029,
        SAP_ISO => 0x0023,
        SAP_STP => 0x0031,
        SAP_IPX => 0x002b,
        other => other,
    }
}

impl Lowering<'_> {
    /// The LLC header is a SNAP header with this organisation and protocol number.
    pub(super) fn snap(&mut self, organisation: u32, number: u32) -> Lowered {
        let [_, high, middle, low] = organisation.to_be_bytes();
        let [_, _, first, last] = number.to_be_bytes();
        let header = [0xaa, 0xaa, 0x03, high, middle, low, first, last];
        self.bytes(FieldBase::Payload, 0, &header)
    }

    /// The same as [`Self::link_protocol`], for frames that always have an LLC header.
    pub(super) fn llc_protocol(&mut self, number: u32) -> Lowered {
        match number {
            SAP_ISO | SAP_IP | SAP_NETBEUI => {
                self.equal(FieldBase::Payload, 0, Width::Half, number << 8 | number)
            }
            SAP_IPX => self.equal(FieldBase::Payload, 0, Width::Byte, SAP_IPX),
            APPLETALK => self.snap(0x08_0007, APPLETALK),
            0..=MAX_LENGTH => {
                at_most("LLC DSAP", number, 255)?;
                self.equal(FieldBase::Payload, 0, Width::Byte, number)
            }
            _ => {
                at_most("EtherType", number, 0xffff)?;
                self.equal(FieldBase::Payload, 6, Width::Half, number)
            }
        }
    }

    /// The frame has an LLC header of this kind.
    pub(super) fn llc(&mut self, kind: Llc) -> Lowered {
        let is_llc = self.has_llc()?;
        let kind = match kind {
            Llc::Any => return Ok(is_llc),
            Llc::Information => self.any_bit(FieldBase::Payload, 2, 0x01)?.negate(),
            Llc::Supervisory(None) => {
                self.masked(FieldBase::Payload, 2, Width::Byte, 0x03, 0x01)?
            }
            Llc::Unnumbered(None) => self.masked(FieldBase::Payload, 2, Width::Byte, 0x03, 0x03)?,
            Llc::Supervisory(Some(command)) => {
                self.masked(FieldBase::Payload, 2, Width::Byte, 0x0f, u32::from(command))?
            }
            Llc::Unnumbered(Some(command)) => {
                self.masked(FieldBase::Payload, 2, Width::Byte, 0xef, u32::from(command))?
            }
        };
        Ok(Condition::all([is_llc, kind]))
    }

    fn has_llc(&mut self) -> Lowered {
        match self.frame.link {
            LinkType::Ethernet | LinkType::DsaBroadcom | LinkType::DsaMarvell => {
                let is_802_3 = self.is_802_3()?;
                let is_raw = self.equal(FieldBase::Payload, 0, Width::Half, 0xffff)?;
                Ok(Condition::all([is_802_3, is_raw.negate()]))
            }
            LinkType::SunAtm => self.is_llc_over_atm(),
            LinkType::Fddi | LinkType::TokenRing | LinkType::AtmRfc1483 => {
                Ok(Condition::Constant(true))
            }
            link if link.is_wlan() => self.is_data_frame(),
            _ => Err(self.unsupported("llc")),
        }
    }
}

impl Lowering<'_> {
    /// An ISO protocol, by its NLPID.
    pub(super) fn iso(&mut self, number: u32) -> Lowered {
        at_most("ISO protocol", number, 255)?;
        if self.frame.link == LinkType::FrameRelay && self.frame.labels == 0 {
            return self.frame_relay(number);
        }
        let is_iso = self.link_protocol(SAP_ISO)?;
        let offset = u32::from(self.frame.link == LinkType::CiscoHdlc);
        let field = self.equal(FieldBase::NetworkNoSnap, offset, Width::Byte, number)?;
        Ok(Condition::all([is_iso, field]))
    }

    /// An IS-IS packet of one of `types`.
    pub(super) fn isis(&mut self, types: &[u32]) -> Lowered {
        let is_isis = self.iso(NLPID_ISIS)?;
        let is_hdlc = self.frame.link == LinkType::CiscoHdlc;
        let offset = if is_hdlc { 5 } else { 4 };
        let tests: Result<Vec<_>, _> = types
            .iter()
            .map(|&kind| self.masked(FieldBase::NetworkNoSnap, offset, Width::Byte, 0x1f, kind))
            .collect();
        Ok(Condition::all([is_isis, Condition::any(tests?)]))
    }
}
