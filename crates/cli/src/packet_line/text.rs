//! A packet as a line of text.

use std::fmt::{self, Write};

use tapline::file::model::{Direction, LinkType, Packet};
use tapline::packet::dissect::{Link, Network, Transport};
use tapline::packet::protocol::{ethertype, ip};
use tapline::packet::{Application, CiscoHdlc, Escaped, Summary, dissect};

use super::addresses::write_addresses;
use super::buffer::Text;
use super::details::{
    push_protocol, write_arp, write_icmpv4, write_icmpv6, write_ppp_control, write_ppp_protocol,
    write_tcp,
};
use super::dump::write_dump;
use super::headers::{self, write_ip_header, write_link_header};
use super::nested::{damage, write_tunnel};
use super::options::LineOptions;
use super::time::Clock;

/// Most bytes of a comment that a line shows.
const MAX_COMMENT_BYTES: usize = 240;

/// Most packets inside one another that a line shows.
const MAX_DEPTH: usize = 4;

/// Writes lines.
#[derive(Debug, Default)]
pub struct LineWriter {
    options: LineOptions,
    clock: Clock,
    /// Lines so far.
    count: u64,
}

impl LineWriter {
    pub fn new(options: LineOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// Appends one line, with its line feed, to `out`:
    /// `12:34:56.789012345 eth0 in  10.0.0.1:443 > 10.0.0.2:51512 TCP 1514 [S.] seq 1 ack 1 win 64240 len 0`.
    ///
    /// The parts are time of day, interface, direction, source and destination, protocol, bytes on the wire
    /// and details of the protocol; then what TCP or UDP carries. A packet in a tunnel follows after `|`. An unknown
    /// part is `-`. VLAN tags follow, then `[truncated]` if the captured bytes end inside a header, or `[malformed]`
    /// if a header is invalid. A comment of the capture file or the process that sent the packet follows after `#`. Below are
    /// the bytes, if they are wanted.
    pub fn write(
        &mut self,
        out: &mut Text,
        packet: &Packet<'_>,
        link_type: LinkType,
        interface: &str,
    ) {
        let summary = dissect(link_type.0, packet.bytes);
        self.count += 1;
        if self.options.number {
            out.right_aligned(self.count, 5);
            out.push_str("  ");
        }
        self.paint(out, DIM);
        (self.clock).write(out, packet.timestamp_ns, &self.options);
        push_name(out, interface);
        out.push_str(match direction(packet, &summary) {
            Some(Direction::In) => " in  ",
            Some(Direction::Out) => " out ",
            None => " -   ",
        });
        self.paint(out, PLAIN);
        // Writing to Text cannot fail.
        let _ = self.write_packet(out, &summary, packet, link_type);
        if let Some(comment) = packet.comment {
            let _ = write!(
                out,
                " # {}",
                Escaped::new(comment.as_bytes(), MAX_COMMENT_BYTES)
            );
        }
        out.push('\n');
        if let Some(dump) = self.options.dump {
            let skip = if dump.link {
                0
            } else {
                headers::link_len(&summary, link_type)
            };
            write_dump(out, packet.bytes.get(skip..).unwrap_or_default(), dump);
        }
    }

    fn write_packet(
        &self,
        out: &mut Text,
        summary: &Summary<'_>,
        packet: &Packet<'_>,
        link_type: LinkType,
    ) -> fmt::Result {
        if self.options.link_header {
            write_link_header(out, summary);
        }
        write_addresses(out, summary);
        self.paint(out, STRONG);
        write_protocol(out, summary, link_type);
        self.paint(out, PLAIN);
        out.push(' ');
        out.number(packet.original_len);
        self.write_details(out, summary, packet)?;
        if self.options.brief {
            return Ok(());
        }
        self.write_inner(out, summary, packet)
    }

    fn write_vlans(&self, out: &mut Text, summary: &Summary<'_>) {
        for tag in summary.vlans() {
            out.push_str(" vlan ");
            out.number(tag.id());
            if self.options.link_header {
                out.push_str(" p ");
                out.number(tag.priority());
                out.push_str(if tag.drop_eligible() { " DEI" } else { "" });
            }
        }
    }

    fn write_damage(&self, out: &mut Text, summary: &Summary<'_>) {
        if let Some(error) = &summary.error {
            self.paint(out, BAD);
            out.push_str(damage(error));
            self.paint(out, PLAIN);
        }
    }

    /// The packets in tunnels, outermost first.
    fn write_inner(&self, out: &mut Text, outer: &Summary<'_>, packet: &Packet<'_>) -> fmt::Result {
        let mut outer = *outer;
        for _ in 0..MAX_DEPTH {
            let Some(inner) = write_tunnel(out, &outer) else {
                return Ok(());
            };
            out.push_str(" | ");
            write_addresses(out, &inner);
            self.paint(out, STRONG);
            write_protocol(out, &inner, LinkType::ETHERNET);
            self.paint(out, PLAIN);
            self.write_details(out, &inner, packet)?;
            outer = inner;
        }
        if write_tunnel(&mut Text::default(), &outer).is_some() {
            out.push_str(" | ...");
        }
        Ok(())
    }

    /// The details of the headers, VLAN tags, damage, and last what TCP or UDP carries, which is text of the sender.
    fn write_details(
        &self,
        out: &mut Text,
        summary: &Summary<'_>,
        packet: &Packet<'_>,
    ) -> fmt::Result {
        if !self.options.brief {
            write_header_details(out, summary, packet)?;
            if self.options.verbosity > 0 {
                write_ip_header(out, summary, packet);
            }
        }
        self.write_vlans(out, summary);
        self.write_damage(out, summary);
        match application(summary).filter(|_| !self.options.brief) {
            Some(application) if self.options.verbosity > 1 => write!(out, " {application:#}"),
            Some(application) => write!(out, " {application}"),
            None => Ok(()),
        }
    }

    fn paint(&self, out: &mut Text, code: &str) {
        if self.options.color {
            out.push_str(code);
        }
    }
}

fn write_header_details(out: &mut Text, summary: &Summary<'_>, packet: &Packet<'_>) -> fmt::Result {
    if let Network::Arp(arp) = summary.network {
        write_arp(out, arp);
    }
    let payload = summary.payload;
    if let Link::Ppp(ppp) = summary.link
        && ppp.is_control()
    {
        write_ppp_control(out, ppp, summary);
    }
    match summary.transport {
        Transport::Tcp(tcp) => {
            let len = headers::payload_len(summary, tcp.header_len(), packet);
            write_tcp(out, tcp, summary.transport_options, len)?;
        }
        Transport::Udp(udp) => {
            out.push_str(" len ");
            match udp.length() {
                // A super-packet above 64 KiB.
                0 => out.number(headers::payload_len(summary, 8, packet)),
                length => out.number(length.saturating_sub(8)),
            }
        }
        Transport::Icmpv4(icmp) => write_icmpv4(out, icmp, payload),
        Transport::Icmpv6(icmp) => write_icmpv6(out, icmp, payload),
        _ => {}
    }
    write_extensions(out, summary);
    Ok(())
}

const PLAIN: &str = "\x1b[0m";
const STRONG: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const BAD: &str = "\x1b[1;31m";

/// What TCP or UDP carries. Not of fragments: the rest of the message is elsewhere.
fn application<'a>(summary: &Summary<'a>) -> Option<Application<'a>> {
    if summary.payload.is_empty() || summary.error.is_some() {
        return None;
    }
    match summary.transport {
        Transport::Tcp(tcp) => {
            let ports = (tcp.source_port(), tcp.destination_port());
            Application::of_tcp(ports, summary.payload)
        }
        Transport::Udp(udp) => {
            let ports = (udp.source_port(), udp.destination_port());
            Application::of_udp(ports, summary.payload)
        }
        _ => None,
    }
}

