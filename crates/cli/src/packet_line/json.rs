//! A packet as JSON.

use std::fmt::{self, Write};

use tapline::file::model::{Direction, LinkType, Packet};
use tapline::packet::dissect::{Link, Network, Transport};
use tapline::packet::{HeaderError, Summary, dissect};

use super::buffer::Text;
use super::text::{direction, protocol};

/// Appends one JSON object and a line feed to `out`.
///
/// Always present: `event` (`"packet"`), `time_ns` (since 1970 UTC), `interface`, `direction`, `bytes` (captured),
/// `original_bytes` (on the wire), `src`, `dst`, `src_port`, `dst_port`, `protocol` (`"tcp"`, `"udp"`, `"icmp"`,
/// `"icmpv6"`, `"arp"`); null if unknown. If the packet has them: `ethertype`, `ip_protocol`, `src_mac`,
/// `dst_mac`, `vlans`, `tcp_flags`, `seq`, `ack`, `window`, `icmp_type`, `icmp_code`, `echo_id`, `echo_seq`,
/// `arp_operation`, `fragment_offset`, `fragment_more`, `packet_id`, `process_id`, `comment`, and `error` (`"truncated"` or `"malformed"`).
pub fn write_json(out: &mut Text, packet: &Packet<'_>, link_type: LinkType, interface: &str) {
    let summary = dissect(link_type.0, packet.bytes);
    out.push_str("{\"event\":\"packet\"");
    let mut object = Object { out };
    // Writing to Text cannot fail.
    let _ = object.write(packet, &summary, interface);
    out.push_str("}\n");
}

struct Object<'a> {
    out: &'a mut Text,
}

impl Object<'_> {
    fn write(
        &mut self,
        packet: &Packet<'_>,
        summary: &Summary<'_>,
        interface: &str,
    ) -> fmt::Result {
        let (source, destination) = summary.addresses().unzip();
        let (source_port, destination_port) = summary.ports().unzip();
        self.number_or_null("time_ns", packet.timestamp_ns)?;
        self.text("interface", interface)?;
        let direction = direction(packet, summary).map(|direction| match direction {
            Direction::In => "in",
            Direction::Out => "out",
        });
        self.quoted_or_null("direction", direction)?;
        self.number("bytes", packet.bytes.len())?;
        self.number("original_bytes", packet.original_len)?;
        self.quoted_or_null("src", source)?;
        self.quoted_or_null("dst", destination)?;
        self.number_or_null("src_port", source_port)?;
        self.number_or_null("dst_port", destination_port)?;
        self.quoted_or_null("protocol", protocol_key(summary))?;
        self.link_layer(summary)?;
        self.network_layer(summary)?;
        self.transport_layer(summary)?;
        if let Some(id) = packet.packet_id {
            self.number("packet_id", id)?;
        }
        if let Some(process) = packet.process_id {
            self.number("process_id", process)?;
        }
        if let Some(comment) = packet.comment {
            self.text("comment", comment)?;
        }
        match summary.error {
            Some(HeaderError::Truncated(_)) => self.quoted("error", "truncated"),
            Some(_) => self.quoted("error", "malformed"),
            None => Ok(()),
        }
    }

    fn link_layer(&mut self, summary: &Summary<'_>) -> fmt::Result {
        if let Some(source) = summary.source_mac() {
            self.quoted("src_mac", source)?;
        }
        if let Some(destination) = summary.destination_mac() {
            self.quoted("dst_mac", destination)?;
        }
        if let Link::Ppp(ppp) = summary.link {
            self.number("ppp_protocol", ppp.protocol())?;
        }
        if let Some(ethertype) = summary.ethertype {
            self.number("ethertype", ethertype)?;
        }
        for (index, tag) in summary.vlans().enumerate() {
            self.out
                .push_str(if index == 0 { ",\"vlans\":[" } else { "," });
            write!(self.out, "{}", tag.id())?;
        }
        if summary.vlans().next().is_some() {
            self.out.push(']');
        }
        Ok(())
    }

    fn network_layer(&mut self, summary: &Summary<'_>) -> fmt::Result {
        if let Network::Arp(arp) = summary.network {
            self.number("arp_operation", arp.operation().0)?;
        }
        if let Some(protocol) = summary.protocol {
            self.number("ip_protocol", protocol)?;
        }
        if let Some(place) = summary.fragment {
            self.number("fragment_offset", place.offset)?;
            self.number("fragment_more", place.more)?;
        }
        Ok(())
    }

    fn transport_layer(&mut self, summary: &Summary<'_>) -> fmt::Result {
        match summary.transport {
            Transport::Tcp(tcp) => {
                self.quoted("tcp_flags", tcp.flags())?;
                self.number("seq", tcp.sequence())?;
                self.number("ack", tcp.acknowledgment())?;
                self.number("window", tcp.window())
            }
            Transport::Icmpv4(icmp) => self.icmp(icmp.kind(), icmp.code(), icmp.echo()),
            Transport::Icmpv6(icmp) => self.icmp(icmp.kind(), icmp.code(), icmp.echo()),
            _ => Ok(()),
        }
    }

    fn icmp(&mut self, kind: u8, code: u8, echo: Option<(u16, u16)>) -> fmt::Result {
        self.number("icmp_type", kind)?;
        self.number("icmp_code", code)?;
        let Some((identifier, sequence)) = echo else {
            return Ok(());
        };
        self.number("echo_id", identifier)?;
        self.number("echo_seq", sequence)
    }

    /// A number or a boolean.
    fn number(&mut self, key: &str, value: impl fmt::Display) -> fmt::Result {
        write!(self.out, ",\"{key}\":{value}")
    }

    fn number_or_null(&mut self, key: &str, value: Option<impl fmt::Display>) -> fmt::Result {
        match value {
            Some(value) => self.number(key, value),
            None => self.number(key, "null"),
        }
    }

    /// A value that needs no escapes: an address or a fixed word.
    fn quoted(&mut self, key: &str, value: impl fmt::Display) -> fmt::Result {
        write!(self.out, ",\"{key}\":\"{value}\"")
    }

    fn quoted_or_null(&mut self, key: &str, value: Option<impl fmt::Display>) -> fmt::Result {
        match value {
            Some(value) => self.quoted(key, value),
            None => self.number(key, "null"),
        }
    }

    /// Text from a file.
    fn text(&mut self, key: &str, value: &str) -> fmt::Result {
        write!(self.out, ",\"{key}\":\"")?;
        for c in value.chars() {
            match c {
                '"' | '\\' => {
                    self.out.push('\\');
                    self.out.push(c);
                }
                c if c.is_ascii() && !c.is_ascii_control() || c.is_alphanumeric() => {
                    self.out.push(c);
                }
                // JSON escapes UTF-16 units.
                c => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        write!(self.out, "\\u{unit:04x}")?;
                    }
                }
            }
        }
        self.out.push('"');
        Ok(())
    }
}

fn protocol_key(summary: &Summary<'_>) -> Option<&'static str> {
    match (summary.network, protocol(summary)) {
        (Network::Arp(_), _) => Some("arp"),
        (_, Some("TCP")) => Some("tcp"),
        (_, Some("UDP")) => Some("udp"),
        (_, Some("ICMP")) => Some("icmp"),
        (_, Some("ICMPv6")) => Some("icmpv6"),
        _ => None,
    }
}
