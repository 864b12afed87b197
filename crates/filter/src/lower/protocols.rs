use super::lowering::{Lowered, Lowering, Place, at_most};
use super::matching::{unknown, wrong};
use super::numbers::{
    FRAGMENT, IPV4, IPV6, NLPID_CLNP, NLPID_ESIS, NLPID_ISIS, internet_number, isis_types,
    link_number, link_number_of,
};
use crate::error::Reason;
use crate::graph::condition::Condition;
use crate::graph::values::Width;
use crate::language::tree::Protocol;

impl Lowering<'_> {
    /// A protocol's name alone.
    pub(super) fn abbreviation(&mut self, protocol: Protocol) -> Lowered {
        if let Some(number) = link_number(protocol) {
            return self.link_protocol(number);
        }
        if let Some(number) = internet_number(protocol) {
            let over = match protocol {
                Protocol::Icmp
                | Protocol::Igmp
                | Protocol::Igrp
                | Protocol::Vrrp
                | Protocol::Carp => Some(Protocol::Ip),
                Protocol::Icmp6 => Some(Protocol::Ip6),
                _ => None,
            };
            return self.proto(number, over);
        }
        if let Some(types) = isis_types(protocol) {
            return self.isis(types);
        }
        match protocol {
            Protocol::Esis => self.proto(NLPID_ESIS, Some(Protocol::Iso)),
            Protocol::Isis => self.proto(NLPID_ISIS, Some(Protocol::Iso)),
            Protocol::Clnp => self.proto(NLPID_CLNP, Some(Protocol::Iso)),
            other => Err(wrong(other.word(), "a term of its own")),
        }
    }

    /// `protocol proto number`
    pub(super) fn proto(&mut self, number: u32, protocol: Option<Protocol>) -> Lowered {
        match protocol {
            None => {
                let over4 = self.proto(number, Some(Protocol::Ip))?;
                let over6 = self.proto(number, Some(Protocol::Ip6))?;
                Ok(Condition::any([over4, over6]))
            }
            Some(Protocol::Link) => self.link_protocol(number),
            Some(Protocol::Ip) => {
                at_most("protocol number", number, 255)?;
                let is_ip = self.link_protocol(IPV4)?;
                let field = self.equal(Place::Network, 9, Width::Byte, number)?;
                Ok(Condition::all([is_ip, field]))
            }
            Some(Protocol::Ip6) => {
                at_most("protocol number", number, 255)?;
                let is_ip6 = self.link_protocol(IPV6)?;
                let direct = self.equal(Place::Network, 6, Width::Byte, number)?;
                let fragment = self.equal(Place::Network, 6, Width::Byte, FRAGMENT)?;
                let behind = self.equal(Place::Network, 40, Width::Byte, number)?;
                let behind = Condition::all([fragment, behind]);
                Ok(Condition::all([is_ip6, Condition::any([direct, behind])]))
            }
            Some(Protocol::Iso) => self.iso(number),
            Some(Protocol::Isis) => {
                at_most("IS-IS PDU type", number, 31)?;
                self.isis(&[number])
            }
            Some(protocol) => Err(wrong(protocol.word(), "proto")),
        }
    }

    pub(super) fn named_protocol(
        &self,
        name: &str,
        protocol: Option<Protocol>,
    ) -> Result<u32, Reason> {
        let number = match protocol {
            None | Some(Protocol::Ip | Protocol::Ip6) => self.names.protocol(name).map(u32::from),
            Some(Protocol::Link) => link_number_of(name),
            Some(Protocol::Iso) => match name {
                "esis" => Some(NLPID_ESIS),
                "isis" => Some(NLPID_ISIS),
                "clnp" => Some(NLPID_CLNP),
                _ => None,
            },
            Some(_) => None,
        };
        number.ok_or_else(|| unknown("proto", name))
    }
}
