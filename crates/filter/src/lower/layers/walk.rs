//! Walks the layers of a packet.

use crate::graph::condition::Condition;
use crate::graph::values::{ValueId, Width};
use crate::language::tree::{Layers, Operator, Protocol};
use crate::link_type::LinkType;
use crate::lower::frame::{Frame, Offset};
use crate::lower::layers::limits::TUNNELS;
use crate::lower::layers::search_term::SearchTerm;
use crate::lower::lowering::{FieldBase, KIND, Lowered, Lowering, POSITION};
use crate::lower::protocol_numbers::{
    AH, ARP, DESTINATION_OPTIONS, FRAGMENT, GRE, GTP_PORT, HOP_BY_HOP, IPV4, IPV4_IN_IP, IPV6,
    IPV6_IN_IP, RARP, ROUTING, TCP, UDP,
};

/// Headers behind an IPv4 header that only the walk passes.
const WALKED_OVER_IPV4: [u32; 1] = [AH];
/// The same for an IPv6 header, and tunnels that are rare over IPv6.
const WALKED_OVER_IPV6: [u32; 8] = [
    HOP_BY_HOP,
    IPV4_IN_IP,
    IPV6_IN_IP,
    ROUTING,
    FRAGMENT,
    GRE,
    AH,
    DESTINATION_OPTIONS,
];

