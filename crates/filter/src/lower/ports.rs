//! Terms about ports.

use crate::error::FilterErrorReason;
use crate::graph::condition::Condition;
use crate::graph::values::Width;
use crate::language::lexer::parse_number;
use crate::language::tree::{Direction, Kind, Protocol, Qualifiers};
use crate::lower::layers::search_term::SearchTerm;
use crate::lower::lowering::{FieldBase, Lowered, Lowering, at_most, unknown, wrong};
use crate::lower::protocol_numbers::{IPV4, IPV6, SCTP, TCP, UDP};
use crate::names::Transport;

impl Lowering<'_> {
    /// The packet has a port in one of `ranges`. Without `transport`, tests TCP, UDP and SCTP.
    ///
    /// Later fragments have no ports.
    pub(super) fn ports(
        &mut self,
        ranges: &[(u32, u32)],
        transport: Option<Transport>,
        direction: Option<Direction>,
    ) -> Lowered {
        crate::lower::addresses::no_wlan_direction(direction)?;
        if self.searches.is_some() {
            return Ok(self.search_for(SearchTerm::Ports(ranges.to_vec(), transport, direction)));
        }
        let is_ip6 = self.link_protocol(IPV6)?;
        let protocol6 = self.transport(FieldBase::Network, 6, transport)?;
        let ports6 = self.ports_in(ranges, direction, FieldBase::Transport6)?;
        let is_ip = self.link_protocol(IPV4)?;
        let protocol = self.transport(FieldBase::Network, 9, transport)?;
        let is_first = self.is_first_fragment()?;
        let ports = self.ports_in(ranges, direction, FieldBase::Transport4)?;
        Ok(Condition::any([
            Condition::all([is_ip6, protocol6, ports6]),
            Condition::all([is_ip, protocol, is_first, ports]),
        ]))
    }

    /// The transport header at `base` has a port in one of `ranges`.
    pub(super) fn ports_in(
        &mut self,
        ranges: &[(u32, u32)],
        direction: Option<Direction>,
        base: FieldBase,
    ) -> Lowered {
        // For "src and dst", both ports must be in the same range.
        let lists = match direction {
            Some(Direction::Both) => ranges.chunks(1),
            _ => ranges.chunks(ranges.len().max(1)),
        };
        let parts: Result<Vec<_>, _> = lists
            .map(|ranges| {
                self.ends(direction, |lowering, is_source| {
                    let offset = if is_source { 0 } else { 2 };
                    let field = lowering.load(base, offset, Width::Half)?;
                    Ok(lowering.values.in_ranges(field, ranges))
                })
            })
            .collect();
        parts.map(Condition::any)
    }

    pub(super) fn is_first_fragment(&mut self) -> Lowered {
        let field = self.load(FieldBase::Network, 6, Width::Half)?;
        Ok(self.values.any_bit(field, 0x1fff).negate())
    }

    fn transport(&mut self, base: FieldBase, offset: u32, transport: Option<Transport>) -> Lowered {
        let field = self.load(base, offset, Width::Byte)?;
        let tests: Vec<_> = transport_numbers(transport)
            .iter()
            .map(|&number| self.values.equal(field, number))
            .collect();
        Ok(Condition::any(tests))
    }

    pub(super) fn named_ports(&mut self, qualifiers: Qualifiers, name: &str) -> Lowered {
        let wanted = transport_of(qualifiers)?;
        let is_range = qualifiers.kind == Some(Kind::PortRange);
        let (first, last) = name
            .split_once('-')
            .filter(|_| is_range)
            .unwrap_or((name, name));
        let (least, of_first) = self.port(first)?;
        let (most, of_last) = self.port(last)?;
        let found = of_first.filter(|_| of_first == of_last);
        let transport = match (wanted, found) {
            (Some(wanted), Some(found)) if wanted != found => {
                return Err(unknown("port", name));
            }
            (Some(wanted), _) => Some(wanted),
            (None, found) => found,
        };
        let range = (least.min(most), least.max(most));
        self.ports(&[range], transport, qualifiers.direction)
    }

    /// The port of the service `name`, and its transport protocol if only one has it.
    fn port(&self, name: &str) -> Result<(u32, Option<Transport>), FilterErrorReason> {
        if name
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_digit())
            && let Ok(port) = parse_number(name)
        {
            return Ok((at_most("port number", port, 0xffff)?, None));
        }
        let tcp = self.names.port(name, Transport::Tcp);
        let udp = self.names.port(name, Transport::Udp);
        let (port, transport) = match (tcp, udp) {
            (Some(tcp), Some(udp)) if tcp == udp => (tcp, None),
            (Some(tcp), _) => (tcp, Some(Transport::Tcp)),
            (None, Some(udp)) => (udp, Some(Transport::Udp)),
            (None, None) => match self.names.port(name, Transport::Sctp) {
                Some(sctp) => (sctp, Some(Transport::Sctp)),
                None => return Err(unknown("port", name)),
            },
        };
        Ok((u32::from(port), transport))
    }
}

/// The IP protocol numbers that have ports.
pub(super) fn transport_numbers(transport: Option<Transport>) -> &'static [u32] {
    match transport {
        Some(Transport::Tcp) => &[TCP],
        Some(Transport::Udp) => &[UDP],
        Some(Transport::Sctp) => &[SCTP],
        None => &[TCP, UDP, SCTP],
    }
}

/// The transport protocol in the qualifiers of a port.
pub(super) fn transport_of(qualifiers: Qualifiers) -> Result<Option<Transport>, FilterErrorReason> {
    match qualifiers.protocol {
        None => Ok(None),
        Some(Protocol::Tcp) => Ok(Some(Transport::Tcp)),
        Some(Protocol::Udp) => Ok(Some(Transport::Udp)),
        Some(Protocol::Sctp) => Ok(Some(Transport::Sctp)),
        Some(protocol) => {
            let kind = qualifiers.kind.unwrap_or(Kind::Port);
            Err(wrong(protocol.word(), kind.word()))
        }
    }
}
