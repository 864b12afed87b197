//! Typed network configuration of the Linux kernel over netlink: links of all kinds, addresses, routes,
//! nexthops, rules, neighbours, forwarding entries, VLANs and multicast groups of bridges, namespaces, and
//! driver settings.
//!
//! An object is one struct of optional fields ([`Link`], [`Addr`], [`Route`] …). The same struct is the desired
//! state, the filter, the reply, the event and the JSON. [`Netlink`] has the same operations for each;
//! [`Batch`] carries out many changes in few system calls; [`Watch`] reports changes; [`Ethtool`] and
//! [`NetDevices`] query drivers. Each handle stays in the namespace in which it was opened. Calls block until
//! the kernel has replied.
//!
//! [`Listing::interrupted`] tells whether a list is consistent. A [`KernelError`] has the kernel's message and
//! the path of the rejected attribute. Unknown attributes, messages and longer structs of newer kernels are
//! ignored. Each operation quotes the `ip(8)` command it equals. [`transport`] has a fake kernel for tests.
//!
//! Where to look: [`Object`] says how an object is defined; [`schema`] has the tables from which structs,
//! encoders and decoders are generated; [`codec`] encodes and decodes messages; [`explain`](mod@explain)
//! prints them for debugging.
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

mod batch;
pub mod codec;
mod drivers;
pub mod encoded;
mod error;
pub mod explain;
mod header;
mod netlink;
mod netns;
mod object;
mod objects;
mod quoted;
pub mod schema;
mod socket;
pub mod transport;
mod uapi;
mod validate;
mod values;
mod verb;
mod watch;

pub use batch::{Batch, BatchSummary, ItemResult, OnError};
pub use codec::{KernelError, Malformed};
pub use drivers::{
    Channels, Coalescing, Driver, Ethtool, Features, FlowRule, FlowType, FoundSocket, Gro,
    HashFunction, HashSteering, NapiInstance, NetDevices, RingSizes, SocketProtocol, SocketTable,
    StampedPackets, TimeStamping, XdpAbilities,
};
pub use error::{Action, Cause, InvalidRequest, NetlinkError, RequestTarget, Syscall};
pub use netlink::Netlink;
pub use netns::{
    NamedNamespace, Namespace, NamespaceError, NamespaceId, NamespaceNameError, NamespaceNames,
    NamespaceNumber, NamespaceOperation,
};
pub use object::Object;
pub use objects::addr::{Addr, AddrProtocol, Broadcast, Lifetime, Scope};
pub use objects::fdb::{Fdb, FdbFlags, FdbFlush, FdbKey, FdbState};
pub use objects::link::{
    AdInfo, AdSelect, AddrGenMode, AfSpec, ArpAllTargets, ArpValidate, Bareudp, BareudpProtocol,
    Bond, BondMode, BondPort, BondPortState, Bridge, BridgeId, BridgeOptions, BridgePort,
    Centiseconds, DontFragment, EncapFlags, EncapPort, FailOverMac, FlowInfo, Geneve, Gre,
    GreInput, GreKey, GreOutput, HardwareAddress, Hops, Inet6Spec, Ip6Gre, Ip6Tnl, Ip6TnlMode,
    Ip6TunnelFlags, Ipip, IpipMode, Ipvlan, IpvlanFlags, IpvlanMode, LabelPolicy, LacpRate, Link,
    LinkFlags, LinkInfo, LinkKind, LinkStatistics, MacAddrMode, Macvlan, MacvlanFlags, MacvlanMode,
    MiiStatus, Netkit, NetkitMode, NetkitPolicy, NetkitScrub, OperState, PortKind, PortRange,
    PortState, PrimaryReselect, QosMap, QosMapping, Sit, SitFlags, SitMode, Tos, Ttl, Tun, TunMode,
    TunnelEncap, Veth, Vlan, VlanFlags, VlanProtocol, Vrf, VrfPort, Vxlan, Xfrm, XmitHashPolicy,
};
pub use objects::mdb::{FilterMode, Mdb, MdbFlags, MdbGroup, MdbSource, MdbState, Timer};
pub use objects::neigh::{Neigh, NeighState, NeighbourTable};
pub use objects::nexthop::{ClockTicks, Group, GroupMember, GroupType, Nexthop, ResilientArgs};
pub use objects::port_vlan::{PortVlan, PortVlanFlags, VlanStatistics};
pub use objects::qdisc::{Qdisc, TrafficHandle};
pub use objects::route::{
    Detail, Encap, EncapTos, Hop, Ip6Encap, IpEncap, Labels, Metrics, Milliseconds, MplsEncap,
    Realms, Route, RouteCacheFlags, RouteFeatures, RouteFlags, RouteKey, RouteLocks,
    RoutePreference, RouteProtocol, RouteQuery, RouteTable, RouteType, Seg6Encap, Seg6Mode, Via,
};
pub use objects::rule::{Range, Rule, RuleAction};
pub use objects::stats::{
    BondStatistics, BridgeStatistics, KindStatistics, LacpStatistics, MulticastStatistics, Stats,
    StpStatistics,
};
pub use socket::Listing;
pub use values::ds_field::DsField;
pub use values::interface::{IfIndex, IfName, InvalidAddress, InvalidName, MacAddress};
pub use values::prefix::{Family, Prefix};
pub use verb::{MessageTypes, Verb};
pub use watch::{Event, Watch};
