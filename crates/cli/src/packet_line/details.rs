//! What a line says about ARP, TCP, UDP, ICMP and the control protocols of PPP.

use std::fmt::{self, Write};

use tapline::packet::dissect::{Network, Transport};
use tapline::packet::{
    Arp, ArpOperation, Icmpv4, Icmpv6, MacAddress, Ppp, PppControl, Summary, Tcp, TcpFlags,
    TcpOption, TcpOptions, dissect, protocol,
};

use super::addresses::write_endpoints;
use super::buffer::Text;
use super::nested::damage;

pub fn write_arp(out: &mut Text, arp: Arp<'_>) {
    match arp.operation() {
        ArpOperation::REQUEST => {
            out.push_str(" who-has ");
            out.ipv4(arp.target_ip());
            out.push_str(" tell ");
            out.ipv4(arp.sender_ip());
        }
        ArpOperation::REPLY => {
            out.push(' ');
            out.ipv4(arp.sender_ip());
            out.push_str(" is-at ");
            out.mac(arp.sender_mac());
        }
        ArpOperation(number) => {
            out.push_str(" operation ");
            out.number(number);
        }
    }
}

/// Flags, numbers, options and payload length.
pub fn write_tcp(out: &mut Text, tcp: Tcp<'_>, options: &[u8], len: u32) -> fmt::Result {
    let flags = tcp.flags();
    out.push_str(" [");
    write!(out, "{flags}")?;
    out.push_str("] seq ");
    out.number(tcp.sequence());
    if flags.contains(TcpFlags::ACK) {
        out.push_str(" ack ");
        out.number(tcp.acknowledgment());
    }
    out.push_str(" win ");
    out.number(tcp.window());
    if flags.contains(TcpFlags::URG) {
        out.push_str(" urg ");
        out.number(tcp.urgent());
    }
    write_tcp_options(out, options)?;
    out.push_str(" len ");
    out.number(len);
    Ok(())
}

fn write_tcp_options(out: &mut Text, options: &[u8]) -> fmt::Result {
    if options.is_empty() {
        return Ok(());
    }
    out.push_str(" options ");
    let mut separator = "[";
    for option in TcpOptions::new(options) {
        out.push_str(separator);
        separator = ",";
        match option {
            Some(TcpOption::Nop) => out.push_str("nop"),
            // In nearly every packet.
            Some(TcpOption::Timestamps { value, echo }) => {
                out.push_str("TS val ");
                out.number(value);
                out.push_str(" ecr ");
                out.number(echo);
            }
            Some(option) => write!(out, "{option}")?,
            None => out.push_str("bad length"),
        }
    }
    out.push(']');
    Ok(())
}

fn write_words(out: &mut Text, words: &str, kind: u8, code: u8) {
    if words.is_empty() {
        out.push_str(" type ");
        out.number(kind);
        out.push_str(" code ");
        out.number(code);
    } else {
        out.push(' ');
        out.push_str(words);
    }
}

fn write_echo(out: &mut Text, echo: Option<(u16, u16)>) {
    if let Some((identifier, sequence)) = echo {
        out.push_str(" id ");
        out.number(identifier);
        out.push_str(" seq ");
        out.number(sequence);
    }
}

pub fn write_icmpv4(out: &mut Text, icmp: Icmpv4<'_>, payload: &[u8]) {
    write_words(out, icmp.words(), icmp.kind(), icmp.code());
    write_echo(out, icmp.echo());
    let [a, b, hi, lo] = icmp.parameter();
    match (icmp.kind(), icmp.code()) {
        (Icmpv4::UNREACHABLE, 4) => {
            out.push_str(" mtu ");
            out.number(u16::from_be_bytes([hi, lo]));
        }
        (Icmpv4::REDIRECT, _) => {
            out.push_str(" to ");
            out.ipv4([a, b, hi, lo].into());
        }
        _ => {}
    }
    if matches!(icmp.kind(), 3 | 4 | 5 | 11 | 12) {
        write_quoted(out, payload, protocol::link_type::IPV4);
    }
}

