//! Links.

use super::fields::{
    AddrGenMode, AfSpec, AlternativeNames, HardwareAddress, Inet6Spec, LinkFlags, LinkStatistics,
    OperState,
};
use super::kind::{
    Bareudp, Bond, BondPort, Bridge, BridgePort, Geneve, Gre, Ip6Gre, Ip6Tnl, Ipip, Ipvlan,
    KindSettings, Macvlan, NetkitMode, NetkitPolicy, NetkitScrub, Sit, Tun, Vlan, Vrf, VrfPort,
    Vxlan, Xfrm, kinds,
};
use crate::codec::{Attribute, Malformed, Request, attributes};
use crate::header::LinkHeader;
use crate::netns::Namespace;
use crate::schema::{
    Arguments, AttributeCodec, AttributeSet, AttributeSpec, AttributeType, FieldVisitor, Flatten,
    NameLookup, Nested, NonZero, Parsed, attribute_set,
};
use crate::uapi::{
    IFF_UP, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_INFO_SLAVE_DATA, IFLA_INFO_SLAVE_KIND,
    IFLA_LINKINFO, RTEXT_FILTER_BRVLAN, RTEXT_FILTER_BRVLAN_COMPRESSED, RTEXT_FILTER_CFM_CONFIG,
    RTEXT_FILTER_CFM_STATUS, RTEXT_FILTER_MRP, RTEXT_FILTER_MST, RTEXT_FILTER_SKIP_STATS,
    RTEXT_FILTER_VF,
};
use crate::values::interface::{IfIndex, IfName, MacAddress};

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
            hardware @reported: u16;
            /// All its flags. Read-only; those that can be set have a field each.
            flags @reported: LinkFlags;
        }
        @flags {
            /// Whether it is administratively up.
            up = IFF_UP;
            /// Whether it resolves neighbours (ARP, neighbour discovery).
            "arp" arp = IFF_NOARP, inverse;
            /// Whether it carries multicast.
            "multicast" multicast = IFF_MULTICAST;
            /// Whether it receives all multicast.
            "allmulticast" allmulticast = IFF_ALLMULTI;
            /// Whether an administrator made it promiscuous; captures count in `promiscuity`.
            "promisc" promisc = IFF_PROMISC;
            /// Whether it loses its addresses when it goes down; a hint for programs.
            "dynamic" dynamic = IFF_DYNAMIC;
        }
        @parts { IFLA_EXT_MASK: AttributeType::Bits(EXT_MASK); }
        "name" name: IfName = IFLA_IFNAME;
        "address" address: HardwareAddress = IFLA_ADDRESS;
        /// The broadcast hardware address; for a tunnel the remote address.
        "broadcast" | "brd" broadcast: HardwareAddress = IFLA_BROADCAST;
        /// The hardware address of the device itself. Read-only.
        permanent_address @reported: HardwareAddress = IFLA_PERM_ADDRESS;
        /// Bytes of the longest packet, without the link-layer header.
        "mtu" mtu: u32 = IFLA_MTU;
        /// Minimum MTU. Read-only.
        min_mtu @reported: u32 = IFLA_MIN_MTU;
        /// Maximum MTU; 0 is no limit. Read-only.
        max_mtu @reported: u32 = IFLA_MAX_MTU;
        /// The lower link, or the peer of a veth. It may be in another namespace.
        "link" lower: IfIndex as NonZero = IFLA_LINK;
        /// The id of the namespace of the lower link.
        lower_namespace: i32 = IFLA_LINK_NETNSID;
        /// Its bridge, bond or VRF; 0 removes it from its master.
        "master" master: IfIndex as NonZero = IFLA_MASTER;
        /// Name of its queueing discipline. Read-only.
        qdisc @reported: String = IFLA_QDISC;
        /// Length of the transmit queue in packets.
        "txqueuelen" | "txqlen" | "qlen" txqlen: u32 = IFLA_TXQLEN;
        /// Its operational state.
        state @uncopied: OperState = IFLA_OPERSTATE;
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
        /// How many users made it promiscuous, captures included. Read-only: `promisc` is the administrator's.
        promiscuity @reported: u32 = IFLA_PROMISCUITY;
        /// How many users made it receive all multicast. Read-only; since Linux 6.0.
        allmulti @reported: u32 = IFLA_ALLMULTI;
        "numtxqueues" tx_queue_count: u32 = IFLA_NUM_TX_QUEUES;
        "numrxqueues" rx_queue_count: u32 = IFLA_NUM_RX_QUEUES;
        /// Whether it has a carrier; settable for some kinds.
        "carrier" carrier @uncopied: bool = IFLA_CARRIER;
        /// Number of carrier changes. Read-only.
        carrier_changes @reported: u32 = IFLA_CARRIER_CHANGES;
        /// Whether a protocol keeps it down.
        "protodown" protodown @uncopied: bool = IFLA_PROTO_DOWN;
        /// Maximum segments of a GSO packet.
        "gso_max_segs" gso_max_segs: u32 = IFLA_GSO_MAX_SEGS;
        /// Maximum size of a GSO packet in bytes.
        "gso_max_size" gso_max_size: u32 = IFLA_GSO_MAX_SIZE;
        /// Maximum size of a GRO packet in bytes.
        "gro_max_size" gro_max_size: u32 = IFLA_GRO_MAX_SIZE;
        /// Maximum size of a packet for hardware segmentation in bytes. Read-only; since Linux 5.19.
        tso_max_size @reported: u32 = IFLA_TSO_MAX_SIZE;
        /// Maximum segments of a packet for hardware segmentation. Read-only; since Linux 5.19.
        tso_max_segs @reported: u32 = IFLA_TSO_MAX_SEGS;
        /// Its parent device (`0000:03:00.0`).
        parent_device @uncopied: String = IFLA_PARENT_DEV_NAME;
        /// The bus of the parent device. Read-only.
        parent_bus @reported: String = IFLA_PARENT_DEV_BUS_NAME;
        /// The network namespace to create it in or move it to. Never reported.
        #[serde(skip)]
        namespace: Namespace = IFLA_NET_NS_FD;
        /// A process whose network namespace to create it in or move it to. Write-only.
        "netns" namespace_pid: u32 = IFLA_NET_NS_PID;
        /// Its counters. Read-only.
        statistics @reported: LinkStatistics = IFLA_STATS64;
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

    /// The settings of its kind.
    pub(super) fn kind_settings(&self) -> Option<&dyn KindSettings> {
        self.link_kind()?.settings()
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

    pub(crate) fn header(&self) -> LinkHeader {
        let (flags, mask) = self.flag_bits();
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
        let (on, _) = self.flag_bits();
        (self.up, self.arp, self.multicast) = (None, None, None);
        (self.allmulticast, self.promisc, self.dynamic) = (None, None, None);
        self.set_flag_bits(on, mask);
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
        self.set_flag_bits(header.flags, u32::MAX);
        for attribute in attributes(rest, at + LinkHeader::BYTES) {
            let attribute = attribute?;
            if Some(attribute.kind) != skipped {
                self.decode_attribute(attribute)?;
            }
        }
        Ok(())
    }
}

