//! Links.

use super::fields::{
    AddrGenMode, AfSpec, AlternativeNames, HardwareAddress, Inet6Spec, LinkFlags, LinkStatistics,
    OperState,
};
use super::kind::{LinkInfo, LinkKind, PortKind};
use crate::codec::{Malformed, attributes};
use crate::header::LinkHeader;
use crate::interface::{IfIndex, IfName, MacAddress};
use crate::netns::Namespace;
use crate::schema::{AttributeSet, AttributeType, Nested, attribute_set};
use crate::uapi::{
    IFF_ALLMULTI, IFF_DYNAMIC, IFF_MULTICAST, IFF_NOARP, IFF_PROMISC, IFF_UP, IFLA_LINKINFO,
    RTEXT_FILTER_BRVLAN, RTEXT_FILTER_BRVLAN_COMPRESSED, RTEXT_FILTER_CFM_CONFIG,
    RTEXT_FILTER_CFM_STATUS, RTEXT_FILTER_MRP, RTEXT_FILTER_MST, RTEXT_FILTER_SKIP_STATS,
    RTEXT_FILTER_VF,
};

attribute_set! {
    /// A network interface: the desired state, or the state that the kernel reported.
    ///
    /// Fields that are not given or not reported are `None`. Requests identify the link by `index` or, without
    /// one, by `name`.
    ///
    /// # Source
    /// `ifla_policy` and `rtnl_fill_ifinfo`, net/core/rtnetlink.c.
    pub struct Link {
        @header {
            /// Its index.
            index: IfIndex;
            /// Hardware type (`ARPHRD_*`): 1 Ethernet, 772 loopback. Read-only.
            hardware: u16;
            /// All its flags. Read-only; those that can be set have a field each.
            flags: LinkFlags;
            /// Whether it is administratively up.
            up: bool;
            /// Whether it resolves neighbours (ARP, neighbour discovery).
            arp: bool;
            /// Whether it carries multicast.
            multicast: bool;
            /// Whether it receives all multicast.
            allmulticast: bool;
            /// Whether an administrator made it promiscuous; captures count in `promiscuity`.
            promisc: bool;
            /// Whether it loses its addresses when it goes down; a hint for programs.
            dynamic: bool;
        }
        @parts { IFLA_EXT_MASK: AttributeType::Bits(EXT_MASK); }
        /// Its name.
        "name" name: IfName = IFLA_IFNAME;
        /// Its hardware address.
        "address" address: HardwareAddress = IFLA_ADDRESS;
        /// The broadcast hardware address; for a tunnel the remote address.
        "broadcast" | "brd" broadcast: HardwareAddress = IFLA_BROADCAST;
        /// Its permanent hardware address.
        permanent_address: HardwareAddress = IFLA_PERM_ADDRESS;
        /// Bytes of the longest packet, without the link-layer header.
        "mtu" mtu: u32 = IFLA_MTU;
        /// Minimum MTU.
        min_mtu: u32 = IFLA_MIN_MTU;
        /// Maximum MTU; 0 is no limit.
        max_mtu: u32 = IFLA_MAX_MTU;
        /// The lower link, or the peer of a veth. It may be in another namespace.
        "link" lower: IfIndex = IFLA_LINK;
        /// The id of the namespace of the lower link.
        lower_namespace: i32 = IFLA_LINK_NETNSID;
        /// Its bridge, bond or VRF; 0 removes it from its master.
        "master" master: IfIndex = IFLA_MASTER;
        /// Name of its queueing discipline.
        qdisc: String = IFLA_QDISC;
        /// Length of the transmit queue in packets.
        "txqueuelen" | "txqlen" | "qlen" txqlen: u32 = IFLA_TXQLEN;
        /// Its operational state.
        state: OperState = IFLA_OPERSTATE;
        /// How the operational state follows the carrier: 0 automatically, 1 under control of a program.
        linkmode: u8 = IFLA_LINKMODE;
        /// Its kind, and the settings of that kind.
        linkinfo: LinkInfo as Nested = IFLA_LINKINFO;
        /// Settings of protocol families.
        af_spec: AfSpec as Nested = IFLA_AF_SPEC, Flatten;
        /// Its group. Groups can be changed or deleted at once.
        "group" group: u32 = IFLA_GROUP;
        /// A description.
        "alias" alias: String = IFLA_IFALIAS;
        /// Its alternative names, which may be longer.
        alternative_names: Vec<String> as AlternativeNames = IFLA_PROP_LIST;
        /// How many users made it promiscuous, captures included.
        promiscuity: u32 = IFLA_PROMISCUITY;
        /// How many users made it receive all multicast. Read-only; since Linux 6.0.
        allmulti: u32 = IFLA_ALLMULTI;
        /// Transmit queues.
        "numtxqueues" tx_queue_count: u32 = IFLA_NUM_TX_QUEUES;
        /// Receive queues.
        "numrxqueues" rx_queue_count: u32 = IFLA_NUM_RX_QUEUES;
        /// Whether it has a carrier; settable for some kinds.
        "carrier" carrier: bool = IFLA_CARRIER;
        /// Number of carrier changes.
        carrier_changes: u32 = IFLA_CARRIER_CHANGES;
        /// Whether a protocol keeps it down.
        "protodown" protodown: bool = IFLA_PROTO_DOWN;
        /// Maximum segments of a GSO packet.
        "gso_max_segs" gso_max_segs: u32 = IFLA_GSO_MAX_SEGS;
        /// Maximum size of a GSO packet in bytes.
        "gso_max_size" gso_max_size: u32 = IFLA_GSO_MAX_SIZE;
        /// Maximum size of a GRO packet in bytes.
        "gro_max_size" gro_max_size: u32 = IFLA_GRO_MAX_SIZE;
        /// Maximum size of a packet for hardware segmentation in bytes. Read-only; since Linux 5.19.
        tso_max_size: u32 = IFLA_TSO_MAX_SIZE;
        /// Maximum segments of a packet for hardware segmentation. Read-only; since Linux 5.19.
        tso_max_segs: u32 = IFLA_TSO_MAX_SEGS;
        /// Its parent device (`0000:03:00.0`).
        parent_device: String = IFLA_PARENT_DEV_NAME;
        /// The bus of the parent device.
        parent_bus: String = IFLA_PARENT_DEV_BUS_NAME;
        /// The network namespace to create it in or move it to. Never reported.
        #[serde(skip)]
        namespace: Namespace = IFLA_NET_NS_FD;
        /// A process whose network namespace to create it in or move it to. Write-only.
        "netns" namespace_pid: u32 = IFLA_NET_NS_PID;
        /// Its counters. Read-only.
        statistics: LinkStatistics = IFLA_STATS64;
    }
}

