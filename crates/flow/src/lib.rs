//! Flows: what two hosts exchange between two ports, in both directions. A bounded table, TCP analysis and expiry; no I/O.
//!
//! ```text
//!            decode            index, wheel                  ended
//!  packet ─▶ Segment ────────▶ FlowTable ──────────────────▶ Flow ─▶ the caller's closure
//!               │                  │  idle, active, FIN, RST, reused, evicted, end
//!               └─▶ not IP, fragment without ports, malformed
//! ```
//!
//! Every packet is in exactly one flow or in one of the three other counters of [`FlowAccount`]. Memory is bounded by
//! [`TableOptions::max_flows`], and so is the work for a packet: two buckets of eight are searched, and a fixed number of flows is
//! checked for their timeouts. The hash is keyed with a seed, so that nobody can choose addresses that collide.
//!
//! Time is passed in: nanoseconds since 1970, from the packets.
//!
//! ```
//! use tapline_flow::{FlowPacket, FlowTable, TableOptions};
//! use wire::{MacAddress, build::Frame, protocol::link_type};
//!
//! let mut table = FlowTable::new(&TableOptions { max_flows: 1000, ..TableOptions::default() });
//! let [a, b] = [MacAddress([2, 0, 0, 0, 0, 1]), MacAddress([2, 0, 0, 0, 0, 2])];
//! let [c, d] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
//! let asked = Frame::ethernet(a, b).ipv4(c, d).udp(1024, 53).payload(b"?");
//! let answered = Frame::ethernet(b, a).ipv4(d, c).udp(53, 1024).payload(b"!");
//! let mut flows = Vec::new();
//! for (time_ns, bytes) in [(1000, &asked), (9000, &answered)] {
//!     let packet = FlowPacket::new(link_type::ETHERNET, bytes, Some(time_ns));
//!     table.add(&packet, &mut |flow| flows.push(*flow));
//! }
//! table.finish(&mut |flow| flows.push(*flow));
//! assert_eq!((flows[0].initiator.address, flows[0].initiator.port), (c.into(), 1024));
//! assert_eq!([flows[0].forward.packets, flows[0].backward.packets], [1, 1]);
//! ```

#![forbid(unsafe_code)]

mod account;
mod batch;
mod decode;
mod entries;
mod flow;
mod index;
mod ipfix;
mod key;
mod table;
mod tcp;
mod wheel;

pub use account::{FlowAccount, ProtocolClass};
pub use decode::{FlowPacket, NoFlow, TcpSegment};
pub use flow::{EndReason, Flow, FlowEnd, TcpFlow, TcpState, Traffic};
pub use ipfix::IpfixEncoder;
pub use table::{FlowTable, TableOptions};
pub use tcp::{SequenceOrder, TcpConnection};
