//! The network configuration of the kernel, typed: links of all kinds, addresses, routes, nexthops and
//! rules, neighbours, forwarding entries, VLANs and multicast groups of bridges, namespaces, and what
//! drivers say of their links and can be told.
//!
//! An object is one struct of optional fields ([`Link`], [`Addr`], [`Route`] …): the desired state, the
//! filter, the answer, the event and the JSON. The verbs are the same for each ([`Netlink`]), one by one
//! or with an answer for each item of many ([`Batch`]); [`Watch`] follows what changes, [`Ethtool`] and
//! [`NetDevices`] ask drivers. All belong to the namespace in which they were opened, for good. Calls
//! block until the kernel has answered, which it does while it takes the request.
//!
//! A list says whether it is whole ([`Listing::interrupted`]), a refusal carries the kernel's words
//! ([`Refusal::text`]) and the attribute it points to ([`Refusal::path`]), and what this room does not
//! know of (attributes, messages, longer structs) does not disturb it. Each change quotes the `ip(8)`
//! line it equals. [`transport`] has kernels that stand in for tests.
//!
//! The codec underneath is public ([`codec`]): pure functions over any bytes; [`explain`] tells them in
//! words.
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
mod apart;
mod batch;
pub mod codec;
mod error;
mod ethtool;
pub mod explain;
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
mod nexthop;
mod object;
mod port_vlan;
mod prefix;
mod route;
mod rule;
mod socket;
mod stats;
pub mod table;
pub mod transport;
mod uapi;
mod verbs;
mod watch;

pub use addr::{Addr, AddrProtocol, Broadcast, Lifetime, Scope};
pub use batch::{Batch, ItemResult, OnError, Outcome};
pub use codec::{Malformed, Refusal};
pub use error::{Action, Cause, NetlinkError, Step, Subject};
pub use ethtool::{Driver, Gro};
pub use fdb::{Fdb, FdbFlags, FdbFlush, FdbKey, FdbState};
pub use generic::{
    Channels, Coalescing, Ethtool, Features, NapiInstance, NetDevices, RingSizes, StampedPackets,
    TimeStamping, XdpAbilities,
};
pub use handle::{Listing, Netlink};
pub use interface::{IfIndex, IfName, InvalidAddress, InvalidName, MacAddress};
pub use link::{
    AdInfo, AdSelect, AddrGenMode, AfSpec, ArpAllTargets, ArpValidate, Bond, BondMode, BondPort,
    BondPortState, Bridge, BridgeId, BridgeOptions, BridgePort, Centiseconds, DontFragment,
    EncapFlags, EncapPort, FailOverMac, FlowInfo, Geneve, Gre, GreInput, GreKey, GreOutput,
    HardwareAddress, Hops, Inet6Spec, Ip6Gre, Ip6Tnl, Ip6TnlMode, Ip6TunnelFlags, Ipip, IpipMode,
    Ipvlan, IpvlanFlags, IpvlanMode, LabelPolicy, LacpRate, Link, LinkFlags, LinkInfo, LinkKind,
    LinkStatistics, MacAddrMode, Macvlan, MacvlanFlags, MacvlanMode, MiiStatus, Netkit, NetkitMode,
    NetkitPolicy, NetkitScrub, OperState, PortKind, PortRange, PortState, PrimaryReselect, QosMap,
    QosMapping, Sit, SitFlags, SitMode, Tos, Ttl, Tun, TunMode, TunnelEncap, Veth, Vlan, VlanFlags,
    VlanProtocol, Vrf, VrfPort, Vxlan, XmitHashPolicy,
};
pub use mdb::{FilterMode, Mdb, MdbFlags, MdbGroup, MdbSource, MdbState, Timer};
pub use neigh::{Neigh, NeighState};
pub use neighbour_table::NeighbourTable;
pub use netns::{NamedNamespace, NamesError, NamesStep, NamespaceNames, NamespaceNumber};
pub use nexthop::{ClockTicks, Group, GroupMember, GroupType, Nexthop, ResilientArgs};
pub use object::{Messages, Object, Unfit, Verb};
pub use port_vlan::{PortVlan, PortVlanFlags, VlanStatistics};
pub use prefix::{Family, Prefix};
pub use route::{
    Detail, Encap, Hop, Ip6Encap, IpEncap, Labels, Metrics, Milliseconds, MplsEncap, Realms, Route,
    RouteCacheFlags, RouteFeatures, RouteFlags, RouteKey, RouteLocks, RoutePreference,
    RouteProtocol, RouteQuery, RouteTable, RouteType, Seg6Encap, Seg6Mode, Via,
};
pub use rule::{Range, Rule, RuleAction};
pub use stats::{
    BondStatistics, BridgeStatistics, KindStatistics, LacpStatistics, MulticastStatistics, Stats,
    StpStatistics,
};
pub use watch::{Event, Watch};
