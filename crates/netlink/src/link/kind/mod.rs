//! What is particular to each kind of link: a file for each.

mod bond;
mod bond_names;
mod bond_port;
mod bridge;
mod bridge_id;
mod bridge_port;
mod centiseconds;
mod data;
mod geneve;
mod gre;
mod held;
mod info;
mod ip6gre;
mod ip6tnl;
mod ipip;
mod ipvlan;
mod kinds;
mod macvlan;
mod netkit;
mod port;
mod protocol;
mod qos;
mod sit;
#[cfg(test)]
mod tests;
mod tun;
mod tunnel;
mod veth;
mod vlan;
mod vrf;
mod vxlan;

pub use bond::{AdInfo, Bond};
pub use bond_names::{
    AdSelect, ArpAllTargets, ArpValidate, BondMode, BondPortState, FailOverMac, LacpRate,
    MiiStatus, PrimaryReselect, XmitHashPolicy,
};
pub use bond_port::BondPort;
pub use bridge::{Bridge, BridgeOptions};
pub use bridge_id::BridgeId;
pub use bridge_port::{BridgePort, PortState};
pub use centiseconds::Centiseconds;
pub use geneve::Geneve;
pub use gre::{Gre, GreInput, GreOutput};
pub use info::LinkInfo;
pub use ip6gre::Ip6Gre;
pub use ip6tnl::{FlowInfo, Ip6Tnl, Ip6TnlMode, Ip6TunnelFlags};
pub use ipip::{Ipip, IpipMode};
pub use ipvlan::{Ipvlan, IpvlanFlags, IpvlanMode};
pub use kinds::LinkKind;
pub use macvlan::{MacAddrMode, Macvlan, MacvlanFlags, MacvlanMode};
pub use netkit::{Netkit, NetkitMode, NetkitPolicy, NetkitScrub};
pub use port::PortKind;
pub use protocol::VlanProtocol;
pub use qos::{QosMap, QosMapping};
pub use sit::{Sit, SitFlags, SitMode};
pub use tun::{Tun, TunMode};
pub use tunnel::{
    DontFragment, EncapFlags, EncapPort, GreKey, Hops, PortRange, Tos, Ttl, TunnelEncap,
};
pub use veth::Veth;
pub use vlan::{Vlan, VlanFlags};
pub use vrf::{Vrf, VrfPort};
pub use vxlan::{LabelPolicy, Vxlan};
