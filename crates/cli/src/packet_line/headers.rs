//! What `-e` and `-v` add to a line: the link-layer header, the IP header, and checksums.

use std::net::IpAddr;

use tapline::file::model::{Checksum, LinkType, Packet};
use tapline::packet::checksum::Sum;
use tapline::packet::dissect::{Link, Network, Transport};
use tapline::packet::protocol::{ip, link_type};
use tapline::packet::{CiscoHdlc, Ethernet, LinuxSll, LinuxSll2, Summary, Vlan};

use super::buffer::Text;
use super::nested::push_ethertype;

/// Bytes before the network layer.
pub fn link_len(summary: &Summary<'_>, link: LinkType) -> usize {
    let header = match summary.link {
        Link::Ethernet(_) => Ethernet::LEN,
        Link::LinuxSll(_) => LinuxSll::LEN,
        Link::LinuxSll2(_) => LinuxSll2::LEN,
        Link::Ppp(header) => header.len(),
        Link::CiscoHdlc(_) => CiscoHdlc::LEN,
        _ if matches!(link.0, link_type::NULL | link_type::LOOP) => 4,
        _ => 0,
    };
    header + summary.vlans().count() * Vlan::LEN
}

/// `source > destination ethertype IPv4 (0x0800): `, if the line does not show these addresses anyway.
pub fn write_link_header(out: &mut Text, summary: &Summary<'_>) {
    if matches!(summary.network, Network::Arp(_) | Network::Unknown) {
        return;
    }
    let Some(ethertype) = summary.ethertype else {
        return;
    };
    match (summary.source_mac(), summary.destination_mac()) {
        (Some(source), Some(destination)) => {
            out.mac(source);
            out.push_str(" > ");
            out.mac(destination);
        }
        (Some(source), None) => {
            out.mac(source);
            out.push_str(" > -");
        }
        (None, _) => out.push_str("- > -"),
    }
    push_ethertype(out, ethertype);
    out.push_str(" (0x");
    out.hex(ethertype.into(), 4);
    out.push_str("): ");
}

/// Length of the payload behind a TCP header of `header_len` bytes, according to the IP header. Without a length
/// there (super-packets above 64 KiB) it is what the packet holds.
pub fn payload_len(summary: &Summary<'_>, header_len: usize, packet: &Packet<'_>) -> u32 {
    let header_len = header_len as u32;
    match summary.network {
        Network::Ipv4(header) if header.total_length() != 0 => {
            let headers = header.header_len() as u32 + header_len;
            u32::from(header.total_length()).saturating_sub(headers)
        }
        Network::Ipv6(header) if header.payload_length() != 0 => {
            let headers = summary.extensions.len() as u32 + header_len;
            u32::from(header.payload_length()).saturating_sub(headers)
        }
        _ => {
            let missing = (packet.original_len as usize).saturating_sub(packet.bytes.len());
            (summary.payload.len() + missing) as u32
        }
    }
}

/// ` (ttl 64, id 1, tos 0x0, DF, length 60)`, and marks of wrong checksums.
pub fn write_ip_header(out: &mut Text, summary: &Summary<'_>, packet: &Packet<'_>) {
    match summary.network {
        Network::Ipv4(header) => {
            out.push_str(" (ttl ");
            out.number(header.ttl());
            out.push_str(", id ");
            out.number(header.identification());
            out.push_str(", tos 0x");
            out.hex((header.dscp() << 2 | header.ecn()).into(), 1);
            out.push_str(if header.dont_fragment() { ", DF" } else { "" });
            out.push_str(", length ");
            out.number(header.total_length());
            if header.header_len() > 20 {
                out.push_str(", options ");
                out.number(header.header_len() as u64 - 20);
                out.push_str(" bytes");
            }
            out.push(')');
        }
        Network::Ipv6(header) => {
            out.push_str(" (hlim ");
            out.number(header.hop_limit());
            out.push_str(", flow 0x");
            out.hex(header.flow_label(), 1);
            out.push_str(", class 0x");
            out.hex(header.traffic_class().into(), 1);
            out.push_str(", length ");
            out.number(header.payload_length());
            out.push(')');
        }
        _ => return,
    }
    if is_wrong(summary, packet) == Some(true) {
        out.push_str(" [bad checksum]");
    }
}

/// Whether the checksum of TCP or UDP is wrong; `None` if it cannot be verified: not all bytes are there, or the
/// interface fills it in later.
fn is_wrong(summary: &Summary<'_>, packet: &Packet<'_>) -> Option<bool> {
    let is_whole = packet.bytes.len() >= packet.original_len as usize;
    if !is_whole || summary.fragment.is_some() || summary.error.is_some() {
        return None;
    }
    if packet.checksum == Checksum::NotReady || summary.extension_types().next().is_some() {
        return None;
    }
    let (tcp, udp);
    let (header, protocol): (&[u8], u8) = match summary.transport {
        Transport::Tcp(view) => {
            tcp = view.fields().bytes();
            (&tcp, ip::TCP)
        }
        Transport::Udp(view) if view.checksum() != 0 => {
            udp = view.fields().bytes();
            (&udp, ip::UDP)
        }
        _ => return None,
    };
    let pieces = [header, summary.transport_options, summary.payload];
    let len = pieces.iter().map(|piece| piece.len() as u32).sum();
    // A super-packet above 64 KiB: its checksum is filled in when it is split.
    if len > u32::from(u16::MAX) {
        return None;
    }
    let pseudo = match summary.addresses()? {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            Sum::new().pseudo_ipv4(source, destination, protocol, len)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            Sum::new().pseudo_ipv6(source, destination, protocol, len)
        }
        _ => return None,
    };
    let sum = pieces.iter().fold(pseudo, |sum, piece| sum.bytes(piece));
    Some(sum.finish() != 0)
}
