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
pub mod build;
pub mod checksum;
pub mod dissect;
mod error;
mod escaped;
mod link;
pub mod metadata;
mod network;
mod packet_id;
pub mod protocol;
pub mod record;
pub mod stamp;
mod transport;
mod tunnel;

pub use application::dns;
pub use application::{Application, Dhcp, Dhcpv6, Dns, Http, Ntp, Quic, Tls};
pub use dissect::{Summary, dissect, dissect_ethertype};
pub use error::{HeaderError, Inconsistent, Truncated};
pub use escaped::Escaped;
pub use link::{
    CiscoHdlc, Ethernet, EthernetFields, LinuxSll, LinuxSll2, MacAddress, Ppp, PppControl, Pppoe,
    PppoeTag, Vlan, VlanFields,
};
pub use network::{
    Arp, ArpFields, ArpOperation, Extensions, Fragment, FragmentFields, Icmpv4, Icmpv4Fields,
    Icmpv6, Icmpv6Fields, Ipv4, Ipv4Fields, Ipv6, Ipv6Fields, MAX_EXTENSIONS,
};
pub use packet_id::packet_id;
pub use transport::{Tcp, TcpFields, TcpFlags, TcpOption, TcpOptions, Udp, UdpFields};
pub use tunnel::{Geneve, Gre, Mpls, Vxlan, VxlanFields};
