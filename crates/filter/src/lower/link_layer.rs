use crate::classic::Ancillary;
use crate::error::FilterErrorReason;
use crate::graph::condition::{Comparison, Condition};
use crate::graph::values::{ValueId, Width};
use crate::language::tree::{Llc, Operator, Signal, SignalField};
use crate::link_type::LinkType;
use crate::lower::lowering::{FieldBase, Lowered, Lowering, at_most};
use crate::lower::protocol_numbers::{
    AARP, APPLETALK, ARP, DECNET, IPV4, IPV6, IPX, MAX_LENGTH, NLPID_ISIS, RARP, SAP_IP, SAP_IPX,
    SAP_ISO, SAP_NETBEUI, SAP_STP,
};
use crate::options::{FilterTarget, LoopbackFamilies};

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
            LinkType::Ethernet | LinkType::DsaBroadcom | LinkType::DsaMarvell => {
                self.ethernet_protocol(number)
            }
            LinkType::LinuxSll => self.cooked_protocol(number),
            LinkType::LinuxSll2 => {
                at_most("EtherType", number, 0xffff)?;
                self.equal(FieldBase::LinkType, 0, Width::Half, number)
            }
            LinkType::Wlan | LinkType::Radiotap | LinkType::Ppi => {
                let is_data = self.is_data_frame()?;
                let llc = self.llc_protocol(number)?;
                Ok(Condition::all([is_data, llc]))
            }
            LinkType::Raw | LinkType::Slip => match number {
                IPV4 => self.masked(FieldBase::Header, 0, Width::Byte, 0xf0, 0x40),
                IPV6 => self.masked(FieldBase::Header, 0, Width::Byte, 0xf0, 0x60),
                _ => Ok(Condition::Constant(false)),
            },
            LinkType::Ipv4 => Ok(Condition::Constant(number == IPV4)),
            LinkType::Ipv6 => Ok(Condition::Constant(number == IPV6)),
            LinkType::Null | LinkType::Loop => self.family(number),
            LinkType::Ppp => {
                let number = at_most("PPP protocol", ppp_number(number), 0xffff)?;
                self.equal(FieldBase::LinkType, 0, Width::Half, number)
            }
            LinkType::CiscoHdlc => {
                at_most("HDLC protocol", number, 0xffff)?;
                let number = if number == SAP_ISO {
                    SAP_ISO << 8 | SAP_ISO
                } else {
                    number
                };
                self.equal(FieldBase::LinkType, 0, Width::Half, number)
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
                self.equal(FieldBase::LinkType, 0, Width::Byte, code)
            }
            LinkType::BacnetMsTp | LinkType::Mtp2 => Err(FilterErrorReason::NotSupported {
                what: "proto",
                link: self.frame.link,
            }),
        }
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

    fn family(&mut self, number: u32) -> Lowered {
        let is_loop = self.frame.link == LinkType::Loop;
        let families: Vec<u32> = match (number, self.options.families) {
            (IPV4, LoopbackFamilies::Any) => vec![2],
            (IPV4, LoopbackFamilies::One { ip4, .. }) => vec![ip4],
            (IPV6, LoopbackFamilies::Any) => vec![30, 24, 28],
            (IPV6, LoopbackFamilies::One { ip6, .. }) => vec![ip6],
            _ => return Ok(Condition::Constant(false)),
        };
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
        if self.frame.link.is_ethernet() {
            let is_802_3 = self.is_802_3()?;
            let is_raw = self.equal(FieldBase::Payload, 0, Width::Half, 0xffff)?;
            return Ok(Condition::all([is_802_3, is_raw.negate()]));
        }
        if self.frame.link.is_wlan() {
            return self.is_data_frame();
        }
        Err(FilterErrorReason::NotSupported {
            what: "llc",
            link: self.frame.link,
        })
    }
}

impl Lowering<'_> {
    /// An ISO protocol, by its NLPID.
    pub(super) fn iso(&mut self, number: u32) -> Lowered {
        at_most("ISO protocol", number, 255)?;
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

impl Lowering<'_> {
    /// SS7 signal units, by their length indicator, and fields of message signal units.
    pub(super) fn signal(&mut self, signal: Signal) -> Result<Condition, FilterErrorReason> {
        let link = self.frame.link;
        if link != LinkType::Mtp2 {
            let what = "SS7";
            return Err(FilterErrorReason::NotSupported { what, link });
        }
        Ok(match signal {
            Signal::FillIn => {
                let length = self.field(2, Width::Byte, 0x3f);
                self.values.equal(length, 0)
            }
            Signal::LinkStatus => {
                let length = self.field(2, Width::Byte, 0x3f);
                let two = self.values.constant(2);
                let is_message = self.values.test(Comparison::Greater, length, two);
                let is_fill_in = self.values.equal(length, 0);
                Condition::all([is_fill_in.negate(), is_message.negate()])
            }
            Signal::Message => {
                let length = self.field(2, Width::Byte, 0x3f);
                let two = self.values.constant(2);
                self.values.test(Comparison::Greater, length, two)
            }
            Signal::Field(field, relation, value) => {
                // The routing label is little-endian, so masks and values are byte-swapped.
                let (field, value) = match field {
                    SignalField::ServiceIndicator => (self.field(3, Width::Byte, 0xff), value),
                    SignalField::OriginCode => {
                        let mask = (0x3fff_u32 << 14).swap_bytes();
                        (self.field(4, Width::Word, mask), (value << 14).swap_bytes())
                    }
                    SignalField::DestinationCode => {
                        let mask = u32::from(0x3fff_u16.swap_bytes());
                        let value = u32::from((value as u16).swap_bytes());
                        (self.field(4, Width::Half, mask), value)
                    }
                    SignalField::LinkSelection => (self.field(7, Width::Byte, 0xf0), value << 4),
                };
                let value = self.values.constant(value);
                self.compare(relation, field, value)
            }
        })
    }

    fn field(&mut self, offset: u32, width: Width, mask: u32) -> ValueId {
        let field = self.values.load(width, None, offset);
        self.values.binary_constant(Operator::And, field, mask)
    }
}

const OUTGOING: u32 = libc::PACKET_OUTGOING as u32;

impl Lowering<'_> {
    /// `inbound` and `outbound`: from the bytes if the link type has a direction, otherwise from
    /// metadata.
    pub(super) fn direction(&mut self, is_outbound: bool) -> Lowered {
        let (width, offset) = match self.frame.link {
            LinkType::LinuxSll => (Width::Half, 0),
            LinkType::LinuxSll2 => (Width::Byte, 10),
            LinkType::Slip => {
                return self.equal(FieldBase::Header, 0, Width::Byte, u32::from(is_outbound));
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
