use super::lowering::{Lowered, Lowering, Place, at_most};
use super::matching::wrong;
use super::numbers::{AH, FRAGMENT, IPV4, IPV6};
use crate::error::Reason;
use crate::graph::condition::Condition;
use crate::graph::values::{ValueId, Variable, Width};
use crate::language::tree::{Operator, Protocol};

/// Headers that are followed at most, whatever the options say: more than a program can hold.
const MOST_HEADERS: u32 = 500;

const HOP_BY_HOP: u32 = 0;
const ROUTING: u32 = 43;
const DESTINATION_OPTIONS: u32 = 60;

/// A step along a chain of headers.
struct Chain {
    number: u32,
    next: Variable,
    offset: Variable,
    has_extensions: bool,
}

impl Lowering<'_> {
    /// The protocol is one of the chain of headers behind the IPv4 or IPv6 header.
    ///
    /// Behind an authentication header the chain goes on at four times its length and two, counted
    /// from the network header, as libpcap counts.
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
            return Err(Reason::VariableHeaders { what });
        }
        let is_protocol = self.link_protocol(link_number)?;
        let chain = Chain {
            number,
            next: self.new_variable()?,
            offset: self.new_variable()?,
            has_extensions,
        };
        let (first, start) = if has_extensions {
            let first = self.load(Place::Network, 6, Width::Byte)?;
            (first, self.values.constant(40))
        } else {
            let first = self.load(Place::Network, 9, Width::Byte)?;
            let (_, network) = self.place(Place::Network)?;
            (first, self.values.header_length(None, network))
        };
        let mut rest = Condition::Constant(false);
        for _ in 0..self.options.chain_headers.min(MOST_HEADERS) {
            rest = self.header(&chain, rest)?;
        }
        Ok(Condition::all([
            is_protocol,
            Condition::Let(chain.next, first),
            Condition::Let(chain.offset, start),
            rest,
        ]))
    }

    /// The header here is the one looked for, or it is one that says what follows, and `rest` holds.
    fn header(&mut self, chain: &Chain, rest: Condition) -> Lowered {
        let (_, network) = self.place(Place::Network)?;
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
