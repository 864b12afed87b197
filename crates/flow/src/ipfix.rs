//! Flows as IPFIX messages, one record for both directions.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |              10               |            length             |
//! +-------------------------------+-------------------------------+
//! |                   export time, seconds since 1970             |
//! +---------------------------------------------------------------+
//! |                  records in earlier messages                  |
//! +---------------------------------------------------------------+
//! |                     observation domain                        |
//! +---------------------------------------------------------------+
//! |  sets: templates, IPv4 records, IPv6 records                  |
//! ```
//!
//! # Source
//! RFC 7011, section 3; RFC 5103 for the reverse elements; IANA's registry of IPFIX information elements.

use std::net::IpAddr;

use crate::flow::{EndReason, Flow};

/// Enterprise number of the reverse elements.
const REVERSE: u32 = 29305;

const TEMPLATES_SET: u16 = 2;
const IPV4: u16 = 256;
const IPV6: u16 = 257;

const HEADER_BYTES: usize = 16;
const SET_HEADER_BYTES: usize = 4;

/// An information element and its length in a record.
struct Element {
    id: u16,
    bytes: u16,
    is_reverse: bool,
}

const fn element(id: u16, bytes: u16) -> Element {
    Element {
        id,
        bytes,
        is_reverse: false,
    }
}

const fn reverse(id: u16, bytes: u16) -> Element {
    Element {
        id,
        bytes,
        is_reverse: true,
    }
}

/// What each record begins with: flowStartMilliseconds, flowEndMilliseconds; then the addresses come.
const TIMES: [Element; 2] = [element(152, 8), element(153, 8)];

/// sourceIPv4Address, destinationIPv4Address.
const IPV4_ADDRESSES: [Element; 2] = [element(8, 4), element(12, 4)];

/// sourceIPv6Address, destinationIPv6Address.
const IPV6_ADDRESSES: [Element; 2] = [element(27, 16), element(28, 16)];

/// Behind the addresses.
const REST: [Element; 12] = [
    element(7, 2),  // sourceTransportPort
    element(11, 2), // destinationTransportPort
    element(4, 1),  // protocolIdentifier
    element(1, 8),  // octetDeltaCount
    element(2, 8),  // packetDeltaCount
    reverse(1, 8),  // the same to the initiator
    reverse(2, 8),
    element(6, 2), // tcpControlBits
    reverse(6, 2),
    element(10, 4),  // ingressInterface
    element(136, 1), // flowEndReason
    element(239, 1), // biflowDirection
];

/// biflowDirection: the source is the initiator (RFC 5103, section 6.3).
const INITIATOR: u8 = 1;

/// Collects records and makes messages of them.
#[derive(Debug)]
pub struct IpfixEncoder {
    domain: u32,
    most_bytes: usize,
    sequence: u32,
    ipv4: Vec<u8>,
    ipv6: Vec<u8>,
    records: u32,
    if_indexes: Vec<u32>,
}

impl IpfixEncoder {
    /// The least that a message can be bounded to: both templates and a record fit.
    pub const LEAST_BYTES: usize = 512;

    /// For messages of at most `most_bytes`, or [`LEAST_BYTES`](Self::LEAST_BYTES) if that is more. `domain` tells the records of
    /// this encoder from those of others that send to the same collector.
    pub fn new(domain: u32, most_bytes: usize) -> Self {
        Self {
            domain,
            most_bytes: most_bytes.clamp(Self::LEAST_BYTES, usize::from(u16::MAX)),
            sequence: 0,
            ipv4: Vec::new(),
            ipv6: Vec::new(),
            records: 0,
            if_indexes: Vec::new(),
        }
    }

    /// Sets the kernel's index (`ifIndex`) of each interface, in the order of their numbers in [`Flow::interface`]. Records of
    /// other interfaces, such as those of capture files, have 0 as their ingressInterface: unknown.
    pub fn set_if_indexes(&mut self, if_indexes: Vec<u32>) {
        self.if_indexes = if_indexes;
    }

    /// Adds a record. Returns whether the message is to be taken before another one is added.
    pub fn add(&mut self, flow: &Flow) -> bool {
        let out = match flow.initiator.address {
            IpAddr::V4(_) => &mut self.ipv4,
            IpAddr::V6(_) => &mut self.ipv6,
        };
        let if_index = self.if_indexes.get(flow.interface as usize);
        write_record(out, flow, if_index.copied().unwrap_or(0));
        self.records += 1;
        let longest = record_bytes(&IPV6_ADDRESSES);
        let used = HEADER_BYTES + templates().len() + 2 * SET_HEADER_BYTES;
        used + self.ipv4.len() + self.ipv6.len() + longest > self.most_bytes
    }

    /// Records that no message has yet.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Sequence numbers begin at 0 again: those of another connection do (RFC 7011, section 3.1). Records that no message has yet
    /// stay.
    pub fn restart(&mut self) {
        self.sequence = 0;
    }

