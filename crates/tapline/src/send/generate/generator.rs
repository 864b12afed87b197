//! What to generate, and the source that does.

use wire::MacAddress;
use wire::stamp::Stamp;

use super::error::GeneratorError;
use super::flows::{Flows, Lengths};
use super::kind::{PacketKind, VxlanTunnel};
use super::template::{OuterHeaders, Template, Variables};
use super::values::{Addresses, Ports, Sizes, Values};
use crate::send::queue::SendQueue;
use crate::send::source::{Fill, SourceError};

/// The shortest Ethernet frame without its FCS.
const MIN_FRAME_BYTES: usize = 60;

/// Ports of packets for which none are given: the first dynamic port, and the port that discards.
const SOURCE_PORT: u16 = 49_152;
const DESTINATION_PORT: u16 = 9;

/// Generates packets: a source for [`Sender::run`](crate::send::Sender::run).
///
/// A packet belongs to a flow: packet number n to flow n modulo [`flows`](Self::flows). The flow's number determines
/// source port, destination port, source and destination, which vary in this order: the source port takes all its values
/// before the destination port takes its second one. A random value follows from the seed and the flow's number. So
/// flows take no memory, and a run can be repeated.
///
/// ```no_run
/// # // Not run: it needs an interface with an address, and a million packets take time.
/// use tapline::send::{Generator, PacketKind};
///
/// let generator = Generator::new(PacketKind::Udp)
///     .destination("10.0.0.0/24".parse()?)
///     .source_ports("1024-65535".parse()?)
///     .packets(1_000_000)
///     .for_interface("veth0", None)?;
/// let mut sender = tapline::send("veth0").open()?;
/// sender.run(generator.into_source()?)?;
/// println!("{}", sender.finish()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "nothing is generated before `into_source`"]
pub struct Generator {
    /// What a packet is.
    pub kind: PacketKind,
    /// Source addresses. Default: that of the interface ([`for_interface`](Self::for_interface)).
    pub sources: Option<Addresses>,
    /// Destination addresses.
    pub destinations: Option<Addresses>,
    /// Source ports. Default: 49152.
    pub source_ports: Option<Ports>,
    /// Destination ports. Default: 9, which discards.
    pub destination_ports: Option<Ports>,
    /// Lengths of the frames. Default: 60, or what headers and stamp take if that is more.
    pub sizes: Option<Sizes>,
    /// Source MAC address. Default: that of the interface, or 02:00:00:00:00:01.
    pub source_mac: Option<MacAddress>,
    /// Destination MAC address. Default: that of the next hop, or 02:00:00:00:00:02.
    pub destination_mac: Option<MacAddress>,
    /// VLAN of an 802.1Q tag. Default: no tag.
    pub vlan: Option<u16>,
    /// A tunnel around each packet. Default: none.
    pub vxlan: Option<VxlanTunnel>,
    /// Number of flows. Default: all combinations of the values; with random values, one for each packet.
    pub flows: Option<u64>,
    /// Number of packets. Default: no end.
    pub packets: Option<u64>,
    /// Determines the random values. Default: 0.
    pub seed: u64,
    /// Stamps each packet with its number in this stream and the time at which it is sent. See
    /// [`stamp`](mod@crate::packet::stamp). Default: no stamp.
    pub stamp: Option<u16>,
}

impl Generator {
    /// Packets of this kind.
    pub fn new(kind: PacketKind) -> Self {
        Self {
            kind,
            sources: None,
            destinations: None,
            source_ports: None,
            destination_ports: None,
            sizes: None,
            source_mac: None,
            destination_mac: None,
            vlan: None,
            vxlan: None,
            flows: None,
            packets: None,
            seed: 0,
            stamp: None,
        }
    }

    /// Sets [`sources`](Self#structfield.sources).
    pub fn source(mut self, addresses: Addresses) -> Self {
        self.sources = Some(addresses);
        self
    }

    /// Sets [`destinations`](Self#structfield.destinations).
    pub fn destination(mut self, addresses: Addresses) -> Self {
        self.destinations = Some(addresses);
        self
    }

    /// Sets [`source_ports`](Self#structfield.source_ports).
    pub fn source_ports(mut self, ports: Ports) -> Self {
        self.source_ports = Some(ports);
        self
    }

