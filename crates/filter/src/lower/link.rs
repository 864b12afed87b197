use super::lowering::{Lowered, Lowering, Place, at_most};
use super::numbers::{
    AARP, APPLETALK, ARP, DECNET, IPV4, IPV6, IPX, MAX_LENGTH, RARP, SAP_IP, SAP_IPX, SAP_ISO,
    SAP_NETBEUI, SAP_STP,
};
use crate::LinkType;
use crate::error::Reason;
use crate::graph::condition::{Comparison, Condition};
use crate::graph::values::Width;
use crate::options::Families;

/// Values of the protocol field of Linux cooked captures that are no EtherTypes.
const COOKED_802_3: u32 = 1;
const COOKED_802_2: u32 = 4;

impl Lowering<'_> {
    /// The packet's payload is of protocol `number`: an EtherType, or up to 1500 an LLC access point.
    pub(super) fn link_protocol(&mut self, number: u32) -> Lowered {
        if self.frame.labels > 0 {
            return self.behind_labels(number);
        }
        match self.frame.link {
            LinkType::Ethernet | LinkType::DsaBroadcom | LinkType::DsaMarvell => {
                self.ethernet_protocol(number)
            }
            LinkType::LinuxSll => self.cooked_protocol(number),
            LinkType::LinuxSll2 => {
                at_most("EtherType", number, 0xffff)?;
                self.equal(Place::LinkType, 0, Width::Half, number)
            }
            LinkType::Wlan | LinkType::Radiotap | LinkType::Ppi => {
                let is_data = self.is_data_frame()?;
                let llc = self.llc_protocol(number)?;
                Ok(Condition::all([is_data, llc]))
            }
            LinkType::Raw | LinkType::Slip => match number {
                IPV4 => self.masked(Place::Header, 0, Width::Byte, 0xf0, 0x40),
                IPV6 => self.masked(Place::Header, 0, Width::Byte, 0xf0, 0x60),
                _ => Ok(Condition::Constant(false)),
            },
            LinkType::Ipv4 => Ok(Condition::Constant(number == IPV4)),
            LinkType::Ipv6 => Ok(Condition::Constant(number == IPV6)),
            LinkType::Null | LinkType::Loop => self.family(number),
            LinkType::Ppp => {
                let number = at_most("PPP protocol", ppp_number(number), 0xffff)?;
                self.equal(Place::LinkType, 0, Width::Half, number)
            }
            LinkType::CiscoHdlc => {
                at_most("HDLC protocol", number, 0xffff)?;
                let number = if number == SAP_ISO {
                    SAP_ISO << 8 | SAP_ISO
                } else {
                    number
                };
                self.equal(Place::LinkType, 0, Width::Half, number)
            }
            LinkType::ArcnetLinux => {
                let code = match number {
                    IPV4 => 212,
                    ARP => 213,
                    RARP => 214,
                    APPLETALK => 221,
                    IPV6 => 196,
                    _ => return Ok(Condition::Constant(false)),
                };
                self.equal(Place::LinkType, 0, Width::Byte, code)
            }
            LinkType::BacnetMsTp | LinkType::Mtp2 => Err(Reason::NotSupported {
                what: "proto",
                link: self.frame.link,
            }),
        }
    }

    fn ethernet_protocol(&mut self, number: u32) -> Lowered {
        match number {
            SAP_ISO | SAP_IP | SAP_NETBEUI => {
                let is_802_3 = self.is_802_3()?;
                let both = self.equal(Place::Payload, 0, Width::Half, number << 8 | number)?;
                Ok(Condition::all([is_802_3, both]))
            }
            SAP_IPX => {
                let ethernet = self.equal(Place::LinkType, 0, Width::Half, IPX)?;
                let is_802_3 = self.is_802_3()?;
                let snap = self.snap(0, IPX)?;
                let llc = self.equal(Place::Payload, 0, Width::Byte, SAP_IPX)?;
                let raw = self.equal(Place::Payload, 0, Width::Half, 0xffff)?;
                let inner = Condition::any([snap, llc, raw]);
                Ok(Condition::any([
                    ethernet,
                    Condition::all([is_802_3, inner]),
                ]))
            }
            APPLETALK | AARP => {
                let ethernet = self.equal(Place::LinkType, 0, Width::Half, number)?;
                let is_802_3 = self.is_802_3()?;
                let snap = self.appletalk_snap(number)?;
                Ok(Condition::any([ethernet, Condition::all([is_802_3, snap])]))
            }
            0..=MAX_LENGTH => {
                at_most("LLC DSAP", number, 255)?;
                let is_802_3 = self.is_802_3()?;
                let access = self.equal(Place::LinkType, 2, Width::Byte, number)?;
                Ok(Condition::all([is_802_3, access]))
            }
            _ => {
                at_most("EtherType", number, 0xffff)?;
                self.equal(Place::LinkType, 0, Width::Half, number)
            }
        }
    }

    /// The EtherType field is a length, so the frame is one of 802.3.
    pub(super) fn is_802_3(&mut self) -> Lowered {
        let field = self.load(Place::LinkType, 0, Width::Half)?;
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
                let is_llc = self.equal(Place::LinkType, 0, Width::Half, COOKED_802_2)?;
                let both = self.equal(Place::Payload, 0, Width::Half, number << 8 | number)?;
                Ok(Condition::all([is_llc, both]))
            }
            SAP_IPX => {
                let ethernet = self.equal(Place::LinkType, 0, Width::Half, IPX)?;
                let raw = self.equal(Place::LinkType, 0, Width::Half, COOKED_802_3)?;
                let is_llc = self.equal(Place::LinkType, 0, Width::Half, COOKED_802_2)?;
                let snap = self.snap(0, IPX)?;
                let llc = self.equal(Place::Payload, 0, Width::Byte, SAP_IPX)?;
                let inner = Condition::any([llc, snap]);
                Ok(Condition::any([
                    ethernet,
                    raw,
                    Condition::all([is_llc, inner]),
                ]))
            }
            APPLETALK | AARP => {
                let ethernet = self.equal(Place::LinkType, 0, Width::Half, number)?;
                let is_llc = self.equal(Place::LinkType, 0, Width::Half, COOKED_802_2)?;
                let snap = self.appletalk_snap(number)?;
                Ok(Condition::any([ethernet, Condition::all([is_llc, snap])]))
            }
            0..=MAX_LENGTH => {
                at_most("LLC DSAP", number, 255)?;
                let is_llc = self.equal(Place::LinkType, 0, Width::Half, COOKED_802_2)?;
                let access = self.equal(Place::Payload, 0, Width::Byte, number)?;
                Ok(Condition::all([is_llc, access]))
            }
            _ => {
                at_most("EtherType", number, 0xffff)?;
                self.equal(Place::LinkType, 0, Width::Half, number)
            }
        }
    }

    fn family(&mut self, number: u32) -> Lowered {
        let is_loop = self.frame.link == LinkType::Loop;
        let families: Vec<u32> = match (number, self.options.families) {
            (IPV4, Families::Any) => vec![2],
            (IPV4, Families::One { ip4, .. }) => vec![ip4],
            (IPV6, Families::Any) => vec![30, 24, 28],
            (IPV6, Families::One { ip6, .. }) => vec![ip6],
            _ => return Ok(Condition::Constant(false)),
        };
        let swapped = families.iter().map(|family| family.swap_bytes());
        let numbers: Vec<u32> = match self.options.families {
            Families::Any if is_loop => families,
            Families::Any => families.iter().copied().chain(swapped).collect(),
            Families::One { is_big_endian, .. } if is_loop || is_big_endian => families,
            Families::One { .. } => swapped.collect(),
        };
        let field = self.load(Place::Header, 0, Width::Word)?;
        let tests: Vec<_> = numbers
            .into_iter()
            .map(|number| self.values.equal(field, number))
            .collect();
        Ok(Condition::any(tests))
    }
}

/// The PPP protocol for an EtherType or access point that has another number there.
fn ppp_number(number: u32) -> u32 {
    match number {
        IPV4 => 0x0021,
        IPV6 => 0x0057,
        DECNET => 0x0027,
        APPLETALK => 0x0029,
        SAP_ISO => 0x0023,
        SAP_STP => 0x0031,
        SAP_IPX => 0x002b,
        other => other,
    }
}