/// The bits of `IFLA_EXT_MASK`: what a query requests or suppresses.
const EXT_MASK: &[(u32, &str)] = &[
    (RTEXT_FILTER_VF, "vf"),
    (RTEXT_FILTER_BRVLAN, "brvlan"),
    (RTEXT_FILTER_BRVLAN_COMPRESSED, "brvlan-compressed"),
    (RTEXT_FILTER_SKIP_STATS, "skip-stats"),
    (RTEXT_FILTER_MRP, "mrp"),
    (RTEXT_FILTER_CFM_CONFIG, "cfm-config"),
    (RTEXT_FILTER_CFM_STATUS, "cfm-status"),
    (RTEXT_FILTER_MST, "mst"),
];

/// The bits of the flag fields of a [`Link`], and whether the bit is the inverse of the field.
const FLAG_FIELDS: [(u32, bool); 6] = [
    (IFF_UP, false),
    (IFF_NOARP, true),
    (IFF_MULTICAST, false),
    (IFF_ALLMULTI, false),
    (IFF_PROMISC, false),
    (IFF_DYNAMIC, false),
];

impl Link {
    /// The link with this name.
    pub fn named(name: IfName) -> Self {
        Self::new().name(name)
    }

    /// The link with this index.
    pub fn at(index: IfIndex) -> Self {
        Self::new().index(index)
    }

    /// Its index; 0 if none is given.
    pub fn ifindex(&self) -> IfIndex {
        self.index.unwrap_or_default()
    }

    /// Its name; an empty one when there is none given.
    pub fn ifname(&self) -> IfName {
        self.name.unwrap_or(IfName::UNKNOWN)
    }

