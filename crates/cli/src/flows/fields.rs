//! The columns of a flow, the same in all formats.

use std::fmt;
use std::net::IpAddr;

use tapline::flows::Flow;

/// A value in a column.
#[derive(Clone, Copy, Debug)]
pub enum Field<'a> {
    Number(u64),
    Address(IpAddr),
    Text(&'a str),
    /// Unknown, or it has none.
    Null,
}

/// Shown as in CSV; text that needs quotes has none here.
impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Address(address) => address.fmt(f),
            Self::Text(text) => text.fmt(f),
            Self::Null => Ok(()),
        }
    }
}

impl From<Option<u64>> for Field<'_> {
    fn from(value: Option<u64>) -> Self {
        value.map_or(Self::Null, Self::Number)
    }
}

pub const COLUMNS: usize = 24;

/// The columns of a flow on this interface.
#[rustfmt::skip]
pub fn fields<'a>(flow: &Flow, interface: &'a str) -> [(&'static str, Field<'a>); COLUMNS] {
    let tcp = flow.tcp.as_ref();
    let of_tcp = |value: Option<u32>| Field::from(value.map(u64::from));
    let flags = |side: usize| of_tcp(tcp.map(|tcp| tcp.flags[side].into()));
    let again = |side: usize| of_tcp(tcp.map(|tcp| tcp.retransmissions[side]));
    let late = |side: usize| of_tcp(tcp.map(|tcp| tcp.out_of_order[side]));
    [
        ("first_ns", Field::Number(flow.first_ns)),
        ("last_ns", Field::Number(flow.last_ns)),
        ("interface", Field::Text(interface)),
        ("protocol", Field::Number(flow.protocol.into())),
        ("initiator", Field::Address(flow.initiator.address)),
        ("initiator_port", Field::Number(flow.initiator.port.into())),
        ("responder", Field::Address(flow.responder.address)),
        ("responder_port", Field::Number(flow.responder.port.into())),
        ("forward_packets", Field::Number(flow.forward.packets)),
        ("forward_bytes", Field::Number(flow.forward.bytes)),
        ("forward_ip_bytes", Field::Number(flow.forward.ip_bytes)),
        ("backward_packets", Field::Number(flow.backward.packets)),
        ("backward_bytes", Field::Number(flow.backward.bytes)),
        ("backward_ip_bytes", Field::Number(flow.backward.ip_bytes)),
        ("end", Field::Text(flow.end.name())),
        ("tcp_state", tcp.map_or(Field::Null, |tcp| Field::Text(tcp.state.name()))),
        ("forward_tcp_flags", flags(0)),
        ("backward_tcp_flags", flags(1)),
        ("forward_retransmissions", again(0)),
        ("backward_retransmissions", again(1)),
        ("forward_out_of_order", late(0)),
        ("backward_out_of_order", late(1)),
        ("rtt_ns", tcp.and_then(|tcp| tcp.rtt_ns).into()),
        ("responder_rtt_ns", tcp.and_then(|tcp| tcp.responder_rtt_ns).into()),
    ]
}
