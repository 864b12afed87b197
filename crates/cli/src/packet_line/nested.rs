//! Packets inside packets: VXLAN, Geneve, GRE, MPLS, PPPoE, and IP in IP.

use std::fmt::Write;

use tapline::packet::dissect::Transport;
use tapline::packet::protocol::{ethertype, ip, link_type};
use tapline::packet::{
    Geneve, Gre, HeaderError, Mpls, Pppoe, PppoeTag, Summary, Vxlan, dissect, dissect_ethertype,
};

use super::buffer::Text;

/// Most labels of a stack that are shown.
const MAX_LABELS: usize = 8;
/// Most tags of a PPPoE packet that are shown.
const MAX_TAGS: usize = 32;

/// UDP ports of VXLAN: IANA's, and the one that Linux used before.
const VXLAN: [u16; 2] = [4789, 8472];
/// UDP port of Geneve.
const GENEVE: u16 = 6081;

/// Appends the header of the tunnel in `outer`, if it is one, and returns the packet inside.
pub fn write_tunnel<'a>(out: &mut Text, outer: &Summary<'a>) -> Option<Summary<'a>> {
    if outer.error.is_some() || outer.fragment.is_some_and(|place| place.offset != 0) {
        return None;
    }
    let (payload, at) = (outer.payload, outer.at);
    match (outer.transport, outer.protocol, outer.ethertype) {
        (Transport::Udp(udp), ..) if VXLAN.contains(&udp.destination_port()) => {
            let (vxlan, frame) = told(out, Vxlan::split(payload, at).map_err(Into::into))?;
            out.push_str(" VXLAN vni ");
            match vxlan.vni() {
                Some(vni) => out.number(vni),
                None => out.push('-'),
            }
            Some(dissect(link_type::ETHERNET, frame))
        }
        (Transport::Udp(udp), ..) if udp.destination_port() == GENEVE => {
            let (geneve, inner) = told(out, Geneve::split(payload, at))?;
            out.push_str(" Geneve vni ");
            out.number(geneve.vni());
            inside(geneve.protocol(), inner)
        }
        (Transport::Unknown, Some(ip::GRE), _) => {
            let (gre, inner) = told(out, Gre::split(payload, at))?;
            if let Some(key) = gre.key() {
                out.push_str(" key ");
                out.number(key);
            }
            push_ethertype(out, gre.protocol());
            if gre.version() == 0 {
                inside(gre.protocol(), inner)
            } else {
                None
            }
        }
        (_, Some(ip::IPV4), _) => Some(dissect(link_type::IPV4, payload)),
        (_, Some(ip::IPV6), _) => Some(dissect(link_type::IPV6, payload)),
        (_, Some(ip::MPLS), _) | (_, None, Some(ethertype::MPLS | ethertype::MPLS_MULTICAST)) => {
            write_labels(out, payload, at)
        }
        (_, None, Some(ethertype::PPPOE_DISCOVERY)) => {
            write_discovery(out, payload, at);
            None
        }
        (_, None, Some(ethertype::PPPOE_SESSION)) => {
            let (header, frame) = told(out, Pppoe::split(payload, at))?;
            out.push_str(" session ");
            out.number(header.session());
            Some(dissect(link_type::PPP, frame))
        }
        _ => None,
    }
}

/// The header; if it cannot be parsed, says so.
fn told<T>(out: &mut Text, header: Result<T, HeaderError>) -> Option<T> {
    header.inspect_err(|error| out.push_str(damage(error))).ok()
}

/// The mark of a packet that ends early.
pub fn damage(error: &HeaderError) -> &'static str {
    match error {
        HeaderError::Truncated(_) => " [truncated]",
        _ => " [malformed]",
    }
}

/// The packet of this `EtherType`, if lines can show it.
fn inside(protocol: u16, bytes: &[u8]) -> Option<Summary<'_>> {
    match protocol {
        ethertype::BRIDGED => Some(dissect(link_type::ETHERNET, bytes)),
        ethertype::IPV4 | ethertype::IPV6 | ethertype::ARP | ethertype::MPLS => {
            Some(dissect_ethertype(protocol, bytes))
        }
        other if ethertype::is_vlan(other) => Some(dissect_ethertype(protocol, bytes)),
        _ => None,
    }
}

fn write_labels<'a>(out: &mut Text, mut rest: &'a [u8], mut at: usize) -> Option<Summary<'a>> {
    for _ in 0..MAX_LABELS {
        let (entry, after) = told(out, Mpls::split(rest, at).map_err(Into::into))?;
        out.push_str(" label ");
        out.number(entry.label());
        if entry.traffic_class() != 0 {
            out.push_str(" tc ");
            out.number(entry.traffic_class());
        }
        out.push_str(" ttl ");
        out.number(entry.ttl());
        (rest, at) = (after, at + Mpls::LEN);
        if entry.is_bottom() {
            let protocol = Mpls::guess_ethertype(rest)?;
            return Some(dissect_ethertype(protocol, rest));
        }
    }
    out.push_str(" ...");
    None
}

/// ` PADI session 0 [Service-Name,Host-Uniq 0x01]`.
fn write_discovery(out: &mut Text, bytes: &[u8], at: usize) {
    let Some((header, tags)) = told(out, Pppoe::split(bytes, at)) else {
        return;
    };
    match header.code_name() {
        "" => {
            out.push_str(" code 0x");
            out.hex(header.code().into(), 2);
        }
        name => {
            out.push(' ');
            out.push_str(name);
        }
    }
    out.push_str(" session ");
    out.number(header.session());
    let mut separator = " [";
    for tag in PppoeTag::all(tags).take(MAX_TAGS) {
        out.push_str(separator);
        separator = ",";
        // Writing to Text cannot fail.
        let _ = write!(out, "{tag}");
    }
    if separator == "," {
        out.push(']');
    }
}

/// ` IPv4`, or ` ethertype 0x1234`.
pub fn push_ethertype(out: &mut Text, number: u16) {
    match ethertype::name(number) {
        "" => {
            out.push_str(" ethertype 0x");
            out.hex(number.into(), 4);
        }
        name => {
            out.push(' ');
            out.push_str(name);
        }
    }
}
