use crate::graph::condition::Condition;
use crate::graph::values::{ValueId, Width};
use crate::language::tree::{Layers, Operator, Protocol};
use crate::link_type::LinkType;
use crate::lower::frame::{Frame, Offset};
use crate::lower::layers::limits::TUNNELS;
use crate::lower::layers::wanted::Wanted;
use crate::lower::lowering::{FieldBase, KIND, Lowered, Lowering, POSITION};
use crate::lower::protocol_numbers::{
    AH, ARP, DESTINATION_OPTIONS, FRAGMENT, GENEVE_PORT, GRE, GTP_PORT, HOP_BY_HOP, IPV4,
    IPV4_IN_IP, IPV6, IPV6_IN_IP, RARP, ROUTING, TCP, UDP, VXLAN_PORT,
};

/// Protocols of an IPv4 header that the walk passes; UDP depends on the port.
const PASSED_OVER_IPV4: [u32; 4] = [IPV4_IN_IP, IPV6_IN_IP, GRE, AH];
/// The same for an IPv6 header.
const PASSED_OVER_IPV6: [u32; 8] = [
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
    pub(super) fn search(&mut self, layers: Layers, wanted: &[Wanted]) -> Lowered {
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
        terms.push(self.behind_plain(wanted, inside)?);
        Ok(Condition::any(terms))
    }

    /// The term without `any`: it tests the outermost headers at fixed offsets.
    fn plain(&mut self, wanted: &Wanted) -> Lowered {
        match wanted {
            Wanted::Hosts(networks, protocol, direction) => {
                self.hosts(networks, *protocol, *direction, false)
            }
            Wanted::Hosts6(networks, direction) => self.hosts6(networks, None, *direction),
            Wanted::Ports(ranges, transport, direction) => {
                self.ports(ranges, *transport, *direction)
            }
            Wanted::Proto(number, protocol) => self.proto(*number, *protocol),
            Wanted::Link(number) => self.link_protocol(*number),
        }
    }

    /// The packet has headers that the plain term does not pass, and something is found behind them. TCP, the most
    /// frequent protocol, is decided by the first test.
    fn behind_plain(&mut self, wanted: &[Wanted], inside: Condition) -> Lowered {
        let walk = self.internet_layer(wanted, inside)?;
        let start = self.network_offset()?;
        let begin = |lowering: &mut Self, kind, further: Vec<Condition>| {
            let kind = lowering.set_kind(kind);
            let walk = [kind, Condition::Let(POSITION, start), walk.clone()];
            Condition::all(further.into_iter().chain(walk))
        };
        let over4 = vec![self.has_passed_protocol(9, &PASSED_OVER_IPV4, FieldBase::Transport4)?];
        let over4 = begin(self, IPV4, over4);
        let over6 = vec![self.has_passed_protocol(6, &PASSED_OVER_IPV6, FieldBase::Transport6)?];
        let over6 = begin(self, IPV6, over6);
        let found = self.link_headers_at_start()?;
        let link = match found {
            Condition::Constant(false) => found,
            found => {
                let headers = self.link_headers();
                let position = Condition::Let(POSITION, start);
                Condition::all([found, position, headers, walk])
            }
        };
        let is_ip6 = self.link_protocol(IPV6)?;
        let is_ip = self.link_protocol(IPV4)?;
        let other = Condition::choose(is_ip6, over6, link);
        Ok(Condition::choose(is_ip, over4, other))
    }

    /// The protocol in the outermost IP header is one of `passed`, or UDP to the port of a tunnel.
    fn has_passed_protocol(
        &mut self,
        offset: u32,
        passed: &[u32],
        transport: FieldBase,
    ) -> Lowered {
        let protocol = self.load(FieldBase::Network, offset, Width::Byte)?;
        let is_tcp = self.values.equal(protocol, TCP);
        let is_udp = self.values.equal(protocol, UDP);
        let port = self.load(transport, 2, Width::Half)?;
        let to_tunnel = one_of(port, &[GTP_PORT, VXLAN_PORT, GENEVE_PORT]);
        let found = Condition::choose(is_udp, to_tunnel, one_of(protocol, passed));
        let first = match transport {
            FieldBase::Transport4 => self.is_first_fragment()?,
            _ => Condition::Constant(true),
        };
        Ok(Condition::all([is_tcp.negate(), first, found]))
    }

    /// The layer that starts with a link header of kind `KIND`, and those inside it.
    fn after_link_headers(&mut self, wanted: &[Wanted], inside: Condition) -> Lowered {
        let headers = self.link_headers();
        let internet = self.internet_layer(wanted, inside)?;
        Ok(Condition::all([headers, internet]))
    }

    /// The IP header and what follows it.
    fn internet_layer(&mut self, wanted: &[Wanted], inside: Condition) -> Lowered {
        let mut terms = Vec::new();
        for wanted in wanted {
            terms.push(self.in_internet_header(wanted)?);
        }
        let is_deeper =
            |wanted: &Wanted| matches!(wanted, Wanted::Ports(..)) || wanted.next_header().is_some();
        if wanted.iter().any(is_deeper) || inside != Condition::Constant(false) {
            let headers = self.internet_headers(wanted);
            let transport = self.transport_layer(wanted, inside)?;
            terms.push(Condition::all([headers, transport]));
        }
        Ok(Condition::any(terms))
    }

    /// What the header at `POSITION`, of kind `KIND`, says itself.
    fn in_internet_header(&mut self, wanted: &Wanted) -> Lowered {
        let is_ip = self.is_kind(IPV4);
        Ok(match wanted {
            Wanted::Hosts(networks, protocol, direction) => {
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
            Wanted::Hosts6(networks, direction) => {
                let is_ip6 = self.is_kind(IPV6);
                let outer = std::mem::replace(&mut self.frame, ipv6_at_position());
                let found = self.hosts6(networks, None, *direction);
                self.frame = outer;
                Condition::all([is_ip6, found?])
            }
            Wanted::Proto(..) => match wanted.ipv4_protocol() {
                Some(number) => {
                    let protocol = self.position_field(Width::Byte, 9);
                    Condition::all([is_ip, self.values.equal(protocol, number)])
                }
                None => Condition::Constant(false),
            },
            Wanted::Link(number) => self.is_kind(*number),
            Wanted::Ports(..) => Condition::Constant(false),
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
