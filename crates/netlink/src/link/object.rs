use std::os::fd::{AsFd, AsRawFd};

use abi::namespace::NetNamespace;

use super::hardware::HardwareAddress;
use super::header::Header;
use super::kind::{LinkInfo, LinkKind, PortKind};
use super::names::AlternativeNames;
use super::{AddrGenMode, AfSpec, Inet6Spec, LinkFlags, LinkStatistics, OperState};
use crate::codec::{Malformed, attributes as read_attributes};
use crate::interface::{IfIndex, IfName, MacAddress};
use crate::table::{Nested, Shape, Table, attributes};
use crate::uapi::{
    IFF_ALLMULTI, IFF_DYNAMIC, IFF_MULTICAST, IFF_NOARP, IFF_PROMISC, IFF_UP, IFLA_LINKINFO,
    RTEXT_FILTER_BRVLAN, RTEXT_FILTER_BRVLAN_COMPRESSED, RTEXT_FILTER_CFM_CONFIG,
    RTEXT_FILTER_CFM_STATUS, RTEXT_FILTER_MRP, RTEXT_FILTER_MST, RTEXT_FILTER_SKIP_STATS,
    RTEXT_FILTER_VF,
};

attributes! {
    /// A network interface: what is wanted of one, or what the kernel told of one.
    ///
    /// What is not given, or was not told, is `None`. A request says which link it means by `index` or, where
    /// there is none, by `name`.
    ///
    /// # Source
    /// `ifla_policy` and `rtnl_fill_ifinfo`, net/core/rtnetlink.c.
    pub struct Link {
        @header {
            /// Its index.
            index: IfIndex;
            /// Hardware type (`ARPHRD_*`): 1 Ethernet, 772 loopback. Told only.
            hardware: u16;
            /// All its flags. Told only; those that can be set have a field each.
            flags: LinkFlags;
            /// Whether an administrator has set it up.
            up: bool;
            /// Whether it resolves neighbours (ARP, neighbour discovery).
            arp: bool;
            /// Whether it carries multicast.
            multicast: bool;
            /// Whether it receives all multicast.
            allmulticast: bool;
            /// Whether an administrator has made it promiscuous; captures show in `promiscuity`.
            promisc: bool;
            /// Whether its addresses go when it goes down; a note to programs.
            dynamic: bool;
        }
        @parts { IFLA_EXT_MASK: Shape::Bits(EXT_MASK); }
        /// Its name.
        "name" name: IfName = IFLA_IFNAME;
        /// Its hardware address.
        "address" address: HardwareAddress = IFLA_ADDRESS;
        /// The hardware address of all; the other end's of a tunnel.
        "broadcast" | "brd" broadcast: HardwareAddress = IFLA_BROADCAST;
        /// Its hardware address when it was new.
        permanent_address: HardwareAddress = IFLA_PERM_ADDRESS;
        /// Bytes of the longest packet, without the link-layer header.
        "mtu" mtu: u32 = IFLA_MTU;
        /// The least that may be.
        min_mtu: u32 = IFLA_MIN_MTU;
        /// The most that may be; 0 for no limit.
        max_mtu: u32 = IFLA_MAX_MTU;
        /// The link it is made on, or a veth's other end. That one's namespace may be another.
        "link" lower: IfIndex = IFLA_LINK;
        /// The namespace of that one, as the one asked numbers namespaces.
        lower_namespace: i32 = IFLA_LINK_NETNSID;
        /// The link it belongs to: its bridge, bond or VRF; 0 takes it out.
        "master" master: IfIndex = IFLA_MASTER;
        /// Name of its queueing discipline.
        qdisc: String = IFLA_QDISC;
        /// Packets that its queue holds.
        "txqueuelen" | "txqlen" | "qlen" txqlen: u32 = IFLA_TXQLEN;
        /// Its operational state.
        state: OperState = IFLA_OPERSTATE;
        /// How that follows the carrier: 0 by itself, 1 when a program says so.
        linkmode: u8 = IFLA_LINKMODE;
        /// What is particular to its kind.
        linkinfo: LinkInfo as Nested = IFLA_LINKINFO;
        /// What protocol families keep of it.
        af_spec: AfSpec as Nested = IFLA_AF_SPEC, Spread;
        /// Its group, by which many can be changed or removed at once.
        "group" group: u32 = IFLA_GROUP;
        /// What it is for, in the administrator's words.
        "alias" alias: String = IFLA_IFALIAS;
        /// Its alternative names, which may be longer.
        alternative_names: Vec<String> as AlternativeNames = IFLA_PROP_LIST;
        /// How many times it has been made promiscuous, by captures as well.
        promiscuity: u32 = IFLA_PROMISCUITY;
        /// How many times it has been made to receive all multicast. Told only; since Linux 6.0.
        allmulti: u32 = IFLA_ALLMULTI;
        /// Transmit queues.
        "numtxqueues" tx_queue_count: u32 = IFLA_NUM_TX_QUEUES;
        /// Receive queues.
        "numrxqueues" rx_queue_count: u32 = IFLA_NUM_RX_QUEUES;
        /// Whether it has a carrier; some kinds take it from here.
        "carrier" carrier: bool = IFLA_CARRIER;
        /// How often that has changed.
        carrier_changes: u32 = IFLA_CARRIER_CHANGES;
        /// Whether a protocol keeps it down.
        "protodown" protodown: bool = IFLA_PROTO_DOWN;
        /// Most segments of a packet that is cut up late.
        "gso_max_segs" gso_max_segs: u32 = IFLA_GSO_MAX_SEGS;
        /// Most bytes of a packet that is cut up late.
        "gso_max_size" gso_max_size: u32 = IFLA_GSO_MAX_SIZE;
        /// Most bytes of a packet that is joined on receipt.
        "gro_max_size" gro_max_size: u32 = IFLA_GRO_MAX_SIZE;
        /// Most bytes that the device cuts up itself. Told only; since Linux 5.19.
        tso_max_size: u32 = IFLA_TSO_MAX_SIZE;
        /// Most segments that the device cuts up itself. Told only; since Linux 5.19.
        tso_max_segs: u32 = IFLA_TSO_MAX_SEGS;
        /// The device it stands for (`0000:03:00.0`).
        parent_device: String = IFLA_PARENT_DEV_NAME;
        /// The bus of that.
        parent_bus: String = IFLA_PARENT_DEV_BUS_NAME;
        /// Descriptor of the namespace it is to be in. Said only.
        namespace_fd: i32 = IFLA_NET_NS_FD;
        /// A process in the namespace it is to be in. Said only.
        "netns" namespace_pid: u32 = IFLA_NET_NS_PID;
        /// Its counters. Told only.
        statistics: LinkStatistics = IFLA_STATS64;
    }
}

