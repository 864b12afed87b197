//! Source and destination of a packet.

use std::net::IpAddr;

use tapline::packet::Summary;
use tapline::packet::dissect::Network;

use super::buffer::Text;

/// `source > destination `, with ports if there are any, of the highest layer that has addresses.
pub fn write_addresses(out: &mut Text, summary: &Summary<'_>) {
    if !matches!(summary.network, Network::Arp(_) | Network::Unknown) {
        return write_endpoints(out, summary, summary.ports());
    }
    match (summary.source_mac(), summary.destination_mac()) {
        (Some(source), Some(destination)) => {
            out.mac(source);
            out.push_str(" > ");
            out.mac(destination);
            out.push(' ');
        }
        (Some(source), None) => {
            out.mac(source);
            out.push_str(" > - ");
        }
        (None, _) => out.push_str("- > - "),
    }
}

/// `source > destination ` of the network layer.
pub fn write_endpoints(out: &mut Text, summary: &Summary<'_>, ports: Option<(u16, u16)>) {
    let Some((source, destination)) = summary.addresses() else {
        return;
    };
    let (source_port, destination_port) = ports.unzip();
    write_endpoint(out, source, source_port);
    out.push_str(" > ");
    write_endpoint(out, destination, destination_port);
    out.push(' ');
}

fn write_endpoint(out: &mut Text, address: IpAddr, port: Option<u16>) {
    let Some(port) = port else {
        return out.ip(address);
    };
    match address {
        IpAddr::V4(address) => out.ipv4(address),
        IpAddr::V6(address) => {
            out.push('[');
            out.ipv6(address);
            out.push(']');
        }
    }
    out.push(':');
    out.number(port);
}