pub fn write_icmpv6(out: &mut Text, icmp: Icmpv6<'_>, payload: &[u8]) {
    write_words(out, icmp.words(), icmp.kind(), icmp.code());
    write_echo(out, icmp.echo());
    match icmp.kind() {
        Icmpv6::PACKET_TOO_BIG => {
            out.push_str(" mtu ");
            out.number(u32::from_be_bytes(icmp.parameter()));
        }
        143 => {
            let [_, _, hi, lo] = icmp.parameter();
            out.push_str(" groups ");
            out.number(u16::from_be_bytes([hi, lo]));
        }
        // Reachable and retransmission timers (8 bytes) precede the options.
        134 => {
            let [_, _, hi, lo] = icmp.parameter();
            out.push_str(" lifetime ");
            out.number(u16::from_be_bytes([hi, lo]));
            write_neighbour_options(out, payload.get(8..).unwrap_or_default());
        }
        _ => {}
    }
    if let Some(target) = icmp.neighbour(payload) {
        out.push(' ');
        out.ip(target.into());
        write_neighbour_options(out, payload.get(16..).unwrap_or_default());
    }
    if matches!(icmp.kind(), 1..=4) {
        write_quoted(out, payload, protocol::link_type::IPV6);
    }
}

/// Link-layer addresses, prefixes and MTU, RFC 4861, 4.6: kind and length in units of 8 bytes.
fn write_neighbour_options(out: &mut Text, mut rest: &[u8]) {
    while let Some((&[kind, units], _)) = rest.split_first_chunk() {
        let Some((option, after)) = rest.split_at_checked(usize::from(units) * 8) else {
            return;
        };
        match (kind, option) {
            (_, []) => return,
            (1 | 2, [_, _, address @ ..]) if option.len() == 8 => {
                let address = address.first_chunk().copied().unwrap_or_default();
                out.push_str(" lladdr ");
                out.mac(MacAddress(address));
            }
            (3, _) if option.len() == 32 => {
                let prefix = option.last_chunk::<16>().copied().unwrap_or_default();
                out.push_str(" prefix ");
                out.ip(std::net::Ipv6Addr::from_octets(prefix).into());
                out.push('/');
                out.number(option[2]);
            }
            (5, [_, _, _, _, a, b, c, d]) => {
                out.push_str(" mtu ");
                out.number(u32::from_be_bytes([*a, *b, *c, *d]));
            }
            _ => {}
        }
        rest = after;
    }
}

/// The packet that an error message quotes. Often only the first 8 bytes behind its IP header are there, which hold
/// the ports.
fn write_quoted(out: &mut Text, payload: &[u8], link_type: u16) {
    let quoted = dissect(link_type, payload);
    let Some(protocol) = quoted
        .protocol
        .filter(|_| !matches!(quoted.network, Network::Unknown))
    else {
        return;
    };
    out.push_str(" for ");
    let ports = quoted.ports().or_else(|| first_ports(&quoted, protocol));
    write_endpoints(out, &quoted, ports);
    push_protocol(out, protocol);
    match quoted.transport {
        Transport::Icmpv4(icmp) => {
            write_words(out, icmp.words(), icmp.kind(), icmp.code());
            write_echo(out, icmp.echo());
        }
        Transport::Icmpv6(icmp) => {
            write_words(out, icmp.words(), icmp.kind(), icmp.code());
            write_echo(out, icmp.echo());
        }
        _ => {}
    }
}

/// The ports of a TCP header that is not all there.
fn first_ports(quoted: &Summary<'_>, protocol: u8) -> Option<(u16, u16)> {
    let is_first = quoted.fragment.is_none_or(|place| place.offset == 0);
    let &[a, b, c, d] = quoted.payload.first_chunk()?;
    let ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    (protocol == protocol::ip::TCP && is_first).then_some(ports)
}

/// The name of an IP protocol, or `protocol 253`.
pub fn push_protocol(out: &mut Text, protocol: u8) {
    match protocol::ip::name(protocol) {
        "" => {
            out.push_str("protocol ");
            out.number(protocol);
        }
        name => out.push_str(name),
    }
}

/// `LCP`, or `PPP 0x1234`.
pub fn write_ppp_protocol(out: &mut Text, ppp: Ppp) {
    match ppp.name() {
        "" => {
            out.push_str("PPP 0x");
            out.hex(ppp.protocol().into(), 4);
        }
        name => out.push_str(name),
    }
}

/// ` configure request id 1 len 10`.
pub fn write_ppp_control(out: &mut Text, ppp: Ppp, summary: &Summary<'_>) {
    let (control, _) = match PppControl::split(summary.payload, summary.at) {
        Ok(split) => split,
        Err(error) => return out.push_str(damage(&error.into())),
    };
    match control.code_name(ppp.protocol()) {
        "" => {
            out.push_str(" code ");
            out.number(control.code());
        }
        name => {
            out.push(' ');
            out.push_str(name);
        }
    }
    out.push_str(" id ");
    out.number(control.identifier());
    out.push_str(" len ");
    out.number(control.length());
}
