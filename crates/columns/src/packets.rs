//! The headers of packets, in columns.

use std::net::IpAddr;

use arrow_array::RecordBatch;
use arrow_array::builder::{
    BooleanBuilder, Int32Builder, Int64Builder, StringBuilder, TimestampNanosecondBuilder,
};
use arrow_schema::SchemaRef;
use wire::dissect::{Link, Network, Transport};
use wire::metadata::Direction;
use wire::{HeaderError, Summary, dissect};

use crate::addresses::{AddressTexts, MacText};
use crate::batch::{self, Rows, Shape, columns};

/// A packet to be added.
#[derive(Clone, Copy, Debug)]
pub struct PacketRow<'a> {
    /// Nanoseconds since 1970.
    pub time_ns: Option<u64>,
    /// Name of its interface.
    pub interface: &'a str,
    /// Whether it was received or sent.
    pub direction: Option<Direction>,
    /// Captured bytes, from the link-layer header on.
    pub bytes: &'a [u8],
    /// Length on the wire.
    pub original_bytes: u64,
    /// `LINKTYPE_*`.
    pub link_type: u16,
    /// The identifier that distinguishes it from others, if it has one.
    pub packet_id: Option<u64>,
}

columns!(Columns {
    time: TimestampNanosecondBuilder = Growing,
    interface: StringBuilder = Label,
    direction: StringBuilder = Label,
    bytes: Int64Builder = Repeated,
    original_bytes: Int64Builder = Repeated,
    src_mac: StringBuilder = Label,
    dst_mac: StringBuilder = Label,
    vlan: Int32Builder = Repeated,
    inner_vlan: Int32Builder = Repeated,
    ethertype: Int32Builder = Repeated,
    src: StringBuilder = Repeated,
    dst: StringBuilder = Repeated,
    dscp: Int32Builder = Repeated,
    ttl: Int32Builder = Repeated,
    fragment_offset: Int32Builder = Repeated,
    fragment_more: BooleanBuilder = Repeated,
    protocol: StringBuilder = Label,
    ip_protocol: Int32Builder = Repeated,
    src_port: Int32Builder = Repeated,
    dst_port: Int32Builder = Repeated,
    tcp_flags: Int32Builder = Repeated,
    seq: Int64Builder = Distinct,
    ack: Int64Builder = Distinct,
    window: Int32Builder = Repeated,
    icmp_type: Int32Builder = Repeated,
    icmp_code: Int32Builder = Repeated,
    echo_id: Int32Builder = Repeated,
    echo_seq: Int32Builder = Growing,
    arp_operation: Int32Builder = Repeated,
    packet_id: Int64Builder = Distinct,
    error: StringBuilder = Label,
});

/// Packets, one a row.
#[derive(Debug, Default)]
pub struct PacketRows {
    columns: Columns,
    texts: AddressTexts,
    /// Of the source and of the destination.
    macs: [MacText; 2],
    rows: usize,
}

impl Rows for PacketRows {
    type Row<'a> = PacketRow<'a>;

    fn schema() -> SchemaRef {
        Columns::schema()
    }

    fn shape(column: &str) -> Shape {
        Columns::shape(column)
    }

    fn add(&mut self, row: &PacketRow<'_>) {
        let summary = dissect(row.link_type, row.bytes);
        self.rows += 1;
        let columns = &mut self.columns;
        columns
            .time
            .append_option(row.time_ns.and_then(batch::time));
        columns.interface.append_value(row.interface);
        columns.direction.append_option(direction(row, &summary));
        columns
            .bytes
            .append_value(batch::counter(row.bytes.len() as u64));
        columns
            .original_bytes
            .append_value(batch::counter(row.original_bytes));
        // The bits of the number, which is all that its equality needs.
        let id = row.packet_id.map(u64::cast_signed);
        columns.packet_id.append_option(id);
        columns.error.append_option(error(&summary));
        self.add_link(&summary);
        self.add_network(&summary);
        self.add_transport(&summary);
    }

    fn len(&self) -> usize {
        self.rows
    }

    fn take(&mut self) -> RecordBatch {
        self.rows = 0;
        self.columns.take()
    }
}

impl PacketRows {
    fn add_link(&mut self, summary: &Summary<'_>) {
        let columns = &mut self.columns;
        let [source, destination] = &mut self.macs;
        let address = summary.source_mac();
        let text = address.map(|address| source.text(address));
        columns.src_mac.append_option(text);
        let address = summary.destination_mac();
        let text = address.map(|address| destination.text(address));
        columns.dst_mac.append_option(text);
        let mut tags = summary.vlans().map(|tag| tag.id().into());
        columns.vlan.append_option(tags.next());
        columns.inner_vlan.append_option(tags.next());
        columns
            .ethertype
            .append_option(summary.ethertype.map(i32::from));
    }

