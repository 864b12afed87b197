//! What is particular to each kind of link: a file for each.

mod bond;
mod bridge;
mod data;
mod gre;
mod info;
mod ip_tunnel;
mod kinds;
mod macvlan;
mod netkit;
mod port;
#[cfg(test)]
mod tests;
mod tun;
mod tunnel;
mod untyped;
mod veth;
mod vlan;
mod vrf;
mod vxlan;

pub use bond::{
    AdInfo, AdSelect, ArpAllTargets, ArpValidate, Bond, BondMode, BondPort, BondPortState,
    FailOverMac, LacpRate, MiiStatus, PrimaryReselect, XmitHashPolicy,
};
pub use bridge::{Bridge, BridgeId, BridgeOptions, BridgePort, Centiseconds, PortState};
pub use gre::{Gre, GreInput, GreOutput, Ip6Gre};
pub use info::LinkInfo;
pub use ip_tunnel::{
    FlowInfo, Ip6Tnl, Ip6TnlMode, Ip6TunnelFlags, Ipip, IpipMode, Sit, SitFlags, SitMode,
};
pub use kinds::LinkKind;
pub use macvlan::{
    Ipvlan, IpvlanFlags, IpvlanMode, MacAddrMode, Macvlan, MacvlanFlags, MacvlanMode,
};
pub use netkit::{Netkit, NetkitMode, NetkitPolicy, NetkitScrub};
pub use port::PortKind;
pub use tun::{Tun, TunMode};
pub use tunnel::{
    DontFragment, EncapFlags, EncapPort, GreKey, Hops, PortRange, Tos, Ttl, TunnelEncap,
};
pub use veth::Veth;
pub use vlan::{QosMap, QosMapping, Vlan, VlanFlags, VlanProtocol};
pub use vrf::{Vrf, VrfPort};
pub use vxlan::{Geneve, LabelPolicy, Vxlan};
