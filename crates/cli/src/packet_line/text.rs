//! A packet as text.

use std::fmt::{self, Write};
use std::net::IpAddr;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tapline::file::model::{Direction, LinkType, Packet};
use tapline::packet::dissect::{Link, Network, Transport};
use tapline::packet::protocol::{ethertype, ip};
use tapline::packet::{Arp, ArpOperation, HeaderError, Icmpv6, Summary, Tcp, dissect};

/// Fraction digits of a nanosecond.
const NANOSECOND_DIGITS: u32 = 9;

/// The format of text lines.
#[derive(Clone, Debug)]
pub struct LineOptions {
    /// Fraction digits of the time, at most 9.
    pub fraction_digits: u32,
    /// The time zone of the time.
    pub time_zone: TimeZone,
}

impl Default for LineOptions {
    /// Nanoseconds, in the time zone of the system.
    fn default() -> Self {
        Self {
            fraction_digits: NANOSECOND_DIGITS,
            time_zone: TimeZone::system(),
        }
    }
}

/// Appends one line, with its line feed, to `out`:
/// `12:34:56.789012345 eth0 in  10.0.0.1:443 > 10.0.0.2:51512 TCP 1514 [S.] seq 1 ack 1 win 64240`.
///
/// The parts are time of day, interface, direction, source and destination, protocol, bytes on the wire
/// and details of the protocol. An unknown part is `-`. VLAN tags follow, then `[truncated]` if the
/// captured bytes end inside a header, or `[malformed]` if a header is invalid.
pub fn write_line(
    out: &mut String,
    packet: &Packet<'_>,
    link_type: LinkType,
    interface: &str,
    options: &LineOptions,
) {
    let summary = dissect(link_type.0, packet.bytes);
    let line = Line {
        packet,
        link_type,
        summary: &summary,
    };
    // Writing to a String cannot fail.
    let _ = line.write(out, interface, options);
}

struct Line<'a> {
    packet: &'a Packet<'a>,
    link_type: LinkType,
    summary: &'a Summary<'a>,
}

impl Line<'_> {
    fn write(&self, out: &mut String, interface: &str, options: &LineOptions) -> fmt::Result {
        write_time(out, self.packet.timestamp_ns, options)?;
        out.push(' ');
        push_name(out, interface);
        out.push_str(match direction(self.packet, self.summary) {
            Some(Direction::In) => " in  ",
            Some(Direction::Out) => " out ",
            None => " -   ",
        });
        self.write_addresses(out)?;
        self.write_protocol(out)?;
        write!(out, " {}", self.packet.original_len)?;
        self.write_details(out)?;
        for tag in self.summary.vlans() {
            write!(out, " vlan {}", tag.id())?;
        }
        out.push_str(match self.summary.error {
            Some(HeaderError::Truncated(_)) => " [truncated]\n",
            Some(_) => " [malformed]\n",
            None => "\n",
        });
        Ok(())
    }

    /// `source > destination `, with ports if there are any, of the highest layer that has addresses.
    fn write_addresses(&self, out: &mut String) -> fmt::Result {
        let summary = self.summary;
        if !matches!(summary.network, Network::Arp(_))
            && let Some((source, destination)) = summary.addresses()
        {
            let (source_port, destination_port) = summary.ports().unzip();
            write_endpoint(out, source, source_port)?;
            out.push_str(" > ");
            write_endpoint(out, destination, destination_port)?;
            out.push(' ');
            return Ok(());
        }
        match (summary.source_mac(), summary.destination_mac()) {
            (Some(source), Some(destination)) => write!(out, "{source} > {destination} "),
            (Some(source), None) => write!(out, "{source} > - "),
            (None, _) => {
                out.push_str("- > - ");
                Ok(())
            }
        }
    }

    fn write_protocol(&self, out: &mut String) -> fmt::Result {
        let summary = self.summary;
        if let Some(word) = protocol(summary) {
            out.push_str(word);
            return Ok(());
        }
        match (summary.network, summary.protocol, summary.ethertype) {
            (Network::Arp(_), ..) => out.push_str("ARP"),
            (_, Some(protocol), _) => write!(out, "protocol {protocol}")?,
            (.., Some(length)) if length < ethertype::LEAST => out.push_str("802.3"),
            (.., Some(ethertype)) => write!(out, "ethertype {ethertype:#06x}")?,
            _ => write!(out, "link type {}", self.link_type.0)?,
        }
        Ok(())
    }

    fn write_details(&self, out: &mut String) -> fmt::Result {
        let summary = self.summary;
        if let Network::Arp(arp) = summary.network {
            write_arp(out, arp)?;
        }
        match summary.transport {
            Transport::Tcp(tcp) => write_tcp(out, tcp)?,
            Transport::Icmpv4(icmp) => {
                write_icmp(out, icmp.words(), icmp.kind(), icmp.code())?;
                write_echo(out, icmp.echo())?;
            }
            Transport::Icmpv6(icmp) => {
                write_icmp(out, icmp.words(), icmp.kind(), icmp.code())?;
                write_echo(out, icmp.echo())?;
                write_neighbour(out, icmp, summary.payload)?;
            }
            _ => {}
        }
        if let Some(place) = summary.fragment {
            let more = if place.more { "+" } else { "" };
            let (id, offset) = (place.identification, place.offset);
            write!(out, " fragment {id:#x}@{offset}{more}")?;
        }
        Ok(())
    }
}

