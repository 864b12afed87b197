//! Links: what they are, and how they are spoken of.

mod af_spec;
mod device;
mod flags;
mod follow;
mod hardware;
mod header;
mod kind;
mod names;
mod object;
mod shortcuts;
mod statistics;
mod verbs;

pub use af_spec::{AddrGenMode, AfSpec, Inet6Spec};
pub use flags::{LinkFlags, OperState};
pub use hardware::HardwareAddress;
pub use kind::{
    AdInfo, AdSelect, ArpAllTargets, ArpValidate, Bond, BondMode, BondPort, BondPortState, Bridge,
    BridgeId, BridgeOptions, BridgePort, Centiseconds, DontFragment, EncapFlags, EncapPort,
    FailOverMac, FlowInfo, Geneve, Gre, GreInput, GreKey, GreOutput, Hops, Ip6Gre, Ip6Tnl,
    Ip6TnlMode, Ip6TunnelFlags, Ipip, IpipMode, Ipvlan, IpvlanFlags, IpvlanMode, LabelPolicy,
    LacpRate, LinkInfo, LinkKind, MacAddrMode, Macvlan, MacvlanFlags, MacvlanMode, MiiStatus,
    Netkit, NetkitMode, NetkitPolicy, NetkitScrub, PortKind, PortRange, PortState, PrimaryReselect,
    QosMap, QosMapping, Sit, SitFlags, SitMode, Tos, Ttl, Tun, TunMode, TunnelEncap, Veth, Vlan,
    VlanFlags, VlanProtocol, Vrf, VrfPort, Vxlan, XmitHashPolicy,
};
pub use object::Link;
pub use statistics::LinkStatistics;
