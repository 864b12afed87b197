//! The network configuration of the kernel, typed: links, their counters and changes, addresses,
//! routes as they change, neighbours, and what drivers say of their links.
//!
//! [`Netlink`] asks and tells, [`Ethtool`] and [`NetDevices`] ask drivers, [`Watch`] and [`RouteWatch`]
//! listen; all belong to the namespace in which they were opened, for good. Calls block until the kernel has answered, which it does while it takes the
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

mod address;
pub mod codec;
mod error;
mod ethtool;
mod generic;
mod handle;
mod interface;
mod link;
mod listing;
mod neighbour;
mod neighbour_table;
mod object;
mod route;
mod socket;
pub mod table;
pub mod transport;
mod uapi;
mod verbs;
mod watch;

pub use address::{Address, DuplicateDetection, InterfaceAddress};
pub use codec::{Malformed, Refusal};
pub use error::{Action, Cause, NetlinkError, Step, Subject};
pub use ethtool::{Driver, Gro};
pub use generic::{
    Channels, Coalescing, Ethtool, Features, NapiInstance, NetDevices, RingSizes, TimeStamping,
    XdpAbilities,
};
pub use handle::{Listing, Netlink};
pub use interface::{IfIndex, IfName, InvalidAddress, InvalidName, MacAddress};
pub use link::{
    AdInfo, AdSelect, AddrGenMode, AfSpec, ArpAllTargets, ArpValidate, Bond, BondMode, BondPort,
    BondPortState, Bridge, BridgeId, BridgeOptions, BridgePort, Centiseconds, DontFragment, Encap,
    EncapFlags, EncapPort, FailOverMac, FlowInfo, Geneve, Gre, GreInput, GreKey, GreOutput,
    HardwareAddress, Hops, Inet6Spec, Ip6Gre, Ip6Tnl, Ip6TnlMode, Ip6TunnelFlags, Ipip, IpipMode,
    Ipvlan, IpvlanFlags, IpvlanMode, LabelPolicy, LacpRate, Link, LinkFlags, LinkInfo, LinkKind,
    LinkStatistics, MacAddrMode, Macvlan, MacvlanFlags, MacvlanMode, MiiStatus, Netkit, NetkitMode,
    NetkitPolicy, NetkitScrub, OperState, PortKind, PortRange, PortState, PrimaryReselect, QosMap,
    QosMapping, Sit, SitFlags, SitMode, Tos, Ttl, Tun, TunMode, Veth, Vlan, VlanFlags,
    VlanProtocol, Vrf, VrfPort, Vxlan, XmitHashPolicy,
};
pub use neighbour::Neighbour;
pub use neighbour_table::NeighbourTable;
pub use object::{Messages, Object, Unfit, Verb};
pub use route::{Route, RouteEvent, RouteWatch};
pub use watch::{Event, Watch};