/// The kind of a link and that of its master, with their settings (`IFLA_LINKINFO`).
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LinkInfo {
    /// Its kind.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "LinkKind::deserialize_if_given")]
    pub kind: Option<LinkKind>,
    /// The kind of its master, with its settings for this port.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "PortKind::deserialize_if_given")]
    pub port: Option<PortKind>,
}

/// The text of the attribute `kind` among those in `siblings`.
fn text_of(siblings: &[u8], kind: u16) -> &[u8] {
    let mut found = attributes(siblings, 0).flatten();
    found
        .find(|attribute| attribute.kind == kind)
        .map_or(&[], |attribute| attribute.c_string())
}

/// A kind with its settings.
#[derive(Clone, Copy, Debug)]
pub struct KindCodec;

impl AttributeSet for LinkInfo {
    fn specs() -> &'static [AttributeSpec] {
        const {
            &[
                AttributeSpec::new(IFLA_INFO_KIND, "kind", AttributeType::Text),
                AttributeSpec::new(
                    IFLA_INFO_DATA,
                    "data",
                    AttributeType::Dependent {
                        choose: |siblings| LinkKind::specs(text_of(siblings, IFLA_INFO_KIND)),
                    },
                ),
                AttributeSpec::new(IFLA_INFO_SLAVE_KIND, "slave-kind", AttributeType::Text),
                AttributeSpec::new(
                    IFLA_INFO_SLAVE_DATA,
                    "slave-data",
                    AttributeType::Dependent {
                        choose: |siblings| PortKind::specs(text_of(siblings, IFLA_INFO_SLAVE_KIND)),
                    },
                ),
            ]
        }
    }

    fn encode_attributes(&self, request: &mut Request) {
        if let Some(kind) = &self.kind {
            KindCodec::encode(kind, IFLA_INFO_KIND, request);
        }
        if let Some(port) = &self.port {
            KindCodec::encode(port, IFLA_INFO_SLAVE_KIND, request);
        }
    }

    /// The kernel sends the name of the kind before its settings.
    fn decode_attribute(&mut self, attribute: Attribute<'_>) -> Result<(), Malformed> {
        match (attribute.kind, &mut self.kind, &mut self.port) {
            (IFLA_INFO_KIND, kind, _) => KindCodec::decode_into(kind, attribute),
            (IFLA_INFO_DATA, Some(kind), _) => kind.decode_settings(attribute),
            (IFLA_INFO_SLAVE_KIND, _, port) => KindCodec::decode_into(port, attribute),
            (IFLA_INFO_SLAVE_DATA, _, Some(port)) => port.decode_settings(attribute),
            _ => Ok(()),
        }
    }

    fn fields_match(&self, wanted: &Self) -> bool {
        KindCodec::field_matches(self.kind.as_ref(), wanted.kind.as_ref())
            && KindCodec::field_matches(self.port.as_ref(), wanted.port.as_ref())
    }

    fn merge(&mut self, change: Self) {
        KindCodec::merge_field(&mut self.kind, change.kind);
        KindCodec::merge_field(&mut self.port, change.port);
    }

    fn retain_fields(&mut self, other: &Self) {
        KindCodec::retain_field(&mut self.kind, other.kind.as_ref());
        KindCodec::retain_field(&mut self.port, other.port.as_ref());
    }

    fn reported_field(&self) -> Option<String> {
        let of_kind = self.kind.as_ref().and_then(KindCodec::reported_field);
        of_kind.or_else(|| self.port.as_ref().and_then(KindCodec::reported_field))
    }

    fn remove_reported(&mut self) {
        self.kind.iter_mut().for_each(KindCodec::remove_reported);
        self.port.iter_mut().for_each(KindCodec::remove_reported);
    }
}