fn write_protocol(out: &mut Text, summary: &Summary<'_>, link_type: LinkType) {
    if let Link::Ppp(ppp) = summary.link
        && summary.network == Network::Unknown
    {
        return write_ppp_protocol(out, ppp);
    }
    match (summary.network, summary.protocol, summary.ethertype) {
        (Network::Arp(_), ..) => out.push_str("ARP"),
        (_, Some(number), _) => match protocol(summary) {
            Some(word) => out.push_str(word),
            // The ICMP of the other version of IP.
            None if matches!(number, ip::ICMPV4 | ip::ICMPV6) => {
                out.push_str("protocol ");
                out.number(number);
            }
            None => push_protocol(out, number),
        },
        (.., Some(CiscoHdlc::SLARP)) if matches!(summary.link, Link::CiscoHdlc(_)) => {
            out.push_str("SLARP");
        }
        (.., Some(length)) if length < ethertype::LEAST => out.push_str("802.3"),
        (.., Some(number)) => {
            let name = ethertype::name(number);
            if name.is_empty() {
                out.push_str("ethertype 0x");
                out.hex(number.into(), 4);
            } else {
                out.push_str(name);
            }
        }
        _ if !matches!(summary.link, Link::Unknown) => out.push('-'),
        _ => {
            out.push_str("link type ");
            out.number(link_type.0);
        }
    }
}

/// The types of IPv6 extension headers, and the place of a fragment.
fn write_extensions(out: &mut Text, summary: &Summary<'_>) {
    let kinds = summary
        .extension_types()
        .filter(|kind| *kind != ip::FRAGMENT);
    for (index, kind) in kinds.enumerate() {
        out.push_str(if index == 0 { " [" } else { ", " });
        push_protocol(out, kind);
    }
    if summary.extension_types().any(|kind| kind != ip::FRAGMENT) {
        out.push(']');
    }
    if let Some(place) = summary.fragment {
        out.push_str(" fragment 0x");
        out.hex(place.identification, 1);
        out.push('@');
        out.number(place.offset);
        out.push_str(if place.more { "+" } else { "" });
    }
}

/// A name from a file, as one word, with `?` for unprintable characters.
fn push_name(out: &mut Text, name: &str) {
    if name.is_empty() {
        out.push('-');
    }
    let is_harmless = |c: char| c.is_ascii_graphic() || (!c.is_ascii() && c.is_alphanumeric());
    if name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return out.push_str(name);
    }
    for c in name.chars() {
        out.push(if is_harmless(c) { c } else { '?' });
    }
}

/// `PACKET_OUTGOING` of `include/uapi/linux/if_packet.h`.
const OUTGOING: u16 = 4;

/// The direction of the packet: from the capture, or else from a "cooked" or PPP header.
pub(super) fn direction(packet: &Packet<'_>, summary: &Summary<'_>) -> Option<Direction> {
    let of_type = |packet_type| match packet_type {
        OUTGOING => Direction::Out,
        _ => Direction::In,
    };
    packet.direction.or(match summary.link {
        Link::LinuxSll(header) => Some(of_type(header.packet_type())),
        Link::LinuxSll2(header) => Some(of_type(header.packet_type().into())),
        Link::Ppp(header) => header.is_sent().map(|is_sent| {
            if is_sent {
                Direction::Out
            } else {
                Direction::In
            }
        }),
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
