//! Terms with `any` and `inner`, which pcap-filter(7) does not have: they search the layers of a packet for hosts, ports and
//! protocols.
//!
//! A layer is what one sender wrote from a link-layer or IP header to a transport header. A tunnel header is followed by
//! the next layer:
//!
//! ```text
//!            link headers                 IP header               transport header, or a tunnel:
//! Ethernet ─ 802.1Q, PPPoE, MPLS ─ IPv4 ─ AH ─────────────────┬─ TCP, UDP, SCTP: ports
//!                                └ IPv6 ─ extension headers ──┴─ IP-in-IP, GRE, VXLAN, Geneve, GTP-U ─ next layer
//! ```
//!
//! The outermost layer is tested as the plain term is, at the same offsets. Only if that fails and the packet has one of
//! the other headers, the walk begins. It keeps two variables: `KIND`, the protocol of the header that is examined, and
//! `POSITION`, its offset. Classic BPF has no loops, so the walk is unrolled, and [`limits`] bound it. A packet with more
//! headers does not match.

mod internet_headers;
pub(super) mod limits;
mod link_headers;
mod search;
pub(super) mod search_term;
mod tunnel_headers;
mod walk;
