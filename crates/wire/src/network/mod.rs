//! Network layer: ARP, IPv4 and IPv6 with their extension headers, ICMP.

mod arp;
mod icmpv4;
mod icmpv6;
mod ipv4;
mod ipv6;
mod ipv6_extension;

pub use arp::{Arp, ArpFields, ArpOperation};
pub use icmpv4::{Icmpv4, Icmpv4Fields};
pub use icmpv6::{Icmpv6, Icmpv6Fields};
pub use ipv4::{Ipv4, Ipv4Fields};
pub use ipv6::{Ipv6, Ipv6Fields};
pub use ipv6_extension::{Extensions, Fragment, FragmentFields, MAX_EXTENSIONS};
