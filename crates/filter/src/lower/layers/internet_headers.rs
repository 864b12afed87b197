//! Skips IP headers, extension headers and transport headers.

use crate::graph::condition::Condition;
use crate::graph::values::Width;
use crate::language::tree::Operator;
use crate::lower::layers::limits::EXTENSION_HEADERS;
use crate::lower::layers::search_term::SearchTerm;
use crate::lower::lowering::{FieldBase, KIND, Lowered, Lowering, POSITION};
use crate::lower::ports::transport_numbers;
use crate::lower::protocol_numbers::{
    AH, DESTINATION_OPTIONS, FRAGMENT, HOP_BY_HOP, IPV4, IPV6, ROUTING, TCP, UDP,
};

/// Added to the protocol of a later fragment, which has no transport header.
const LATER_FRAGMENT: u32 = 0x100;
/// `KIND` after a protocol that was searched for.
const FOUND: u32 = 0x200;

impl Lowering<'_> {
    /// Passes the IP header at `POSITION` and its extension headers. Sets `KIND` to the protocol that follows, or to
    /// [`FOUND`]. Without anything `wanted`, only tunnels matter, and TCP ends the search.
    pub(super) fn internet_headers(&mut self, wanted: &[SearchTerm]) -> Condition {
        let over4: Vec<u32> = wanted
            .iter()
            .filter_map(SearchTerm::ipv4_protocol)
            .collect();
        let over6: Vec<u32> = wanted.iter().filter_map(SearchTerm::next_header).collect();
        let is_searched =
            |wanted: &SearchTerm| matches!(wanted, SearchTerm::Proto(..) | SearchTerm::Ports(..));
        let passes_tcp = if wanted.iter().any(is_searched) {
            Condition::Constant(true)
        } else {
            self.is_kind(TCP).negate()
        };
        let is_ip = self.is_kind(IPV4);
        let ip = self.ipv4_header(&over4, passes_tcp.clone());
        let is_ip6 = self.is_kind(IPV6);
        let ip6 = self.ipv6_header(&over6, passes_tcp);
        Condition::choose(is_ip, ip, Condition::all([is_ip6, ip6]))
    }

    /// Passes an IPv4 header that is not of a later fragment, and an authentication header.
    fn ipv4_header(&mut self, wanted: &[u32], passes_tcp: Condition) -> Condition {
        let fragment = self.position_field(Width::Half, 6);
        let is_first = self.values.any_bit(fragment, 0x1fff).negate();
        let protocol = self.load_kind(Width::Byte, 9);
        let position = self.values.variable(POSITION);
        let length = self.values.header_length(Some(position), 0);
        let pass = self.advance_by(length, 0);
        let is_authentication = self.is_kind(AH);
        let authentication = self.authentication_header();
        let found = self.mark(wanted);
        let authentication = Condition::all([authentication, found]);
        Condition::all([
            protocol,
            passes_tcp,
            is_first,
            pass,
            Condition::choose(is_authentication, authentication, Condition::Constant(true)),
        ])
    }

    /// Passes an IPv6 header and its extension headers.
    fn ipv6_header(&mut self, wanted: &[u32], passes_tcp: Condition) -> Condition {
        let is_extension = |number: &u32| {
            [HOP_BY_HOP, ROUTING, FRAGMENT, AH, DESTINATION_OPTIONS].contains(number)
        };
        let (extensions, last): (Vec<u32>, Vec<u32>) =
            wanted.iter().copied().partition(is_extension);
        let mut steps = Vec::new();
        for _ in 0..EXTENSION_HEADERS {
            steps.push(self.mark(&extensions));
            steps.push(self.extension_header(!wanted.is_empty()));
        }
        steps.push(self.mark(&extensions));
        let later = last.iter().map(|number| number | LATER_FRAGMENT);
        let last: Vec<u32> = last.iter().copied().chain(later).collect();
        // The most frequent protocols need not be compared with all extension headers.
        let has_none = self.is_kind_of(&[TCP, UDP]);
        Condition::all([
            self.load_kind(Width::Byte, 6),
            passes_tcp,
            self.advance(40),
            Condition::choose(has_none, Condition::Constant(true), Condition::all(steps)),
            self.mark(&last),
        ])
    }

    /// Sets `KIND` to [`FOUND`] if it is one of `wanted`; always true.
    fn mark(&mut self, wanted: &[u32]) -> Condition {
        let is_wanted = self.is_kind_of(wanted);
        Condition::choose(is_wanted, self.set_kind(FOUND), Condition::Constant(true))
    }

    /// Passes an extension header, if there is one.
    fn extension_header(&mut self, wants_protocol: bool) -> Condition {
        let next = self.load_kind(Width::Byte, 0);
        let fragment = self.position_field(Width::Half, 2);
        let is_later = self.values.any_bit(fragment, 0xfff8);
        let later = if wants_protocol {
            let kind = self.values.variable(KIND);
            let later = self
                .values
                .binary_constant(Operator::Add, kind, LATER_FRAGMENT);
            Condition::Let(KIND, later)
        } else {
            Condition::Constant(false)
        };
        let first = self.advance(8);
        let fragment = Condition::all([next.clone(), Condition::choose(is_later, later, first)]);
        let length = self.position_field(Width::Byte, 1);
        let length = self.values.binary_constant(Operator::ShiftLeft, length, 3);
        let options = Condition::all([next, self.advance_by(length, 8)]);
        let authentication = self.authentication_header();
        let is_fragment = self.is_kind(FRAGMENT);
        let is_authentication = self.is_kind(AH);
        let is_options = self.is_kind_of(&[HOP_BY_HOP, ROUTING, DESTINATION_OPTIONS]);
        let other = Condition::choose(is_authentication, authentication, Condition::Constant(true));
        let other = Condition::choose(is_fragment, fragment, other);
        Condition::choose(is_options, options, other)
    }

    fn authentication_header(&mut self) -> Condition {
        let next = self.load_kind(Width::Byte, 0);
        let length = self.position_field(Width::Byte, 1);
        let length = self.values.binary_constant(Operator::ShiftLeft, length, 2);
        Condition::all([next, self.advance_by(length, 8)])
    }

    /// The transport header at `POSITION` has a port that is wanted, or it is a tunnel and `inside` holds.
    pub(super) fn transport_layer(&mut self, wanted: &[SearchTerm], inside: Condition) -> Lowered {
        let mut terms = Vec::new();
        if wanted
            .iter()
            .any(|wanted| matches!(wanted, SearchTerm::Proto(..)))
        {
            terms.push(self.is_kind(FOUND));
        }
        for wanted in wanted {
            if let SearchTerm::Ports(ranges, transport, direction) = wanted {
                let has_ports = self.is_kind_of(transport_numbers(*transport));
                let found = self.ports_in(ranges, *direction, FieldBase::Position)?;
                terms.push(Condition::all([has_ports, found]));
            }
        }
        if inside != Condition::Constant(false) {
            let kind = self.values.variable(KIND);
            let gtp = self.gtp_header();
            let over_udp = self.udp_tunnel(FieldBase::Position, gtp)?;
            let other = self.ip_tunnel(kind, FieldBase::Position)?;
            let tunnel = Condition::choose(self.is_kind(UDP), over_udp, other);
            terms.push(Condition::all([tunnel, inside]));
        }
        Ok(Condition::any(terms))
    }
}
