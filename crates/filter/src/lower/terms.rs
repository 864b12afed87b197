use super::lowering::{Lowered, Lowering, Place};
use super::matching::wrong;
use super::numbers::{IPV4, IPV6};
use crate::LinkType;
use crate::error::Reason;
use crate::graph::condition::{Comparison, Condition};
use crate::graph::values::Width;
use crate::language::tree::{ByteOperator, Direction, Operator, Protocol, Term};

impl Lowering<'_> {
    pub(super) fn term(&mut self, term: &Term) -> Lowered {
        match term {
            Term::Match(qualifiers, id) => self.matching(*qualifiers, id),
            Term::Protocol(protocol) => self.abbreviation(*protocol),
            Term::Broadcast(protocol) => self.broadcast(*protocol),
            Term::Multicast(protocol) => self.multicast(*protocol),
            Term::Less(bytes) => Ok(self.longer(Comparison::Greater, *bytes).negate()),
            Term::Greater(bytes) => Ok(self.longer(Comparison::AtLeast, *bytes)),
            Term::Byte(index, operator, value) => self.byte(*index, *operator, *value),
            Term::Direction { outbound } => self.direction(*outbound),
            Term::InterfaceIndex(index) => self.interface_index(*index),
            Term::Vlan(id) => self.vlan(*id),
            Term::Mpls(label) => self.mpls(*label),
            Term::Pppoed => self.pppoe_discovery(),
            Term::Pppoes(session) => self.pppoe_session(*session),
            Term::Geneve(network) => self.geneve(*network),
            Term::Vxlan(network) => self.vxlan(*network),
            Term::WlanType { value, mask } => self.wlan_type(*value, *mask),
            Term::WlanDirection(value) => self.wlan_direction(*value),
            Term::Llc(kind) => self.llc(*kind),
            Term::Signal(signal) => self.signal(*signal),
            Term::Relation(relation, left, right) => self.relation(*relation, left, right),
        }
    }

    fn longer(&mut self, comparison: Comparison, bytes: u32) -> Condition {
        let length = self.values.length();
        let bytes = self.values.constant(bytes);
        self.values.test(comparison, length, bytes)
    }

    fn byte(&mut self, index: u32, operator: ByteOperator, value: u32) -> Lowered {
        let field = self.load(Place::Header, index, Width::Byte)?;
        let constant = self.values.constant(value);
        let values = &mut self.values;
        Ok(match operator {
            ByteOperator::Equal => values.equal(field, value),
            ByteOperator::Less => values.test(Comparison::AtLeast, field, constant).negate(),
            ByteOperator::Greater => values.test(Comparison::Greater, field, constant),
            ByteOperator::And => values.any_bit(field, value),
            ByteOperator::Or => {
                let either = values.binary(Operator::Or, field, constant);
                values.equal(either, 0).negate()
            }
        })
    }

    fn broadcast(&mut self, protocol: Option<Protocol>) -> Lowered {
        match protocol {
            None | Some(Protocol::Link) => {
                let destination = Some(Direction::Destination);
                match self.frame.link {
                    LinkType::ArcnetLinux => self.short_mac(0, destination, "broadcast"),
                    LinkType::BacnetMsTp => self.short_mac(0xff, destination, "broadcast"),
                    _ => self.mac([0xff; 6], destination, "broadcast"),
                }
            }
            Some(Protocol::Ip) => {
                let netmask = self.options.netmask.ok_or(Reason::NoNetmask)?;
                let host = !u32::from(netmask);
                let is_ip = self.link_protocol(IPV4)?;
                let zeros = self.masked(Place::Network, 16, Width::Word, host, 0)?;
                let ones = self.masked(Place::Network, 16, Width::Word, host, host)?;
                Ok(Condition::all([is_ip, Condition::any([zeros, ones])]))
            }
            Some(protocol) => Err(wrong(protocol.word(), "broadcast")),
        }
    }

    fn multicast(&mut self, protocol: Option<Protocol>) -> Lowered {
        let (what, link) = ("multicast", self.frame.link);
        match protocol {
            None | Some(Protocol::Link) => {
                if link == LinkType::ArcnetLinux {
                    return self.short_mac(0, Some(Direction::Destination), what);
                }
                if link.is_wlan() {
                    return self.wlan_multicast();
                }
                if !link.is_ethernet() {
                    return Err(Reason::NotSupported { what, link });
                }
                let has_header = self.has_inner_header();
                Ok(Condition::all([
                    has_header,
                    self.any_bit(Place::Header, 0, 1)?,
                ]))
            }
            Some(Protocol::Ip) => {
                let is_ip = self.link_protocol(IPV4)?;
                let group = self.masked(Place::Network, 16, Width::Byte, 0xf0, 0xe0)?;
                Ok(Condition::all([is_ip, group]))
            }
            Some(Protocol::Ip6) => {
                let is_ip6 = self.link_protocol(IPV6)?;
                let group = self.equal(Place::Network, 24, Width::Byte, 255)?;
                Ok(Condition::all([is_ip6, group]))
            }
            Some(protocol) => Err(wrong(protocol.word(), what)),
        }
    }
}
