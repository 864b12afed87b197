//! What packets look like: views of headers, checksums, builders.
//!
//! **Reading.** A view ([`Ethernet`], [`Ipv4`], [`Tcp`], …) is a borrowed header whose length is in its
//! type, so that a field can be read without a check. `split(bytes, at)` takes a view off the front
//! of `bytes` and gives the rest; `at` is the place of `bytes` in the frame and goes into the error:
//! [`Truncated`] where the bytes end inside the header, [`HeaderError`] where a header can also
//! contradict itself. [`dissect()`] walks a whole packet this way and gives a [`Summary`].
//!
//! **Writing.** Each view has its fields as plain values (`EthernetFields`, …); `bytes()` gives the header
//! back, and `view.fields().bytes()` is what was read. [`build`] puts whole frames together, with lengths and checksums.
//!
//! No function here panics, allocates or loops without bound on any input, and none does I/O;
//! builders allocate the frame they return. Numbers are in host byte order in the interface and
//! big-endian on the wire, lengths are in bytes.
//!
//! [`metadata`] is what is known of a packet beside its bytes.

#![forbid(unsafe_code)]

mod arp;
pub mod build;
pub mod checksum;
pub mod dissect;
mod error;
mod ethernet;
mod icmpv4;
mod icmpv6;
mod ipv4;
mod ipv6;
mod ipv6_extension;
mod linux_sll;
mod linux_sll2;
mod mac;
pub mod metadata;
pub mod protocol;
mod tcp;
mod udp;
mod vlan;

pub use arp::{Arp, ArpFields, ArpOperation};
pub use dissect::{Summary, dissect};
pub use error::{HeaderError, Inconsistent, Truncated};
pub use ethernet::{Ethernet, EthernetFields};
pub use icmpv4::{Icmpv4, Icmpv4Fields};
pub use icmpv6::{Icmpv6, Icmpv6Fields};
pub use ipv4::{Ipv4, Ipv4Fields};
pub use ipv6::{Ipv6, Ipv6Fields};
pub use ipv6_extension::{Extensions, Fragment, FragmentFields, MAX_EXTENSIONS};
pub use linux_sll::LinuxSll;
pub use linux_sll2::LinuxSll2;
pub use mac::MacAddress;
pub use tcp::{Tcp, TcpFields, TcpFlags};
pub use udp::{Udp, UdpFields};
pub use vlan::{Vlan, VlanFields};