/// The time of day, or `-` without a time.
fn write_time(out: &mut String, timestamp_ns: Option<u64>, options: &LineOptions) -> fmt::Result {
    let time = timestamp_ns.and_then(|ns| Timestamp::from_nanosecond(ns.into()).ok());
    let Some(time) = time else {
        out.push('-');
        return Ok(());
    };
    let time = options.time_zone.to_datetime(time).time();
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    write!(out, "{hour:02}:{minute:02}:{second:02}.")?;
    let digits = options.fraction_digits.min(NANOSECOND_DIGITS);
    let unit_ns = 10_i32.pow(NANOSECOND_DIGITS - digits);
    let fraction = time.subsec_nanosecond() / unit_ns;
    write!(out, "{fraction:0width$}", width = digits as usize)
}

/// A name from a file, as one word, with `?` for unprintable characters.
fn push_name(out: &mut String, name: &str) {
    if name.is_empty() {
        out.push('-');
    }
    let is_harmless = |c: char| c.is_ascii_graphic() || (!c.is_ascii() && c.is_alphanumeric());
    out.extend(name.chars().map(|c| if is_harmless(c) { c } else { '?' }));
}

fn write_endpoint(out: &mut String, address: IpAddr, port: Option<u16>) -> fmt::Result {
    match (address, port) {
        (address, None) => write!(out, "{address}"),
        (IpAddr::V4(address), Some(port)) => write!(out, "{address}:{port}"),
        (IpAddr::V6(address), Some(port)) => write!(out, "[{address}]:{port}"),
    }
}

fn write_arp(out: &mut String, arp: Arp<'_>) -> fmt::Result {
    match arp.operation() {
        ArpOperation::REQUEST => {
            write!(out, " who-has {} tell {}", arp.target_ip(), arp.sender_ip())
        }
        ArpOperation::REPLY => write!(out, " {} is-at {}", arp.sender_ip(), arp.sender_mac()),
        ArpOperation(number) => write!(out, " operation {number}"),
    }
}

fn write_tcp(out: &mut String, tcp: Tcp<'_>) -> fmt::Result {
    let flags = tcp.flags();
    write!(out, " [{flags}] seq {}", tcp.sequence())?;
    if flags.contains(tapline::packet::TcpFlags::ACK) {
        write!(out, " ack {}", tcp.acknowledgment())?;
    }
    write!(out, " win {}", tcp.window())
}

fn write_icmp(out: &mut String, words: &str, kind: u8, code: u8) -> fmt::Result {
    if words.is_empty() {
        return write!(out, " type {kind} code {code}");
    }
    write!(out, " {words}")
}

fn write_echo(out: &mut String, echo: Option<(u16, u16)>) -> fmt::Result {
    match echo {
        Some((identifier, sequence)) => write!(out, " id {identifier} seq {sequence}"),
        None => Ok(()),
    }
}

fn write_neighbour(out: &mut String, icmp: Icmpv6<'_>, payload: &[u8]) -> fmt::Result {
    match icmp.neighbour(payload) {
        Some(address) => write!(out, " {address}"),
        None => Ok(()),
    }
}

/// `PACKET_OUTGOING` of `include/uapi/linux/if_packet.h`.
const OUTGOING: u16 = 4;

/// The direction of the packet: from the capture, or else from a "cooked" header.
pub(super) fn direction(packet: &Packet<'_>, summary: &Summary<'_>) -> Option<Direction> {
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

/// The name of the highest known protocol. `None` if only its number is known.
pub(super) fn protocol(summary: &Summary<'_>) -> Option<&'static str> {
    match (summary.network, summary.protocol?) {
        (_, ip::TCP) => Some("TCP"),
        (_, ip::UDP) => Some("UDP"),
        (Network::Ipv4(_), ip::ICMPV4) => Some("ICMP"),
        (Network::Ipv6(_), ip::ICMPV6) => Some("ICMPv6"),
        _ => None,
    }
}
