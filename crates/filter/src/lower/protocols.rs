//! Terms about protocols and header chains.

use crate::error::FilterErrorReason;
use crate::graph::condition::Condition;
use crate::graph::values::{ValueId, Variable, Width};
use crate::language::tree::{Operator, Protocol};
use crate::lower::layers::search_term::SearchTerm;
use crate::lower::lowering::{FieldBase, Lowered, Lowering, at_most, unknown, wrong};
use crate::lower::protocol_numbers::{
    AH, DESTINATION_OPTIONS, FRAGMENT, HOP_BY_HOP, IPV4, IPV6, NLPID_CLNP, NLPID_ESIS, NLPID_ISIS,
    ROUTING, internet_number, isis_types, link_number, link_number_of,
};

impl Lowering<'_> {
    /// A protocol name without further qualifiers.
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
        if self.searches.is_some() {
            at_most("protocol number", number, 255)?;
            return match protocol {
                None | Some(Protocol::Ip | Protocol::Ip6) => {
                    Ok(self.search_for(SearchTerm::Proto(number, protocol)))
                }
                Some(protocol) => Err(wrong(protocol.word(), "proto")),
            };
        }
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
                let field = self.equal(FieldBase::Network, 9, Width::Byte, number)?;
                Ok(Condition::all([is_ip, field]))
            }
            Some(Protocol::Ip6) => {
                at_most("protocol number", number, 255)?;
                let is_ip6 = self.link_protocol(IPV6)?;
                let direct = self.equal(FieldBase::Network, 6, Width::Byte, number)?;
                let fragment = self.equal(FieldBase::Network, 6, Width::Byte, FRAGMENT)?;
                let behind = self.equal(FieldBase::Network, 40, Width::Byte, number)?;
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
    ) -> Result<u32, FilterErrorReason> {
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

/// Upper limit for the option `chain_headers`: more headers than a program can hold.
const MAX_HEADERS: u32 = 500;

/// The state of a walk along a chain of headers.
struct Chain {
    number: u32,
    next: Variable,
    offset: Variable,
    has_extensions: bool,
}

impl Lowering<'_> {
    /// The protocol occurs in the chain of headers after the IPv4 or IPv6 header.
    ///
    /// After an authentication header the chain continues at `4 * (length + 2)` from the network
    /// header, as in libpcap.
    pub(super) fn protochain(&mut self, number: u32, protocol: Option<Protocol>) -> Lowered {
        let what = "protochain";
        let (has_extensions, link_number) = match protocol {
            None => {
                let over4 = self.protochain(number, Some(Protocol::Ip))?;
                let over6 = self.protochain(number, Some(Protocol::Ip6))?;
                return Ok(Condition::any([over4, over6]));
            }
            Some(Protocol::Ip) => (false, IPV4),
            Some(Protocol::Ip6) => (true, IPV6),
            Some(protocol) => return Err(wrong(protocol.word(), what)),
        };
        at_most("protocol number", number, 255)?;
        if self
            .frame
            .payload
            .is_some_and(|payload| payload.base.is_some())
        {
            return Err(FilterErrorReason::VariableHeaders { what });
        }
        let is_protocol = self.link_protocol(link_number)?;
        let chain = Chain {
            number,
            next: self.new_variable()?,
            offset: self.new_variable()?,
            has_extensions,
        };
        let (first, start) = if has_extensions {
            let first = self.load(FieldBase::Network, 6, Width::Byte)?;
            (first, self.values.constant(40))
        } else {
            let first = self.load(FieldBase::Network, 9, Width::Byte)?;
            let (_, network) = self.locate(FieldBase::Network)?;
            (first, self.values.header_length(None, network))
        };
        let mut rest = Condition::Constant(false);
        for _ in 0..self.options.chain_headers.min(MAX_HEADERS) {
            rest = self.header(&chain, rest)?;
        }
        Ok(Condition::all([
            is_protocol,
            Condition::Let(chain.next, first),
            Condition::Let(chain.offset, start),
            rest,
        ]))
    }

    /// This header is the protocol searched for, or it has a next-header field and `rest` holds.
    fn header(&mut self, chain: &Chain, rest: Condition) -> Lowered {
        let (_, network) = self.locate(FieldBase::Network)?;
        let here = self.values.variable(chain.next);
        let offset = self.values.variable(chain.offset);
        let next = self.values.load(Width::Byte, Some(offset), network);
        let length = self.values.load(Width::Byte, Some(offset), network + 1);
        let step = |to: ValueId| {
            Condition::all([
                Condition::Let(chain.next, next),
                Condition::Let(chain.offset, to),
            ])
        };
        let words = self.values.binary_constant(Operator::Add, length, 2);
        let behind = self.values.binary_constant(Operator::Multiply, words, 4);
        let is_authentication = self.values.equal(here, AH);
        let mut steps = Vec::new();
        if chain.has_extensions {
            let units = self.values.binary_constant(Operator::Add, length, 1);
            let bytes = self.values.binary_constant(Operator::Multiply, units, 8);
            let behind = self.values.binary(Operator::Add, bytes, offset);
            let kinds = [HOP_BY_HOP, DESTINATION_OPTIONS, ROUTING, FRAGMENT];
            let kinds: Vec<_> = kinds
                .into_iter()
                .map(|kind| self.values.equal(here, kind))
                .collect();
            steps.push(Condition::all([Condition::any(kinds), step(behind)]));
        }
        steps.push(Condition::all([is_authentication, step(behind)]));
        let found = self.values.equal(here, chain.number);
        let further = Condition::all([Condition::any(steps), rest]);
        Ok(Condition::any([found, further]))
    }
}