impl Flatten for LinkInfo {
    fn parse_keyword(&mut self, keyword: &str, args: &mut Arguments<'_>) -> Parsed<bool> {
        if let Some(kind) = &mut self.kind
            && kind.parse_keyword(keyword, args)?
        {
            return Ok(true);
        }
        let port = self.port.as_mut();
        port.map_or(Ok(false), |port| port.parse_keyword(keyword, args))
    }

    fn format_fields(&self, lookup: &mut dyn NameLookup, visit: &mut FieldVisitor<'_>) {
        if let Some(kind) = &self.kind {
            kind.format_fields(lookup, visit);
        }
        if let Some(port) = &self.port {
            port.format_fields(lookup, visit);
        }
    }
}

kinds! {
    /// The kind of a link, with its settings.
    pub enum LinkKind: info_kind, "info_kind", "info_data" {
        /// Packets of layer 3 over UDP.
        Bareudp(Bareudp) = "bareudp";
        /// A bond of several links.
        Bond(Bond) = "bond";
        /// A software switch.
        Bridge(Bridge) = "bridge";
        /// Ethernet over UDP with options (Geneve).
        Geneve(Geneve) = "geneve";
        /// IP over GRE.
        Gre(Gre) = "gre";
        /// Ethernet over GRE.
        Gretap(Gre) = "gretap", shared;
        /// IP over GRE over IPv6.
        Ip6Gre(Ip6Gre) = "ip6gre";
        /// Ethernet over GRE over IPv6.
        Ip6Gretap(Ip6Gre) = "ip6gretap", shared;
        /// IP over IPv6.
        Ip6Tnl(Ip6Tnl) = "ip6tnl";
        /// IP over IPv4.
        Ipip(Ipip) = "ipip";
        /// A link with its own IP addresses on a lower link.
        Ipvlan(Ipvlan) = "ipvlan";
        /// An ipvlan with a tap character device.
        Ipvtap(Ipvlan) = "ipvtap", shared;
        /// A link with its own hardware address on a lower link.
        Macvlan(Macvlan) = "macvlan";
        /// A macvlan with a tap character device.
        Macvtap(Macvlan) = "macvtap", shared;
        /// One end of a pair with eBPF programs.
        Netkit(Netkit) = "netkit";
        /// IPv6 over IPv4.
        Sit(Sit) = "sit";
        /// A tun or tap device.
        Tun(Tun) = "tun";
        /// One end of a virtual Ethernet pair.
        Veth(Veth) = "veth";
        /// A VLAN of a lower link.
        Vlan(Vlan) = "vlan";
        /// A virtual routing and forwarding domain.
        Vrf(Vrf) = "vrf";
        /// Ethernet over UDP.
        Vxlan(Vxlan) = "vxlan";
        /// An IPsec interface.
        Xfrm(Xfrm) = "xfrm";
        @plain {
            /// Drops all packets.
            Dummy = "dummy";
            /// An intermediate functional block: queues packets and reinjects them.
            Ifb = "ifb";
            /// An encrypted tunnel; its peers are configured by generic netlink.
            Wireguard = "wireguard";
        }
    }
}

