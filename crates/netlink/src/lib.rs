//! The network configuration of the kernel, typed: links, their counters and changes, addresses,
//! routes as they change, neighbours, and what drivers say of their links.
//!
//! [`Netlink`] asks and tells, [`Ethtool`] and [`NetDevices`] ask drivers, [`LinkWatch`] and [`RouteWatch`] listen; all belong to the namespace in which they were
//! opened, for good. Calls block until the kernel has answered, which it does while it takes the
//! request. A list says whether it is whole ([`Listing::interrupted`]), a refusal carries the kernel's
//! words ([`Refusal::text`]), and what this room does not know of (attributes, messages, longer
//! structs) does not disturb it. Each change quotes the `ip(8)` line it equals.
//!
//! The codec underneath is public where it reads ([`codec`]): pure functions over any bytes.
//!
//! ```
//! use tapline_netlink::{IfIndex, Netlink};
//!
//! let mut netlink = Netlink::open()?;
//! let loopback = netlink.link(IfIndex(1))?;
//! assert!(loopback.is_loopback());
//! # Ok::<(), tapline_netlink::NetlinkError>(())
//! ```
//!
//! # Kernel
//! Linux 4.20 (`NETLINK_GET_STRICT_CHK`).

#![forbid(unsafe_code)]

mod addr;
pub mod codec;
mod error;
mod ethtool;
mod fdb;
mod generic;
mod handle;
mod interface;
mod link;
mod listing;
mod mdb;
mod neigh;
mod neighbour_table;
mod netns;
mod object;
mod port_vlan;
mod prefix;
mod route;
mod socket;
mod stats;
pub mod table;
pub mod transport;
mod uapi;
mod verbs;
mod watch;

pub use addr::{Addr, AddrProtocol, Broadcast, Lifetime, Scope};
pub use codec::{Malformed, Refusal};
pub use error::{Action, Cause, NetlinkError, Step, Subject};
pub use ethtool::{Driver, Gro};
pub use fdb::{Fdb, FdbFlags, FdbKey, FdbState};
pub use generic::{
    Channels, Coalescing, Ethtool, Features, NapiInstance, NetDevices, RingSizes, StampedPackets,
    TimeStamping, XdpAbilities,
};
pub use handle::{Listing, Netlink};
pub use interface::{IfIndex, IfName, InvalidAddress, InvalidName, MacAddress};
pub use link::{
    Bridge, HardwareAddress, Link, LinkFlags, LinkInfo, LinkKind, LinkStatistics, OperState, Veth,
    Vlan,
};
pub use mdb::{FilterMode, Mdb, MdbFlags, MdbGroup, MdbSource, MdbState, Timer};
pub use neigh::{Neigh, NeighState};
pub use neighbour_table::NeighbourTable;
pub use netns::{NamedNamespace, NamesError, NamesStep, NamespaceNames, NamespaceNumber};
pub use object::{Messages, Object, Unfit, Verb};
pub use port_vlan::{PortVlan, VlanFlags, VlanState, VlanStatistics};
pub use prefix::{Family, Prefix};
pub use route::{Route, RouteEvent, RouteWatch};
pub use stats::{
    BondStatistics, BridgeStatistics, KindStatistics, LacpStatistics, MulticastStatistics, Stats,
    StpStatistics,
};
pub use watch::{Event, Watch};
