//! Terms with qualifiers, by the kind of their operand.

use crate::error::FilterErrorReason;
use crate::graph::condition::Condition;
use crate::language::tree::{Direction, Id, Kind, Protocol, Qualifiers};
use crate::lower::addresses::{decnet, dotted, mask, mask6, network, no_wlan_direction};
use crate::lower::frame::mac_offsets;
use crate::lower::lowering::{Lowered, Lowering, at_most, unknown, wrong};
use std::net::IpAddr;

impl Lowering<'_> {
    /// Lowers qualifiers with an address, a name or a number.
    pub(super) fn matching(&mut self, qualifiers: Qualifiers, id: &Id) -> Lowered {
        match id {
            _ if qualifiers.protocol == Some(Protocol::Decnet) => self.decnet_id(qualifiers, id),
            Id::Number(number) => self.number(qualifiers, *number),
            Id::Name(name) => self.name(qualifiers, name),
            Id::Dotted(text) => {
                let (address, bits) = dotted(text)?;
                self.address(qualifiers, address, mask(bits), text)
            }
            Id::DottedPrefix(text, bits) => {
                let (address, _) = dotted(text)?;
                at_most("netmask length", *bits, 32)?;
                self.net(qualifiers, address, mask(*bits), &format!("{text}/{bits}"))
            }
            Id::DottedMask(text, mask) => {
                let (address, _) = dotted(text)?;
                let written = format!("{text} mask {mask}");
                self.net(qualifiers, address, dotted(mask)?.0, &written)
            }
            Id::Ipv6(address, bits) => {
                let text = match bits {
                    Some(bits) => format!("{address}/{bits}"),
                    None => address.to_string(),
                };
                let bits = at_most("netmask length", bits.unwrap_or(128), 128)?;
                let (address, mask) = (u128::from(*address), mask6(bits));
                if address & !mask != 0 {
                    return Err(FilterErrorReason::HostBits(text));
                }
                match qualifiers.kind {
                    None | Some(Kind::Host) if bits != 128 => {
                        return Err(wrong("host", &text));
                    }
                    None | Some(Kind::Host | Kind::Net) => {}
                    Some(kind) => return Err(wrong(kind.word(), &text)),
                }
                let (protocol, direction) = (qualifiers.protocol, qualifiers.direction);
                self.hosts6(&[(address, mask)], protocol, direction)
            }
            Id::Mac(mac) => match (qualifiers.protocol, qualifiers.kind) {
                (Some(Protocol::Link), None | Some(Kind::Host)) => {
                    self.mac(*mac, qualifiers.direction, "link host XX:XX:XX:XX:XX:XX")
                }
                (_, kind) => Err(wrong(
                    kind.map_or("host", Kind::word),
                    "an Ethernet address",
                )),
            },
            Id::ShortMac(mac) => {
                no_wlan_direction(qualifiers.direction)?;
                match (qualifiers.protocol, qualifiers.kind) {
                    (Some(Protocol::Link), None | Some(Kind::Host)) => {
                        self.short_mac(*mac, qualifiers.direction, "link host $XX")
                    }
                    (_, kind) => Err(wrong(kind.map_or("host", Kind::word), "$XX")),
                }
            }
        }
    }

    fn decnet_id(&mut self, qualifiers: Qualifiers, id: &Id) -> Lowered {
        if let Some(kind) = qualifiers.kind.filter(|kind| *kind != Kind::Host) {
            return Err(wrong("decnet", kind.word()));
        }
        match id {
            Id::Dotted(text) => self.decnet(decnet(text)?, qualifiers.direction),
            Id::Number(number) => Err(FilterErrorReason::InvalidDecnet(number.to_string())),
            _ => Err(wrong("decnet", "host")),
        }
    }

    fn number(&mut self, qualifiers: Qualifiers, number: u32) -> Lowered {
        let protocol = qualifiers.protocol;
        match qualifiers.kind {
            None | Some(Kind::Host) => {
                self.address(qualifiers, number, u32::MAX, &number.to_string())
            }
            Some(Kind::Net) => {
                let (address, mask) = network(number);
                self.address(qualifiers, address, mask, &number.to_string())
            }
            Some(Kind::Port | Kind::PortRange) => {
                let transport = crate::lower::ports::transport_of(qualifiers)?;
                let port = at_most("port number", number, 0xffff)?;
                self.ports(&[(port, port)], transport, qualifiers.direction)
            }
            Some(Kind::Proto) => self.proto(number, protocol),
            Some(Kind::ProtoChain) => self.protochain(number, protocol),
            Some(Kind::Gateway) => Err(wrong("gateway", &number.to_string())),
        }
    }

    /// An IPv4 address in the text, whole or a prefix of it.
    fn address(&mut self, qualifiers: Qualifiers, address: u32, mask: u32, text: &str) -> Lowered {
        match qualifiers.kind {
            None | Some(Kind::Host | Kind::Net) => {}
            Some(kind) => return Err(wrong(kind.word(), text)),
        }
        if qualifiers.protocol == Some(Protocol::Link) {
            return Err(FilterErrorReason::InvalidLinkAddress(text.into()));
        }
        let networks = [(address, mask)];
        self.hosts(&networks, qualifiers.protocol, qualifiers.direction, false)
    }

    fn net(&mut self, qualifiers: Qualifiers, address: u32, mask: u32, text: &str) -> Lowered {
        if address & !mask != 0 {
            return Err(FilterErrorReason::HostBits(text.into()));
        }
        match qualifiers.kind {
            Some(Kind::Net) => {}
            kind => return Err(wrong(kind.map_or("host", Kind::word), text)),
        }
        let networks = [(address, mask)];
        self.hosts(&networks, qualifiers.protocol, qualifiers.direction, false)
    }

    fn name(&mut self, qualifiers: Qualifiers, name: &str) -> Lowered {
        let Qualifiers {
            protocol,
            direction,
            kind,
            ..
        } = qualifiers;
        match kind {
            None | Some(Kind::Host) if protocol == Some(Protocol::Link) => {
                let mac = self.ethernet_of(name, "link host NAME")?;
                self.mac(mac, direction, "link host NAME")
            }
            None | Some(Kind::Host) => self.named_host(name, protocol, direction, false),
            Some(Kind::Net) => {
                let number = self.names.network(name).map(u32::from);
                let Some(number) = number.filter(|number| *number != 0) else {
                    return Err(unknown("network", name));
                };
                self.hosts(&[network(number)], protocol, direction, false)
            }
            Some(Kind::Port | Kind::PortRange) => self.named_ports(qualifiers, name),
            Some(Kind::Gateway) => self.gateway(name, protocol),
            Some(Kind::Proto) => {
                let number = self.named_protocol(name, protocol)?;
                self.proto(number, protocol)
            }
            Some(Kind::ProtoChain) => {
                let number = self.named_protocol(name, protocol)?;
                self.protochain(number, protocol)
            }
        }
    }

    fn ethernet_of(&self, name: &str, what: &'static str) -> Result<[u8; 6], FilterErrorReason> {
        let link = self.frame.link;
        if mac_offsets(link).is_none() && !link.is_wlan() {
            return Err(self.unsupported(what));
        }
        let mac = self.names.ethernet(name);
        mac.ok_or_else(|| unknown("Ethernet-like host", name))
    }

    /// Packets forwarded by a gateway: they have its Ethernet address, but not its IPv4 address.
    fn gateway(&mut self, name: &str, protocol: Option<Protocol>) -> Lowered {
        match protocol {
            None | Some(Protocol::Ip | Protocol::Arp | Protocol::Rarp) => {}
            Some(protocol) => return Err(wrong(protocol.word(), "gateway")),
        }
        let what = "gateway";
        if self.frame.labels > 0 {
            return Err(FilterErrorReason::Inside {
                what,
                tunnel: "MPLS",
            });
        }
        if self.frame.tunnel.is_some() {
            return Err(FilterErrorReason::Inside {
                what,
                tunnel: "VXLAN or Geneve",
            });
        }
        let mac = self.ethernet_of(name, what)?;
        let through = self.mac(mac, Some(Direction::Either), what)?;
        let addresses = self.addresses(name)?;
        let networks = networks4(&addresses);
        if networks.is_empty() {
            return Err(unknown("host", name));
        }
        let other = self.hosts(&networks, protocol, Some(Direction::Either), true)?;
        Ok(Condition::all([through, other]))
    }

    fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, FilterErrorReason> {
        let mut addresses = self.names.host(name);
        if addresses.is_empty() {
            return Err(unknown("host", name));
        }
        addresses.sort_unstable();
        addresses.dedup();
        Ok(addresses)
    }

    fn named_host(
        &mut self,
        name: &str,
        protocol: Option<Protocol>,
        direction: Option<Direction>,
        is_negated: bool,
    ) -> Lowered {
        let addresses = self.addresses(name)?;
        let mut parts = Vec::new();
        let networks = networks4(&addresses);
        if protocol != Some(Protocol::Ip6) && !networks.is_empty() {
            parts.push(self.hosts(&networks, protocol, direction, is_negated)?);
        }
        let networks: Vec<_> = addresses
            .iter()
            .filter_map(|address| match address {
                IpAddr::V6(address) => Some((u128::from(*address), u128::MAX)),
                IpAddr::V4(_) => None,
            })
            .collect();
        let only4 = matches!(
            protocol,
            Some(Protocol::Ip | Protocol::Arp | Protocol::Rarp)
        );
        if !only4 && !networks.is_empty() {
            parts.push(self.hosts6(&networks, protocol, direction)?);
        }
        if parts.is_empty() {
            return Err(unknown("host", name));
        }
        Ok(Condition::any(parts))
    }
}

fn networks4(addresses: &[IpAddr]) -> Vec<(u32, u32)> {
    let networks = addresses.iter().filter_map(|address| match address {
        IpAddr::V4(address) => Some((u32::from(*address), u32::MAX)),
        IpAddr::V6(_) => None,
    });
    networks.collect()
}