    /// Sets [`destination_ports`](Self#structfield.destination_ports).
    pub fn destination_ports(mut self, ports: Ports) -> Self {
        self.destination_ports = Some(ports);
        self
    }

    /// Sets [`sizes`](Self#structfield.sizes).
    pub fn sizes(mut self, sizes: Sizes) -> Self {
        self.sizes = Some(sizes);
        self
    }

    /// Sets [`source_mac`](Self#structfield.source_mac).
    pub fn source_mac(mut self, address: impl Into<Option<MacAddress>>) -> Self {
        self.source_mac = address.into();
        self
    }

    /// Sets [`destination_mac`](Self#structfield.destination_mac).
    pub fn destination_mac(mut self, address: impl Into<Option<MacAddress>>) -> Self {
        self.destination_mac = address.into();
        self
    }

    /// Sets [`vlan`](Self#structfield.vlan).
    pub fn vlan(mut self, id: impl Into<Option<u16>>) -> Self {
        self.vlan = id.into();
        self
    }

    /// Sets [`vxlan`](Self#structfield.vxlan).
    pub fn vxlan(mut self, tunnel: impl Into<Option<VxlanTunnel>>) -> Self {
        self.vxlan = tunnel.into();
        self
    }

    /// Sets [`flows`](Self#structfield.flows).
    pub fn flows(mut self, flows: impl Into<Option<u64>>) -> Self {
        self.flows = flows.into();
        self
    }

    /// Sets [`packets`](Self#structfield.packets).
    pub fn packets(mut self, packets: impl Into<Option<u64>>) -> Self {
        self.packets = packets.into();
        self
    }

