//! What both forms of a line say in the same way.

use store::model::{Direction, Packet};
use wire::Summary;
use wire::dissect::{Link, Network};
use wire::protocol::ip;

/// `PACKET_OUTGOING` of `include/uapi/linux/if_packet.h`.
const OUTGOING: u16 = 4;

/// Which way the packet went: what the capture says, else what a "cooked" header says.
pub fn direction(packet: &Packet<'_>, summary: &Summary<'_>) -> Option<Direction> {
    let of_type = |packet_type| match packet_type {
        OUTGOING => Direction::Out,
        _ => Direction::In,
    };
    packet.direction.or(match summary.link {
        Link::LinuxSll(header) => Some(of_type(header.packet_type())),
        Link::LinuxSll2(header) => Some(of_type(header.packet_type().into())),
        _ => None,
    })
}

/// The word of the highest protocol that is known; `None` where there is only a number.
pub fn protocol(summary: &Summary<'_>) -> Option<&'static str> {
    match (summary.network, summary.protocol?) {
        (_, ip::TCP) => Some("TCP"),
        (_, ip::UDP) => Some("UDP"),
        (Network::Ipv4(_), ip::ICMPV4) => Some("ICMP"),
        (Network::Ipv6(_), ip::ICMPV6) => Some("ICMPv6"),
        _ => None,
    }
}