    /// A message with all records, and with the templates if the collector may not have them.
    pub fn take(&mut self, export_s: u32, with_templates: bool) -> Vec<u8> {
        let mut message = Vec::with_capacity(self.most_bytes);
        message.extend(10_u16.to_be_bytes());
        message.extend([0; 2]);
        message.extend(export_s.to_be_bytes());
        message.extend(self.sequence.to_be_bytes());
        message.extend(self.domain.to_be_bytes());
        if with_templates {
            write_set(&mut message, TEMPLATES_SET, &templates());
        }
        for (id, records) in [(IPV4, &mut self.ipv4), (IPV6, &mut self.ipv6)] {
            if !records.is_empty() {
                write_set(&mut message, id, records);
            }
            records.clear();
        }
        let length = message.len() as u16;
        message[2..4].copy_from_slice(&length.to_be_bytes());
        self.sequence = self.sequence.wrapping_add(self.records);
        self.records = 0;
        message
    }
}

fn write_set(out: &mut Vec<u8>, id: u16, content: &[u8]) {
    out.extend(id.to_be_bytes());
    out.extend(((SET_HEADER_BYTES + content.len()) as u16).to_be_bytes());
    out.extend_from_slice(content);
}

/// Both templates.
fn templates() -> Vec<u8> {
    let mut out = Vec::new();
    for (id, addresses) in [(IPV4, &IPV4_ADDRESSES), (IPV6, &IPV6_ADDRESSES)] {
        let elements = || TIMES.iter().chain(addresses).chain(&REST);
        out.extend(id.to_be_bytes());
        out.extend((elements().count() as u16).to_be_bytes());
        for element in elements() {
            let enterprise_bit = u16::from(element.is_reverse) << 15;
            out.extend((element.id | enterprise_bit).to_be_bytes());
            out.extend(element.bytes.to_be_bytes());
            if element.is_reverse {
                out.extend(REVERSE.to_be_bytes());
            }
        }
    }
    out
}

fn record_bytes(addresses: &[Element; 2]) -> usize {
    let elements = TIMES.iter().chain(addresses).chain(&REST);
    elements.map(|element| usize::from(element.bytes)).sum()
}

fn write_record(out: &mut Vec<u8>, flow: &Flow, if_index: u32) {
    out.extend((flow.first_ns / 1_000_000).to_be_bytes());
    out.extend((flow.last_ns / 1_000_000).to_be_bytes());
    for end in [flow.initiator, flow.responder] {
        match end.address {
            IpAddr::V4(address) => out.extend(address.octets()),
            IpAddr::V6(address) => out.extend(address.octets()),
        }
    }
    out.extend(flow.initiator.port.to_be_bytes());
    out.extend(flow.responder.port.to_be_bytes());
    out.push(flow.protocol);
    for traffic in [&flow.forward, &flow.backward] {
        out.extend(traffic.ip_bytes.to_be_bytes());
        out.extend(traffic.packets.to_be_bytes());
    }
    for flags in flow.tcp.map_or([0; 2], |tcp| tcp.flags) {
        out.extend(u16::from(flags).to_be_bytes());
    }
    out.extend(if_index.to_be_bytes());
    out.push(end_reason(flow.end));
    out.push(INITIATOR);
}

/// flowEndReason.
fn end_reason(reason: EndReason) -> u8 {
    match reason {
        EndReason::Idle => 1,
        EndReason::Active => 2,
        EndReason::Fin | EndReason::Rst | EndReason::Reused => 3,
        EndReason::End => 4,
        EndReason::Evicted => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowEnd;

    #[test]
    fn messages_are_bounded_and_count_their_records() {
        let end = |address: IpAddr| FlowEnd { address, port: 7 };
        let four = Flow::new(17, end([10, 0, 0, 1].into()), end([10, 0, 0, 2].into()));
        let six = Flow::new(17, end([1; 16].into()), end([2; 16].into()));
        let mut encoder = IpfixEncoder::new(5, 600);
        let (mut sent, mut messages) = (0, 0);
        for number in 0..1000 {
            if encoder.add(if number % 3 == 0 { &six } else { &four }) {
                let records = encoder.records();
                let message = encoder.take(9, true);
                assert!(message.len() <= 600 && records > 0, "{}", message.len());
                let word =
                    |at: usize| u32::from_be_bytes(*message[at..].first_chunk().expect("a word"));
                assert_eq!(
                    message[..4],
                    [0, 10, (message.len() >> 8) as u8, message.len() as u8]
                );
                assert_eq!([word(4), word(8), word(12)], [9, sent, 5]);
                sent += records;
                messages += 1;
            }
        }
        assert!(messages > 100, "{messages}");
        assert_eq!(sent + encoder.records(), 1000);
    }

    #[test]
    fn records_are_as_long_as_their_templates_say() {
        let end = |address: IpAddr| FlowEnd { address, port: 7 };
        for (flow, addresses) in [
            (
                Flow::new(6, end([10, 0, 0, 1].into()), end([10, 0, 0, 2].into())),
                &IPV4_ADDRESSES,
            ),
            (
                Flow::new(6, end([1; 16].into()), end([2; 16].into())),
                &IPV6_ADDRESSES,
            ),
        ] {
            let mut out = Vec::new();
            write_record(&mut out, &flow, 0);
            assert_eq!(out.len(), record_bytes(addresses));
        }
    }
}