    /// Sets [`seed`](Self#structfield.seed).
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets [`stamp`](Self#structfield.stamp).
    pub fn stamp(mut self, stream: impl Into<Option<u16>>) -> Self {
        self.stamp = stream.into();
        self
    }

    /// The source for [`Sender::run`](crate::send::Sender::run). It allocates no memory per packet.
    ///
    /// # Errors
    /// [`GeneratorError`]: the options contradict each other, or the length is too short or too long.
    pub fn into_source(
        self,
    ) -> Result<
        impl FnMut(&mut SendQueue) -> Result<Fill, SourceError> + Send + 'static,
        GeneratorError,
    > {
        let mut packets = Packets::new(self)?;
        Ok(move |queue: &mut SendQueue| Ok(packets.fill(queue)))
    }

    /// Whether the packets are IPv6. Checks that the options fit the kind.
    fn family(&self) -> Result<bool, GeneratorError> {
        let refuse = |what| {
            Err(GeneratorError::NotInKind {
                kind: self.kind.name(),
                what,
            })
        };
        if !self.kind.has_ports() {
            if self.source_ports.is_some() {
                return refuse("source port");
            }
            if self.destination_ports.is_some() {
                return refuse("destination port");
            }
        }
        if self.stamp.is_some() && !self.kind.has_payload() {
            return refuse("payload for a stamp");
        }
        if let Some(tunnel) = self.vxlan
            && tunnel.source.is_ipv4() != tunnel.destination.is_ipv4()
        {
            return Err(GeneratorError::MixedFamilies);
        }
        if let PacketKind::Raw(frame) = &self.kind {
            for (is_given, what) in [
                (self.sources.is_some(), "variable source address"),
                (self.destinations.is_some(), "variable destination address"),
                (self.sizes.is_some(), "variable length"),
                (self.flows.is_some(), "flows"),
                (self.vxlan.is_some(), "tunnel"),
            ] {
                if is_given {
                    return refuse(what);
                }
            }
            if frame.len() < wire::Ethernet::LEN {
                return Err(GeneratorError::RawTooShort);
            }
            return Ok(false);
        }
        let destinations = self.destinations.as_ref();
        let destinations = destinations.ok_or(GeneratorError::NoDestination)?;
        let sources = self.sources.as_ref().ok_or(GeneratorError::NoSource)?;
        let is_ipv6 = destinations.is_ipv6();
        if self.kind == PacketKind::Arp && is_ipv6 {
            return Err(GeneratorError::ArpFamily);
        }
        if sources.is_ipv6() != is_ipv6 {
            return Err(GeneratorError::MixedFamilies);
        }
        Ok(is_ipv6)
    }

    /// The MAC addresses: given ones, those of the raw frame, or the defaults.
    fn macs(&self) -> (MacAddress, MacAddress) {
        let given = match &self.kind {
            PacketKind::Raw(frame) => wire::Ethernet::split(frame, 0).ok(),
            _ => None,
        };
        let given = given.map(|(header, _)| (header.source(), header.destination()));
        let destination = match self.kind {
            PacketKind::Arp => MacAddress::BROADCAST,
            _ => MacAddress([2, 0, 0, 0, 0, 2]),
        };
        let (source, destination) = given.unwrap_or((MacAddress([2, 0, 0, 0, 0, 1]), destination));
        (
            self.source_mac.unwrap_or(source),
            self.destination_mac.unwrap_or(destination),
        )
    }
}

/// Fills queues with packets.
struct Packets {
    template: Template,
    flows: Flows,
    lengths: Lengths,
    stream: Option<u16>,
    /// Whether all packets are equal.
    is_constant: bool,
    number: u64,
    left: u64,
}

impl Packets {
    fn new(generator: Generator) -> Result<Self, GeneratorError> {
        let is_ipv6 = generator.family()?;
        let (source, destination) = generator.macs();
        let outer = OuterHeaders {
            source,
            destination,
            vlan: generator.vlan,
            tunnel: generator.vxlan,
        };
        let mut template = Template::new(&generator.kind, is_ipv6, &outer);
        let need = template.headers() + generator.stamp.map_or(0, |_| Stamp::LEN);
        let sizes = generator.sizes.unwrap_or_else(|| {
            let shortest = match generator.kind {
                PacketKind::Raw(_) => need,
                _ => need.max(MIN_FRAME_BYTES),
            };
            Sizes::single(shortest)
        });
        let (shortest, longest) = sizes.bounds();
        if shortest < need && !sizes.is_imix() {
            let bytes = shortest;
            return Err(GeneratorError::TooShort { bytes, need });
        }
        if longest > template.most() {
            return Err(GeneratorError::TooLong {
                bytes: longest,
                most: template.most(),
            });
        }
        template.extend_to(longest);
        let values = |addresses: Option<Addresses>| match addresses {
            Some(addresses) => addresses.values,
            None => Values::single(0),
        };
        let ports = |ports: Option<Ports>, default| ports.unwrap_or(Ports::from(default)).0;
        let fields = [
            ports(generator.source_ports, SOURCE_PORT),
            ports(generator.destination_ports, DESTINATION_PORT),
            values(generator.sources),
            values(generator.destinations),
        ];
        let flows = Flows::new(fields, generator.seed, generator.flows);
        if let Some(wanted) = generator.flows
            && wanted > flows.combinations()
        {
            return Err(GeneratorError::TooFewValues {
                flows: wanted,
                combinations: flows.combinations(),
            });
        }
        let is_constant = generator.stamp.is_none()
            && !template.is_numbered()
            && flows.combinations() == 1
            && shortest == longest;
        Ok(Self {
            is_constant,
            template,
            flows,
            lengths: Lengths::new(sizes.0, need, generator.seed),
            stream: generator.stamp,
            number: 0,
            left: generator.packets.unwrap_or(u64::MAX),
        })
    }

    fn fill(&mut self, queue: &mut SendQueue) -> Fill {
        queue.set_stamp_offsets(self.stream.and_then(|_| self.template.stamp_offsets()));
        while self.left > 0 && !queue.is_full() {
            if self.is_constant && !queue.is_empty() {
                let count = self.left.min(queue.copies_left() as u64);
                queue.repeat_last(count as usize);
                self.left -= count;
                continue;
            }
            let variables = Variables {
                flow: self.flows.current(),
                flow_number: self.flows.number(),
                packet_number: self.number,
                stream: self.stream,
            };
            let start = self.template.start(self.lengths.next());
            queue.push_with(0, start, |frame| self.template.write(frame, &variables));
            self.flows.advance();
            self.number += 1;
            self.left -= 1;
        }
        if self.left == 0 {
            Fill::End
        } else {
            Fill::More
        }
    }
}