impl Lowering<'_> {
    /// One of `layers` contains something that is `wanted`.
    pub(super) fn search(&mut self, layers: Layers, wanted: &[SearchTerm]) -> Lowered {
        self.reserve_layer_variables()?;
        let mut inside = Condition::Constant(false);
        for _ in 0..TUNNELS {
            let link = self.ethernet_header();
            let behind = self.after_link_headers(wanted, inside)?;
            inside = Condition::all([link, behind]);
        }
        // After `vxlan` and `geneve`, the frame is the one inside the tunnel.
        let is_inside = self.frame.tunnel.is_some();
        let wanted = if layers == Layers::Any || is_inside {
            wanted
        } else {
            &[]
        };
        let mut terms = Vec::new();
        for wanted in wanted {
            terms.push(self.plain(wanted)?);
        }
        terms.push(self.behind_plain(wanted, &inside)?);
        Ok(Condition::any(terms))
    }

    /// The term without `any`: it tests the outermost headers at fixed offsets.
    fn plain(&mut self, wanted: &SearchTerm) -> Lowered {
        match wanted {
            SearchTerm::Hosts(networks, protocol, direction) => {
                self.hosts(networks, *protocol, *direction, false)
            }
            SearchTerm::Hosts6(networks, direction) => self.hosts6(networks, None, *direction),
            SearchTerm::Ports(ranges, transport, direction) => {
                self.ports(ranges, *transport, *direction)
            }
            SearchTerm::Proto(number, protocol) => self.proto(*number, *protocol),
            SearchTerm::Link(number) => self.link_protocol(*number),
        }
    }

    /// The packet has headers that the plain term does not pass, and something is found behind them.
    fn behind_plain(&mut self, wanted: &[SearchTerm], inside: &Condition) -> Lowered {
        let walk = self.internet_layer(wanted, inside.clone())?;
        let start = Condition::Let(POSITION, self.network_offset()?);
        let mut over_ip = |number| {
            let walk = [start.clone(), self.set_kind(number), walk.clone()];
            self.behind_internet_header(number, Condition::all(walk), inside)
        };
        let [over4, over6] = [over_ip(IPV4)?, over_ip(IPV6)?];
        let link = match self.link_headers_at_start()? {
            Condition::Constant(false) => Condition::Constant(false),
            found => Condition::all([start, found, self.link_headers(), walk]),
        };
        let is_ip6 = self.link_protocol(IPV6)?;
        let is_ip = self.link_protocol(IPV4)?;
        let other = Condition::choose(is_ip6, over6, link);
        Ok(Condition::choose(is_ip, over4, other))
    }

    /// The outermost IP header is followed by a tunnel and `inside` holds, or by another header and `walk` does. TCP, the
    /// most frequent protocol, is decided by the first test.
    fn behind_internet_header(
        &mut self,
        number: u32,
        walk: Condition,
        inside: &Condition,
    ) -> Lowered {
        let (offset, transport, walked, is_first): (_, _, &[u32], _) = if number == IPV4 {
            let is_first = self.is_first_fragment()?;
            (9, FieldBase::Transport4, &WALKED_OVER_IPV4, is_first)
        } else {
            let is_first = Condition::Constant(true);
            (6, FieldBase::Transport6, &WALKED_OVER_IPV6, is_first)
        };
        let protocol = self.load(FieldBase::Network, offset, Width::Byte)?;
        let is_tcp = self.values.equal(protocol, TCP);
        let is_udp = self.values.equal(protocol, UDP);
        let inside = |tunnel| Condition::all([tunnel, inside.clone()]);
        let over_ip = if number == IPV4 {
            inside(self.ip_tunnel(protocol, transport)?)
        } else {
            Condition::Constant(false)
        };
        let no_gtp = Condition::Constant(false);
        let over_udp = inside(self.udp_tunnel(transport, no_gtp)?);
        let port = self.load(transport, 2, Width::Half)?;
        let is_gtp = self.values.equal(port, GTP_PORT);
        let over_udp = Condition::choose(is_gtp, walk.clone(), over_udp);
        let other = Condition::choose(one_of(protocol, walked), walk, over_ip);
        let found = Condition::choose(is_udp, over_udp, other);
        Ok(Condition::all([is_tcp.negate(), is_first, found]))
    }

    /// The layer that starts with a link header of kind `KIND`, and those inside it.
    fn after_link_headers(&mut self, wanted: &[SearchTerm], inside: Condition) -> Lowered {
        let headers = self.link_headers();
        let internet = self.internet_layer(wanted, inside)?;
        Ok(Condition::all([headers, internet]))
    }

    /// The IP header and what follows it.
    fn internet_layer(&mut self, wanted: &[SearchTerm], inside: Condition) -> Lowered {
        let mut terms = Vec::new();
        for wanted in wanted {
            terms.push(self.in_internet_header(wanted)?);
        }
        let is_deeper = |wanted: &SearchTerm| {
            matches!(wanted, SearchTerm::Ports(..)) || wanted.next_header().is_some()
        };
        if wanted.iter().any(is_deeper) || inside != Condition::Constant(false) {
            let headers = self.internet_headers(wanted);
            let transport = self.transport_layer(wanted, inside)?;
            terms.push(Condition::all([headers, transport]));
        }
        Ok(Condition::any(terms))
    }

    /// What the header at `POSITION`, of kind `KIND`, says itself.
    fn in_internet_header(&mut self, wanted: &SearchTerm) -> Lowered {
        let is_ip = self.is_kind(IPV4);
        Ok(match wanted {
            SearchTerm::Hosts(networks, protocol, direction) => {
                let mut parts = Vec::new();
                let kinds: &[u32] = match protocol {
                    Some(Protocol::Ip) => &[],
                    Some(Protocol::Arp) => &[ARP],
                    Some(Protocol::Rarp) => &[RARP],
                    _ => &[ARP, RARP],
                };
                if matches!(protocol, None | Some(Protocol::Ip)) {
                    let fields = [12, 16];
                    let found =
                        self.addresses_in(networks, *direction, FieldBase::Position, fields)?;
                    parts.push(Condition::all([is_ip, found]));
                }
                if !kinds.is_empty() {
                    let kinds: Vec<_> = kinds.iter().map(|&kind| self.is_kind(kind)).collect();
                    let fields = [14, 24];
                    let found =
                        self.addresses_in(networks, *direction, FieldBase::Position, fields)?;
                    parts.push(Condition::all([Condition::any(kinds), found]));
                }
                Condition::any(parts)
            }
            SearchTerm::Hosts6(networks, direction) => {
                let is_ip6 = self.is_kind(IPV6);
                let outer = std::mem::replace(&mut self.frame, ipv6_at_position());
                let found = self.hosts6(networks, None, *direction);
                self.frame = outer;
                Condition::all([is_ip6, found?])
            }
            SearchTerm::Proto(..) => match wanted.ipv4_protocol() {
                Some(number) => {
                    let protocol = self.position_field(Width::Byte, 9);
                    Condition::all([is_ip, self.values.equal(protocol, number)])
                }
                None => Condition::Constant(false),
            },
            SearchTerm::Link(number) => self.is_kind(*number),
            SearchTerm::Ports(..) => Condition::Constant(false),
        })
    }

    /// The offset of the outermost network header.
    fn network_offset(&mut self) -> Result<ValueId, crate::error::FilterErrorReason> {
        let (base, constant) = self.locate(FieldBase::Network)?;
        Ok(match base {
            Some(base) => self.values.binary_constant(Operator::Add, base, constant),
            None => self.values.constant(constant),
        })
    }

    pub(super) fn is_kind(&mut self, number: u32) -> Condition {
        let kind = self.values.variable(KIND);
        self.values.equal(kind, number)
    }

    /// `KIND` is one of a few numbers.
    pub(super) fn is_kind_of(&mut self, numbers: &[u32]) -> Condition {
        let tests: Vec<_> = numbers.iter().map(|&number| self.is_kind(number)).collect();
        Condition::any(tests)
    }

    pub(super) fn set_kind(&mut self, number: u32) -> Condition {
        Condition::Let(KIND, self.values.constant(number))
    }

    /// Sets `KIND` to a field of the header at `POSITION`.
    pub(super) fn load_kind(&mut self, width: Width, offset: u32) -> Condition {
        Condition::Let(KIND, self.position_field(width, offset))
    }

    /// A field of the header at `POSITION`.
    pub(super) fn position_field(&mut self, width: Width, offset: u32) -> ValueId {
        let position = self.values.variable(POSITION);
        self.values.load(width, Some(position), offset)
    }

    /// Moves `POSITION` forward.
    pub(super) fn advance(&mut self, bytes: u32) -> Condition {
        let position = self.values.variable(POSITION);
        let behind = self.values.binary_constant(Operator::Add, position, bytes);
        Condition::Let(POSITION, behind)
    }

    /// Moves `POSITION` forward by `length` and a constant.
    pub(super) fn advance_by(&mut self, length: ValueId, bytes: u32) -> Condition {
        let position = self.values.variable(POSITION);
        let behind = self.values.binary(Operator::Add, length, position);
        let behind = self.values.binary_constant(Operator::Add, behind, bytes);
        Condition::Let(POSITION, behind)
    }

    /// Moves `POSITION` behind a header at `base`: by `length`, if it is variable, and a constant.
    pub(super) fn go_to(
        &mut self,
        base: FieldBase,
        length: Option<ValueId>,
        bytes: u32,
    ) -> Lowered {
        let (base, constant) = self.locate(base)?;
        let bytes = constant.wrapping_add(bytes);
        let values = &mut self.values;
        let start = match (length, base) {
            (Some(length), Some(base)) => Some(values.binary(Operator::Add, length, base)),
            (length, base) => length.or(base),
        };
        let position = match start {
            Some(start) => values.binary_constant(Operator::Add, start, bytes),
            None => values.constant(bytes),
        };
        Ok(if position == values.variable(POSITION) {
            Condition::Constant(true)
        } else {
            Condition::Let(POSITION, position)
        })
    }
}

/// `value` is one of `numbers`, which are sorted.
fn one_of(value: ValueId, numbers: &[u32]) -> Condition {
    let cases = numbers
        .iter()
        .map(|&number| (number, Condition::Constant(true)));
    Condition::Choice(value, cases.collect())
}

/// A frame that starts with the IPv6 header at `POSITION`.
fn ipv6_at_position() -> Frame {
    let position = Offset {
        base: Some(POSITION),
        constant: 0,
    };
    Frame {
        header: position,
        payload: Some(position),
        ..Frame::of(LinkType::Ipv6)
    }
}
