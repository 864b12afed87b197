use crate::interface::IfIndex;
use crate::link::PortState;
use crate::table::{Nested, Shape, attributes, flag_set};
use crate::uapi::{BRIDGE_VLAN_INFO_PVID, BRIDGE_VLAN_INFO_UNTAGGED};

attributes! {
    /// A VLAN, or several in a row, that a port of a bridge or the bridge itself is a member of: what is wanted,
    /// or what the kernel told.
    ///
    /// Equals `bridge vlan add dev DEV vid VLAN[-VLANEND] [pvid] [untagged] [self] [master]`. To add one that is
    /// there changes its flags. Its options (`state`, `mcast_router`) are set when it is there, as with
    /// `bridge vlan set`.
    ///
    /// # Kernel
    /// Linux 5.6 to list and to set options; built with `CONFIG_BRIDGE_VLAN_FILTERING`.
    /// # Source
    /// `br_afspec`, net/bridge/br_netlink.c; `br_vlan_fill_vids` and `br_vlan_rtm_process_one`,
    /// net/bridge/br_vlan.c.
    pub struct PortVlan {
        @header {
            /// The port, or the bridge.
            "dev" dev: IfIndex;
            /// The VLAN, or the first of several: 1 to 4094.
            vlan: u16;
            /// The last of several; all of them are said in one message.
            #[serde(rename = "vlanEnd")]
            vlan_end: u16;
            /// What becomes of packets without a tag.
            flags: PortVlanFlags;
            /// Told to the device itself: needed where that is the bridge. Said only.
            own: bool;
            /// Told to the bridge of the device, also beside `own`; the usual. Said only.
            master: bool;
        }
        @parts {
            BRIDGE_VLANDB_ENTRY_INFO: Shape::Bytes;
            BRIDGE_VLANDB_ENTRY_RANGE: Shape::Number;
        }
        @own read_word show_words;
        /// Whether packets are forwarded.
        "state" state: PortState = BRIDGE_VLANDB_ENTRY_STATE;
        /// Whether a multicast router is behind the port: 0 never, 1 when heard, 2 always.
        "mcast_router" mcast_router: u8 = BRIDGE_VLANDB_ENTRY_MCAST_ROUTER;
        /// Its counters, where a question gives any. Told only.
        statistics: VlanStatistics as Nested = BRIDGE_VLANDB_ENTRY_STATS, Spread;
    }
}

attributes! {
    /// Counters of a VLAN at a port.
    pub struct VlanStatistics {
        /// Bytes received.
        rx_bytes: u64 = BRIDGE_VLANDB_STATS_RX_BYTES;
        /// Packets received.
        rx_packets: u64 = BRIDGE_VLANDB_STATS_RX_PACKETS;
        /// Bytes sent.
        tx_bytes: u64 = BRIDGE_VLANDB_STATS_TX_BYTES;
        /// Packets sent.
        tx_packets: u64 = BRIDGE_VLANDB_STATS_TX_PACKETS;
    }
}

flag_set! {
    /// What becomes of packets without a tag at a port.
    pub struct PortVlanFlags: u16 {
        /// Those that come belong to this VLAN.
        PVID = BRIDGE_VLAN_INFO_PVID, "PVID";
        /// Those of this VLAN go out without a tag.
        UNTAGGED = BRIDGE_VLAN_INFO_UNTAGGED, "Egress Untagged";
    }
}

impl PortVlan {
    /// This VLAN at a port.
    pub fn on(dev: IfIndex, vlan: u16) -> Self {
        Self::new().dev(dev).vlan(vlan)
    }

    /// These VLANs at a port.
    pub fn range(dev: IfIndex, vlans: std::ops::RangeInclusive<u16>) -> Self {
        Self::on(dev, *vlans.start()).vlan_end(*vlans.end())
    }

    /// The port; 0 when there is none given.
    pub fn ifindex(&self) -> IfIndex {
        self.dev.unwrap_or_default()
    }

    /// Whether a packet without a tag that comes belongs to it.
    pub fn is_pvid(&self) -> bool {
        self.flags
            .is_some_and(|flags| flags.contains(PortVlanFlags::PVID))
    }
}
