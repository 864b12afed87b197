use std::net::IpAddr;

use super::{FdbFlags, FdbState};
use crate::interface::{IfIndex, MacAddress};
use crate::table::{Be, Shape, attributes};

attributes! {
    /// A forwarding entry of a bridge, of a VXLAN or of a device: what is wanted of one, or what the kernel
    /// told of one.
    ///
    /// Equals `bridge fdb add LLADDR dev DEV …`. Without flags the entry is the device's own, without a state
    /// it is permanent, as with `bridge(8)`. A VXLAN floods what is for the address of zeros; several ends for
    /// one address are appended.
    ///
    /// # Source
    /// `rtnl_fdb_add`, net/core/rtnetlink.c; `br_fdb_add`, net/bridge/br_fdb.c; `vxlan_fdb_parse`,
    /// drivers/net/vxlan/vxlan_core.c.
    pub struct Fdb {
        @header {
            /// The port, or the device.
            "dev" dev: IfIndex;
            /// How long it stays.
            state: FdbState;
            /// Where it stands, and what may become of it. A filter asks for those that have at least these.
            flags: FdbFlags;
            /// Seconds since it was last used. Told only.
            used: u32;
            /// Seconds since it last changed. Told only.
            updated: u32;
        }
        @parts { NDA_CACHEINFO: Shape::Bytes; }
        @own read_word show_words;
        /// The hardware address.
        #[serde(rename = "mac")]
        "lladdr" lladdr: MacAddress = NDA_LLADDR;
        /// The other end of the VXLAN.
        "dst" dst: IpAddr = NDA_DST;
        /// The VLAN, where the bridge keeps them apart.
        "vlan" [1..=4094] vlan: u16 = NDA_VLAN;
        /// UDP port of the other end, where it is not the device's.
        "port" port: u16 as Be = NDA_PORT;
        /// Network identifier at the other end, where it is not the device's.
        "vni" [0..=16_777_215] vni: u32 = NDA_VNI;
        /// The interface by which the other end is reached.
        #[serde(rename = "viaIf")]
        "via" via: IfIndex = NDA_IFINDEX;
        /// The bridge.
        "br" master: IfIndex = NDA_MASTER;
        /// Network identifier of the packets it is for, where a device has several.
        "src_vni" [0..=16_777_215] src_vni: u32 = NDA_SRC_VNI;
        /// The nexthop group of the other ends.
        "nhid" nhid: u32 = NDA_NH_ID;
    }
}

/// What tells one forwarding entry from another: an address is at one port of a bridge, and behind one end of
/// a VXLAN unless it is flooded to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FdbKey {
    /// The device, where the entry is the device's own.
    pub dev: Option<IfIndex>,
    /// The hardware address.
    pub lladdr: MacAddress,
    /// The VLAN.
    pub vlan: Option<u16>,
    /// The bridge, where it is the bridge's entry.
    pub master: Option<IfIndex>,
    /// The other end of the VXLAN, of several.
    pub dst: Option<IpAddr>,
    /// The UDP port of that end.
    pub port: Option<u16>,
    /// The network identifier of that end.
    pub vni: Option<u32>,
    /// The network identifier of the packets.
    pub src_vni: Option<u32>,
}

impl Fdb {
    /// The entry for this address at a port or in a device.
    pub fn on(dev: IfIndex, lladdr: MacAddress) -> Self {
        Self::new().dev(dev).lladdr(lladdr)
    }

    /// The interface; 0 when there is none given.
    pub fn ifindex(&self) -> IfIndex {
        self.dev.unwrap_or_default()
    }
}