kinds! {
    /// The kind of a link's master, with its settings for the link.
    pub enum PortKind: info_slave_kind, "info_slave_kind", "info_slave_data" {
        /// A bond.
        Bond(BondPort) = "bond";
        /// A bridge.
        Bridge(BridgePort) = "bridge";
        /// A VRF.
        Vrf(VrfPort) = "vrf";
    }
}

impl LinkKind {
    /// The peer of a pair that is to be created.
    pub(crate) fn peer(&self) -> Option<&Link> {
        match self {
            Self::Veth(Veth { peer, .. }) | Self::Netkit(Netkit { peer, .. }) => peer.as_deref(),
            _ => None,
        }
    }
}

attribute_set! {
    /// One end of a virtual Ethernet pair: packets sent to one end arrive at the other.
    ///
    /// Equals `ip link add NAME type veth peer name PEER`.
    ///
    /// # Source
    /// `veth_newlink`, drivers/net/veth.c.
    pub struct Veth {
        /// The peer. Given only when the pair is created; never reported.
        peer: Box<Link> as Peer = VETH_INFO_PEER;
    }
}

impl Veth {
    /// One end of a pair with this peer.
    pub fn to(peer: Link) -> Self {
        Self::new().peer(Box::new(peer))
    }
}

attribute_set! {
    /// One end of a pair with eBPF programs. Since Linux 6.7.
    ///
    /// Equals `ip link add NAME type netkit [mode l3] [forward] [peer [blackhole] name PEER]`.
    ///
    /// # Source
    /// `netkit_policy` and `netkit_new_link`, drivers/net/netkit.c.
    pub struct Netkit {
        /// The peer. Given only when the pair is created; never reported.
        peer: Box<Link> as Peer = IFLA_NETKIT_PEER_INFO;
        /// Whether this is the primary end, which configures both. Read-only.
        primary @reported: bool = IFLA_NETKIT_PRIMARY;
        /// Whether packets have an Ethernet header; only at creation.
        "mode" mode: NetkitMode = IFLA_NETKIT_MODE;
        /// Policy for packets without a program at this end.
        "policy" policy: NetkitPolicy = IFLA_NETKIT_POLICY;
        /// The same at the peer.
        peer_policy: NetkitPolicy = IFLA_NETKIT_PEER_POLICY;
        /// Which metadata is cleared from packets that leave the namespace; only at creation. Since Linux 6.13.
        "scrub" scrub: NetkitScrub = IFLA_NETKIT_SCRUB;
        /// The same at the peer.
        peer_scrub: NetkitScrub = IFLA_NETKIT_PEER_SCRUB;
        /// Headroom in bytes; only at creation. Since Linux 6.14.
        "headroom" headroom: u16 = IFLA_NETKIT_HEADROOM;
        /// Tailroom in bytes.
        "tailroom" tailroom: u16 = IFLA_NETKIT_TAILROOM;
    }
}

/// A nested link with its fixed header.
#[derive(Clone, Copy, Debug)]
pub struct Peer;

impl AttributeCodec<Box<Link>> for Peer {
    const TYPE: AttributeType = AttributeType::Nest {
        skip: LinkHeader::BYTES,
        attributes: Link::specs,
    };

    fn encode(value: &Box<Link>, kind: u16, request: &mut Request) {
        let mut header = value.header();
        header.flags &= !IFF_UP;
        header.mask &= !IFF_UP;
        request.nested(kind, &header.emit(), |request| {
            value.encode_attributes(request);
        });
    }

    fn decode(attribute: Attribute<'_>) -> Result<Box<Link>, Malformed> {
        Link::decode_peer(attribute.bytes, attribute.at).map(Box::new)
    }

    fn matches(value: &Box<Link>, wanted: &Box<Link>) -> bool {
        value.fields_match(wanted)
    }

    fn merge(value: &mut Box<Link>, change: Box<Link>) {
        AttributeSet::merge(&mut **value, *change);
    }

    fn reported_field(value: &Box<Link>) -> Option<String> {
        AttributeSet::reported_field(&**value)
    }

    fn remove_reported(value: &mut Box<Link>) {
        AttributeSet::remove_reported(&mut **value);
    }
}
