//! Packet formats: header views, checksums and frame builders.
//!
//! **Parsing.** A view ([`Ethernet`], [`Ipv4`], [`Tcp`], …) borrows a header. Its type has the
//! length of the header, so fields are read without bounds checks. `split(bytes, at)` splits a view
//! off the front of `bytes` and returns the rest; `at` is the offset of `bytes` in the frame, for
//! errors. It fails with [`Truncated`] if the bytes end inside the header, or with [`HeaderError`]
//! if a header can also be inconsistent. [`dissect()`] parses a whole packet in this way and
//! returns a [`Summary`].
//!
//! **Payloads.** [`Application`] recognises what TCP and UDP carry: DNS, DHCP, NTP, TLS, HTTP, QUIC. Its `Display` is
//! one harmless line: every byte of the packet is escaped, and lengths, loops and nesting are bounded.
//!
//! **Encoding.** For each view there is a struct of plain fields (`EthernetFields`, …), whose
//! `bytes()` encodes the header; `view.fields().bytes()` returns the parsed bytes. [`build`] builds
//! whole frames, with lengths and checksums.
//!
//! No function panics or loops without bound on any input, and none does I/O. Only builders
//! allocate: the frame they return. Numbers are in host byte order in the API and big-endian on the
//! wire; lengths are in bytes.
//!
//! [`stamp`] is the mark that makes the loss, order and delay of generated packets measurable. [`metadata`] describes a
//! packet beyond its bytes. [`record`] is the layout of records that XDP
//! programs write for the rings.

#![forbid(unsafe_code)]

mod application;
mod arp;
pub mod build;
pub mod checksum;
mod dhcp;
pub mod dissect;
pub mod dns;
mod error;
mod escaped;
mod ethernet;
mod http;
mod icmpv4;
mod icmpv6;
mod ipv4;
mod ipv6;
mod ipv6_extension;
mod linux_sll;
pub mod metadata;
mod ntp;
mod packet_id;
mod ppp;
mod pppoe;
pub mod protocol;
mod quic;
pub mod record;
pub mod stamp;
mod tcp;
mod tcp_options;
mod tls;
mod tunnel;
mod udp;
mod vlan;

pub use application::Application;
pub use arp::{Arp, ArpFields, ArpOperation};
pub use dhcp::{Dhcp, Dhcpv6};
pub use dissect::{Summary, dissect, dissect_ethertype};
pub use dns::Dns;
pub use error::{HeaderError, Inconsistent, Truncated};
pub use escaped::Escaped;
pub use ethernet::{Ethernet, EthernetFields, MacAddress};
pub use http::Http;
pub use icmpv4::{Icmpv4, Icmpv4Fields};
pub use icmpv6::{Icmpv6, Icmpv6Fields};
pub use ipv4::{Ipv4, Ipv4Fields};
pub use ipv6::{Ipv6, Ipv6Fields};
pub use ipv6_extension::{Extensions, Fragment, FragmentFields, MAX_EXTENSIONS};
pub use linux_sll::{LinuxSll, LinuxSll2};
pub use ntp::Ntp;
pub use packet_id::packet_id;
pub use ppp::{CiscoHdlc, Ppp, PppControl};
pub use pppoe::{Pppoe, PppoeTag};
pub use quic::Quic;
pub use tcp::{Tcp, TcpFields, TcpFlags};
pub use tcp_options::{TcpOption, TcpOptions};
pub use tls::Tls;
pub use tunnel::{Geneve, Gre, Mpls, Vxlan, VxlanFields};
pub use udp::{Udp, UdpFields};
pub use vlan::{Vlan, VlanFields};