    fn add_network(&mut self, summary: &Summary<'_>) {
        let columns = &mut self.columns;
        let (source, destination) = summary.addresses().unzip();
        let mut address = |address: Option<IpAddr>, column: &mut StringBuilder| match address {
            Some(address) => column.append_value(self.texts.text(address)),
            None => column.append_null(),
        };
        address(source, &mut columns.src);
        address(destination, &mut columns.dst);
        let (dscp, ttl, operation) = match summary.network {
            Network::Ipv4(header) => (Some(header.dscp()), Some(header.ttl()), None),
            Network::Ipv6(header) => {
                let dscp = header.traffic_class() >> 2;
                (Some(dscp), Some(header.hop_limit()), None)
            }
            Network::Arp(header) => (None, None, Some(header.operation().0)),
            _ => (None, None, None),
        };
        columns.dscp.append_option(dscp.map(i32::from));
        columns.ttl.append_option(ttl.map(i32::from));
        columns
            .arp_operation
            .append_option(operation.map(i32::from));
        let place = summary.fragment;
        columns
            .fragment_offset
            .append_option(place.map(|place| place.offset.into()));
        columns
            .fragment_more
            .append_option(place.map(|place| place.more));
        columns.protocol.append_option(protocol(summary));
        columns
            .ip_protocol
            .append_option(summary.protocol.map(i32::from));
    }

    fn add_transport(&mut self, summary: &Summary<'_>) {
        let columns = &mut self.columns;
        let (source, destination) = summary.ports().unzip();
        columns.src_port.append_option(source.map(i32::from));
        columns.dst_port.append_option(destination.map(i32::from));
        let tcp = match summary.transport {
            Transport::Tcp(header) => Some(header),
            _ => None,
        };
        columns
            .tcp_flags
            .append_option(tcp.map(|tcp| tcp.flags().0.into()));
        columns
            .seq
            .append_option(tcp.map(|tcp| tcp.sequence().into()));
        columns
            .ack
            .append_option(tcp.map(|tcp| tcp.acknowledgment().into()));
        columns
            .window
            .append_option(tcp.map(|tcp| tcp.window().into()));
        let icmp = match summary.transport {
            Transport::Icmpv4(header) => Some((header.kind(), header.code(), header.echo())),
            Transport::Icmpv6(header) => Some((header.kind(), header.code(), header.echo())),
            _ => None,
        };
        let echo = icmp.and_then(|(.., echo)| echo);
        columns
            .icmp_type
            .append_option(icmp.map(|(kind, ..)| kind.into()));
        columns
            .icmp_code
            .append_option(icmp.map(|(_, code, _)| code.into()));
        columns
            .echo_id
            .append_option(echo.map(|(identifier, _)| identifier.into()));
        columns
            .echo_seq
            .append_option(echo.map(|(_, sequence)| sequence.into()));
    }
}

/// Packet type of a "cooked" header: sent by this host.
const OUTGOING: u16 = 4;

/// From the capture, or else from a "cooked" or PPP header.
fn direction(row: &PacketRow<'_>, summary: &Summary<'_>) -> Option<&'static str> {
    let is_sent = match (row.direction, summary.link) {
        (Some(direction), _) => Some(direction == Direction::Out),
        (None, Link::LinuxSll(header)) => Some(header.packet_type() == OUTGOING),
        (None, Link::LinuxSll2(header)) => Some(u16::from(header.packet_type()) == OUTGOING),
        (None, Link::Ppp(header)) => header.is_sent(),
        _ => None,
    };
    is_sent.map(|is_sent| if is_sent { "out" } else { "in" })
}

fn protocol(summary: &Summary<'_>) -> Option<&'static str> {
    match (summary.network, summary.transport) {
        (Network::Arp(_), _) => Some("arp"),
        (_, Transport::Tcp(_)) => Some("tcp"),
        (_, Transport::Udp(_)) => Some("udp"),
        (_, Transport::Icmpv4(_)) => Some("icmp"),
        (_, Transport::Icmpv6(_)) => Some("icmpv6"),
        _ => None,
    }
}

fn error(summary: &Summary<'_>) -> Option<&'static str> {
    summary.error.map(|error| match error {
        HeaderError::Truncated(_) => "truncated",
        _ => "malformed",
    })
}