/// What a question asks for, or to be spared.
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

/// The fields of a [`Link`] that stand in the flags of its header, with their bits; `true` is a bit that is
/// not set for the second.
const FLAG_FIELDS: [(u32, bool); 6] = [
    (IFF_UP, false),
    (IFF_NOARP, true),
    (IFF_MULTICAST, false),
    (IFF_ALLMULTI, false),
    (IFF_PROMISC, false),
    (IFF_DYNAMIC, false),
];

impl Link {
    /// The link of this name.
    pub fn named(name: IfName) -> Self {
        Self::new().name(name)
    }

    /// The link with this index.
    pub fn at(index: IfIndex) -> Self {
        Self::new().index(index)
    }

    /// Its index; 0 when there is none given.
    pub fn ifindex(&self) -> IfIndex {
        self.index.unwrap_or_default()
    }

    /// Its name; an empty one when there is none given.
    pub fn ifname(&self) -> IfName {
        self.name.unwrap_or(IfName::UNKNOWN)
    }

    /// What software made it; physical ones have no kind.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<LinkKind>) -> Self {
        self.linkinfo.get_or_insert_default().kind = Some(kind.into());
        self
    }

    /// What its master keeps of it.
    ///
    /// Equals `ip link set NAME type bridge_slave learning off …`.
    #[must_use]
    pub fn port(mut self, port: impl Into<PortKind>) -> Self {
        self.linkinfo.get_or_insert_default().port = Some(port.into());
        self
    }

    /// How it makes its own IPv6 addresses.
    ///
    /// Equals `ip link set NAME addrgenmode MODE`.
    #[must_use]
    pub fn address_mode(mut self, mode: AddrGenMode) -> Self {
        let spec = Inet6Spec::new().inet6_addr_gen_mode(mode);
        self.af_spec.get_or_insert_default().inet6 = Some(spec);
        self
    }

    /// To be in `namespace`, which has to stay open until the request is made.
    ///
    /// Equals `ip link set NAME netns NAMESPACE`; `NetNamespace::named` finds those that have a name.
    #[must_use]
    pub fn in_namespace(self, namespace: &NetNamespace) -> Self {
        self.namespace_fd(namespace.as_fd().as_raw_fd())
    }

    /// Whether it is to be in another namespace than the one asked.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.namespace_fd.is_some() || self.namespace_pid.is_some()
    }

    /// What software made it.
    pub fn link_kind(&self) -> Option<&LinkKind> {
        self.linkinfo.as_ref()?.kind.as_ref()
    }

    /// What its master is, and keeps of it.
    pub fn port_kind(&self) -> Option<&PortKind> {
        self.linkinfo.as_ref()?.port.as_ref()
    }

    /// How it makes its own IPv6 addresses, if it does IPv6.
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

    /// Its hardware address, where that has the 6 bytes of Ethernet.
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

    pub(crate) fn header(&self) -> Header {
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
        Header {
            index: self.ifindex().0,
            flags,
            mask,
            ..Header::default()
        }
    }

    /// It without the flags that the header in `body` does not mean to change.
    pub(crate) fn without_unmeant_flags(mut self, body: &[u8]) -> Self {
        let mask = Header::split(body).map_or(0, |(header, _)| header.mask);
        for (field, (bit, _)) in self.flag_fields().into_iter().zip(FLAG_FIELDS) {
            if mask & bit == 0 {
                *field = None;
            }
        }
        self.flags = None;
        self.hardware = None;
        self
    }

    /// Reads the end of a pair within another link: without its kind, so that there is no pair within a pair
    /// without end.
    pub(super) fn read_end(bytes: &[u8], at: usize) -> Result<Self, Malformed> {
        let mut link = Self::default();
        link.fill(Some(IFLA_LINKINFO), bytes, at)?;
        Ok(link)
    }

    /// Reads a fixed header and attributes, all but `skipped`, that begin `at` bytes into the message's body.
    pub(super) fn fill(
        &mut self,
        skipped: Option<u16>,
        bytes: &[u8],
        at: usize,
    ) -> Result<(), Malformed> {
        let (header, rest) = Header::split(bytes)?;
        self.clear();
        self.index = (header.index != 0).then_some(IfIndex(header.index));
        self.hardware = Some(header.hardware);
        self.flags = Some(LinkFlags(header.flags));
        for (field, (bit, inverse)) in self.flag_fields().into_iter().zip(FLAG_FIELDS) {
            *field = Some((header.flags & bit != 0) != inverse);
        }
        for attribute in read_attributes(rest, at + Header::BYTES) {
            let attribute = attribute?;
            if Some(attribute.kind) != skipped {
                self.take(attribute)?;
            }
        }
        // The kernel says 0 for none.
        self.lower = self.lower.filter(|lower| lower.0 != 0);
        self.master = self.master.filter(|master| master.0 != 0);
        Ok(())
    }
}
