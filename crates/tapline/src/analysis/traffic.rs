//! One packet after another.

use std::net::{IpAddr, SocketAddr};

use store::model::{Interface, Packet, Statistics};
use wire::dissect::{Network, Summary, Transport};
use wire::protocol::ip;
use wire::{Application, MacAddress, dissect};

use super::dns::DnsAnalysis;
use super::loss::LossAnalysis;
use super::neighbours::Neighbours;
use super::protocols::{ProtocolTree, protocols};
use super::sizes::SizeClasses;
use super::tcp::TcpAnalysis;
use super::timeline::Timeline;
use super::top::Top;

/// Maximum hosts, stations and flows that are counted separately.
const KEYS_MAX: usize = 1 << 16;

/// Packets between two ends, in both directions: of TCP and UDP two ports, of other IP protocols two addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flow {
    /// The IP protocol.
    pub protocol: u8,
    /// Address and port of each end, the smaller first. The port is 0 if there is none: other protocols, and fragments.
    pub ends: [(IpAddr, u16); 2],
}

/// The figures of a capture. Made by [`Read::analyze`](crate::read::Read::analyze).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Analysis {
    /// Packets.
    pub packets: u64,
    /// Their captured bytes.
    pub captured_bytes: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets without a time. They are missing where times matter.
    pub untimed: u64,
    /// The earliest time, in nanoseconds since 1970 UTC.
    pub first_ns: Option<u64>,
    /// The latest time.
    pub last_ns: Option<u64>,
    /// Packets, bytes and losses over time.
    pub timeline: Timeline,
    /// Interfaces, their losses, and notes in the files.
    pub loss: LossAnalysis,
    /// Packets by protocol.
    pub protocols: ProtocolTree,
    /// Packets by size on the wire.
    pub sizes: SizeClasses,
    /// IP addresses: what each sent and received.
    pub hosts: Top<IpAddr>,
    /// Ethernet addresses.
    pub stations: Top<MacAddress>,
    /// Flows of IP.
    pub flows: Top<Flow>,
    /// TCP.
    pub tcp: TcpAnalysis,
    /// DNS.
    pub dns: DnsAnalysis,
    /// ARP and neighbour discovery.
    pub neighbours: Neighbours,
}

impl Default for Analysis {
    fn default() -> Self {
        Self {
            packets: 0,
            captured_bytes: 0,
            bytes: 0,
            untimed: 0,
            first_ns: None,
            last_ns: None,
            timeline: Timeline::default(),
            loss: LossAnalysis::default(),
            protocols: ProtocolTree::default(),
            sizes: SizeClasses::default(),
            hosts: Top::new(KEYS_MAX),
            stations: Top::new(KEYS_MAX),
            flows: Top::new(KEYS_MAX),
            tcp: TcpAnalysis::default(),
            dns: DnsAnalysis::default(),
            neighbours: Neighbours::default(),
        }
    }
}

impl Analysis {
    pub(crate) fn add_interface(&mut self, interface: &Interface) {
        self.loss.add_interface(interface);
    }

    pub(crate) fn add_statistics(&mut self, statistics: &Statistics) {
        let lost = self.loss.add_statistics(statistics);
        if lost > 0
            && let Some(time_ns) = statistics.timestamp_ns
        {
            let slot = self.timeline.at(time_ns);
            slot.lost = slot.lost.saturating_add(lost);
        }
    }

    pub(crate) fn add_packet(&mut self, packet: &Packet<'_>) {
        let bytes = u64::from(packet.original_len);
        self.packets += 1;
        self.captured_bytes += packet.bytes.len() as u64;
        self.bytes += bytes;
        self.sizes.add(packet.original_len);
        let drops = packet.drop_count.unwrap_or(0);
        let link = self.loss.add_packet(packet.interface, drops);
        let summary = dissect(link, packet.bytes);
        let application = application(&summary);
        let protocols = protocols(link, &summary, application.as_ref());
        self.protocols.add(protocols, bytes);
        self.add_ends(&summary, bytes);
        let place = self.loss.place(packet.interface);
        self.neighbours.add(&summary, place, packet.timestamp_ns);
        let Some(time_ns) = packet.timestamp_ns else {
            self.untimed += 1;
            return;
        };
        self.first_ns = Some(self.first_ns.map_or(time_ns, |first| first.min(time_ns)));
        self.last_ns = Some(self.last_ns.map_or(time_ns, |last| last.max(time_ns)));
        let mut is_again = false;
        if let Some((from, to)) = ends(&summary) {
            let missing = packet
                .original_len
                .saturating_sub(packet.bytes.len() as u32);
            if let (Transport::Tcp(header), Some(payload)) =
                (summary.transport, payload(&summary, missing))
            {
                is_again = self.tcp.add(header, payload, from, to, time_ns);
            }
            if let Some(application) = &application {
                self.dns.add(application, from, to, time_ns);
            }
        }
        let slot = self.timeline.at(time_ns);
        slot.packets += 1;
        slot.bytes += bytes;
        slot.lost = slot.lost.saturating_add(drops);
        slot.retransmissions += u64::from(is_again);
    }

    fn add_ends(&mut self, summary: &Summary<'_>, bytes: u64) {
        if let (Some(from), Some(to)) = (summary.source_mac(), summary.destination_mac()) {
            self.stations.add(from, 0, bytes);
            self.stations.add(to, 1, bytes);
        }
        if !matches!(summary.network, Network::Ipv4(_) | Network::Ipv6(_)) {
            return;
        }
        let Some((from, to)) = summary.addresses() else {
            return;
        };
        self.hosts.add(from, 0, bytes);
        self.hosts.add(to, 1, bytes);
        let ports = summary.ports().filter(|_| summary.fragment.is_none());
        let (source, destination) = ports.unwrap_or((0, 0));
        let ends = [(from, source), (to, destination)];
        let direction = usize::from(ends[0] > ends[1]);
        let flow = Flow {
            protocol: summary.protocol.unwrap_or(ip::NO_NEXT_HEADER),
            ends: if direction == 0 {
                ends
            } else {
                [ends[1], ends[0]]
            },
        };
        self.flows.add(flow, direction, bytes);
    }
}

fn application<'a>(summary: &Summary<'a>) -> Option<Application<'a>> {
    let ports = summary.ports().filter(|_| summary.fragment.is_none())?;
    match summary.transport {
        Transport::Udp(_) => Application::of_udp(ports, summary.payload),
        _ => Application::of_tcp(ports, summary.payload),
    }
}

/// Addresses and ports of a whole packet.
fn ends(summary: &Summary<'_>) -> Option<(SocketAddr, SocketAddr)> {
    let (source, destination) = summary.ports().filter(|_| summary.fragment.is_none())?;
    let (from, to) = summary.addresses()?;
    Some((
        SocketAddr::new(from, source),
        SocketAddr::new(to, destination),
    ))
}

/// The bytes that a TCP segment carries, also of those that were not captured: the last `missing` bytes of the packet.
fn payload(summary: &Summary<'_>, missing: u32) -> Option<u32> {
    let Transport::Tcp(header) = summary.transport else {
        return None;
    };
    let (length, before) = match summary.network {
        Network::Ipv4(network) => (network.total_length(), network.header_len()),
        Network::Ipv6(network) => (network.payload_length(), summary.extensions.len()),
        _ => return None,
    };
    if length == 0 {
        // Larger than the field can say.
        let captured = u32::try_from(summary.payload.len()).ok()?;
        return Some(captured.saturating_add(missing));
    }
    let before = before + header.header_len();
    u32::try_from(usize::from(length).saturating_sub(before)).ok()
}