    /// Sets its kind. Physical links have none.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<LinkKind>) -> Self {
        self.linkinfo.get_or_insert_default().kind = Some(kind.into());
        self
    }

    /// Sets the settings that its master has for it.
    ///
    /// Equals `ip link set NAME type bridge_slave learning off …`.
    #[must_use]
    pub fn port(mut self, port: impl Into<PortKind>) -> Self {
        self.linkinfo.get_or_insert_default().port = Some(port.into());
        self
    }

    /// Sets how it generates its IPv6 addresses.
    ///
    /// Equals `ip link set NAME addrgenmode MODE`.
    #[must_use]
    pub fn address_mode(mut self, mode: AddrGenMode) -> Self {
        let spec = Inet6Spec::new().inet6_addr_gen_mode(mode);
        self.af_spec.get_or_insert_default().inet6 = Some(spec);
        self
    }

    /// Creates it in `namespace` or moves it there.
    ///
    /// Equals `ip link set NAME netns NAMESPACE`.
    #[must_use]
    pub fn in_namespace(self, namespace: impl Into<Namespace>) -> Self {
        self.namespace(namespace.into())
    }

    /// Whether it belongs in another namespace than the handle's.
    pub(crate) fn is_in_other_namespace(&self) -> bool {
        self.namespace.is_some() || self.namespace_pid.is_some()
    }

    /// Its kind.
    pub fn link_kind(&self) -> Option<&LinkKind> {
        self.linkinfo.as_ref()?.kind.as_ref()
    }

    /// The kind of its master, with its settings for this port.
    pub fn port_kind(&self) -> Option<&PortKind> {
        self.linkinfo.as_ref()?.port.as_ref()
    }

    /// How it generates its IPv6 addresses, if it supports IPv6.
    pub fn inet6_addr_gen_mode(&self) -> Option<AddrGenMode> {
        self.af_spec.as_ref()?.inet6.as_ref()?.inet6_addr_gen_mode
    }

    /// Whether it is a loopback.
    pub fn is_loopback(&self) -> bool {
        self.flags.is_some_and(LinkFlags::is_loopback)
    }

    /// The name of its kind.
    pub fn kind_name(&self) -> Option<&str> {
        self.link_kind().map(LinkKind::name)
    }

    /// Its hardware address, if that has 6 bytes.
    pub fn mac(&self) -> Option<MacAddress> {
        self.address?.ethernet()
    }

    fn flag_fields(&mut self) -> [&mut Option<bool>; 6] {
        [
            &mut self.up,
            &mut self.arp,
            &mut self.multicast,
            &mut self.allmulticast,
            &mut self.promisc,
            &mut self.dynamic,
        ]
    }

    pub(crate) fn header(&self) -> LinkHeader {
        let (mut flags, mut mask) = (0, 0);
        let fields = [
            self.up,
            self.arp,
            self.multicast,
            self.allmulticast,
            self.promisc,
            self.dynamic,
        ];
        for (field, (bit, inverse)) in fields.into_iter().zip(FLAG_FIELDS) {
            if let Some(on) = field {
                mask |= bit;
                flags |= if on == inverse { 0 } else { bit };
            }
        }
        LinkHeader {
            index: self.ifindex().0,
            flags,
            mask,
            ..LinkHeader::default()
        }
    }

    /// Without the flags that are not in the mask of the header in `body`.
    pub(crate) fn without_unmasked_flags(mut self, body: &[u8]) -> Self {
        let mask = LinkHeader::split(body).map_or(0, |(header, _)| header.mask);
        for (field, (bit, _)) in self.flag_fields().into_iter().zip(FLAG_FIELDS) {
            if mask & bit == 0 {
                *field = None;
            }
        }
        self.flags = None;
        self.hardware = None;
        self
    }

    /// Decodes the peer that is nested in another link. Skips its kind, which bounds the recursion.
    pub(super) fn decode_peer(bytes: &[u8], at: usize) -> Result<Self, Malformed> {
        let mut link = Self::default();
        link.fill(Some(IFLA_LINKINFO), bytes, at)?;
        Ok(link)
    }

    /// Decodes a fixed header and all attributes except `skipped`. `at` is the offset of `bytes` in the body.
    pub(super) fn fill(
        &mut self,
        skipped: Option<u16>,
        bytes: &[u8],
        at: usize,
    ) -> Result<(), Malformed> {
        let (header, rest) = LinkHeader::split(bytes)?;
        self.clear();
        self.index = (header.index != 0).then_some(IfIndex(header.index));
        self.hardware = Some(header.hardware);
        self.flags = Some(LinkFlags(header.flags));
        for (field, (bit, inverse)) in self.flag_fields().into_iter().zip(FLAG_FIELDS) {
            *field = Some((header.flags & bit != 0) != inverse);
        }
        for attribute in attributes(rest, at + LinkHeader::BYTES) {
            let attribute = attribute?;
            if Some(attribute.kind) != skipped {
                self.decode_attribute(attribute)?;
            }
        }
        // The kernel reports 0 for none.
        self.lower = self.lower.filter(|lower| lower.0 != 0);
        self.master = self.master.filter(|master| master.0 != 0);
        Ok(())
    }
}
