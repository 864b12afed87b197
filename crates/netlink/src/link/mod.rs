//! Links: what they are, and how they are spoken of.

mod fields;
mod follow_up;
mod kind;
mod messages;
mod object;
mod tun;

pub use fields::{
    AddrGenMode, AfSpec, HardwareAddress, Inet6Spec, LinkFlags, LinkStatistics, OperState,
};
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
