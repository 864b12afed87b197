// Generated from the attribute tables of tapline-netlink. Do not edit.
//
// To write it again: TAPLINE_WRITE=1 cargo test -p tapline-c --test main netlink_types
#ifndef TAPLINE_NETLINK_LINK_HPP
#define TAPLINE_NETLINK_LINK_HPP

#include "message.hpp"

namespace tapline::netlink {

struct LinkInfo;

enum class OperState : std::uint8_t {
    Unknown = 0,
    NotPresent = 1,
    Down = 2,
    LowerLayerDown = 3,
    Testing = 4,
    Dormant = 5,
    Up = 6,
};

template <>
struct Names<OperState> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 7> values = {{{0u, "UNKNOWN"}, {1u, "NOTPRESENT"}, {2u, "DOWN"}, {3u, "LOWERLAYERDOWN"}, {4u, "TESTING"}, {5u, "DORMANT"}, {6u, "UP"}}};
};

enum class BareudpProtocol : std::uint16_t {
    Ip = 2048,
    Ipv6 = 34525,
    MplsUc = 34887,
    MplsMc = 34888,
};

template <>
struct Names<BareudpProtocol> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 4> values = {{{2048u, "ip"}, {34525u, "ipv6"}, {34887u, "mpls_uc"}, {34888u, "mpls_mc"}}};
};

/// Packets of layer 3 over UDP, without a header between them: MPLS over UDP (RFC 7510), or IP.
///
/// Equals `ip link add NAME type bareudp dstport PORT ethertype PROTOCOL`.
struct Bareudp {
    static constexpr const char *typeName = "Bareudp";
    static const FieldTable typeFields;

    /// The UDP port to which it sends and on which it receives. Required at creation.
    std::optional<std::uint16_t> dstport = {};
    /// The protocol of the packets. Required at creation.
    std::optional<BareudpProtocol> ethertype = {};
    /// The lowest UDP source port.
    std::optional<std::uint16_t> srcportmin = {};
    /// Whether it carries MPLS multicast beside MPLS unicast, or IPv6 beside IPv4.
    std::optional<bool> multiproto = {};

    Bareudp &setDstport(Number<std::uint16_t> value) { dstport.emplace(value.value); return *this; }
    Bareudp &setEthertype(BareudpProtocol value) { ethertype.emplace(value); return *this; }
    Bareudp &setSrcportmin(Number<std::uint16_t> value) { srcportmin.emplace(value.value); return *this; }
    Bareudp &setMultiproto(Switch value) { multiproto.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xaeece737u, "dstport", self.dstport);
        visit(0x0da2c693u, "ethertype", self.ethertype);
        visit(0x27e2baeeu, "srcportmin", self.srcportmin);
        visit(0xead83e58u, "multiproto", self.multiproto);
    }

    bool operator==(const Bareudp &) const = default;
};

enum class BondMode : std::uint8_t {
    BalanceRr = 0,
    ActiveBackup = 1,
    BalanceXor = 2,
    Broadcast = 3,
    Ieee8023Ad = 4,
    BalanceTlb = 5,
    BalanceAlb = 6,
};

template <>
struct Names<BondMode> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 7> values = {{{0u, "balance-rr"}, {1u, "active-backup"}, {2u, "balance-xor"}, {3u, "broadcast"}, {4u, "802.3ad"}, {5u, "balance-tlb"}, {6u, "balance-alb"}}};
};

enum class ArpValidate : std::uint32_t {
    None = 0,
    Active = 1,
    Backup = 2,
    All = 3,
    Filter = 4,
    FilterActive = 5,
    FilterBackup = 6,
};

template <>
struct Names<ArpValidate> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 7> values = {{{0u, "none"}, {1u, "active"}, {2u, "backup"}, {3u, "all"}, {4u, "filter"}, {5u, "filter_active"}, {6u, "filter_backup"}}};
};

enum class ArpAllTargets : std::uint32_t {
    Any = 0,
    All = 1,
};

template <>
struct Names<ArpAllTargets> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 2> values = {{{0u, "any"}, {1u, "all"}}};
};

enum class PrimaryReselect : std::uint8_t {
    Always = 0,
    Better = 1,
    Failure = 2,
};

template <>
struct Names<PrimaryReselect> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 3> values = {{{0u, "always"}, {1u, "better"}, {2u, "failure"}}};
};

enum class FailOverMac : std::uint8_t {
    None = 0,
    Active = 1,
    Follow = 2,
};

template <>
struct Names<FailOverMac> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 3> values = {{{0u, "none"}, {1u, "active"}, {2u, "follow"}}};
};

enum class XmitHashPolicy : std::uint8_t {
    Layer2 = 0,
    Layer34 = 1,
    Layer23 = 2,
    Encap23 = 3,
    Encap34 = 4,
    VlanSrcMac = 5,
};

template <>
struct Names<XmitHashPolicy> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 6> values = {{{0u, "layer2"}, {1u, "layer3+4"}, {2u, "layer2+3"}, {3u, "encap2+3"}, {4u, "encap3+4"}, {5u, "vlan+srcmac"}}};
};

enum class LacpRate : std::uint8_t {
    Slow = 0,
    Fast = 1,
};

template <>
struct Names<LacpRate> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 2> values = {{{0u, "slow"}, {1u, "fast"}}};
};

enum class AdSelect : std::uint8_t {
    Stable = 0,
    Bandwidth = 1,
    Count = 2,
};

template <>
struct Names<AdSelect> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 3> values = {{{0u, "stable"}, {1u, "bandwidth"}, {2u, "count"}}};
};

/// LACP state of a bond.
struct AdInfo {
    static constexpr const char *typeName = "AdInfo";
    static const FieldTable typeFields;

    /// Id of the active aggregator.
    std::optional<std::uint16_t> aggregator = {};
    std::optional<std::uint16_t> numPorts = {};
    /// Local key.
    std::optional<std::uint16_t> actorKey = {};
    /// Partner's key.
    std::optional<std::uint16_t> partnerKey = {};
    /// Partner's address.
    std::optional<MacAddress> partnerMac = {};

    AdInfo &setAggregator(Number<std::uint16_t> value) { aggregator.emplace(value.value); return *this; }
    AdInfo &setNumPorts(Number<std::uint16_t> value) { numPorts.emplace(value.value); return *this; }
    AdInfo &setActorKey(Number<std::uint16_t> value) { actorKey.emplace(value.value); return *this; }
    AdInfo &setPartnerKey(Number<std::uint16_t> value) { partnerKey.emplace(value.value); return *this; }
    AdInfo &setPartnerMac(MacAddress value) { partnerMac.emplace(value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x5c862d0cu, "aggregator", self.aggregator);
        visit(0xb5ad7974u, "numPorts", self.numPorts);
        visit(0x15751086u, "actorKey", self.actorKey);
        visit(0x0c005079u, "partnerKey", self.partnerKey);
        visit(0x875dfa05u, "partnerMac", self.partnerMac);
    }

    bool operator==(const AdInfo &) const = default;
};

/// A bond of several links.
///
/// Equals `ip link add NAME type bond mode active-backup miimon 100 …`.
struct Bond {
    static constexpr const char *typeName = "Bond";
    static const FieldTable typeFields;

    /// How packets are distributed over its ports. Settable while it is down and has none.
    std::optional<BondMode> mode = {};
    /// The active port; 0 is none.
    std::optional<Interface> activeSlave = {};
    /// Carrier polling interval; 0 is off.
    std::optional<Duration<std::uint32_t, std::milli>> miimon = {};
    /// Delay before a port with a new carrier is used.
    std::optional<Duration<std::uint32_t, std::milli>> updelay = {};
    /// Delay before a port without a carrier is disabled.
    std::optional<Duration<std::uint32_t, std::milli>> downdelay = {};
    /// Interval between peer notifications after a failover.
    std::optional<Duration<std::uint32_t, std::milli>> peerNotifyDelay = {};
    /// Whether the carrier is read with `netif_carrier_ok` instead of MII or ethtool.
    std::optional<bool> useCarrier = {};
    /// ARP monitoring interval; 0 is off.
    std::optional<Duration<std::uint32_t, std::milli>> arpInterval = {};
    /// Targets of ARP monitoring.
    std::optional<std::vector<IpAddress>> arpIpTarget = {};
    /// Targets of IPv6 monitoring.
    std::optional<std::vector<IpAddress>> nsIp6Target = {};
    /// At which ports monitoring replies are validated.
    std::optional<ArpValidate> arpValidate = {};
    /// How many targets must reply.
    std::optional<ArpAllTargets> arpAllTargets = {};
    /// Missed replies before a port is down.
    std::optional<std::uint8_t> arpMissedMax = {};
    /// The preferred port; 0 is none.
    std::optional<Interface> primary = {};
    /// When the preferred port becomes active again.
    std::optional<PrimaryReselect> primaryReselect = {};
    /// Which hardware address its ports have.
    std::optional<FailOverMac> failOverMac = {};
    /// The hash that selects the port of a packet.
    std::optional<XmitHashPolicy> xmitHashPolicy = {};
    /// IGMP reports after a failover.
    std::optional<std::uint32_t> resendIgmp = {};
    /// Peer notifications after a failover.
    std::optional<std::uint8_t> numPeerNotif = {};
    /// Whether inactive ports accept duplicate frames.
    std::optional<std::uint8_t> allSlavesActive = {};
    /// Minimum number of active ports for carrier.
    std::optional<std::uint32_t> minLinks = {};
    /// Interval between learning packets in seconds.
    std::optional<Duration<std::uint32_t>> lpInterval = {};
    /// Packets per port in round robin; 0 is random.
    std::optional<std::uint32_t> packetsPerSlave = {};
    std::optional<bool> adLacpActive = {};
    /// The requested LACP rate.
    std::optional<LacpRate> adLacpRate = {};
    /// How the active aggregator is selected.
    std::optional<AdSelect> adSelect = {};
    /// LACP state. Read-only.
    Boxed<AdInfo> adInfo = {};
    /// Its priority in LACP.
    std::optional<std::uint16_t> adActorSysPrio = {};
    /// User part of the LACP port key: 10 bits.
    std::optional<std::uint16_t> adUserPortKey = {};
    /// Its LACP system id.
    std::optional<MacAddress> adActorSystem = {};
    /// Whether flows are rebalanced, in mode balance-tlb.
    std::optional<bool> tlbDynamicLb = {};
    /// Coupled control of LACP ports. Since Linux 6.9.
    std::optional<bool> coupledControl = {};
    /// Whether neighbour messages are sent on all ports, in mode 802.3ad. Since Linux 6.17.
    std::optional<bool> broadcastNeighbor = {};

    Bond &setMode(BondMode value) { mode.emplace(value); return *this; }
    Bond &setActiveSlave(Interface value) { activeSlave.emplace(std::move(value)); return *this; }
    Bond &setMiimon(Duration<std::uint32_t, std::milli> value) { miimon.emplace(value); return *this; }
    Bond &setUpdelay(Duration<std::uint32_t, std::milli> value) { updelay.emplace(value); return *this; }
    Bond &setDowndelay(Duration<std::uint32_t, std::milli> value) { downdelay.emplace(value); return *this; }
    Bond &setPeerNotifyDelay(Duration<std::uint32_t, std::milli> value) { peerNotifyDelay.emplace(value); return *this; }
    Bond &setUseCarrier(Switch value) { useCarrier.emplace(value.value); return *this; }
    Bond &setArpInterval(Duration<std::uint32_t, std::milli> value) { arpInterval.emplace(value); return *this; }
    Bond &setArpIpTarget(std::vector<IpAddress> value) { arpIpTarget.emplace(std::move(value)); return *this; }
    Bond &setNsIp6Target(std::vector<IpAddress> value) { nsIp6Target.emplace(std::move(value)); return *this; }
    Bond &setArpValidate(ArpValidate value) { arpValidate.emplace(value); return *this; }
    Bond &setArpAllTargets(ArpAllTargets value) { arpAllTargets.emplace(value); return *this; }
    Bond &setArpMissedMax(Number<std::uint8_t> value) { arpMissedMax.emplace(value.value); return *this; }
    Bond &setPrimary(Interface value) { primary.emplace(std::move(value)); return *this; }
    Bond &setPrimaryReselect(PrimaryReselect value) { primaryReselect.emplace(value); return *this; }
    Bond &setFailOverMac(FailOverMac value) { failOverMac.emplace(value); return *this; }
    Bond &setXmitHashPolicy(XmitHashPolicy value) { xmitHashPolicy.emplace(value); return *this; }
    Bond &setResendIgmp(Number<std::uint32_t> value) { resendIgmp.emplace(value.value); return *this; }
    Bond &setNumPeerNotif(Number<std::uint8_t> value) { numPeerNotif.emplace(value.value); return *this; }
    Bond &setAllSlavesActive(Number<std::uint8_t> value) { allSlavesActive.emplace(value.value); return *this; }
    Bond &setMinLinks(Number<std::uint32_t> value) { minLinks.emplace(value.value); return *this; }
    Bond &setLpInterval(Duration<std::uint32_t> value) { lpInterval.emplace(value); return *this; }
    Bond &setPacketsPerSlave(Number<std::uint32_t> value) { packetsPerSlave.emplace(value.value); return *this; }
    Bond &setAdLacpActive(Switch value) { adLacpActive.emplace(value.value); return *this; }
    Bond &setAdLacpRate(LacpRate value) { adLacpRate.emplace(value); return *this; }
    Bond &setAdSelect(AdSelect value) { adSelect.emplace(value); return *this; }
    Bond &setAdActorSysPrio(Number<std::uint16_t> value) { adActorSysPrio.emplace(value.value); return *this; }
    Bond &setAdUserPortKey(Number<std::uint16_t> value) { adUserPortKey.emplace(value.value); return *this; }
    Bond &setAdActorSystem(MacAddress value) { adActorSystem.emplace(value); return *this; }
    Bond &setTlbDynamicLb(Switch value) { tlbDynamicLb.emplace(value.value); return *this; }
    Bond &setCoupledControl(Switch value) { coupledControl.emplace(value.value); return *this; }
    Bond &setBroadcastNeighbor(Switch value) { broadcastNeighbor.emplace(value.value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse.
    Bond settable() const
    {
        Bond copy = *this;
        copy.removeReadOnly();
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        adInfo = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xec6ee012u, "mode", self.mode);
        visit(0xb7e8c343u, "activeSlave", self.activeSlave);
        visit(0xc39b0f34u, "miimon", self.miimon);
        visit(0x8f3e9d6fu, "updelay", self.updelay);
        visit(0x7f2993a8u, "downdelay", self.downdelay);
        visit(0x7f43ea5fu, "peerNotifyDelay", self.peerNotifyDelay);
        visit(0xd2698103u, "useCarrier", self.useCarrier);
        visit(0xe69da77au, "arpInterval", self.arpInterval);
        visit(0x5979a522u, "arpIpTarget", self.arpIpTarget);
        visit(0x9c11953cu, "nsIp6Target", self.nsIp6Target);
        visit(0xdd82134du, "arpValidate", self.arpValidate);
        visit(0xfaa66637u, "arpAllTargets", self.arpAllTargets);
        visit(0xc6f6bb13u, "arpMissedMax", self.arpMissedMax);
        visit(0x5a2e5fd9u, "primary", self.primary);
        visit(0xd0f6e04fu, "primaryReselect", self.primaryReselect);
        visit(0x424bfddcu, "failOverMac", self.failOverMac);
        visit(0x53ba2ddbu, "xmitHashPolicy", self.xmitHashPolicy);
        visit(0xd6af6d66u, "resendIgmp", self.resendIgmp);
        visit(0x84ed8f6du, "numPeerNotif", self.numPeerNotif);
        visit(0x88f32730u, "allSlavesActive", self.allSlavesActive);
        visit(0xf4129641u, "minLinks", self.minLinks);
        visit(0xec338c0fu, "lpInterval", self.lpInterval);
        visit(0xf624b866u, "packetsPerSlave", self.packetsPerSlave);
        visit(0xf7228138u, "adLacpActive", self.adLacpActive);
        visit(0x7285c5bcu, "adLacpRate", self.adLacpRate);
        visit(0x6bc94a6du, "adSelect", self.adSelect);
        visit(0x91fdbf45u, "adInfo", self.adInfo);
        visit(0x2318dbfbu, "adActorSysPrio", self.adActorSysPrio);
        visit(0x9d19e7b4u, "adUserPortKey", self.adUserPortKey);
        visit(0x4e99771eu, "adActorSystem", self.adActorSystem);
        visit(0x92c4447eu, "tlbDynamicLb", self.tlbDynamicLb);
        visit(0xf7123c01u, "coupledControl", self.coupledControl);
        visit(0xb9d80e77u, "broadcastNeighbor", self.broadcastNeighbor);
    }

    bool operator==(const Bond &) const = default;
};

enum class VlanProtocol : std::uint16_t {
    Dot1Q = 33024,
    Dot1Ad = 34984,
};

template <>
struct Names<VlanProtocol> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 2> values = {{{33024u, "802.1Q"}, {34984u, "802.1ad"}}};
};

/// A software switch.
///
/// Equals `ip link add NAME type bridge [vlan_filtering on] …`.
struct Bridge {
    static constexpr const char *typeName = "Bridge";
    static const FieldTable typeFields;

    std::optional<Duration<std::uint32_t, std::centi>> forwardDelay = {};
    /// Hello interval.
    std::optional<Duration<std::uint32_t, std::centi>> helloTime = {};
    /// Maximum age of a hello packet.
    std::optional<Duration<std::uint32_t, std::centi>> maxAge = {};
    /// Ageing time of learned addresses.
    std::optional<Duration<std::uint32_t, std::centi>> ageingTime = {};
    /// Spanning tree protocol: 0 off, 1 in the kernel, 2 in a daemon.
    std::optional<std::uint32_t> stpState = {};
    /// Its spanning tree priority.
    std::optional<std::uint16_t> priority = {};
    std::optional<bool> vlanFiltering = {};
    /// EtherType of its VLAN tags.
    std::optional<VlanProtocol> vlanProtocol = {};
    /// Its bridge id. Read-only.
    std::optional<std::string> bridgeId = {};
    /// Bridge id of the root. Read-only.
    std::optional<std::string> rootId = {};
    /// The root port; 0 is none. Read-only.
    std::optional<std::uint16_t> rootPort = {};
    /// Path cost to the root. Read-only.
    std::optional<std::uint32_t> rootPathCost = {};
    /// Whether a topology change is in progress. Read-only.
    std::optional<bool> topologyChange = {};
    /// Whether it detected a topology change. Read-only.
    std::optional<bool> topologyChangeDetected = {};
    /// Hello timer. Read-only.
    std::optional<Duration<std::uint64_t, std::centi>> helloTimer = {};
    /// Topology change notification timer. Read-only.
    std::optional<Duration<std::uint64_t, std::centi>> tcnTimer = {};
    /// Topology change timer. Read-only.
    std::optional<Duration<std::uint64_t, std::centi>> topologyChangeTimer = {};
    /// Garbage collection timer. Read-only.
    std::optional<Duration<std::uint64_t, std::centi>> gcTimer = {};
    /// Default PVID of new ports; 0 is none.
    std::optional<std::uint16_t> vlanDefaultPvid = {};
    std::optional<bool> vlanStatsEnabled = {};
    /// Statistics per VLAN and port; settable while it has no ports.
    std::optional<bool> vlanStatsPerPort = {};
    /// Mask of the link-local groups that it forwards.
    std::optional<std::uint16_t> groupFwdMask = {};
    /// Destination of spanning tree packets.
    std::optional<MacAddress> groupAddr = {};
    /// Flush all learned addresses. Write-only.
    std::optional<bool> fdbFlush = {};
    /// No learning from link-local packets.
    std::optional<bool> noLinklocalLearn = {};
    std::optional<bool> mcastVlanSnooping = {};
    /// Multiple spanning trees; settable while it has no ports. Since Linux 5.18.
    std::optional<bool> mstEnabled = {};
    /// Number of learned addresses. Read-only; since Linux 6.7.
    std::optional<std::uint32_t> fdbNLearned = {};
    /// Maximum number of learned addresses; 0 is no limit. Since Linux 6.7.
    std::optional<std::uint32_t> fdbMaxLearned = {};
    /// Multicast router: 0 no, 1 if it sees queries, 2 yes.
    std::optional<std::uint8_t> mcastRouter = {};
    std::optional<bool> mcastSnooping = {};
    /// Whether queries use its own IP address.
    std::optional<bool> mcastQueryUseIfaddr = {};
    /// Whether it sends queries.
    std::optional<bool> mcastQuerier = {};
    /// Elasticity of the hash of groups; without effect since Linux 5.0.
    std::optional<std::uint32_t> mcastHashElasticity = {};
    /// Maximum number of multicast groups.
    std::optional<std::uint32_t> mcastHashMax = {};
    /// Number of queries after a listener left.
    std::optional<std::uint32_t> mcastLastMemberCnt = {};
    /// Number of startup queries.
    std::optional<std::uint32_t> mcastStartupQueryCnt = {};
    /// Interval between queries after a listener left.
    std::optional<Duration<std::uint64_t, std::centi>> mcastLastMemberIntvl = {};
    /// Membership interval without reports.
    std::optional<Duration<std::uint64_t, std::centi>> mcastMembershipIntvl = {};
    /// Time during which queries of another querier suppress its own.
    std::optional<Duration<std::uint64_t, std::centi>> mcastQuerierIntvl = {};
    std::optional<Duration<std::uint64_t, std::centi>> mcastQueryIntvl = {};
    std::optional<Duration<std::uint64_t, std::centi>> mcastQueryResponseIntvl = {};
    /// Interval between startup queries.
    std::optional<Duration<std::uint64_t, std::centi>> mcastStartupQueryIntvl = {};
    /// IGMP and MLD statistics.
    std::optional<bool> mcastStatsEnabled = {};
    /// Version of IGMP: 2 or 3.
    std::optional<std::uint8_t> mcastIgmpVersion = {};
    /// Version of MLD: 1 or 2.
    std::optional<std::uint8_t> mcastMldVersion = {};
    /// Whether iptables processes its packets.
    std::optional<bool> nfCallIptables = {};
    /// Whether ip6tables processes its packets.
    std::optional<bool> nfCallIp6tables = {};
    /// Whether arptables processes its packets.
    std::optional<bool> nfCallArptables = {};

    Bridge &setForwardDelay(Duration<std::uint32_t, std::centi> value) { forwardDelay.emplace(value); return *this; }
    Bridge &setHelloTime(Duration<std::uint32_t, std::centi> value) { helloTime.emplace(value); return *this; }
    Bridge &setMaxAge(Duration<std::uint32_t, std::centi> value) { maxAge.emplace(value); return *this; }
    Bridge &setAgeingTime(Duration<std::uint32_t, std::centi> value) { ageingTime.emplace(value); return *this; }
    Bridge &setStpState(Number<std::uint32_t> value) { stpState.emplace(value.value); return *this; }
    Bridge &setPriority(Number<std::uint16_t> value) { priority.emplace(value.value); return *this; }
    Bridge &setVlanFiltering(Switch value) { vlanFiltering.emplace(value.value); return *this; }
    Bridge &setVlanProtocol(VlanProtocol value) { vlanProtocol.emplace(value); return *this; }
    Bridge &setVlanDefaultPvid(Number<std::uint16_t> value) { vlanDefaultPvid.emplace(value.value); return *this; }
    Bridge &setVlanStatsEnabled(Switch value) { vlanStatsEnabled.emplace(value.value); return *this; }
    Bridge &setVlanStatsPerPort(Switch value) { vlanStatsPerPort.emplace(value.value); return *this; }
    Bridge &setGroupFwdMask(Number<std::uint16_t> value) { groupFwdMask.emplace(value.value); return *this; }
    Bridge &setGroupAddr(MacAddress value) { groupAddr.emplace(value); return *this; }
    Bridge &setFdbFlush(Switch value) { fdbFlush.emplace(value.value); return *this; }
    Bridge &setNoLinklocalLearn(Switch value) { noLinklocalLearn.emplace(value.value); return *this; }
    Bridge &setMcastVlanSnooping(Switch value) { mcastVlanSnooping.emplace(value.value); return *this; }
    Bridge &setMstEnabled(Switch value) { mstEnabled.emplace(value.value); return *this; }
    Bridge &setFdbMaxLearned(Number<std::uint32_t> value) { fdbMaxLearned.emplace(value.value); return *this; }
    Bridge &setMcastRouter(Number<std::uint8_t> value) { mcastRouter.emplace(value.value); return *this; }
    Bridge &setMcastSnooping(Switch value) { mcastSnooping.emplace(value.value); return *this; }
    Bridge &setMcastQueryUseIfaddr(Switch value) { mcastQueryUseIfaddr.emplace(value.value); return *this; }
    Bridge &setMcastQuerier(Switch value) { mcastQuerier.emplace(value.value); return *this; }
    Bridge &setMcastHashElasticity(Number<std::uint32_t> value) { mcastHashElasticity.emplace(value.value); return *this; }
    Bridge &setMcastHashMax(Number<std::uint32_t> value) { mcastHashMax.emplace(value.value); return *this; }
    Bridge &setMcastLastMemberCnt(Number<std::uint32_t> value) { mcastLastMemberCnt.emplace(value.value); return *this; }
    Bridge &setMcastStartupQueryCnt(Number<std::uint32_t> value) { mcastStartupQueryCnt.emplace(value.value); return *this; }
    Bridge &setMcastLastMemberIntvl(Duration<std::uint64_t, std::centi> value) { mcastLastMemberIntvl.emplace(value); return *this; }
    Bridge &setMcastMembershipIntvl(Duration<std::uint64_t, std::centi> value) { mcastMembershipIntvl.emplace(value); return *this; }
    Bridge &setMcastQuerierIntvl(Duration<std::uint64_t, std::centi> value) { mcastQuerierIntvl.emplace(value); return *this; }
    Bridge &setMcastQueryIntvl(Duration<std::uint64_t, std::centi> value) { mcastQueryIntvl.emplace(value); return *this; }
    Bridge &setMcastQueryResponseIntvl(Duration<std::uint64_t, std::centi> value) { mcastQueryResponseIntvl.emplace(value); return *this; }
    Bridge &setMcastStartupQueryIntvl(Duration<std::uint64_t, std::centi> value) { mcastStartupQueryIntvl.emplace(value); return *this; }
    Bridge &setMcastStatsEnabled(Switch value) { mcastStatsEnabled.emplace(value.value); return *this; }
    Bridge &setMcastIgmpVersion(Number<std::uint8_t> value) { mcastIgmpVersion.emplace(value.value); return *this; }
    Bridge &setMcastMldVersion(Number<std::uint8_t> value) { mcastMldVersion.emplace(value.value); return *this; }
    Bridge &setNfCallIptables(Switch value) { nfCallIptables.emplace(value.value); return *this; }
    Bridge &setNfCallIp6tables(Switch value) { nfCallIp6tables.emplace(value.value); return *this; }
    Bridge &setNfCallArptables(Switch value) { nfCallArptables.emplace(value.value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse.
    Bridge settable() const
    {
        Bridge copy = *this;
        copy.removeReadOnly();
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        bridgeId = {};
        rootId = {};
        rootPort = {};
        rootPathCost = {};
        topologyChange = {};
        topologyChangeDetected = {};
        helloTimer = {};
        tcnTimer = {};
        topologyChangeTimer = {};
        gcTimer = {};
        fdbNLearned = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x427d031eu, "forwardDelay", self.forwardDelay);
        visit(0xd096895du, "helloTime", self.helloTime);
        visit(0xd6dff4fdu, "maxAge", self.maxAge);
        visit(0xc5c614f0u, "ageingTime", self.ageingTime);
        visit(0x7c5f1cecu, "stpState", self.stpState);
        visit(0x94e4e309u, "priority", self.priority);
        visit(0xd028514du, "vlanFiltering", self.vlanFiltering);
        visit(0x0c1430e1u, "vlanProtocol", self.vlanProtocol);
        visit(0x02e742a8u, "bridgeId", self.bridgeId);
        visit(0xa35ca033u, "rootId", self.rootId);
        visit(0xf2f63609u, "rootPort", self.rootPort);
        visit(0x113e98cfu, "rootPathCost", self.rootPathCost);
        visit(0xb0bb6c41u, "topologyChange", self.topologyChange);
        visit(0xc789b644u, "topologyChangeDetected", self.topologyChangeDetected);
        visit(0x8bf9f4fdu, "helloTimer", self.helloTimer);
        visit(0xda224284u, "tcnTimer", self.tcnTimer);
        visit(0x30ce9b2bu, "topologyChangeTimer", self.topologyChangeTimer);
        visit(0xe85723f1u, "gcTimer", self.gcTimer);
        visit(0x781a9e74u, "vlanDefaultPvid", self.vlanDefaultPvid);
        visit(0x6e47b03eu, "vlanStatsEnabled", self.vlanStatsEnabled);
        visit(0x9f178e62u, "vlanStatsPerPort", self.vlanStatsPerPort);
        visit(0xba520d57u, "groupFwdMask", self.groupFwdMask);
        visit(0x1c5c51e6u, "groupAddr", self.groupAddr);
        visit(0x83cf16e6u, "fdbFlush", self.fdbFlush);
        visit(0x022b3fd3u, "noLinklocalLearn", self.noLinklocalLearn);
        visit(0x3104927du, "mcastVlanSnooping", self.mcastVlanSnooping);
        visit(0xa3049821u, "mstEnabled", self.mstEnabled);
        visit(0xe13937cau, "fdbNLearned", self.fdbNLearned);
        visit(0x692e782eu, "fdbMaxLearned", self.fdbMaxLearned);
        visit(0xe489bb25u, "mcastRouter", self.mcastRouter);
        visit(0xde65578fu, "mcastSnooping", self.mcastSnooping);
        visit(0xcd283e5du, "mcastQueryUseIfaddr", self.mcastQueryUseIfaddr);
        visit(0x902b3f0bu, "mcastQuerier", self.mcastQuerier);
        visit(0xf0633314u, "mcastHashElasticity", self.mcastHashElasticity);
        visit(0x86bdca79u, "mcastHashMax", self.mcastHashMax);
        visit(0xe2e358dfu, "mcastLastMemberCnt", self.mcastLastMemberCnt);
        visit(0x6523b4eau, "mcastStartupQueryCnt", self.mcastStartupQueryCnt);
        visit(0x31f54f87u, "mcastLastMemberIntvl", self.mcastLastMemberIntvl);
        visit(0x2a720044u, "mcastMembershipIntvl", self.mcastMembershipIntvl);
        visit(0x512ed7ffu, "mcastQuerierIntvl", self.mcastQuerierIntvl);
        visit(0xf8e9b398u, "mcastQueryIntvl", self.mcastQueryIntvl);
        visit(0xe599d2f2u, "mcastQueryResponseIntvl", self.mcastQueryResponseIntvl);
        visit(0xd7524a96u, "mcastStartupQueryIntvl", self.mcastStartupQueryIntvl);
        visit(0x52135cadu, "mcastStatsEnabled", self.mcastStatsEnabled);
        visit(0x415b770eu, "mcastIgmpVersion", self.mcastIgmpVersion);
        visit(0x50a96244u, "mcastMldVersion", self.mcastMldVersion);
        visit(0x805c4603u, "nfCallIptables", self.nfCallIptables);
        visit(0xe5ef3c0du, "nfCallIp6tables", self.nfCallIp6tables);
        visit(0xbf218c85u, "nfCallArptables", self.nfCallArptables);
    }

    bool operator==(const Bridge &) const = default;
};

enum class DontFragment : std::uint8_t {
    Unset = 0,
    Set = 1,
    Inherit = 2,
};

template <>
struct Names<DontFragment> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 3> values = {{{0u, "unset"}, {1u, "set"}, {2u, "inherit"}}};
};

/// Ethernet over UDP with options (RFC 8926).
///
/// Equals `ip link add NAME type geneve id VNI remote ADDRESS …`.
struct Geneve {
    static constexpr const char *typeName = "Geneve";
    static const FieldTable typeFields;

    /// Its VNI: 24 bits.
    std::optional<std::uint32_t> id = {};
    std::optional<IpAddress> remote = {};
    std::optional<IpAddress> remote6 = {};
    /// TTL of outer packets.
    std::optional<std::uint8_t> ttl = {};
    /// Whether the TTL is copied from the inner packet.
    std::optional<bool> ttlInherit = {};
    /// Type of service of outer packets.
    std::optional<std::uint8_t> tos = {};
    /// The don't-fragment bit of outer packets.
    std::optional<DontFragment> df = {};
    /// Flow label of outer IPv6 packets.
    std::optional<std::uint32_t> label = {};
    /// The UDP port to which it sends and on which it receives.
    std::optional<std::uint16_t> port = {};
    /// The UDP source ports. Since Linux 6.15.
    std::optional<std::string> portRange = {};
    /// Whether routes and filters provide the tunnel parameters of each packet.
    std::optional<bool> external = {};
    /// Whether UDP over IPv4 has a checksum.
    std::optional<bool> udpCsum = {};
    /// Whether UDP over IPv6 is sent without a checksum.
    std::optional<bool> udpZeroCsum6Tx = {};
    /// Whether UDP over IPv6 is received without a checksum.
    std::optional<bool> udpZeroCsum6Rx = {};
    /// Whether it carries protocols other than Ethernet.
    std::optional<bool> innerProtoInherit = {};

    Geneve &setId(Number<std::uint32_t> value) { id.emplace(value.value); return *this; }
    Geneve &setRemote(IpAddress value) { remote.emplace(value); return *this; }
    Geneve &setRemote6(IpAddress value) { remote6.emplace(value); return *this; }
    Geneve &setTtl(Number<std::uint8_t> value) { ttl.emplace(value.value); return *this; }
    Geneve &setTtlInherit(Switch value) { ttlInherit.emplace(value.value); return *this; }
    Geneve &setTos(Number<std::uint8_t> value) { tos.emplace(value.value); return *this; }
    Geneve &setDf(DontFragment value) { df.emplace(value); return *this; }
    Geneve &setLabel(Number<std::uint32_t> value) { label.emplace(value.value); return *this; }
    Geneve &setPort(Number<std::uint16_t> value) { port.emplace(value.value); return *this; }
    Geneve &setPortRange(Text value) { portRange.emplace(std::move(value.value)); return *this; }
    Geneve &setExternal(Switch value) { external.emplace(value.value); return *this; }
    Geneve &setUdpCsum(Switch value) { udpCsum.emplace(value.value); return *this; }
    Geneve &setUdpZeroCsum6Tx(Switch value) { udpZeroCsum6Tx.emplace(value.value); return *this; }
    Geneve &setUdpZeroCsum6Rx(Switch value) { udpZeroCsum6Rx.emplace(value.value); return *this; }
    Geneve &setInnerProtoInherit(Switch value) { innerProtoInherit.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x37386ae0u, "id", self.id);
        visit(0xc78d7953u, "remote", self.remote);
        visit(0x88b619ffu, "remote6", self.remote6);
        visit(0xbd2b425bu, "ttl", self.ttl);
        visit(0x443ec0d7u, "ttlInherit", self.ttlInherit);
        visit(0xaa10e0f5u, "tos", self.tos);
        visit(0x5b1ccd0fu, "df", self.df);
        visit(0xf69717fdu, "label", self.label);
        visit(0x7be412a6u, "port", self.port);
        visit(0x94ee5e30u, "portRange", self.portRange);
        visit(0x331d748au, "external", self.external);
        visit(0x4a0aa1f9u, "udpCsum", self.udpCsum);
        visit(0xb00e0fefu, "udpZeroCsum6Tx", self.udpZeroCsum6Tx);
        visit(0xabfeff19u, "udpZeroCsum6Rx", self.udpZeroCsum6Rx);
        visit(0x70437bb2u, "innerProtoInherit", self.innerProtoInherit);
    }

    bool operator==(const Geneve &) const = default;
};

enum class TunnelEncap : std::uint16_t {
    None = 0,
    Fou = 1,
    Gue = 2,
    Mpls = 3,
};

template <>
struct Names<TunnelEncap> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 4> values = {{{0u, "none"}, {1u, "fou"}, {2u, "gue"}, {3u, "mpls"}}};
};

/// Generic routing encapsulation over IPv4 (RFC 2784, RFC 2890): of IP packets as `gre`, of Ethernet frames
/// as `gretap`.
///
/// Equals `ip link add NAME type gre remote ADDRESS local ADDRESS key 5 …`.
struct Gre {
    static constexpr const char *typeName = "Gre";
    static const FieldTable typeFields;

    /// The remote address; `0.0.0.0` for any.
    std::optional<IpAddress> remote = {};
    std::optional<IpAddress> local = {};
    /// The underlying link.
    std::optional<Interface> link = {};
    /// TTL of outer packets.
    std::optional<std::uint8_t> ttl = {};
    /// Type of service of outer packets.
    std::optional<std::uint8_t> tos = {};
    /// The don't-fragment bit of outer packets.
    std::optional<bool> pmtudisc = {};
    /// Whether the inner don't-fragment bit is ignored; excludes `pmtudisc`.
    std::optional<bool> ignoreDf = {};
    /// A key; set automatically if a key is given.
    std::optional<bool> ikeyed = {};
    /// Sequence numbers.
    std::optional<bool> iseq = {};
    /// A checksum.
    std::optional<bool> icsum = {};
    /// A key; set automatically if a key is given.
    std::optional<bool> okeyed = {};
    /// Sequence numbers.
    std::optional<bool> oseq = {};
    /// A checksum.
    std::optional<bool> ocsum = {};
    /// The key of received packets.
    std::optional<std::uint32_t> ikey = {};
    /// The key of sent packets.
    std::optional<std::uint32_t> okey = {};
    /// Whether routes and filters provide the tunnel parameters of each packet.
    std::optional<bool> external = {};
    /// The encapsulation after the outer IP header.
    std::optional<TunnelEncap> encap = {};
    /// Whether UDP over IPv4 has a checksum.
    std::optional<bool> csum = {};
    /// Whether UDP over IPv6 has one.
    std::optional<bool> csum6 = {};
    /// Remote checksum offload.
    std::optional<bool> remcsum = {};
    std::optional<std::uint16_t> encapSport = {};
    std::optional<std::uint16_t> encapDport = {};
    /// Firewall mark of outer packets.
    std::optional<std::uint32_t> fwmark = {};

    Gre &setRemote(IpAddress value) { remote.emplace(value); return *this; }
    Gre &setLocal(IpAddress value) { local.emplace(value); return *this; }
    Gre &setLink(Interface value) { link.emplace(std::move(value)); return *this; }
    Gre &setTtl(Number<std::uint8_t> value) { ttl.emplace(value.value); return *this; }
    Gre &setTos(Number<std::uint8_t> value) { tos.emplace(value.value); return *this; }
    Gre &setPmtudisc(Switch value) { pmtudisc.emplace(value.value); return *this; }
    Gre &setIgnoreDf(Switch value) { ignoreDf.emplace(value.value); return *this; }
    Gre &setIkeyed(Switch value) { ikeyed.emplace(value.value); return *this; }
    Gre &setIseq(Switch value) { iseq.emplace(value.value); return *this; }
    Gre &setIcsum(Switch value) { icsum.emplace(value.value); return *this; }
    Gre &setOkeyed(Switch value) { okeyed.emplace(value.value); return *this; }
    Gre &setOseq(Switch value) { oseq.emplace(value.value); return *this; }
    Gre &setOcsum(Switch value) { ocsum.emplace(value.value); return *this; }
    Gre &setIkey(Number<std::uint32_t> value) { ikey.emplace(value.value); return *this; }
    Gre &setOkey(Number<std::uint32_t> value) { okey.emplace(value.value); return *this; }
    Gre &setExternal(Switch value) { external.emplace(value.value); return *this; }
    Gre &setEncap(TunnelEncap value) { encap.emplace(value); return *this; }
    Gre &setCsum(Switch value) { csum.emplace(value.value); return *this; }
    Gre &setCsum6(Switch value) { csum6.emplace(value.value); return *this; }
    Gre &setRemcsum(Switch value) { remcsum.emplace(value.value); return *this; }
    Gre &setEncapSport(Number<std::uint16_t> value) { encapSport.emplace(value.value); return *this; }
    Gre &setEncapDport(Number<std::uint16_t> value) { encapDport.emplace(value.value); return *this; }
    Gre &setFwmark(Number<std::uint32_t> value) { fwmark.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xc78d7953u, "remote", self.remote);
        visit(0x9c436708u, "local", self.local);
        visit(0x0ddb0669u, "link", self.link);
        visit(0xbd2b425bu, "ttl", self.ttl);
        visit(0xaa10e0f5u, "tos", self.tos);
        visit(0xfdfa65e8u, "pmtudisc", self.pmtudisc);
        visit(0x1a637902u, "ignoreDf", self.ignoreDf);
        visit(0x1d8164e2u, "ikeyed", self.ikeyed);
        visit(0x996deaf3u, "iseq", self.iseq);
        visit(0x2f091a48u, "icsum", self.icsum);
        visit(0xc38ece8cu, "okeyed", self.okeyed);
        visit(0x53fd7705u, "oseq", self.oseq);
        visit(0x7c3a8392u, "ocsum", self.ocsum);
        visit(0x385ca7a3u, "ikey", self.ikey);
        visit(0xc2946a85u, "okey", self.okey);
        visit(0x331d748au, "external", self.external);
        visit(0xef027caau, "encap", self.encap);
        visit(0x0a035f4du, "csum", self.csum);
        visit(0x3e4f4ea1u, "csum6", self.csum6);
        visit(0x111f571fu, "remcsum", self.remcsum);
        visit(0x1219f4bfu, "encapSport", self.encapSport);
        visit(0x63f4eed2u, "encapDport", self.encapDport);
        visit(0x6e58b7c3u, "fwmark", self.fwmark);
    }

    bool operator==(const Gre &) const = default;
};

/// Generic routing encapsulation over IPv6: of IP packets as `ip6gre`, of Ethernet frames as `ip6gretap`.
///
/// Equals `ip link add NAME type ip6gre remote ADDRESS local ADDRESS key 5 …`.
struct Ip6Gre {
    static constexpr const char *typeName = "Ip6Gre";
    static const FieldTable typeFields;

    /// The remote address; `::` for any.
    std::optional<IpAddress> remote = {};
    std::optional<IpAddress> local = {};
    /// The underlying link.
    std::optional<Interface> link = {};
    /// TTL of outer packets.
    std::optional<std::uint8_t> ttl = {};
    /// Maximum number of nested tunnels, unless `ignore_encap_limit` is set.
    std::optional<std::uint8_t> encapLimit = {};
    /// Traffic class and flow label of outer packets, as in the IPv6 header.
    std::optional<std::uint32_t> flowinfo = {};
    /// Whether outer packets carry no encapsulation limit.
    std::optional<bool> ignoreEncapLimit = {};
    /// Whether the traffic class is copied from the inner packet.
    std::optional<bool> useOrigTclass = {};
    /// Whether the flow label is copied from the inner packet.
    std::optional<bool> useOrigFlowlabel = {};
    /// Mobile IPv6.
    std::optional<bool> mip6 = {};
    /// Whether the DSCP of received outer packets is copied to the inner packet.
    std::optional<bool> rcvDscpCopy = {};
    /// Whether the firewall mark is copied from the inner packet.
    std::optional<bool> useOrigFwmark = {};
    /// Whether the remote address may be local.
    std::optional<bool> allowLocalRemote = {};
    /// A key; set automatically if a key is given.
    std::optional<bool> ikeyed = {};
    /// Sequence numbers.
    std::optional<bool> iseq = {};
    /// A checksum.
    std::optional<bool> icsum = {};
    /// A key; set automatically if a key is given.
    std::optional<bool> okeyed = {};
    /// Sequence numbers.
    std::optional<bool> oseq = {};
    /// A checksum.
    std::optional<bool> ocsum = {};
    /// The key of received packets.
    std::optional<std::uint32_t> ikey = {};
    /// The key of sent packets.
    std::optional<std::uint32_t> okey = {};
    /// Whether routes and filters provide the tunnel parameters of each packet.
    std::optional<bool> external = {};
    /// The encapsulation after the outer IP header.
    std::optional<TunnelEncap> encap = {};
    /// Whether UDP over IPv4 has a checksum.
    std::optional<bool> csum = {};
    /// Whether UDP over IPv6 has one.
    std::optional<bool> csum6 = {};
    /// Remote checksum offload.
    std::optional<bool> remcsum = {};
    std::optional<std::uint16_t> encapSport = {};
    std::optional<std::uint16_t> encapDport = {};
    /// Firewall mark of outer packets.
    std::optional<std::uint32_t> fwmark = {};

    Ip6Gre &setRemote(IpAddress value) { remote.emplace(value); return *this; }
    Ip6Gre &setLocal(IpAddress value) { local.emplace(value); return *this; }
    Ip6Gre &setLink(Interface value) { link.emplace(std::move(value)); return *this; }
    Ip6Gre &setTtl(Number<std::uint8_t> value) { ttl.emplace(value.value); return *this; }
    Ip6Gre &setEncapLimit(Number<std::uint8_t> value) { encapLimit.emplace(value.value); return *this; }
    Ip6Gre &setFlowinfo(Number<std::uint32_t> value) { flowinfo.emplace(value.value); return *this; }
    Ip6Gre &setIgnoreEncapLimit(Switch value) { ignoreEncapLimit.emplace(value.value); return *this; }
    Ip6Gre &setUseOrigTclass(Switch value) { useOrigTclass.emplace(value.value); return *this; }
    Ip6Gre &setUseOrigFlowlabel(Switch value) { useOrigFlowlabel.emplace(value.value); return *this; }
    Ip6Gre &setMip6(Switch value) { mip6.emplace(value.value); return *this; }
    Ip6Gre &setRcvDscpCopy(Switch value) { rcvDscpCopy.emplace(value.value); return *this; }
    Ip6Gre &setUseOrigFwmark(Switch value) { useOrigFwmark.emplace(value.value); return *this; }
    Ip6Gre &setAllowLocalRemote(Switch value) { allowLocalRemote.emplace(value.value); return *this; }
    Ip6Gre &setIkeyed(Switch value) { ikeyed.emplace(value.value); return *this; }
    Ip6Gre &setIseq(Switch value) { iseq.emplace(value.value); return *this; }
    Ip6Gre &setIcsum(Switch value) { icsum.emplace(value.value); return *this; }
    Ip6Gre &setOkeyed(Switch value) { okeyed.emplace(value.value); return *this; }
    Ip6Gre &setOseq(Switch value) { oseq.emplace(value.value); return *this; }
    Ip6Gre &setOcsum(Switch value) { ocsum.emplace(value.value); return *this; }
    Ip6Gre &setIkey(Number<std::uint32_t> value) { ikey.emplace(value.value); return *this; }
    Ip6Gre &setOkey(Number<std::uint32_t> value) { okey.emplace(value.value); return *this; }
    Ip6Gre &setExternal(Switch value) { external.emplace(value.value); return *this; }
    Ip6Gre &setEncap(TunnelEncap value) { encap.emplace(value); return *this; }
    Ip6Gre &setCsum(Switch value) { csum.emplace(value.value); return *this; }
    Ip6Gre &setCsum6(Switch value) { csum6.emplace(value.value); return *this; }
    Ip6Gre &setRemcsum(Switch value) { remcsum.emplace(value.value); return *this; }
    Ip6Gre &setEncapSport(Number<std::uint16_t> value) { encapSport.emplace(value.value); return *this; }
    Ip6Gre &setEncapDport(Number<std::uint16_t> value) { encapDport.emplace(value.value); return *this; }
    Ip6Gre &setFwmark(Number<std::uint32_t> value) { fwmark.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xc78d7953u, "remote", self.remote);
        visit(0x9c436708u, "local", self.local);
        visit(0x0ddb0669u, "link", self.link);
        visit(0xbd2b425bu, "ttl", self.ttl);
        visit(0x77f256dau, "encapLimit", self.encapLimit);
        visit(0x9cc06295u, "flowinfo", self.flowinfo);
        visit(0x9f9fd58du, "ignoreEncapLimit", self.ignoreEncapLimit);
        visit(0x0e749f69u, "useOrigTclass", self.useOrigTclass);
        visit(0xd4045501u, "useOrigFlowlabel", self.useOrigFlowlabel);
        visit(0xbd995b6du, "mip6", self.mip6);
        visit(0x19f2be85u, "rcvDscpCopy", self.rcvDscpCopy);
        visit(0x251f68cfu, "useOrigFwmark", self.useOrigFwmark);
        visit(0x91508311u, "allowLocalRemote", self.allowLocalRemote);
        visit(0x1d8164e2u, "ikeyed", self.ikeyed);
        visit(0x996deaf3u, "iseq", self.iseq);
        visit(0x2f091a48u, "icsum", self.icsum);
        visit(0xc38ece8cu, "okeyed", self.okeyed);
        visit(0x53fd7705u, "oseq", self.oseq);
        visit(0x7c3a8392u, "ocsum", self.ocsum);
        visit(0x385ca7a3u, "ikey", self.ikey);
        visit(0xc2946a85u, "okey", self.okey);
        visit(0x331d748au, "external", self.external);
        visit(0xef027caau, "encap", self.encap);
        visit(0x0a035f4du, "csum", self.csum);
        visit(0x3e4f4ea1u, "csum6", self.csum6);
        visit(0x111f571fu, "remcsum", self.remcsum);
        visit(0x1219f4bfu, "encapSport", self.encapSport);
        visit(0x63f4eed2u, "encapDport", self.encapDport);
        visit(0x6e58b7c3u, "fwmark", self.fwmark);
    }

    bool operator==(const Ip6Gre &) const = default;
};

enum class Ip6TnlMode : std::uint8_t {
    Any = 0,
    Ipip6 = 4,
    Ip6ip6 = 41,
};

template <>
struct Names<Ip6TnlMode> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 3> values = {{{0u, "any"}, {4u, "ipip6"}, {41u, "ip6ip6"}}};
};

/// IPv4 or IPv6 in IPv6 (RFC 2473).
///
/// Equals `ip link add NAME type ip6tnl mode any remote ADDRESS local ADDRESS …`.
struct Ip6Tnl {
    static constexpr const char *typeName = "Ip6Tnl";
    static const FieldTable typeFields;

    /// The encapsulated protocol.
    std::optional<Ip6TnlMode> proto = {};
    /// The remote address; `::` for any.
    std::optional<IpAddress> remote = {};
    std::optional<IpAddress> local = {};
    /// The underlying link.
    std::optional<Interface> link = {};
    /// TTL of outer packets.
    std::optional<std::uint8_t> ttl = {};
    /// Maximum number of nested tunnels, unless `ignore_encap_limit` is set.
    std::optional<std::uint8_t> encapLimit = {};
    /// Traffic class and flow label of outer packets, as in the IPv6 header.
    std::optional<std::uint32_t> flowinfo = {};
    /// Whether outer packets carry no encapsulation limit.
    std::optional<bool> ignoreEncapLimit = {};
    /// Whether the traffic class is copied from the inner packet.
    std::optional<bool> useOrigTclass = {};
    /// Whether the flow label is copied from the inner packet.
    std::optional<bool> useOrigFlowlabel = {};
    /// Mobile IPv6.
    std::optional<bool> mip6 = {};
    /// Whether the DSCP of received outer packets is copied to the inner packet.
    std::optional<bool> rcvDscpCopy = {};
    /// Whether the firewall mark is copied from the inner packet.
    std::optional<bool> useOrigFwmark = {};
    /// Whether the remote address may be local.
    std::optional<bool> allowLocalRemote = {};
    /// Whether routes and filters provide the tunnel parameters of each packet.
    std::optional<bool> external = {};
    /// The encapsulation after the outer IP header.
    std::optional<TunnelEncap> encap = {};
    /// Whether UDP over IPv4 has a checksum.
    std::optional<bool> csum = {};
    /// Whether UDP over IPv6 has one.
    std::optional<bool> csum6 = {};
    /// Remote checksum offload.
    std::optional<bool> remcsum = {};
    std::optional<std::uint16_t> encapSport = {};
    std::optional<std::uint16_t> encapDport = {};
    /// Firewall mark of outer packets.
    std::optional<std::uint32_t> fwmark = {};

    Ip6Tnl &setProto(Ip6TnlMode value) { proto.emplace(value); return *this; }
    Ip6Tnl &setRemote(IpAddress value) { remote.emplace(value); return *this; }
    Ip6Tnl &setLocal(IpAddress value) { local.emplace(value); return *this; }
    Ip6Tnl &setLink(Interface value) { link.emplace(std::move(value)); return *this; }
    Ip6Tnl &setTtl(Number<std::uint8_t> value) { ttl.emplace(value.value); return *this; }
    Ip6Tnl &setEncapLimit(Number<std::uint8_t> value) { encapLimit.emplace(value.value); return *this; }
    Ip6Tnl &setFlowinfo(Number<std::uint32_t> value) { flowinfo.emplace(value.value); return *this; }
    Ip6Tnl &setIgnoreEncapLimit(Switch value) { ignoreEncapLimit.emplace(value.value); return *this; }
    Ip6Tnl &setUseOrigTclass(Switch value) { useOrigTclass.emplace(value.value); return *this; }
    Ip6Tnl &setUseOrigFlowlabel(Switch value) { useOrigFlowlabel.emplace(value.value); return *this; }
    Ip6Tnl &setMip6(Switch value) { mip6.emplace(value.value); return *this; }
    Ip6Tnl &setRcvDscpCopy(Switch value) { rcvDscpCopy.emplace(value.value); return *this; }
    Ip6Tnl &setUseOrigFwmark(Switch value) { useOrigFwmark.emplace(value.value); return *this; }
    Ip6Tnl &setAllowLocalRemote(Switch value) { allowLocalRemote.emplace(value.value); return *this; }
    Ip6Tnl &setExternal(Switch value) { external.emplace(value.value); return *this; }
    Ip6Tnl &setEncap(TunnelEncap value) { encap.emplace(value); return *this; }
    Ip6Tnl &setCsum(Switch value) { csum.emplace(value.value); return *this; }
    Ip6Tnl &setCsum6(Switch value) { csum6.emplace(value.value); return *this; }
    Ip6Tnl &setRemcsum(Switch value) { remcsum.emplace(value.value); return *this; }
    Ip6Tnl &setEncapSport(Number<std::uint16_t> value) { encapSport.emplace(value.value); return *this; }
    Ip6Tnl &setEncapDport(Number<std::uint16_t> value) { encapDport.emplace(value.value); return *this; }
    Ip6Tnl &setFwmark(Number<std::uint32_t> value) { fwmark.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x73c00bb1u, "proto", self.proto);
        visit(0xc78d7953u, "remote", self.remote);
        visit(0x9c436708u, "local", self.local);
        visit(0x0ddb0669u, "link", self.link);
        visit(0xbd2b425bu, "ttl", self.ttl);
        visit(0x77f256dau, "encapLimit", self.encapLimit);
        visit(0x9cc06295u, "flowinfo", self.flowinfo);
        visit(0x9f9fd58du, "ignoreEncapLimit", self.ignoreEncapLimit);
        visit(0x0e749f69u, "useOrigTclass", self.useOrigTclass);
        visit(0xd4045501u, "useOrigFlowlabel", self.useOrigFlowlabel);
        visit(0xbd995b6du, "mip6", self.mip6);
        visit(0x19f2be85u, "rcvDscpCopy", self.rcvDscpCopy);
        visit(0x251f68cfu, "useOrigFwmark", self.useOrigFwmark);
        visit(0x91508311u, "allowLocalRemote", self.allowLocalRemote);
        visit(0x331d748au, "external", self.external);
        visit(0xef027caau, "encap", self.encap);
        visit(0x0a035f4du, "csum", self.csum);
        visit(0x3e4f4ea1u, "csum6", self.csum6);
        visit(0x111f571fu, "remcsum", self.remcsum);
        visit(0x1219f4bfu, "encapSport", self.encapSport);
        visit(0x63f4eed2u, "encapDport", self.encapDport);
        visit(0x6e58b7c3u, "fwmark", self.fwmark);
    }

    bool operator==(const Ip6Tnl &) const = default;
};

enum class IpipMode : std::uint8_t {
    Any = 0,
    Ipip = 4,
    Mplsip = 137,
};

template <>
struct Names<IpipMode> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 3> values = {{{0u, "any"}, {4u, "ipip"}, {137u, "mplsip"}}};
};

/// IP in IPv4 (RFC 2003).
///
/// Equals `ip link add NAME type ipip remote ADDRESS local ADDRESS …`.
struct Ipip {
    static constexpr const char *typeName = "Ipip";
    static const FieldTable typeFields;

    /// The remote address; `0.0.0.0` for any.
    std::optional<IpAddress> remote = {};
    std::optional<IpAddress> local = {};
    /// The underlying link.
    std::optional<Interface> link = {};
    /// TTL of outer packets.
    std::optional<std::uint8_t> ttl = {};
    /// Type of service of outer packets.
    std::optional<std::uint8_t> tos = {};
    /// The don't-fragment bit of outer packets.
    std::optional<bool> pmtudisc = {};
    /// The encapsulated protocol.
    std::optional<IpipMode> proto = {};
    /// Whether routes and filters provide the tunnel parameters of each packet.
    std::optional<bool> external = {};
    /// The encapsulation after the outer IP header.
    std::optional<TunnelEncap> encap = {};
    /// Whether UDP over IPv4 has a checksum.
    std::optional<bool> csum = {};
    /// Whether UDP over IPv6 has one.
    std::optional<bool> csum6 = {};
    /// Remote checksum offload.
    std::optional<bool> remcsum = {};
    std::optional<std::uint16_t> encapSport = {};
    std::optional<std::uint16_t> encapDport = {};
    /// Firewall mark of outer packets.
    std::optional<std::uint32_t> fwmark = {};

    Ipip &setRemote(IpAddress value) { remote.emplace(value); return *this; }
    Ipip &setLocal(IpAddress value) { local.emplace(value); return *this; }
    Ipip &setLink(Interface value) { link.emplace(std::move(value)); return *this; }
    Ipip &setTtl(Number<std::uint8_t> value) { ttl.emplace(value.value); return *this; }
    Ipip &setTos(Number<std::uint8_t> value) { tos.emplace(value.value); return *this; }
    Ipip &setPmtudisc(Switch value) { pmtudisc.emplace(value.value); return *this; }
    Ipip &setProto(IpipMode value) { proto.emplace(value); return *this; }
    Ipip &setExternal(Switch value) { external.emplace(value.value); return *this; }
    Ipip &setEncap(TunnelEncap value) { encap.emplace(value); return *this; }
    Ipip &setCsum(Switch value) { csum.emplace(value.value); return *this; }
    Ipip &setCsum6(Switch value) { csum6.emplace(value.value); return *this; }
    Ipip &setRemcsum(Switch value) { remcsum.emplace(value.value); return *this; }
    Ipip &setEncapSport(Number<std::uint16_t> value) { encapSport.emplace(value.value); return *this; }
    Ipip &setEncapDport(Number<std::uint16_t> value) { encapDport.emplace(value.value); return *this; }
    Ipip &setFwmark(Number<std::uint32_t> value) { fwmark.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xc78d7953u, "remote", self.remote);
        visit(0x9c436708u, "local", self.local);
        visit(0x0ddb0669u, "link", self.link);
        visit(0xbd2b425bu, "ttl", self.ttl);
        visit(0xaa10e0f5u, "tos", self.tos);
        visit(0xfdfa65e8u, "pmtudisc", self.pmtudisc);
        visit(0x73c00bb1u, "proto", self.proto);
        visit(0x331d748au, "external", self.external);
        visit(0xef027caau, "encap", self.encap);
        visit(0x0a035f4du, "csum", self.csum);
        visit(0x3e4f4ea1u, "csum6", self.csum6);
        visit(0x111f571fu, "remcsum", self.remcsum);
        visit(0x1219f4bfu, "encapSport", self.encapSport);
        visit(0x63f4eed2u, "encapDport", self.encapDport);
        visit(0x6e58b7c3u, "fwmark", self.fwmark);
    }

    bool operator==(const Ipip &) const = default;
};

enum class IpvlanMode : std::uint16_t {
    L2 = 0,
    L3 = 1,
    L3s = 2,
};

template <>
struct Names<IpvlanMode> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 3> values = {{{0u, "l2"}, {1u, "l3"}, {2u, "l3s"}}};
};

enum class IpvlanFlags : std::uint16_t {
    Bridge = 0,
    Private = 1,
    Vepa = 2,
};

template <>
struct Names<IpvlanFlags> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 3> values = {{{0u, "bridge"}, {1u, "private"}, {2u, "vepa"}}};
};

/// A link with its own IP addresses and the hardware address of its lower link.
///
/// Equals `ip link add NAME link LOWER type ipvlan mode l3 private` or `… type ipvtap …`.
struct Ipvlan {
    static constexpr const char *typeName = "Ipvlan";
    static const FieldTable typeFields;

    /// The layer at which it switches or routes.
    std::optional<IpvlanMode> mode = {};
    /// With which siblings it communicates.
    std::optional<IpvlanFlags> flags = {};

    Ipvlan &setMode(IpvlanMode value) { mode.emplace(value); return *this; }
    Ipvlan &setFlags(IpvlanFlags value) { flags.emplace(value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xec6ee012u, "mode", self.mode);
        visit(0x9c677a2cu, "flags", self.flags);
    }

    bool operator==(const Ipvlan &) const = default;
};

enum class MacvlanMode : std::uint32_t {
    Private = 1,
    Vepa = 2,
    Bridge = 4,
    Passthru = 8,
    Source = 16,
};

template <>
struct Names<MacvlanMode> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 5> values = {{{1u, "private"}, {2u, "vepa"}, {4u, "bridge"}, {8u, "passthru"}, {16u, "source"}}};
};

enum class MacAddrMode : std::uint32_t {
    Add = 0,
    Del = 1,
    Flush = 2,
    Set = 3,
};

template <>
struct Names<MacAddrMode> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 4> values = {{{0u, "add"}, {1u, "del"}, {2u, "flush"}, {3u, "set"}}};
};

/// A link with its own hardware address on a lower link.
///
/// Equals `ip link add NAME link LOWER type macvlan mode bridge` or `… type macvtap …`.
struct Macvlan {
    static constexpr const char *typeName = "Macvlan";
    static const FieldTable typeFields;

    /// With which siblings it communicates.
    std::optional<MacvlanMode> mode = {};
    /// Whether the lower link stays non-promiscuous in passthru mode.
    std::optional<bool> nopromisc = {};
    /// Whether packets accepted in source mode are not delivered to their destination too.
    std::optional<bool> nodst = {};
    /// How to change the source addresses, in source mode. Write-only.
    std::optional<MacAddrMode> macaddrMode = {};
    /// An address to add or delete. Write-only.
    std::optional<MacAddress> macaddr = {};
    /// Number of source addresses. Read-only.
    std::optional<std::uint32_t> macaddrCount = {};
    /// The accepted source addresses, in source mode.
    std::optional<std::vector<MacAddress>> macaddrData = {};
    /// Length of the broadcast queue in packets.
    std::optional<std::uint32_t> bcqueuelen = {};
    /// Length of the broadcast queue in use, shared by all macvlans of the lower link. Read-only.
    std::optional<std::uint32_t> usedbcqueuelen = {};
    /// Multicast rate below which packets bypass the broadcast queue; -1 is no limit. Since Linux 6.4.
    std::optional<std::int32_t> bclim = {};

    Macvlan &setMode(MacvlanMode value) { mode.emplace(value); return *this; }
    Macvlan &setNopromisc(Switch value) { nopromisc.emplace(value.value); return *this; }
    Macvlan &setNodst(Switch value) { nodst.emplace(value.value); return *this; }
    Macvlan &setMacaddrMode(MacAddrMode value) { macaddrMode.emplace(value); return *this; }
    Macvlan &setMacaddr(MacAddress value) { macaddr.emplace(value); return *this; }
    Macvlan &setMacaddrData(std::vector<MacAddress> value) { macaddrData.emplace(std::move(value)); return *this; }
    Macvlan &setBcqueuelen(Number<std::uint32_t> value) { bcqueuelen.emplace(value.value); return *this; }
    Macvlan &setBclim(Number<std::int32_t> value) { bclim.emplace(value.value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse.
    Macvlan settable() const
    {
        Macvlan copy = *this;
        copy.removeReadOnly();
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        macaddrCount = {};
        usedbcqueuelen = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xec6ee012u, "mode", self.mode);
        visit(0x6219434du, "nopromisc", self.nopromisc);
        visit(0x5016e1cdu, "nodst", self.nodst);
        visit(0x50e8e57fu, "macaddrMode", self.macaddrMode);
        visit(0xfd681b2bu, "macaddr", self.macaddr);
        visit(0x794dc123u, "macaddrCount", self.macaddrCount);
        visit(0x1661a984u, "macaddrData", self.macaddrData);
        visit(0x7e63eabcu, "bcqueuelen", self.bcqueuelen);
        visit(0xb23a777du, "usedbcqueuelen", self.usedbcqueuelen);
        visit(0x37964a0cu, "bclim", self.bclim);
    }

    bool operator==(const Macvlan &) const = default;
};

enum class NetkitMode : std::uint32_t {
    L2 = 0,
    L3 = 1,
};

template <>
struct Names<NetkitMode> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 2> values = {{{0u, "l2"}, {1u, "l3"}}};
};

enum class NetkitPolicy : std::uint32_t {
    Forward = 0,
    Blackhole = 2,
};

template <>
struct Names<NetkitPolicy> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 2> values = {{{0u, "forward"}, {2u, "blackhole"}}};
};

enum class NetkitScrub : std::uint32_t {
    None = 0,
    Default = 1,
};

template <>
struct Names<NetkitScrub> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 2> values = {{{0u, "none"}, {1u, "default"}}};
};

/// One end of a pair with eBPF programs. Since Linux 6.7.
///
/// Equals `ip link add NAME type netkit [mode l3] [forward] [peer [blackhole] name PEER]`.
struct Netkit {
    static constexpr const char *typeName = "Netkit";
    static const FieldTable typeFields;

    /// The peer. Given only when the pair is created; never reported.
    Boxed<LinkInfo> peer = {};
    /// Whether this is the primary end, which configures both. Read-only.
    std::optional<bool> primary = {};
    /// Whether packets have an Ethernet header; only at creation.
    std::optional<NetkitMode> mode = {};
    /// Policy for packets without a program at this end.
    std::optional<NetkitPolicy> policy = {};
    /// The same at the peer.
    std::optional<NetkitPolicy> peerPolicy = {};
    /// Which metadata is cleared from packets that leave the namespace; only at creation. Since Linux 6.13.
    std::optional<NetkitScrub> scrub = {};
    /// The same at the peer.
    std::optional<NetkitScrub> peerScrub = {};
    /// Headroom in bytes; only at creation. Since Linux 6.14.
    std::optional<std::uint16_t> headroom = {};
    /// Tailroom in bytes.
    std::optional<std::uint16_t> tailroom = {};

    Netkit &setPeer(Boxed<LinkInfo> value) { peer = std::move(value); return *this; }
    Netkit &setMode(NetkitMode value) { mode.emplace(value); return *this; }
    Netkit &setPolicy(NetkitPolicy value) { policy.emplace(value); return *this; }
    Netkit &setPeerPolicy(NetkitPolicy value) { peerPolicy.emplace(value); return *this; }
    Netkit &setScrub(NetkitScrub value) { scrub.emplace(value); return *this; }
    Netkit &setPeerScrub(NetkitScrub value) { peerScrub.emplace(value); return *this; }
    Netkit &setHeadroom(Number<std::uint16_t> value) { headroom.emplace(value.value); return *this; }
    Netkit &setTailroom(Number<std::uint16_t> value) { tailroom.emplace(value.value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse.
    Netkit settable() const
    {
        Netkit copy = *this;
        copy.removeReadOnly();
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        primary = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xb8150f49u, "peer", self.peer);
        visit(0x5a2e5fd9u, "primary", self.primary);
        visit(0xec6ee012u, "mode", self.mode);
        visit(0xcec0fa7fu, "policy", self.policy);
        visit(0x77c44a84u, "peerPolicy", self.peerPolicy);
        visit(0x4edd1710u, "scrub", self.scrub);
        visit(0xbaeea361u, "peerScrub", self.peerScrub);
        visit(0xdd5e9b34u, "headroom", self.headroom);
        visit(0x34248bd4u, "tailroom", self.tailroom);
    }

    bool operator==(const Netkit &) const = default;
};

enum class SitMode : std::uint8_t {
    Any = 0,
    Ipip = 4,
    Ip6ip = 41,
    Mplsip = 137,
};

template <>
struct Names<SitMode> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 4> values = {{{0u, "any"}, {4u, "ipip"}, {41u, "ip6ip"}, {137u, "mplsip"}}};
};

/// IPv6 in IPv4 (RFC 4213), 6rd (RFC 5969) and ISATAP (RFC 5214).
///
/// Equals `ip link add NAME type sit remote ADDRESS local ADDRESS …`.
struct Sit {
    static constexpr const char *typeName = "Sit";
    static const FieldTable typeFields;

    /// The remote address; `0.0.0.0` for any.
    std::optional<IpAddress> remote = {};
    std::optional<IpAddress> local = {};
    /// The underlying link.
    std::optional<Interface> link = {};
    /// TTL of outer packets.
    std::optional<std::uint8_t> ttl = {};
    /// Type of service of outer packets.
    std::optional<std::uint8_t> tos = {};
    /// The don't-fragment bit of outer packets.
    std::optional<bool> pmtudisc = {};
    /// The encapsulated protocol.
    std::optional<SitMode> proto = {};
    /// Whether it is an ISATAP tunnel.
    std::optional<bool> isatap = {};
    /// The prefix of its 6rd domain.
    std::optional<IpAddress> sixrdPrefix = {};
    /// Its length in bits.
    std::optional<std::uint16_t> sixrdPrefixlen = {};
    /// The common IPv4 prefix of the 6rd domain.
    std::optional<IpAddress> sixrdRelayPrefix = {};
    /// Its length in bits.
    std::optional<std::uint16_t> sixrdRelayPrefixlen = {};
    /// The encapsulation after the outer IP header.
    std::optional<TunnelEncap> encap = {};
    /// Whether UDP over IPv4 has a checksum.
    std::optional<bool> csum = {};
    /// Whether UDP over IPv6 has one.
    std::optional<bool> csum6 = {};
    /// Remote checksum offload.
    std::optional<bool> remcsum = {};
    std::optional<std::uint16_t> encapSport = {};
    std::optional<std::uint16_t> encapDport = {};
    /// Firewall mark of outer packets.
    std::optional<std::uint32_t> fwmark = {};

    Sit &setRemote(IpAddress value) { remote.emplace(value); return *this; }
    Sit &setLocal(IpAddress value) { local.emplace(value); return *this; }
    Sit &setLink(Interface value) { link.emplace(std::move(value)); return *this; }
    Sit &setTtl(Number<std::uint8_t> value) { ttl.emplace(value.value); return *this; }
    Sit &setTos(Number<std::uint8_t> value) { tos.emplace(value.value); return *this; }
    Sit &setPmtudisc(Switch value) { pmtudisc.emplace(value.value); return *this; }
    Sit &setProto(SitMode value) { proto.emplace(value); return *this; }
    Sit &setIsatap(Switch value) { isatap.emplace(value.value); return *this; }
    Sit &setSixrdPrefix(IpAddress value) { sixrdPrefix.emplace(value); return *this; }
    Sit &setSixrdPrefixlen(Number<std::uint16_t> value) { sixrdPrefixlen.emplace(value.value); return *this; }
    Sit &setSixrdRelayPrefix(IpAddress value) { sixrdRelayPrefix.emplace(value); return *this; }
    Sit &setSixrdRelayPrefixlen(Number<std::uint16_t> value) { sixrdRelayPrefixlen.emplace(value.value); return *this; }
    Sit &setEncap(TunnelEncap value) { encap.emplace(value); return *this; }
    Sit &setCsum(Switch value) { csum.emplace(value.value); return *this; }
    Sit &setCsum6(Switch value) { csum6.emplace(value.value); return *this; }
    Sit &setRemcsum(Switch value) { remcsum.emplace(value.value); return *this; }
    Sit &setEncapSport(Number<std::uint16_t> value) { encapSport.emplace(value.value); return *this; }
    Sit &setEncapDport(Number<std::uint16_t> value) { encapDport.emplace(value.value); return *this; }
    Sit &setFwmark(Number<std::uint32_t> value) { fwmark.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xc78d7953u, "remote", self.remote);
        visit(0x9c436708u, "local", self.local);
        visit(0x0ddb0669u, "link", self.link);
        visit(0xbd2b425bu, "ttl", self.ttl);
        visit(0xaa10e0f5u, "tos", self.tos);
        visit(0xfdfa65e8u, "pmtudisc", self.pmtudisc);
        visit(0x73c00bb1u, "proto", self.proto);
        visit(0xe7ce9271u, "isatap", self.isatap);
        visit(0x9dfedf0au, "sixrdPrefix", self.sixrdPrefix);
        visit(0xce7de761u, "sixrdPrefixlen", self.sixrdPrefixlen);
        visit(0x76c8cd8cu, "sixrdRelayPrefix", self.sixrdRelayPrefix);
        visit(0x3c6422e3u, "sixrdRelayPrefixlen", self.sixrdRelayPrefixlen);
        visit(0xef027caau, "encap", self.encap);
        visit(0x0a035f4du, "csum", self.csum);
        visit(0x3e4f4ea1u, "csum6", self.csum6);
        visit(0x111f571fu, "remcsum", self.remcsum);
        visit(0x1219f4bfu, "encapSport", self.encapSport);
        visit(0x63f4eed2u, "encapDport", self.encapDport);
        visit(0x6e58b7c3u, "fwmark", self.fwmark);
    }

    bool operator==(const Sit &) const = default;
};

enum class TunMode : std::uint8_t {
    Tun = 1,
    Tap = 2,
};

template <>
struct Names<TunMode> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 2> values = {{{1u, "tun"}, {2u, "tap"}}};
};

/// A tun or tap device: a program reads and writes its packets.
///
/// Equals `ip tuntap add NAME mode tap user 5 vnet_hdr`. `add` creates it
/// through `/dev/net/tun` and sets the other fields of the link by netlink. It is persistent.
struct Tun {
    static constexpr const char *typeName = "Tun";
    static const FieldTable typeFields;

    /// Tun (IP packets) or tap (Ethernet frames).
    std::optional<TunMode> mode = {};
    /// Whether packets have a packet information header of 4 bytes. Default: no.
    std::optional<bool> pi = {};
    /// Whether packets have a virtio-net header with offloads.
    std::optional<bool> vnetHdr = {};
    /// Whether it supports several queues.
    std::optional<bool> multiQueue = {};
    /// Number of open queues. Read-only.
    std::optional<std::uint32_t> numqueues = {};
    /// Number of disabled queues. Read-only.
    std::optional<std::uint32_t> numdisabled = {};
    /// Whether it persists when the last program closes it.
    std::optional<bool> persist = {};
    /// The user id that may open it.
    std::optional<std::uint32_t> user = {};
    /// The group id that may open it.
    std::optional<std::uint32_t> group = {};

    Tun &setMode(TunMode value) { mode.emplace(value); return *this; }
    Tun &setPi(Switch value) { pi.emplace(value.value); return *this; }
    Tun &setVnetHdr(Switch value) { vnetHdr.emplace(value.value); return *this; }
    Tun &setMultiQueue(Switch value) { multiQueue.emplace(value.value); return *this; }
    Tun &setPersist(Switch value) { persist.emplace(value.value); return *this; }
    Tun &setUser(Number<std::uint32_t> value) { user.emplace(value.value); return *this; }
    Tun &setGroup(Number<std::uint32_t> value) { group.emplace(value.value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse.
    Tun settable() const
    {
        Tun copy = *this;
        copy.removeReadOnly();
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        numqueues = {};
        numdisabled = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xec6ee012u, "mode", self.mode);
        visit(0x484e4bf2u, "pi", self.pi);
        visit(0xc052fdb5u, "vnetHdr", self.vnetHdr);
        visit(0xbe4a35beu, "multiQueue", self.multiQueue);
        visit(0x92b9e5f3u, "numqueues", self.numqueues);
        visit(0xd0027943u, "numdisabled", self.numdisabled);
        visit(0xe979f483u, "persist", self.persist);
        visit(0x60785ef2u, "user", self.user);
        visit(0x5fb91e8cu, "group", self.group);
    }

    bool operator==(const Tun &) const = default;
};

/// One end of a virtual Ethernet pair: packets sent to one end arrive at the other.
///
/// Equals `ip link add NAME type veth peer name PEER`.
struct Veth {
    static constexpr const char *typeName = "Veth";
    static const FieldTable typeFields;

    /// The peer. Given only when the pair is created; never reported.
    Boxed<LinkInfo> peer = {};

    Veth &setPeer(Boxed<LinkInfo> value) { peer = std::move(value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xb8150f49u, "peer", self.peer);
    }

    bool operator==(const Veth &) const = default;
};

/// A VLAN of a lower link.
///
/// Equals `ip link add NAME link LOWER type vlan id ID [protocol PROTOCOL] [gvrp on] …`.
struct Vlan {
    static constexpr const char *typeName = "Vlan";
    static const FieldTable typeFields;

    /// EtherType of its tag.
    std::optional<VlanProtocol> protocol = {};
    std::optional<std::uint16_t> id = {};
    /// Whether packets are delivered without their tag.
    std::optional<bool> reorderHdr = {};
    /// Whether it is announced to switches (GARP VLAN Registration Protocol).
    std::optional<bool> gvrp = {};
    /// Whether it can be up while the lower link is down.
    std::optional<bool> looseBinding = {};
    /// Whether it is announced to switches (Multiple VLAN Registration Protocol).
    std::optional<bool> mvrp = {};
    /// Whether its state follows the bridge ports in the VLAN.
    std::optional<bool> bridgeBinding = {};
    /// Maps the priority in the tag of received packets to packet priorities.
    std::optional<std::vector<std::string>> ingressQos = {};
    /// Maps packet priorities to the priority in the tag of sent packets.
    std::optional<std::vector<std::string>> egressQos = {};

    Vlan &setProtocol(VlanProtocol value) { protocol.emplace(value); return *this; }
    Vlan &setId(Number<std::uint16_t> value) { id.emplace(value.value); return *this; }
    Vlan &setReorderHdr(Switch value) { reorderHdr.emplace(value.value); return *this; }
    Vlan &setGvrp(Switch value) { gvrp.emplace(value.value); return *this; }
    Vlan &setLooseBinding(Switch value) { looseBinding.emplace(value.value); return *this; }
    Vlan &setMvrp(Switch value) { mvrp.emplace(value.value); return *this; }
    Vlan &setBridgeBinding(Switch value) { bridgeBinding.emplace(value.value); return *this; }
    Vlan &setIngressQos(std::vector<std::string> value) { ingressQos.emplace(std::move(value)); return *this; }
    Vlan &setEgressQos(std::vector<std::string> value) { egressQos.emplace(std::move(value)); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xfb2805b5u, "protocol", self.protocol);
        visit(0x37386ae0u, "id", self.id);
        visit(0xd1ceb291u, "reorderHdr", self.reorderHdr);
        visit(0xfc9e4442u, "gvrp", self.gvrp);
        visit(0xe8fefb27u, "looseBinding", self.looseBinding);
        visit(0x301cae48u, "mvrp", self.mvrp);
        visit(0xd887094au, "bridgeBinding", self.bridgeBinding);
        visit(0x9ed8160eu, "ingressQos", self.ingressQos);
        visit(0x4a6ab228u, "egressQos", self.egressQos);
    }

    bool operator==(const Vlan &) const = default;
};

/// A routing domain of its own.
///
/// Equals `ip link add NAME type vrf table TABLE`.
struct Vrf {
    static constexpr const char *typeName = "Vrf";
    static const FieldTable typeFields;

    /// Its routing table. Required at creation.
    std::optional<std::uint32_t> table = {};

    Vrf &setTable(Number<std::uint32_t> value) { table.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x4a9c9bdfu, "table", self.table);
    }

    bool operator==(const Vrf &) const = default;
};

enum class LabelPolicy : std::uint32_t {
    Fixed = 0,
    Inherit = 1,
};

template <>
struct Names<LabelPolicy> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 2> values = {{{0u, "fixed"}, {1u, "inherit"}}};
};

/// Ethernet over UDP (RFC 7348).
///
/// Equals `ip link add NAME type vxlan id VNI remote ADDRESS dstport 4789 …`.
struct Vxlan {
    static constexpr const char *typeName = "Vxlan";
    static const FieldTable typeFields;

    /// Its VNI: 24 bits.
    std::optional<std::uint32_t> id = {};
    /// The other end, or the group of all other ends.
    std::optional<IpAddress> remote = {};
    std::optional<IpAddress> remote6 = {};
    std::optional<IpAddress> local = {};
    std::optional<IpAddress> local6 = {};
    /// The link it sends and receives by.
    std::optional<Interface> link = {};
    /// The UDP source ports; 0 and 0 are the system's default.
    std::optional<std::string> portRange = {};
    /// The UDP port to which it sends and on which it receives; the kernel's default is 8472.
    std::optional<std::uint16_t> port = {};
    /// Whether it learns the remote endpoints of hardware addresses.
    std::optional<bool> learning = {};
    /// Whether it is an ARP proxy.
    std::optional<bool> proxy = {};
    /// Route short circuit.
    std::optional<bool> rsc = {};
    /// Whether unknown hardware addresses cause notifications.
    std::optional<bool> l2miss = {};
    /// Whether unknown IP addresses cause notifications.
    std::optional<bool> l3miss = {};
    /// Type of service of outer packets.
    std::optional<std::uint8_t> tos = {};
    /// TTL of outer packets.
    std::optional<std::uint8_t> ttl = {};
    /// Whether the TTL is copied from the inner packet.
    std::optional<bool> ttlInherit = {};
    /// The don't-fragment bit of outer packets.
    std::optional<DontFragment> df = {};
    /// Flow label of outer IPv6 packets.
    std::optional<std::uint32_t> label = {};
    /// The source of the flow label. Since Linux 6.7.
    std::optional<LabelPolicy> labelPolicy = {};
    /// Ageing time of learned addresses in seconds; 0 is infinite.
    std::optional<Duration<std::uint32_t>> ageing = {};
    /// Maximum number of learned addresses; 0 is no limit.
    std::optional<std::uint32_t> limit = {};
    /// Whether UDP over IPv4 has a checksum.
    std::optional<bool> udpCsum = {};
    /// Whether UDP over IPv6 is sent without a checksum.
    std::optional<bool> udpZeroCsum6Tx = {};
    /// Whether UDP over IPv6 is received without a checksum.
    std::optional<bool> udpZeroCsum6Rx = {};
    /// Remote checksum offload on transmit.
    std::optional<bool> remcsumTx = {};
    /// Remote checksum offload on receive.
    std::optional<bool> remcsumRx = {};
    /// Remote checksum offload without partial checksums.
    std::optional<bool> remcsumNopartial = {};
    /// Group policy extension: packets carry the mark of the sender.
    std::optional<bool> gbp = {};
    /// Whether it carries protocols other than Ethernet (generic protocol extension).
    std::optional<bool> gpe = {};
    /// Whether routes and filters provide the tunnel parameters of each packet.
    std::optional<bool> external = {};
    /// Whether it accepts only configured VNIs, with `external`.
    std::optional<bool> vnifilter = {};
    /// Whether packets to this host's own addresses go their shortest way. Since Linux 6.5.
    std::optional<bool> localbypass = {};
    /// Whether multicast packets are routed as forwarded ones. Since Linux 6.17.
    std::optional<bool> mcroute = {};

    Vxlan &setId(Number<std::uint32_t> value) { id.emplace(value.value); return *this; }
    Vxlan &setRemote(IpAddress value) { remote.emplace(value); return *this; }
    Vxlan &setRemote6(IpAddress value) { remote6.emplace(value); return *this; }
    Vxlan &setLocal(IpAddress value) { local.emplace(value); return *this; }
    Vxlan &setLocal6(IpAddress value) { local6.emplace(value); return *this; }
    Vxlan &setLink(Interface value) { link.emplace(std::move(value)); return *this; }
    Vxlan &setPortRange(Text value) { portRange.emplace(std::move(value.value)); return *this; }
    Vxlan &setPort(Number<std::uint16_t> value) { port.emplace(value.value); return *this; }
    Vxlan &setLearning(Switch value) { learning.emplace(value.value); return *this; }
    Vxlan &setProxy(Switch value) { proxy.emplace(value.value); return *this; }
    Vxlan &setRsc(Switch value) { rsc.emplace(value.value); return *this; }
    Vxlan &setL2miss(Switch value) { l2miss.emplace(value.value); return *this; }
    Vxlan &setL3miss(Switch value) { l3miss.emplace(value.value); return *this; }
    Vxlan &setTos(Number<std::uint8_t> value) { tos.emplace(value.value); return *this; }
    Vxlan &setTtl(Number<std::uint8_t> value) { ttl.emplace(value.value); return *this; }
    Vxlan &setTtlInherit(Switch value) { ttlInherit.emplace(value.value); return *this; }
    Vxlan &setDf(DontFragment value) { df.emplace(value); return *this; }
    Vxlan &setLabel(Number<std::uint32_t> value) { label.emplace(value.value); return *this; }
    Vxlan &setLabelPolicy(LabelPolicy value) { labelPolicy.emplace(value); return *this; }
    Vxlan &setAgeing(Duration<std::uint32_t> value) { ageing.emplace(value); return *this; }
    Vxlan &setLimit(Number<std::uint32_t> value) { limit.emplace(value.value); return *this; }
    Vxlan &setUdpCsum(Switch value) { udpCsum.emplace(value.value); return *this; }
    Vxlan &setUdpZeroCsum6Tx(Switch value) { udpZeroCsum6Tx.emplace(value.value); return *this; }
    Vxlan &setUdpZeroCsum6Rx(Switch value) { udpZeroCsum6Rx.emplace(value.value); return *this; }
    Vxlan &setRemcsumTx(Switch value) { remcsumTx.emplace(value.value); return *this; }
    Vxlan &setRemcsumRx(Switch value) { remcsumRx.emplace(value.value); return *this; }
    Vxlan &setRemcsumNopartial(Switch value) { remcsumNopartial.emplace(value.value); return *this; }
    Vxlan &setGbp(Switch value) { gbp.emplace(value.value); return *this; }
    Vxlan &setGpe(Switch value) { gpe.emplace(value.value); return *this; }
    Vxlan &setExternal(Switch value) { external.emplace(value.value); return *this; }
    Vxlan &setVnifilter(Switch value) { vnifilter.emplace(value.value); return *this; }
    Vxlan &setLocalbypass(Switch value) { localbypass.emplace(value.value); return *this; }
    Vxlan &setMcroute(Switch value) { mcroute.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x37386ae0u, "id", self.id);
        visit(0xc78d7953u, "remote", self.remote);
        visit(0x88b619ffu, "remote6", self.remote6);
        visit(0x9c436708u, "local", self.local);
        visit(0x3c1b869au, "local6", self.local6);
        visit(0x0ddb0669u, "link", self.link);
        visit(0x94ee5e30u, "portRange", self.portRange);
        visit(0x7be412a6u, "port", self.port);
        visit(0x33380b6bu, "learning", self.learning);
        visit(0x7da2065bu, "proxy", self.proxy);
        visit(0x3fdc7a63u, "rsc", self.rsc);
        visit(0x20ef3b2fu, "l2miss", self.l2miss);
        visit(0x6db83ef0u, "l3miss", self.l3miss);
        visit(0xaa10e0f5u, "tos", self.tos);
        visit(0xbd2b425bu, "ttl", self.ttl);
        visit(0x443ec0d7u, "ttlInherit", self.ttlInherit);
        visit(0x5b1ccd0fu, "df", self.df);
        visit(0xf69717fdu, "label", self.label);
        visit(0xb43a7008u, "labelPolicy", self.labelPolicy);
        visit(0xf321645cu, "ageing", self.ageing);
        visit(0x32dad934u, "limit", self.limit);
        visit(0x4a0aa1f9u, "udpCsum", self.udpCsum);
        visit(0xb00e0fefu, "udpZeroCsum6Tx", self.udpZeroCsum6Tx);
        visit(0xabfeff19u, "udpZeroCsum6Rx", self.udpZeroCsum6Rx);
        visit(0xd1923aacu, "remcsumTx", self.remcsumTx);
        visit(0xd58dc3cau, "remcsumRx", self.remcsumRx);
        visit(0x17309ec4u, "remcsumNopartial", self.remcsumNopartial);
        visit(0x560ee914u, "gbp", self.gbp);
        visit(0x373bd7e5u, "gpe", self.gpe);
        visit(0x331d748au, "external", self.external);
        visit(0xa354f166u, "vnifilter", self.vnifilter);
        visit(0x17d63738u, "localbypass", self.localbypass);
        visit(0x11dbea12u, "mcroute", self.mcroute);
    }

    bool operator==(const Vxlan &) const = default;
};

/// An interface for IPsec: its packets are transformed by the policies and states with its ID.
///
/// Equals `ip link add NAME type xfrm if_id ID [dev LINK]`.
struct Xfrm {
    static constexpr const char *typeName = "Xfrm";
    static const FieldTable typeFields;

    /// The underlying link.
    std::optional<Interface> link = {};
    /// Its ID. Required at creation, unless `external` is set.
    std::optional<std::uint32_t> ifId = {};
    /// Whether routes and filters provide the ID and the link of each packet. Since Linux 6.1.
    std::optional<bool> external = {};

    Xfrm &setLink(Interface value) { link.emplace(std::move(value)); return *this; }
    Xfrm &setIfId(Number<std::uint32_t> value) { ifId.emplace(value.value); return *this; }
    Xfrm &setExternal(Switch value) { external.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x0ddb0669u, "link", self.link);
        visit(0x717d8b56u, "ifId", self.ifId);
        visit(0x331d748au, "external", self.external);
    }

    bool operator==(const Xfrm &) const = default;
};

enum class BondPortState : std::uint8_t {
    Active = 0,
    Backup = 1,
};

template <>
struct Names<BondPortState> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 2> values = {{{0u, "ACTIVE"}, {1u, "BACKUP"}}};
};

enum class MiiStatus : std::uint8_t {
    Up = 0,
    GoingDown = 1,
    Down = 2,
    GoingBack = 3,
};

template <>
struct Names<MiiStatus> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 4> values = {{{0u, "UP"}, {1u, "GOING_DOWN"}, {2u, "DOWN"}, {3u, "GOING_BACK"}}};
};

/// Settings of a bond port.
///
/// Equals `ip link set NAME type bond_slave queue_id 1 prio 10`.
struct BondPort {
    static constexpr const char *typeName = "BondPort";
    static const FieldTable typeFields;

    /// Whether it is active.
    std::optional<BondPortState> state = {};
    /// Its carrier state. Read-only.
    std::optional<MiiStatus> miiStatus = {};
    /// Number of failures. Read-only.
    std::optional<std::uint32_t> linkFailureCount = {};
    /// Its permanent hardware address. Read-only.
    std::optional<MacAddress> permHwaddr = {};
    /// The queue id of the bond that uses this port; 0 is none.
    std::optional<std::uint16_t> queueId = {};
    /// Failover priority; higher is preferred.
    std::optional<std::int32_t> prio = {};
    /// Id of its aggregator. Read-only.
    std::optional<std::uint16_t> adAggregatorId = {};
    /// Its LACP state bits. Read-only.
    std::optional<std::uint8_t> adActorOperPortState = {};
    /// The partner's LACP state bits. Read-only.
    std::optional<std::uint16_t> adPartnerOperPortState = {};

    BondPort &setState(BondPortState value) { state.emplace(value); return *this; }
    BondPort &setQueueId(Number<std::uint16_t> value) { queueId.emplace(value.value); return *this; }
    BondPort &setPrio(Number<std::int32_t> value) { prio.emplace(value.value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse.
    BondPort settable() const
    {
        BondPort copy = *this;
        copy.removeReadOnly();
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        miiStatus = {};
        linkFailureCount = {};
        permHwaddr = {};
        adAggregatorId = {};
        adActorOperPortState = {};
        adPartnerOperPortState = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x783132f6u, "state", self.state);
        visit(0x13beaa65u, "miiStatus", self.miiStatus);
        visit(0xe229e60cu, "linkFailureCount", self.linkFailureCount);
        visit(0x9e34b5ceu, "permHwaddr", self.permHwaddr);
        visit(0x23bf82c0u, "queueId", self.queueId);
        visit(0xc84d01bfu, "prio", self.prio);
        visit(0x7d1596ecu, "adAggregatorId", self.adAggregatorId);
        visit(0x00e291a9u, "adActorOperPortState", self.adActorOperPortState);
        visit(0x258140f2u, "adPartnerOperPortState", self.adPartnerOperPortState);
    }

    bool operator==(const BondPort &) const = default;
};

/// Settings of a bridge port.
///
/// Equals `ip link set NAME type bridge_slave learning off …` and `bridge link set dev NAME learning off …`.
struct BridgePort {
    static constexpr const char *typeName = "BridgePort";
    static const FieldTable typeFields;

    /// Its spanning tree state.
    std::optional<PortState> state = {};
    /// Its spanning tree priority: 0 to 63.
    std::optional<std::uint16_t> priority = {};
    /// Its path cost.
    std::optional<std::uint32_t> cost = {};
    /// Hairpin mode: packets may leave by the port of arrival.
    std::optional<bool> hairpin = {};
    /// BPDU guard: it is disabled if a spanning tree packet arrives.
    std::optional<bool> guard = {};
    /// Root block: it cannot become the root port.
    std::optional<bool> rootBlock = {};
    /// Fast leave: groups are deleted as soon as a listener leaves.
    std::optional<bool> fastleave = {};
    /// Address learning.
    std::optional<bool> learning = {};
    /// Flooding of unknown unicast.
    std::optional<bool> flood = {};
    /// Its port id, with the priority. Read-only.
    std::optional<std::uint16_t> id = {};
    /// Its port number. Read-only.
    std::optional<std::uint16_t> no = {};
    /// Port id of the designated port. Read-only.
    std::optional<std::uint16_t> designatedPort = {};
    /// Path cost of the designated port. Read-only.
    std::optional<std::uint16_t> designatedCost = {};
    /// The designated bridge. Read-only.
    std::optional<std::string> bridgeId = {};
    /// The root bridge. Read-only.
    std::optional<std::string> rootId = {};
    /// Hold timer. Read-only.
    std::optional<Duration<std::uint64_t, std::centi>> holdTimer = {};
    /// Message age timer. Read-only.
    std::optional<Duration<std::uint64_t, std::centi>> messageAgeTimer = {};
    /// Forward delay timer. Read-only.
    std::optional<Duration<std::uint64_t, std::centi>> forwardDelayTimer = {};
    /// Whether a topology change must be acknowledged. Read-only.
    std::optional<bool> topologyChangeAck = {};
    /// Whether a spanning tree packet is pending. Read-only.
    std::optional<bool> configPending = {};
    /// Flush the addresses learned here. Write-only.
    std::optional<bool> fdbFlush = {};
    std::optional<bool> proxyArp = {};
    /// ARP proxy according to IEEE 802.11 and Hotspot 2.0.
    std::optional<bool> proxyArpWifi = {};
    /// Multicast router behind it: 0 no, 1 if it sees queries, 2 yes, 3 temporarily.
    std::optional<std::uint8_t> multicastRouter = {};
    /// Flooding of unregistered multicast.
    std::optional<bool> mcastFlood = {};
    std::optional<bool> bcastFlood = {};
    /// Multicast to unicast conversion.
    std::optional<bool> mcastToUnicast = {};
    /// Neighbour suppression: the bridge answers for known neighbours.
    std::optional<bool> neighSuppress = {};
    /// Neighbour suppression per VLAN. Since Linux 6.4.
    std::optional<bool> neighVlanSuppress = {};
    /// Mask of the link-local groups that it forwards.
    std::optional<std::uint16_t> groupFwdMask = {};
    /// VLAN to tunnel mapping.
    std::optional<bool> vlanTunnel = {};
    /// Isolated from other isolated ports.
    std::optional<bool> isolated = {};
    /// Locked: only known source addresses are accepted.
    std::optional<bool> locked = {};
    /// MAC authentication bypass: unknown sources get locked entries. Since Linux 6.2.
    std::optional<bool> mab = {};
    /// Backup port without carrier; 0 is none.
    std::optional<Interface> backupPort = {};
    /// Nexthop id of packets redirected to the backup port; 0 is none. Since Linux 6.5.
    std::optional<std::uint32_t> backupNhid = {};
    /// Maximum number of hosts for explicit host tracking.
    std::optional<std::uint32_t> mcastEhtHostsLimit = {};
    /// Number of tracked hosts. Read-only.
    std::optional<std::uint32_t> mcastEhtHostsCnt = {};
    /// Number of multicast groups. Read-only; since Linux 6.3.
    std::optional<std::uint32_t> mcastNGroups = {};
    /// Maximum number of multicast groups; 0 is no limit. Since Linux 6.3.
    std::optional<std::uint32_t> mcastMaxGroups = {};

    BridgePort &setState(PortState value) { state.emplace(value); return *this; }
    BridgePort &setPriority(Number<std::uint16_t> value) { priority.emplace(value.value); return *this; }
    BridgePort &setCost(Number<std::uint32_t> value) { cost.emplace(value.value); return *this; }
    BridgePort &setHairpin(Switch value) { hairpin.emplace(value.value); return *this; }
    BridgePort &setGuard(Switch value) { guard.emplace(value.value); return *this; }
    BridgePort &setRootBlock(Switch value) { rootBlock.emplace(value.value); return *this; }
    BridgePort &setFastleave(Switch value) { fastleave.emplace(value.value); return *this; }
    BridgePort &setLearning(Switch value) { learning.emplace(value.value); return *this; }
    BridgePort &setFlood(Switch value) { flood.emplace(value.value); return *this; }
    BridgePort &setFdbFlush(Switch value) { fdbFlush.emplace(value.value); return *this; }
    BridgePort &setProxyArp(Switch value) { proxyArp.emplace(value.value); return *this; }
    BridgePort &setProxyArpWifi(Switch value) { proxyArpWifi.emplace(value.value); return *this; }
    BridgePort &setMulticastRouter(Number<std::uint8_t> value) { multicastRouter.emplace(value.value); return *this; }
    BridgePort &setMcastFlood(Switch value) { mcastFlood.emplace(value.value); return *this; }
    BridgePort &setBcastFlood(Switch value) { bcastFlood.emplace(value.value); return *this; }
    BridgePort &setMcastToUnicast(Switch value) { mcastToUnicast.emplace(value.value); return *this; }
    BridgePort &setNeighSuppress(Switch value) { neighSuppress.emplace(value.value); return *this; }
    BridgePort &setNeighVlanSuppress(Switch value) { neighVlanSuppress.emplace(value.value); return *this; }
    BridgePort &setGroupFwdMask(Number<std::uint16_t> value) { groupFwdMask.emplace(value.value); return *this; }
    BridgePort &setVlanTunnel(Switch value) { vlanTunnel.emplace(value.value); return *this; }
    BridgePort &setIsolated(Switch value) { isolated.emplace(value.value); return *this; }
    BridgePort &setLocked(Switch value) { locked.emplace(value.value); return *this; }
    BridgePort &setMab(Switch value) { mab.emplace(value.value); return *this; }
    BridgePort &setBackupPort(Interface value) { backupPort.emplace(std::move(value)); return *this; }
    BridgePort &setBackupNhid(Number<std::uint32_t> value) { backupNhid.emplace(value.value); return *this; }
    BridgePort &setMcastEhtHostsLimit(Number<std::uint32_t> value) { mcastEhtHostsLimit.emplace(value.value); return *this; }
    BridgePort &setMcastMaxGroups(Number<std::uint32_t> value) { mcastMaxGroups.emplace(value.value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse.
    BridgePort settable() const
    {
        BridgePort copy = *this;
        copy.removeReadOnly();
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        id = {};
        no = {};
        designatedPort = {};
        designatedCost = {};
        bridgeId = {};
        rootId = {};
        holdTimer = {};
        messageAgeTimer = {};
        forwardDelayTimer = {};
        topologyChangeAck = {};
        configPending = {};
        mcastEhtHostsCnt = {};
        mcastNGroups = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x783132f6u, "state", self.state);
        visit(0x94e4e309u, "priority", self.priority);
        visit(0xe85c3338u, "cost", self.cost);
        visit(0xd8155858u, "hairpin", self.hairpin);
        visit(0x2bd1616eu, "guard", self.guard);
        visit(0xcdc002cbu, "rootBlock", self.rootBlock);
        visit(0x7776e6dau, "fastleave", self.fastleave);
        visit(0x33380b6bu, "learning", self.learning);
        visit(0xc2e71bdbu, "flood", self.flood);
        visit(0x37386ae0u, "id", self.id);
        visit(0x62366ffau, "no", self.no);
        visit(0xb1d2a217u, "designatedPort", self.designatedPort);
        visit(0x1a145b41u, "designatedCost", self.designatedCost);
        visit(0x02e742a8u, "bridgeId", self.bridgeId);
        visit(0xa35ca033u, "rootId", self.rootId);
        visit(0xbe646682u, "holdTimer", self.holdTimer);
        visit(0x626ab35au, "messageAgeTimer", self.messageAgeTimer);
        visit(0x1a838328u, "forwardDelayTimer", self.forwardDelayTimer);
        visit(0xb9a67c17u, "topologyChangeAck", self.topologyChangeAck);
        visit(0xbb26c3b3u, "configPending", self.configPending);
        visit(0x83cf16e6u, "fdbFlush", self.fdbFlush);
        visit(0x8581dcddu, "proxyArp", self.proxyArp);
        visit(0x55c3bbd3u, "proxyArpWifi", self.proxyArpWifi);
        visit(0x9714dd0bu, "multicastRouter", self.multicastRouter);
        visit(0x334bd754u, "mcastFlood", self.mcastFlood);
        visit(0x93018f99u, "bcastFlood", self.bcastFlood);
        visit(0x15b1a32fu, "mcastToUnicast", self.mcastToUnicast);
        visit(0x7c807eeeu, "neighSuppress", self.neighSuppress);
        visit(0xd13adee2u, "neighVlanSuppress", self.neighVlanSuppress);
        visit(0xba520d57u, "groupFwdMask", self.groupFwdMask);
        visit(0x01f5138bu, "vlanTunnel", self.vlanTunnel);
        visit(0xce814e02u, "isolated", self.isolated);
        visit(0xce164093u, "locked", self.locked);
        visit(0xeda305bbu, "mab", self.mab);
        visit(0xaeff957bu, "backupPort", self.backupPort);
        visit(0xba4632fbu, "backupNhid", self.backupNhid);
        visit(0x9a14bccbu, "mcastEhtHostsLimit", self.mcastEhtHostsLimit);
        visit(0x3b3d190bu, "mcastEhtHostsCnt", self.mcastEhtHostsCnt);
        visit(0x8b542ed7u, "mcastNGroups", self.mcastNGroups);
        visit(0x31603473u, "mcastMaxGroups", self.mcastMaxGroups);
    }

    bool operator==(const BridgePort &) const = default;
};

/// What the kernel reports about a port of a VRF.
struct VrfPort {
    static constexpr const char *typeName = "VrfPort";
    static const FieldTable typeFields;

    /// The routing table. Read-only.
    std::optional<std::uint32_t> table = {};


    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse.
    VrfPort settable() const
    {
        VrfPort copy = *this;
        copy.removeReadOnly();
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        table = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x4a9c9bdfu, "table", self.table);
    }

    bool operator==(const VrfPort &) const = default;
};

enum class AddrGenMode : std::uint8_t {
    Eui64 = 0,
    None = 1,
    StableSecret = 2,
    Random = 3,
};

template <>
struct Names<AddrGenMode> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 4> values = {{{0u, "eui64"}, {1u, "none"}, {2u, "stable_secret"}, {3u, "random"}}};
};

/// 64-bit counters of a link since its creation. Read-only.
struct LinkStatistics {
    static constexpr const char *typeName = "LinkStatistics";
    static const FieldTable typeFields;

    /// Packets received.
    std::optional<std::uint64_t> rxPackets = {};
    /// Packets transmitted.
    std::optional<std::uint64_t> txPackets = {};
    /// Bytes received, in good packets.
    std::optional<std::uint64_t> rxBytes = {};
    /// Bytes transmitted, in good packets.
    std::optional<std::uint64_t> txBytes = {};
    /// Bad packets received.
    std::optional<std::uint64_t> rxErrors = {};
    /// Packets that could not be transmitted.
    std::optional<std::uint64_t> txErrors = {};
    /// Packets received and dropped by the host: no buffer or no protocol.
    std::optional<std::uint64_t> rxDropped = {};
    /// Packets dropped on transmit.
    std::optional<std::uint64_t> txDropped = {};
    /// Multicast packets received.
    std::optional<std::uint64_t> multicast = {};
    /// Collisions.
    std::optional<std::uint64_t> collisions = {};
    /// Packets of a bad length received.
    std::optional<std::uint64_t> rxLengthErrors = {};
    /// Overflows of the receiver.
    std::optional<std::uint64_t> rxOverErrors = {};
    /// Packets with a bad CRC received.
    std::optional<std::uint64_t> rxCrcErrors = {};
    /// Packets with a bad frame alignment received.
    std::optional<std::uint64_t> rxFrameErrors = {};
    /// Overflows of the receive FIFO.
    std::optional<std::uint64_t> rxFifoErrors = {};
    /// Packets the device dropped because the host had no buffer for them.
    std::optional<std::uint64_t> rxMissedErrors = {};
    /// Transmissions aborted.
    std::optional<std::uint64_t> txAbortedErrors = {};
    /// Transmissions without carrier.
    std::optional<std::uint64_t> txCarrierErrors = {};
    /// Underflows of the transmit FIFO.
    std::optional<std::uint64_t> txFifoErrors = {};
    /// Heartbeat errors of half-duplex Ethernet.
    std::optional<std::uint64_t> txHeartbeatErrors = {};
    /// Late collisions.
    std::optional<std::uint64_t> txWindowErrors = {};
    /// Compressed packets received.
    std::optional<std::uint64_t> rxCompressed = {};
    /// Compressed packets transmitted.
    std::optional<std::uint64_t> txCompressed = {};
    /// Packets received on an inactive link of a bond and dropped.
    std::optional<std::uint64_t> rxNohandler = {};
    /// Packets dropped because of another host's destination IP address. Since Linux 5.19.
    std::optional<std::uint64_t> rxOtherhostDropped = {};

    LinkStatistics &setRxPackets(Number<std::uint64_t> value) { rxPackets.emplace(value.value); return *this; }
    LinkStatistics &setTxPackets(Number<std::uint64_t> value) { txPackets.emplace(value.value); return *this; }
    LinkStatistics &setRxBytes(Number<std::uint64_t> value) { rxBytes.emplace(value.value); return *this; }
    LinkStatistics &setTxBytes(Number<std::uint64_t> value) { txBytes.emplace(value.value); return *this; }
    LinkStatistics &setRxErrors(Number<std::uint64_t> value) { rxErrors.emplace(value.value); return *this; }
    LinkStatistics &setTxErrors(Number<std::uint64_t> value) { txErrors.emplace(value.value); return *this; }
    LinkStatistics &setRxDropped(Number<std::uint64_t> value) { rxDropped.emplace(value.value); return *this; }
    LinkStatistics &setTxDropped(Number<std::uint64_t> value) { txDropped.emplace(value.value); return *this; }
    LinkStatistics &setMulticast(Number<std::uint64_t> value) { multicast.emplace(value.value); return *this; }
    LinkStatistics &setCollisions(Number<std::uint64_t> value) { collisions.emplace(value.value); return *this; }
    LinkStatistics &setRxLengthErrors(Number<std::uint64_t> value) { rxLengthErrors.emplace(value.value); return *this; }
    LinkStatistics &setRxOverErrors(Number<std::uint64_t> value) { rxOverErrors.emplace(value.value); return *this; }
    LinkStatistics &setRxCrcErrors(Number<std::uint64_t> value) { rxCrcErrors.emplace(value.value); return *this; }
    LinkStatistics &setRxFrameErrors(Number<std::uint64_t> value) { rxFrameErrors.emplace(value.value); return *this; }
    LinkStatistics &setRxFifoErrors(Number<std::uint64_t> value) { rxFifoErrors.emplace(value.value); return *this; }
    LinkStatistics &setRxMissedErrors(Number<std::uint64_t> value) { rxMissedErrors.emplace(value.value); return *this; }
    LinkStatistics &setTxAbortedErrors(Number<std::uint64_t> value) { txAbortedErrors.emplace(value.value); return *this; }
    LinkStatistics &setTxCarrierErrors(Number<std::uint64_t> value) { txCarrierErrors.emplace(value.value); return *this; }
    LinkStatistics &setTxFifoErrors(Number<std::uint64_t> value) { txFifoErrors.emplace(value.value); return *this; }
    LinkStatistics &setTxHeartbeatErrors(Number<std::uint64_t> value) { txHeartbeatErrors.emplace(value.value); return *this; }
    LinkStatistics &setTxWindowErrors(Number<std::uint64_t> value) { txWindowErrors.emplace(value.value); return *this; }
    LinkStatistics &setRxCompressed(Number<std::uint64_t> value) { rxCompressed.emplace(value.value); return *this; }
    LinkStatistics &setTxCompressed(Number<std::uint64_t> value) { txCompressed.emplace(value.value); return *this; }
    LinkStatistics &setRxNohandler(Number<std::uint64_t> value) { rxNohandler.emplace(value.value); return *this; }
    LinkStatistics &setRxOtherhostDropped(Number<std::uint64_t> value) { rxOtherhostDropped.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xb355a9a9u, "rxPackets", self.rxPackets);
        visit(0x046c78e3u, "txPackets", self.txPackets);
        visit(0xdc9a0e43u, "rxBytes", self.rxBytes);
        visit(0x55b6bcb9u, "txBytes", self.txBytes);
        visit(0xdfabd757u, "rxErrors", self.rxErrors);
        visit(0x0d981abdu, "txErrors", self.txErrors);
        visit(0xfeb4ae1eu, "rxDropped", self.rxDropped);
        visit(0x9adb2624u, "txDropped", self.txDropped);
        visit(0x1010cf81u, "multicast", self.multicast);
        visit(0xaa1c4db4u, "collisions", self.collisions);
        visit(0x1fd58e42u, "rxLengthErrors", self.rxLengthErrors);
        visit(0x09a1843cu, "rxOverErrors", self.rxOverErrors);
        visit(0xd4fd56b8u, "rxCrcErrors", self.rxCrcErrors);
        visit(0xa55df691u, "rxFrameErrors", self.rxFrameErrors);
        visit(0x9ac68fc0u, "rxFifoErrors", self.rxFifoErrors);
        visit(0x22a78f5du, "rxMissedErrors", self.rxMissedErrors);
        visit(0xa8380659u, "txAbortedErrors", self.txAbortedErrors);
        visit(0xd7c782d4u, "txCarrierErrors", self.txCarrierErrors);
        visit(0x42307832u, "txFifoErrors", self.txFifoErrors);
        visit(0x61883000u, "txHeartbeatErrors", self.txHeartbeatErrors);
        visit(0x2be79300u, "txWindowErrors", self.txWindowErrors);
        visit(0xbc122005u, "rxCompressed", self.rxCompressed);
        visit(0x7902b22bu, "txCompressed", self.txCompressed);
        visit(0x08993111u, "rxNohandler", self.rxNohandler);
        visit(0x7f5a9689u, "rxOtherhostDropped", self.rxOtherhostDropped);
    }

    bool operator==(const LinkStatistics &) const = default;
};

/// A network interface: the desired state, or the state that the kernel reported.
///
/// Fields that are not given or not reported are empty. Requests identify the link by `index` or, without
/// one, by `name`.
struct LinkInfo {
    static constexpr const char *typeName = "LinkInfo";
    static const FieldTable typeFields;

    /// Its index.
    std::optional<Interface> index = {};
    /// Hardware type (`ARPHRD_*`): 1 Ethernet, 772 loopback. Read-only.
    std::optional<std::uint16_t> hardware = {};
    /// All its flags. Read-only; those that can be set have a field each.
    std::optional<std::uint32_t> flags = {};
    /// Whether it is administratively up.
    std::optional<bool> admin = {};
    /// Whether it resolves neighbours (ARP, neighbour discovery).
    std::optional<bool> arp = {};
    /// Whether it carries multicast.
    std::optional<bool> multicast = {};
    /// Whether it receives all multicast.
    std::optional<bool> allmulticast = {};
    /// Whether an administrator made it promiscuous; captures count in `promiscuity`.
    std::optional<bool> promisc = {};
    /// Whether it loses its addresses when it goes down; a hint for programs.
    std::optional<bool> dynamic = {};
    std::optional<std::string> name = {};
    std::optional<MacAddress> address = {};
    /// The broadcast hardware address; for a tunnel the remote address.
    std::optional<MacAddress> broadcast = {};
    /// The hardware address of the device itself. Read-only.
    std::optional<MacAddress> permanentAddress = {};
    /// Bytes of the longest packet, without the link-layer header.
    std::optional<std::uint32_t> mtu = {};
    /// Minimum MTU. Read-only.
    std::optional<std::uint32_t> minMtu = {};
    /// Maximum MTU; 0 is no limit. Read-only.
    std::optional<std::uint32_t> maxMtu = {};
    /// The lower link, or the peer of a veth. It may be in another namespace.
    std::optional<Interface> lower = {};
    /// The id of the namespace of the lower link.
    std::optional<std::int32_t> lowerNamespace = {};
    /// Its bridge, bond or VRF; 0 removes it from its master.
    std::optional<Interface> master = {};
    /// Name of its queueing discipline. Read-only.
    std::optional<std::string> qdisc = {};
    /// Length of the transmit queue in packets.
    std::optional<std::uint32_t> txqlen = {};
    /// Its operational state.
    std::optional<OperState> state = {};
    /// How the operational state follows the carrier: 0 automatically, 1 under control of a program.
    std::optional<std::uint8_t> linkmode = {};
    /// Its kind, as in `ip link add … type TYPE`.
    std::optional<std::string> type = {};
    /// The kind of its master.
    std::optional<std::string> portType = {};
    /// Packets of layer 3 over UDP, without a header between them: MPLS over UDP (RFC 7510), or IP.
    ///
    /// Equals `ip link add NAME type bareudp dstport PORT ethertype PROTOCOL`.
    Boxed<Bareudp> bareudp = {};
    /// A bond of several links.
    ///
    /// Equals `ip link add NAME type bond mode active-backup miimon 100 …`.
    Boxed<Bond> bond = {};
    /// A software switch.
    ///
    /// Equals `ip link add NAME type bridge [vlan_filtering on] …`.
    Boxed<Bridge> bridge = {};
    /// Ethernet over UDP with options (RFC 8926).
    ///
    /// Equals `ip link add NAME type geneve id VNI remote ADDRESS …`.
    Boxed<Geneve> geneve = {};
    /// Generic routing encapsulation over IPv4 (RFC 2784, RFC 2890): of IP packets as `gre`, of Ethernet frames
    /// as `gretap`.
    ///
    /// Equals `ip link add NAME type gre remote ADDRESS local ADDRESS key 5 …`.
    Boxed<Gre> gre = {};
    /// Generic routing encapsulation over IPv6: of IP packets as `ip6gre`, of Ethernet frames as `ip6gretap`.
    ///
    /// Equals `ip link add NAME type ip6gre remote ADDRESS local ADDRESS key 5 …`.
    Boxed<Ip6Gre> ip6Gre = {};
    /// IPv4 or IPv6 in IPv6 (RFC 2473).
    ///
    /// Equals `ip link add NAME type ip6tnl mode any remote ADDRESS local ADDRESS …`.
    Boxed<Ip6Tnl> ip6Tnl = {};
    /// IP in IPv4 (RFC 2003).
    ///
    /// Equals `ip link add NAME type ipip remote ADDRESS local ADDRESS …`.
    Boxed<Ipip> ipip = {};
    /// A link with its own IP addresses and the hardware address of its lower link.
    ///
    /// Equals `ip link add NAME link LOWER type ipvlan mode l3 private` or `… type ipvtap …`.
    Boxed<Ipvlan> ipvlan = {};
    /// A link with its own hardware address on a lower link.
    ///
    /// Equals `ip link add NAME link LOWER type macvlan mode bridge` or `… type macvtap …`.
    Boxed<Macvlan> macvlan = {};
    /// One end of a pair with eBPF programs. Since Linux 6.7.
    ///
    /// Equals `ip link add NAME type netkit [mode l3] [forward] [peer [blackhole] name PEER]`.
    Boxed<Netkit> netkit = {};
    /// IPv6 in IPv4 (RFC 4213), 6rd (RFC 5969) and ISATAP (RFC 5214).
    ///
    /// Equals `ip link add NAME type sit remote ADDRESS local ADDRESS …`.
    Boxed<Sit> sit = {};
    /// A tun or tap device: a program reads and writes its packets.
    ///
    /// Equals `ip tuntap add NAME mode tap user 5 vnet_hdr`. `add` creates it
    /// through `/dev/net/tun` and sets the other fields of the link by netlink. It is persistent.
    Boxed<Tun> tun = {};
    /// One end of a virtual Ethernet pair: packets sent to one end arrive at the other.
    ///
    /// Equals `ip link add NAME type veth peer name PEER`.
    Boxed<Veth> veth = {};
    /// A VLAN of a lower link.
    ///
    /// Equals `ip link add NAME link LOWER type vlan id ID [protocol PROTOCOL] [gvrp on] …`.
    Boxed<Vlan> vlan = {};
    /// A routing domain of its own.
    ///
    /// Equals `ip link add NAME type vrf table TABLE`.
    Boxed<Vrf> vrf = {};
    /// Ethernet over UDP (RFC 7348).
    ///
    /// Equals `ip link add NAME type vxlan id VNI remote ADDRESS dstport 4789 …`.
    Boxed<Vxlan> vxlan = {};
    /// An interface for IPsec: its packets are transformed by the policies and states with its ID.
    ///
    /// Equals `ip link add NAME type xfrm if_id ID [dev LINK]`.
    Boxed<Xfrm> xfrm = {};
    /// Settings of a bond port.
    ///
    /// Equals `ip link set NAME type bond_slave queue_id 1 prio 10`.
    Boxed<BondPort> bondPort = {};
    /// Settings of a bridge port.
    ///
    /// Equals `ip link set NAME type bridge_slave learning off …` and `bridge link set dev NAME learning off …`.
    Boxed<BridgePort> bridgePort = {};
    /// What the kernel reports about a port of a VRF.
    Boxed<VrfPort> vrfPort = {};
    /// How it generates its addresses.
    std::optional<AddrGenMode> inet6AddrGenMode = {};
    /// Its group. Groups can be changed or deleted at once.
    std::optional<std::uint32_t> group = {};
    /// A description.
    std::optional<std::string> alias = {};
    /// Its alternative names, which may be longer.
    std::optional<std::vector<std::string>> alternativeNames = {};
    /// How many users made it promiscuous, captures included. Read-only: `promisc` is the administrator's.
    std::optional<std::uint32_t> promiscuity = {};
    /// How many users made it receive all multicast. Read-only; since Linux 6.0.
    std::optional<std::uint32_t> allmulti = {};
    std::optional<std::uint32_t> txQueueCount = {};
    std::optional<std::uint32_t> rxQueueCount = {};
    /// Whether it has a carrier; settable for some kinds.
    std::optional<bool> carrier = {};
    /// Number of carrier changes. Read-only.
    std::optional<std::uint32_t> carrierChanges = {};
    /// Whether a protocol keeps it down.
    std::optional<bool> protodown = {};
    /// Maximum segments of a GSO packet.
    std::optional<std::uint32_t> gsoMaxSegs = {};
    /// Maximum size of a GSO packet in bytes.
    std::optional<std::uint32_t> gsoMaxSize = {};
    /// Maximum size of a GRO packet in bytes.
    std::optional<std::uint32_t> groMaxSize = {};
    /// Maximum size of a packet for hardware segmentation in bytes. Read-only; since Linux 5.19.
    std::optional<std::uint32_t> tsoMaxSize = {};
    /// Maximum segments of a packet for hardware segmentation. Read-only; since Linux 5.19.
    std::optional<std::uint32_t> tsoMaxSegs = {};
    /// Its parent device (`0000:03:00.0`).
    std::optional<std::string> parentDevice = {};
    /// The bus of the parent device. Read-only.
    std::optional<std::string> parentBus = {};
    /// The network namespace to create it in or move it to. Never reported.
    std::optional<std::string> netns = {};
    /// A process whose network namespace to create it in or move it to. Write-only.
    std::optional<std::uint32_t> namespacePid = {};
    /// Its counters. Read-only.
    Boxed<LinkStatistics> statistics = {};

    LinkInfo &setIndex(Interface value) { index.emplace(std::move(value)); return *this; }
    LinkInfo &setAdmin(Switch value) { admin.emplace(value.value); return *this; }
    LinkInfo &setArp(Switch value) { arp.emplace(value.value); return *this; }
    LinkInfo &setMulticast(Switch value) { multicast.emplace(value.value); return *this; }
    LinkInfo &setAllmulticast(Switch value) { allmulticast.emplace(value.value); return *this; }
    LinkInfo &setPromisc(Switch value) { promisc.emplace(value.value); return *this; }
    LinkInfo &setDynamic(Switch value) { dynamic.emplace(value.value); return *this; }
    LinkInfo &setName(Text value) { name.emplace(std::move(value.value)); return *this; }
    LinkInfo &setAddress(MacAddress value) { address.emplace(value); return *this; }
    LinkInfo &setBroadcast(MacAddress value) { broadcast.emplace(value); return *this; }
    LinkInfo &setMtu(Number<std::uint32_t> value) { mtu.emplace(value.value); return *this; }
    LinkInfo &setLower(Interface value) { lower.emplace(std::move(value)); return *this; }
    LinkInfo &setLowerNamespace(Number<std::int32_t> value) { lowerNamespace.emplace(value.value); return *this; }
    LinkInfo &setMaster(Interface value) { master.emplace(std::move(value)); return *this; }
    LinkInfo &setTxqlen(Number<std::uint32_t> value) { txqlen.emplace(value.value); return *this; }
    LinkInfo &setState(OperState value) { state.emplace(value); return *this; }
    LinkInfo &setLinkmode(Number<std::uint8_t> value) { linkmode.emplace(value.value); return *this; }
    LinkInfo &setType(Text value) { type.emplace(std::move(value.value)); return *this; }
    LinkInfo &setPortType(Text value) { portType.emplace(std::move(value.value)); return *this; }
    LinkInfo &setBareudp(Boxed<Bareudp> value) { bareudp = std::move(value); return *this; }
    LinkInfo &setBareudpDstport(Number<std::uint16_t> value) { settings(bareudp, type, "bareudp").dstport.emplace(value.value); return *this; }
    LinkInfo &setBareudpEthertype(BareudpProtocol value) { settings(bareudp, type, "bareudp").ethertype.emplace(value); return *this; }
    LinkInfo &setBareudpSrcportmin(Number<std::uint16_t> value) { settings(bareudp, type, "bareudp").srcportmin.emplace(value.value); return *this; }
    LinkInfo &setBareudpMultiproto(Switch value) { settings(bareudp, type, "bareudp").multiproto.emplace(value.value); return *this; }
    LinkInfo &setBond(Boxed<Bond> value) { bond = std::move(value); return *this; }
    LinkInfo &setBondMode(BondMode value) { settings(bond, type, "bond").mode.emplace(value); return *this; }
    LinkInfo &setBondActiveSlave(Interface value) { settings(bond, type, "bond").activeSlave.emplace(std::move(value)); return *this; }
    LinkInfo &setBondMiimon(Duration<std::uint32_t, std::milli> value) { settings(bond, type, "bond").miimon.emplace(value); return *this; }
    LinkInfo &setBondUpdelay(Duration<std::uint32_t, std::milli> value) { settings(bond, type, "bond").updelay.emplace(value); return *this; }
    LinkInfo &setBondDowndelay(Duration<std::uint32_t, std::milli> value) { settings(bond, type, "bond").downdelay.emplace(value); return *this; }
    LinkInfo &setBondPeerNotifyDelay(Duration<std::uint32_t, std::milli> value) { settings(bond, type, "bond").peerNotifyDelay.emplace(value); return *this; }
    LinkInfo &setBondUseCarrier(Switch value) { settings(bond, type, "bond").useCarrier.emplace(value.value); return *this; }
    LinkInfo &setBondArpInterval(Duration<std::uint32_t, std::milli> value) { settings(bond, type, "bond").arpInterval.emplace(value); return *this; }
    LinkInfo &setBondArpIpTarget(std::vector<IpAddress> value) { settings(bond, type, "bond").arpIpTarget.emplace(std::move(value)); return *this; }
    LinkInfo &setBondNsIp6Target(std::vector<IpAddress> value) { settings(bond, type, "bond").nsIp6Target.emplace(std::move(value)); return *this; }
    LinkInfo &setBondArpValidate(ArpValidate value) { settings(bond, type, "bond").arpValidate.emplace(value); return *this; }
    LinkInfo &setBondArpAllTargets(ArpAllTargets value) { settings(bond, type, "bond").arpAllTargets.emplace(value); return *this; }
    LinkInfo &setBondArpMissedMax(Number<std::uint8_t> value) { settings(bond, type, "bond").arpMissedMax.emplace(value.value); return *this; }
    LinkInfo &setBondPrimary(Interface value) { settings(bond, type, "bond").primary.emplace(std::move(value)); return *this; }
    LinkInfo &setBondPrimaryReselect(PrimaryReselect value) { settings(bond, type, "bond").primaryReselect.emplace(value); return *this; }
    LinkInfo &setBondFailOverMac(FailOverMac value) { settings(bond, type, "bond").failOverMac.emplace(value); return *this; }
    LinkInfo &setBondXmitHashPolicy(XmitHashPolicy value) { settings(bond, type, "bond").xmitHashPolicy.emplace(value); return *this; }
    LinkInfo &setBondResendIgmp(Number<std::uint32_t> value) { settings(bond, type, "bond").resendIgmp.emplace(value.value); return *this; }
    LinkInfo &setBondNumPeerNotif(Number<std::uint8_t> value) { settings(bond, type, "bond").numPeerNotif.emplace(value.value); return *this; }
    LinkInfo &setBondAllSlavesActive(Number<std::uint8_t> value) { settings(bond, type, "bond").allSlavesActive.emplace(value.value); return *this; }
    LinkInfo &setBondMinLinks(Number<std::uint32_t> value) { settings(bond, type, "bond").minLinks.emplace(value.value); return *this; }
    LinkInfo &setBondLpInterval(Duration<std::uint32_t> value) { settings(bond, type, "bond").lpInterval.emplace(value); return *this; }
    LinkInfo &setBondPacketsPerSlave(Number<std::uint32_t> value) { settings(bond, type, "bond").packetsPerSlave.emplace(value.value); return *this; }
    LinkInfo &setBondAdLacpActive(Switch value) { settings(bond, type, "bond").adLacpActive.emplace(value.value); return *this; }
    LinkInfo &setBondAdLacpRate(LacpRate value) { settings(bond, type, "bond").adLacpRate.emplace(value); return *this; }
    LinkInfo &setBondAdSelect(AdSelect value) { settings(bond, type, "bond").adSelect.emplace(value); return *this; }
    LinkInfo &setBondAdActorSysPrio(Number<std::uint16_t> value) { settings(bond, type, "bond").adActorSysPrio.emplace(value.value); return *this; }
    LinkInfo &setBondAdUserPortKey(Number<std::uint16_t> value) { settings(bond, type, "bond").adUserPortKey.emplace(value.value); return *this; }
    LinkInfo &setBondAdActorSystem(MacAddress value) { settings(bond, type, "bond").adActorSystem.emplace(value); return *this; }
    LinkInfo &setBondTlbDynamicLb(Switch value) { settings(bond, type, "bond").tlbDynamicLb.emplace(value.value); return *this; }
    LinkInfo &setBondCoupledControl(Switch value) { settings(bond, type, "bond").coupledControl.emplace(value.value); return *this; }
    LinkInfo &setBondBroadcastNeighbor(Switch value) { settings(bond, type, "bond").broadcastNeighbor.emplace(value.value); return *this; }
    LinkInfo &setBridge(Boxed<Bridge> value) { bridge = std::move(value); return *this; }
    LinkInfo &setBridgeForwardDelay(Duration<std::uint32_t, std::centi> value) { settings(bridge, type, "bridge").forwardDelay.emplace(value); return *this; }
    LinkInfo &setBridgeHelloTime(Duration<std::uint32_t, std::centi> value) { settings(bridge, type, "bridge").helloTime.emplace(value); return *this; }
    LinkInfo &setBridgeMaxAge(Duration<std::uint32_t, std::centi> value) { settings(bridge, type, "bridge").maxAge.emplace(value); return *this; }
    LinkInfo &setBridgeAgeingTime(Duration<std::uint32_t, std::centi> value) { settings(bridge, type, "bridge").ageingTime.emplace(value); return *this; }
    LinkInfo &setBridgeStpState(Number<std::uint32_t> value) { settings(bridge, type, "bridge").stpState.emplace(value.value); return *this; }
    LinkInfo &setBridgePriority(Number<std::uint16_t> value) { settings(bridge, type, "bridge").priority.emplace(value.value); return *this; }
    LinkInfo &setBridgeVlanFiltering(Switch value) { settings(bridge, type, "bridge").vlanFiltering.emplace(value.value); return *this; }
    LinkInfo &setBridgeVlanProtocol(VlanProtocol value) { settings(bridge, type, "bridge").vlanProtocol.emplace(value); return *this; }
    LinkInfo &setBridgeVlanDefaultPvid(Number<std::uint16_t> value) { settings(bridge, type, "bridge").vlanDefaultPvid.emplace(value.value); return *this; }
    LinkInfo &setBridgeVlanStatsEnabled(Switch value) { settings(bridge, type, "bridge").vlanStatsEnabled.emplace(value.value); return *this; }
    LinkInfo &setBridgeVlanStatsPerPort(Switch value) { settings(bridge, type, "bridge").vlanStatsPerPort.emplace(value.value); return *this; }
    LinkInfo &setBridgeGroupFwdMask(Number<std::uint16_t> value) { settings(bridge, type, "bridge").groupFwdMask.emplace(value.value); return *this; }
    LinkInfo &setBridgeGroupAddr(MacAddress value) { settings(bridge, type, "bridge").groupAddr.emplace(value); return *this; }
    LinkInfo &setBridgeFdbFlush(Switch value) { settings(bridge, type, "bridge").fdbFlush.emplace(value.value); return *this; }
    LinkInfo &setBridgeNoLinklocalLearn(Switch value) { settings(bridge, type, "bridge").noLinklocalLearn.emplace(value.value); return *this; }
    LinkInfo &setBridgeMcastVlanSnooping(Switch value) { settings(bridge, type, "bridge").mcastVlanSnooping.emplace(value.value); return *this; }
    LinkInfo &setBridgeMstEnabled(Switch value) { settings(bridge, type, "bridge").mstEnabled.emplace(value.value); return *this; }
    LinkInfo &setBridgeFdbMaxLearned(Number<std::uint32_t> value) { settings(bridge, type, "bridge").fdbMaxLearned.emplace(value.value); return *this; }
    LinkInfo &setBridgeMcastRouter(Number<std::uint8_t> value) { settings(bridge, type, "bridge").mcastRouter.emplace(value.value); return *this; }
    LinkInfo &setBridgeMcastSnooping(Switch value) { settings(bridge, type, "bridge").mcastSnooping.emplace(value.value); return *this; }
    LinkInfo &setBridgeMcastQueryUseIfaddr(Switch value) { settings(bridge, type, "bridge").mcastQueryUseIfaddr.emplace(value.value); return *this; }
    LinkInfo &setBridgeMcastQuerier(Switch value) { settings(bridge, type, "bridge").mcastQuerier.emplace(value.value); return *this; }
    LinkInfo &setBridgeMcastHashElasticity(Number<std::uint32_t> value) { settings(bridge, type, "bridge").mcastHashElasticity.emplace(value.value); return *this; }
    LinkInfo &setBridgeMcastHashMax(Number<std::uint32_t> value) { settings(bridge, type, "bridge").mcastHashMax.emplace(value.value); return *this; }
    LinkInfo &setBridgeMcastLastMemberCnt(Number<std::uint32_t> value) { settings(bridge, type, "bridge").mcastLastMemberCnt.emplace(value.value); return *this; }
    LinkInfo &setBridgeMcastStartupQueryCnt(Number<std::uint32_t> value) { settings(bridge, type, "bridge").mcastStartupQueryCnt.emplace(value.value); return *this; }
    LinkInfo &setBridgeMcastLastMemberIntvl(Duration<std::uint64_t, std::centi> value) { settings(bridge, type, "bridge").mcastLastMemberIntvl.emplace(value); return *this; }
    LinkInfo &setBridgeMcastMembershipIntvl(Duration<std::uint64_t, std::centi> value) { settings(bridge, type, "bridge").mcastMembershipIntvl.emplace(value); return *this; }
    LinkInfo &setBridgeMcastQuerierIntvl(Duration<std::uint64_t, std::centi> value) { settings(bridge, type, "bridge").mcastQuerierIntvl.emplace(value); return *this; }
    LinkInfo &setBridgeMcastQueryIntvl(Duration<std::uint64_t, std::centi> value) { settings(bridge, type, "bridge").mcastQueryIntvl.emplace(value); return *this; }
    LinkInfo &setBridgeMcastQueryResponseIntvl(Duration<std::uint64_t, std::centi> value) { settings(bridge, type, "bridge").mcastQueryResponseIntvl.emplace(value); return *this; }
    LinkInfo &setBridgeMcastStartupQueryIntvl(Duration<std::uint64_t, std::centi> value) { settings(bridge, type, "bridge").mcastStartupQueryIntvl.emplace(value); return *this; }
    LinkInfo &setBridgeMcastStatsEnabled(Switch value) { settings(bridge, type, "bridge").mcastStatsEnabled.emplace(value.value); return *this; }
    LinkInfo &setBridgeMcastIgmpVersion(Number<std::uint8_t> value) { settings(bridge, type, "bridge").mcastIgmpVersion.emplace(value.value); return *this; }
    LinkInfo &setBridgeMcastMldVersion(Number<std::uint8_t> value) { settings(bridge, type, "bridge").mcastMldVersion.emplace(value.value); return *this; }
    LinkInfo &setBridgeNfCallIptables(Switch value) { settings(bridge, type, "bridge").nfCallIptables.emplace(value.value); return *this; }
    LinkInfo &setBridgeNfCallIp6tables(Switch value) { settings(bridge, type, "bridge").nfCallIp6tables.emplace(value.value); return *this; }
    LinkInfo &setBridgeNfCallArptables(Switch value) { settings(bridge, type, "bridge").nfCallArptables.emplace(value.value); return *this; }
    LinkInfo &setGeneve(Boxed<Geneve> value) { geneve = std::move(value); return *this; }
    LinkInfo &setGeneveId(Number<std::uint32_t> value) { settings(geneve, type, "geneve").id.emplace(value.value); return *this; }
    LinkInfo &setGeneveRemote(IpAddress value) { settings(geneve, type, "geneve").remote.emplace(value); return *this; }
    LinkInfo &setGeneveRemote6(IpAddress value) { settings(geneve, type, "geneve").remote6.emplace(value); return *this; }
    LinkInfo &setGeneveTtl(Number<std::uint8_t> value) { settings(geneve, type, "geneve").ttl.emplace(value.value); return *this; }
    LinkInfo &setGeneveTtlInherit(Switch value) { settings(geneve, type, "geneve").ttlInherit.emplace(value.value); return *this; }
    LinkInfo &setGeneveTos(Number<std::uint8_t> value) { settings(geneve, type, "geneve").tos.emplace(value.value); return *this; }
    LinkInfo &setGeneveDf(DontFragment value) { settings(geneve, type, "geneve").df.emplace(value); return *this; }
    LinkInfo &setGeneveLabel(Number<std::uint32_t> value) { settings(geneve, type, "geneve").label.emplace(value.value); return *this; }
    LinkInfo &setGenevePort(Number<std::uint16_t> value) { settings(geneve, type, "geneve").port.emplace(value.value); return *this; }
    LinkInfo &setGenevePortRange(Text value) { settings(geneve, type, "geneve").portRange.emplace(std::move(value.value)); return *this; }
    LinkInfo &setGeneveExternal(Switch value) { settings(geneve, type, "geneve").external.emplace(value.value); return *this; }
    LinkInfo &setGeneveUdpCsum(Switch value) { settings(geneve, type, "geneve").udpCsum.emplace(value.value); return *this; }
    LinkInfo &setGeneveUdpZeroCsum6Tx(Switch value) { settings(geneve, type, "geneve").udpZeroCsum6Tx.emplace(value.value); return *this; }
    LinkInfo &setGeneveUdpZeroCsum6Rx(Switch value) { settings(geneve, type, "geneve").udpZeroCsum6Rx.emplace(value.value); return *this; }
    LinkInfo &setGeneveInnerProtoInherit(Switch value) { settings(geneve, type, "geneve").innerProtoInherit.emplace(value.value); return *this; }
    LinkInfo &setGre(Boxed<Gre> value) { gre = std::move(value); return *this; }
    LinkInfo &setGreRemote(IpAddress value) { settings(gre, type, "gre").remote.emplace(value); return *this; }
    LinkInfo &setGreLocal(IpAddress value) { settings(gre, type, "gre").local.emplace(value); return *this; }
    LinkInfo &setGreLink(Interface value) { settings(gre, type, "gre").link.emplace(std::move(value)); return *this; }
    LinkInfo &setGreTtl(Number<std::uint8_t> value) { settings(gre, type, "gre").ttl.emplace(value.value); return *this; }
    LinkInfo &setGreTos(Number<std::uint8_t> value) { settings(gre, type, "gre").tos.emplace(value.value); return *this; }
    LinkInfo &setGrePmtudisc(Switch value) { settings(gre, type, "gre").pmtudisc.emplace(value.value); return *this; }
    LinkInfo &setGreIgnoreDf(Switch value) { settings(gre, type, "gre").ignoreDf.emplace(value.value); return *this; }
    LinkInfo &setGreIkeyed(Switch value) { settings(gre, type, "gre").ikeyed.emplace(value.value); return *this; }
    LinkInfo &setGreIseq(Switch value) { settings(gre, type, "gre").iseq.emplace(value.value); return *this; }
    LinkInfo &setGreIcsum(Switch value) { settings(gre, type, "gre").icsum.emplace(value.value); return *this; }
    LinkInfo &setGreOkeyed(Switch value) { settings(gre, type, "gre").okeyed.emplace(value.value); return *this; }
    LinkInfo &setGreOseq(Switch value) { settings(gre, type, "gre").oseq.emplace(value.value); return *this; }
    LinkInfo &setGreOcsum(Switch value) { settings(gre, type, "gre").ocsum.emplace(value.value); return *this; }
    LinkInfo &setGreIkey(Number<std::uint32_t> value) { settings(gre, type, "gre").ikey.emplace(value.value); return *this; }
    LinkInfo &setGreOkey(Number<std::uint32_t> value) { settings(gre, type, "gre").okey.emplace(value.value); return *this; }
    LinkInfo &setGreExternal(Switch value) { settings(gre, type, "gre").external.emplace(value.value); return *this; }
    LinkInfo &setGreEncap(TunnelEncap value) { settings(gre, type, "gre").encap.emplace(value); return *this; }
    LinkInfo &setGreCsum(Switch value) { settings(gre, type, "gre").csum.emplace(value.value); return *this; }
    LinkInfo &setGreCsum6(Switch value) { settings(gre, type, "gre").csum6.emplace(value.value); return *this; }
    LinkInfo &setGreRemcsum(Switch value) { settings(gre, type, "gre").remcsum.emplace(value.value); return *this; }
    LinkInfo &setGreEncapSport(Number<std::uint16_t> value) { settings(gre, type, "gre").encapSport.emplace(value.value); return *this; }
    LinkInfo &setGreEncapDport(Number<std::uint16_t> value) { settings(gre, type, "gre").encapDport.emplace(value.value); return *this; }
    LinkInfo &setGreFwmark(Number<std::uint32_t> value) { settings(gre, type, "gre").fwmark.emplace(value.value); return *this; }
    LinkInfo &setIp6Gre(Boxed<Ip6Gre> value) { ip6Gre = std::move(value); return *this; }
    LinkInfo &setIp6GreRemote(IpAddress value) { settings(ip6Gre, type, "ip6gre").remote.emplace(value); return *this; }
    LinkInfo &setIp6GreLocal(IpAddress value) { settings(ip6Gre, type, "ip6gre").local.emplace(value); return *this; }
    LinkInfo &setIp6GreLink(Interface value) { settings(ip6Gre, type, "ip6gre").link.emplace(std::move(value)); return *this; }
    LinkInfo &setIp6GreTtl(Number<std::uint8_t> value) { settings(ip6Gre, type, "ip6gre").ttl.emplace(value.value); return *this; }
    LinkInfo &setIp6GreEncapLimit(Number<std::uint8_t> value) { settings(ip6Gre, type, "ip6gre").encapLimit.emplace(value.value); return *this; }
    LinkInfo &setIp6GreFlowinfo(Number<std::uint32_t> value) { settings(ip6Gre, type, "ip6gre").flowinfo.emplace(value.value); return *this; }
    LinkInfo &setIp6GreIgnoreEncapLimit(Switch value) { settings(ip6Gre, type, "ip6gre").ignoreEncapLimit.emplace(value.value); return *this; }
    LinkInfo &setIp6GreUseOrigTclass(Switch value) { settings(ip6Gre, type, "ip6gre").useOrigTclass.emplace(value.value); return *this; }
    LinkInfo &setIp6GreUseOrigFlowlabel(Switch value) { settings(ip6Gre, type, "ip6gre").useOrigFlowlabel.emplace(value.value); return *this; }
    LinkInfo &setIp6GreMip6(Switch value) { settings(ip6Gre, type, "ip6gre").mip6.emplace(value.value); return *this; }
    LinkInfo &setIp6GreRcvDscpCopy(Switch value) { settings(ip6Gre, type, "ip6gre").rcvDscpCopy.emplace(value.value); return *this; }
    LinkInfo &setIp6GreUseOrigFwmark(Switch value) { settings(ip6Gre, type, "ip6gre").useOrigFwmark.emplace(value.value); return *this; }
    LinkInfo &setIp6GreAllowLocalRemote(Switch value) { settings(ip6Gre, type, "ip6gre").allowLocalRemote.emplace(value.value); return *this; }
    LinkInfo &setIp6GreIkeyed(Switch value) { settings(ip6Gre, type, "ip6gre").ikeyed.emplace(value.value); return *this; }
    LinkInfo &setIp6GreIseq(Switch value) { settings(ip6Gre, type, "ip6gre").iseq.emplace(value.value); return *this; }
    LinkInfo &setIp6GreIcsum(Switch value) { settings(ip6Gre, type, "ip6gre").icsum.emplace(value.value); return *this; }
    LinkInfo &setIp6GreOkeyed(Switch value) { settings(ip6Gre, type, "ip6gre").okeyed.emplace(value.value); return *this; }
    LinkInfo &setIp6GreOseq(Switch value) { settings(ip6Gre, type, "ip6gre").oseq.emplace(value.value); return *this; }
    LinkInfo &setIp6GreOcsum(Switch value) { settings(ip6Gre, type, "ip6gre").ocsum.emplace(value.value); return *this; }
    LinkInfo &setIp6GreIkey(Number<std::uint32_t> value) { settings(ip6Gre, type, "ip6gre").ikey.emplace(value.value); return *this; }
    LinkInfo &setIp6GreOkey(Number<std::uint32_t> value) { settings(ip6Gre, type, "ip6gre").okey.emplace(value.value); return *this; }
    LinkInfo &setIp6GreExternal(Switch value) { settings(ip6Gre, type, "ip6gre").external.emplace(value.value); return *this; }
    LinkInfo &setIp6GreEncap(TunnelEncap value) { settings(ip6Gre, type, "ip6gre").encap.emplace(value); return *this; }
    LinkInfo &setIp6GreCsum(Switch value) { settings(ip6Gre, type, "ip6gre").csum.emplace(value.value); return *this; }
    LinkInfo &setIp6GreCsum6(Switch value) { settings(ip6Gre, type, "ip6gre").csum6.emplace(value.value); return *this; }
    LinkInfo &setIp6GreRemcsum(Switch value) { settings(ip6Gre, type, "ip6gre").remcsum.emplace(value.value); return *this; }
    LinkInfo &setIp6GreEncapSport(Number<std::uint16_t> value) { settings(ip6Gre, type, "ip6gre").encapSport.emplace(value.value); return *this; }
    LinkInfo &setIp6GreEncapDport(Number<std::uint16_t> value) { settings(ip6Gre, type, "ip6gre").encapDport.emplace(value.value); return *this; }
    LinkInfo &setIp6GreFwmark(Number<std::uint32_t> value) { settings(ip6Gre, type, "ip6gre").fwmark.emplace(value.value); return *this; }
    LinkInfo &setIp6Tnl(Boxed<Ip6Tnl> value) { ip6Tnl = std::move(value); return *this; }
    LinkInfo &setIp6TnlProto(Ip6TnlMode value) { settings(ip6Tnl, type, "ip6tnl").proto.emplace(value); return *this; }
    LinkInfo &setIp6TnlRemote(IpAddress value) { settings(ip6Tnl, type, "ip6tnl").remote.emplace(value); return *this; }
    LinkInfo &setIp6TnlLocal(IpAddress value) { settings(ip6Tnl, type, "ip6tnl").local.emplace(value); return *this; }
    LinkInfo &setIp6TnlLink(Interface value) { settings(ip6Tnl, type, "ip6tnl").link.emplace(std::move(value)); return *this; }
    LinkInfo &setIp6TnlTtl(Number<std::uint8_t> value) { settings(ip6Tnl, type, "ip6tnl").ttl.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlEncapLimit(Number<std::uint8_t> value) { settings(ip6Tnl, type, "ip6tnl").encapLimit.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlFlowinfo(Number<std::uint32_t> value) { settings(ip6Tnl, type, "ip6tnl").flowinfo.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlIgnoreEncapLimit(Switch value) { settings(ip6Tnl, type, "ip6tnl").ignoreEncapLimit.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlUseOrigTclass(Switch value) { settings(ip6Tnl, type, "ip6tnl").useOrigTclass.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlUseOrigFlowlabel(Switch value) { settings(ip6Tnl, type, "ip6tnl").useOrigFlowlabel.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlMip6(Switch value) { settings(ip6Tnl, type, "ip6tnl").mip6.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlRcvDscpCopy(Switch value) { settings(ip6Tnl, type, "ip6tnl").rcvDscpCopy.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlUseOrigFwmark(Switch value) { settings(ip6Tnl, type, "ip6tnl").useOrigFwmark.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlAllowLocalRemote(Switch value) { settings(ip6Tnl, type, "ip6tnl").allowLocalRemote.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlExternal(Switch value) { settings(ip6Tnl, type, "ip6tnl").external.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlEncap(TunnelEncap value) { settings(ip6Tnl, type, "ip6tnl").encap.emplace(value); return *this; }
    LinkInfo &setIp6TnlCsum(Switch value) { settings(ip6Tnl, type, "ip6tnl").csum.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlCsum6(Switch value) { settings(ip6Tnl, type, "ip6tnl").csum6.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlRemcsum(Switch value) { settings(ip6Tnl, type, "ip6tnl").remcsum.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlEncapSport(Number<std::uint16_t> value) { settings(ip6Tnl, type, "ip6tnl").encapSport.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlEncapDport(Number<std::uint16_t> value) { settings(ip6Tnl, type, "ip6tnl").encapDport.emplace(value.value); return *this; }
    LinkInfo &setIp6TnlFwmark(Number<std::uint32_t> value) { settings(ip6Tnl, type, "ip6tnl").fwmark.emplace(value.value); return *this; }
    LinkInfo &setIpip(Boxed<Ipip> value) { ipip = std::move(value); return *this; }
    LinkInfo &setIpipRemote(IpAddress value) { settings(ipip, type, "ipip").remote.emplace(value); return *this; }
    LinkInfo &setIpipLocal(IpAddress value) { settings(ipip, type, "ipip").local.emplace(value); return *this; }
    LinkInfo &setIpipLink(Interface value) { settings(ipip, type, "ipip").link.emplace(std::move(value)); return *this; }
    LinkInfo &setIpipTtl(Number<std::uint8_t> value) { settings(ipip, type, "ipip").ttl.emplace(value.value); return *this; }
    LinkInfo &setIpipTos(Number<std::uint8_t> value) { settings(ipip, type, "ipip").tos.emplace(value.value); return *this; }
    LinkInfo &setIpipPmtudisc(Switch value) { settings(ipip, type, "ipip").pmtudisc.emplace(value.value); return *this; }
    LinkInfo &setIpipProto(IpipMode value) { settings(ipip, type, "ipip").proto.emplace(value); return *this; }
    LinkInfo &setIpipExternal(Switch value) { settings(ipip, type, "ipip").external.emplace(value.value); return *this; }
    LinkInfo &setIpipEncap(TunnelEncap value) { settings(ipip, type, "ipip").encap.emplace(value); return *this; }
    LinkInfo &setIpipCsum(Switch value) { settings(ipip, type, "ipip").csum.emplace(value.value); return *this; }
    LinkInfo &setIpipCsum6(Switch value) { settings(ipip, type, "ipip").csum6.emplace(value.value); return *this; }
    LinkInfo &setIpipRemcsum(Switch value) { settings(ipip, type, "ipip").remcsum.emplace(value.value); return *this; }
    LinkInfo &setIpipEncapSport(Number<std::uint16_t> value) { settings(ipip, type, "ipip").encapSport.emplace(value.value); return *this; }
    LinkInfo &setIpipEncapDport(Number<std::uint16_t> value) { settings(ipip, type, "ipip").encapDport.emplace(value.value); return *this; }
    LinkInfo &setIpipFwmark(Number<std::uint32_t> value) { settings(ipip, type, "ipip").fwmark.emplace(value.value); return *this; }
    LinkInfo &setIpvlan(Boxed<Ipvlan> value) { ipvlan = std::move(value); return *this; }
    LinkInfo &setIpvlanMode(IpvlanMode value) { settings(ipvlan, type, "ipvlan").mode.emplace(value); return *this; }
    LinkInfo &setIpvlanFlags(IpvlanFlags value) { settings(ipvlan, type, "ipvlan").flags.emplace(value); return *this; }
    LinkInfo &setMacvlan(Boxed<Macvlan> value) { macvlan = std::move(value); return *this; }
    LinkInfo &setMacvlanMode(MacvlanMode value) { settings(macvlan, type, "macvlan").mode.emplace(value); return *this; }
    LinkInfo &setMacvlanNopromisc(Switch value) { settings(macvlan, type, "macvlan").nopromisc.emplace(value.value); return *this; }
    LinkInfo &setMacvlanNodst(Switch value) { settings(macvlan, type, "macvlan").nodst.emplace(value.value); return *this; }
    LinkInfo &setMacvlanMacaddrMode(MacAddrMode value) { settings(macvlan, type, "macvlan").macaddrMode.emplace(value); return *this; }
    LinkInfo &setMacvlanMacaddr(MacAddress value) { settings(macvlan, type, "macvlan").macaddr.emplace(value); return *this; }
    LinkInfo &setMacvlanMacaddrData(std::vector<MacAddress> value) { settings(macvlan, type, "macvlan").macaddrData.emplace(std::move(value)); return *this; }
    LinkInfo &setMacvlanBcqueuelen(Number<std::uint32_t> value) { settings(macvlan, type, "macvlan").bcqueuelen.emplace(value.value); return *this; }
    LinkInfo &setMacvlanBclim(Number<std::int32_t> value) { settings(macvlan, type, "macvlan").bclim.emplace(value.value); return *this; }
    LinkInfo &setNetkit(Boxed<Netkit> value) { netkit = std::move(value); return *this; }
    LinkInfo &setNetkitPeer(Boxed<LinkInfo> value) { settings(netkit, type, "netkit").peer = std::move(value); return *this; }
    LinkInfo &setNetkitMode(NetkitMode value) { settings(netkit, type, "netkit").mode.emplace(value); return *this; }
    LinkInfo &setNetkitPolicy(NetkitPolicy value) { settings(netkit, type, "netkit").policy.emplace(value); return *this; }
    LinkInfo &setNetkitPeerPolicy(NetkitPolicy value) { settings(netkit, type, "netkit").peerPolicy.emplace(value); return *this; }
    LinkInfo &setNetkitScrub(NetkitScrub value) { settings(netkit, type, "netkit").scrub.emplace(value); return *this; }
    LinkInfo &setNetkitPeerScrub(NetkitScrub value) { settings(netkit, type, "netkit").peerScrub.emplace(value); return *this; }
    LinkInfo &setNetkitHeadroom(Number<std::uint16_t> value) { settings(netkit, type, "netkit").headroom.emplace(value.value); return *this; }
    LinkInfo &setNetkitTailroom(Number<std::uint16_t> value) { settings(netkit, type, "netkit").tailroom.emplace(value.value); return *this; }
    LinkInfo &setSit(Boxed<Sit> value) { sit = std::move(value); return *this; }
    LinkInfo &setSitRemote(IpAddress value) { settings(sit, type, "sit").remote.emplace(value); return *this; }
    LinkInfo &setSitLocal(IpAddress value) { settings(sit, type, "sit").local.emplace(value); return *this; }
    LinkInfo &setSitLink(Interface value) { settings(sit, type, "sit").link.emplace(std::move(value)); return *this; }
    LinkInfo &setSitTtl(Number<std::uint8_t> value) { settings(sit, type, "sit").ttl.emplace(value.value); return *this; }
    LinkInfo &setSitTos(Number<std::uint8_t> value) { settings(sit, type, "sit").tos.emplace(value.value); return *this; }
    LinkInfo &setSitPmtudisc(Switch value) { settings(sit, type, "sit").pmtudisc.emplace(value.value); return *this; }
    LinkInfo &setSitProto(SitMode value) { settings(sit, type, "sit").proto.emplace(value); return *this; }
    LinkInfo &setSitIsatap(Switch value) { settings(sit, type, "sit").isatap.emplace(value.value); return *this; }
    LinkInfo &setSitSixrdPrefix(IpAddress value) { settings(sit, type, "sit").sixrdPrefix.emplace(value); return *this; }
    LinkInfo &setSitSixrdPrefixlen(Number<std::uint16_t> value) { settings(sit, type, "sit").sixrdPrefixlen.emplace(value.value); return *this; }
    LinkInfo &setSitSixrdRelayPrefix(IpAddress value) { settings(sit, type, "sit").sixrdRelayPrefix.emplace(value); return *this; }
    LinkInfo &setSitSixrdRelayPrefixlen(Number<std::uint16_t> value) { settings(sit, type, "sit").sixrdRelayPrefixlen.emplace(value.value); return *this; }
    LinkInfo &setSitEncap(TunnelEncap value) { settings(sit, type, "sit").encap.emplace(value); return *this; }
    LinkInfo &setSitCsum(Switch value) { settings(sit, type, "sit").csum.emplace(value.value); return *this; }
    LinkInfo &setSitCsum6(Switch value) { settings(sit, type, "sit").csum6.emplace(value.value); return *this; }
    LinkInfo &setSitRemcsum(Switch value) { settings(sit, type, "sit").remcsum.emplace(value.value); return *this; }
    LinkInfo &setSitEncapSport(Number<std::uint16_t> value) { settings(sit, type, "sit").encapSport.emplace(value.value); return *this; }
    LinkInfo &setSitEncapDport(Number<std::uint16_t> value) { settings(sit, type, "sit").encapDport.emplace(value.value); return *this; }
    LinkInfo &setSitFwmark(Number<std::uint32_t> value) { settings(sit, type, "sit").fwmark.emplace(value.value); return *this; }
    LinkInfo &setTun(Boxed<Tun> value) { tun = std::move(value); return *this; }
    LinkInfo &setTunMode(TunMode value) { settings(tun, type, "tun").mode.emplace(value); return *this; }
    LinkInfo &setTunPi(Switch value) { settings(tun, type, "tun").pi.emplace(value.value); return *this; }
    LinkInfo &setTunVnetHdr(Switch value) { settings(tun, type, "tun").vnetHdr.emplace(value.value); return *this; }
    LinkInfo &setTunMultiQueue(Switch value) { settings(tun, type, "tun").multiQueue.emplace(value.value); return *this; }
    LinkInfo &setTunPersist(Switch value) { settings(tun, type, "tun").persist.emplace(value.value); return *this; }
    LinkInfo &setTunUser(Number<std::uint32_t> value) { settings(tun, type, "tun").user.emplace(value.value); return *this; }
    LinkInfo &setTunGroup(Number<std::uint32_t> value) { settings(tun, type, "tun").group.emplace(value.value); return *this; }
    LinkInfo &setVeth(Boxed<Veth> value) { veth = std::move(value); return *this; }
    LinkInfo &setVethPeer(Boxed<LinkInfo> value) { settings(veth, type, "veth").peer = std::move(value); return *this; }
    LinkInfo &setVlan(Boxed<Vlan> value) { vlan = std::move(value); return *this; }
    LinkInfo &setVlanProtocol(VlanProtocol value) { settings(vlan, type, "vlan").protocol.emplace(value); return *this; }
    LinkInfo &setVlanId(Number<std::uint16_t> value) { settings(vlan, type, "vlan").id.emplace(value.value); return *this; }
    LinkInfo &setVlanReorderHdr(Switch value) { settings(vlan, type, "vlan").reorderHdr.emplace(value.value); return *this; }
    LinkInfo &setVlanGvrp(Switch value) { settings(vlan, type, "vlan").gvrp.emplace(value.value); return *this; }
    LinkInfo &setVlanLooseBinding(Switch value) { settings(vlan, type, "vlan").looseBinding.emplace(value.value); return *this; }
    LinkInfo &setVlanMvrp(Switch value) { settings(vlan, type, "vlan").mvrp.emplace(value.value); return *this; }
    LinkInfo &setVlanBridgeBinding(Switch value) { settings(vlan, type, "vlan").bridgeBinding.emplace(value.value); return *this; }
    LinkInfo &setVlanIngressQos(std::vector<std::string> value) { settings(vlan, type, "vlan").ingressQos.emplace(std::move(value)); return *this; }
    LinkInfo &setVlanEgressQos(std::vector<std::string> value) { settings(vlan, type, "vlan").egressQos.emplace(std::move(value)); return *this; }
    LinkInfo &setVrf(Boxed<Vrf> value) { vrf = std::move(value); return *this; }
    LinkInfo &setVrfTable(Number<std::uint32_t> value) { settings(vrf, type, "vrf").table.emplace(value.value); return *this; }
    LinkInfo &setVxlan(Boxed<Vxlan> value) { vxlan = std::move(value); return *this; }
    LinkInfo &setVxlanId(Number<std::uint32_t> value) { settings(vxlan, type, "vxlan").id.emplace(value.value); return *this; }
    LinkInfo &setVxlanRemote(IpAddress value) { settings(vxlan, type, "vxlan").remote.emplace(value); return *this; }
    LinkInfo &setVxlanRemote6(IpAddress value) { settings(vxlan, type, "vxlan").remote6.emplace(value); return *this; }
    LinkInfo &setVxlanLocal(IpAddress value) { settings(vxlan, type, "vxlan").local.emplace(value); return *this; }
    LinkInfo &setVxlanLocal6(IpAddress value) { settings(vxlan, type, "vxlan").local6.emplace(value); return *this; }
    LinkInfo &setVxlanLink(Interface value) { settings(vxlan, type, "vxlan").link.emplace(std::move(value)); return *this; }
    LinkInfo &setVxlanPortRange(Text value) { settings(vxlan, type, "vxlan").portRange.emplace(std::move(value.value)); return *this; }
    LinkInfo &setVxlanPort(Number<std::uint16_t> value) { settings(vxlan, type, "vxlan").port.emplace(value.value); return *this; }
    LinkInfo &setVxlanLearning(Switch value) { settings(vxlan, type, "vxlan").learning.emplace(value.value); return *this; }
    LinkInfo &setVxlanProxy(Switch value) { settings(vxlan, type, "vxlan").proxy.emplace(value.value); return *this; }
    LinkInfo &setVxlanRsc(Switch value) { settings(vxlan, type, "vxlan").rsc.emplace(value.value); return *this; }
    LinkInfo &setVxlanL2miss(Switch value) { settings(vxlan, type, "vxlan").l2miss.emplace(value.value); return *this; }
    LinkInfo &setVxlanL3miss(Switch value) { settings(vxlan, type, "vxlan").l3miss.emplace(value.value); return *this; }
    LinkInfo &setVxlanTos(Number<std::uint8_t> value) { settings(vxlan, type, "vxlan").tos.emplace(value.value); return *this; }
    LinkInfo &setVxlanTtl(Number<std::uint8_t> value) { settings(vxlan, type, "vxlan").ttl.emplace(value.value); return *this; }
    LinkInfo &setVxlanTtlInherit(Switch value) { settings(vxlan, type, "vxlan").ttlInherit.emplace(value.value); return *this; }
    LinkInfo &setVxlanDf(DontFragment value) { settings(vxlan, type, "vxlan").df.emplace(value); return *this; }
    LinkInfo &setVxlanLabel(Number<std::uint32_t> value) { settings(vxlan, type, "vxlan").label.emplace(value.value); return *this; }
    LinkInfo &setVxlanLabelPolicy(LabelPolicy value) { settings(vxlan, type, "vxlan").labelPolicy.emplace(value); return *this; }
    LinkInfo &setVxlanAgeing(Duration<std::uint32_t> value) { settings(vxlan, type, "vxlan").ageing.emplace(value); return *this; }
    LinkInfo &setVxlanLimit(Number<std::uint32_t> value) { settings(vxlan, type, "vxlan").limit.emplace(value.value); return *this; }
    LinkInfo &setVxlanUdpCsum(Switch value) { settings(vxlan, type, "vxlan").udpCsum.emplace(value.value); return *this; }
    LinkInfo &setVxlanUdpZeroCsum6Tx(Switch value) { settings(vxlan, type, "vxlan").udpZeroCsum6Tx.emplace(value.value); return *this; }
    LinkInfo &setVxlanUdpZeroCsum6Rx(Switch value) { settings(vxlan, type, "vxlan").udpZeroCsum6Rx.emplace(value.value); return *this; }
    LinkInfo &setVxlanRemcsumTx(Switch value) { settings(vxlan, type, "vxlan").remcsumTx.emplace(value.value); return *this; }
    LinkInfo &setVxlanRemcsumRx(Switch value) { settings(vxlan, type, "vxlan").remcsumRx.emplace(value.value); return *this; }
    LinkInfo &setVxlanRemcsumNopartial(Switch value) { settings(vxlan, type, "vxlan").remcsumNopartial.emplace(value.value); return *this; }
    LinkInfo &setVxlanGbp(Switch value) { settings(vxlan, type, "vxlan").gbp.emplace(value.value); return *this; }
    LinkInfo &setVxlanGpe(Switch value) { settings(vxlan, type, "vxlan").gpe.emplace(value.value); return *this; }
    LinkInfo &setVxlanExternal(Switch value) { settings(vxlan, type, "vxlan").external.emplace(value.value); return *this; }
    LinkInfo &setVxlanVnifilter(Switch value) { settings(vxlan, type, "vxlan").vnifilter.emplace(value.value); return *this; }
    LinkInfo &setVxlanLocalbypass(Switch value) { settings(vxlan, type, "vxlan").localbypass.emplace(value.value); return *this; }
    LinkInfo &setVxlanMcroute(Switch value) { settings(vxlan, type, "vxlan").mcroute.emplace(value.value); return *this; }
    LinkInfo &setXfrm(Boxed<Xfrm> value) { xfrm = std::move(value); return *this; }
    LinkInfo &setXfrmLink(Interface value) { settings(xfrm, type, "xfrm").link.emplace(std::move(value)); return *this; }
    LinkInfo &setXfrmIfId(Number<std::uint32_t> value) { settings(xfrm, type, "xfrm").ifId.emplace(value.value); return *this; }
    LinkInfo &setXfrmExternal(Switch value) { settings(xfrm, type, "xfrm").external.emplace(value.value); return *this; }
    LinkInfo &setBondPort(Boxed<BondPort> value) { bondPort = std::move(value); return *this; }
    LinkInfo &setBondPortState(BondPortState value) { settings(bondPort, portType, "bond").state.emplace(value); return *this; }
    LinkInfo &setBondPortQueueId(Number<std::uint16_t> value) { settings(bondPort, portType, "bond").queueId.emplace(value.value); return *this; }
    LinkInfo &setBondPortPrio(Number<std::int32_t> value) { settings(bondPort, portType, "bond").prio.emplace(value.value); return *this; }
    LinkInfo &setBridgePort(Boxed<BridgePort> value) { bridgePort = std::move(value); return *this; }
    LinkInfo &setBridgePortState(PortState value) { settings(bridgePort, portType, "bridge").state.emplace(value); return *this; }
    LinkInfo &setBridgePortPriority(Number<std::uint16_t> value) { settings(bridgePort, portType, "bridge").priority.emplace(value.value); return *this; }
    LinkInfo &setBridgePortCost(Number<std::uint32_t> value) { settings(bridgePort, portType, "bridge").cost.emplace(value.value); return *this; }
    LinkInfo &setBridgePortHairpin(Switch value) { settings(bridgePort, portType, "bridge").hairpin.emplace(value.value); return *this; }
    LinkInfo &setBridgePortGuard(Switch value) { settings(bridgePort, portType, "bridge").guard.emplace(value.value); return *this; }
    LinkInfo &setBridgePortRootBlock(Switch value) { settings(bridgePort, portType, "bridge").rootBlock.emplace(value.value); return *this; }
    LinkInfo &setBridgePortFastleave(Switch value) { settings(bridgePort, portType, "bridge").fastleave.emplace(value.value); return *this; }
    LinkInfo &setBridgePortLearning(Switch value) { settings(bridgePort, portType, "bridge").learning.emplace(value.value); return *this; }
    LinkInfo &setBridgePortFlood(Switch value) { settings(bridgePort, portType, "bridge").flood.emplace(value.value); return *this; }
    LinkInfo &setBridgePortFdbFlush(Switch value) { settings(bridgePort, portType, "bridge").fdbFlush.emplace(value.value); return *this; }
    LinkInfo &setBridgePortProxyArp(Switch value) { settings(bridgePort, portType, "bridge").proxyArp.emplace(value.value); return *this; }
    LinkInfo &setBridgePortProxyArpWifi(Switch value) { settings(bridgePort, portType, "bridge").proxyArpWifi.emplace(value.value); return *this; }
    LinkInfo &setBridgePortMulticastRouter(Number<std::uint8_t> value) { settings(bridgePort, portType, "bridge").multicastRouter.emplace(value.value); return *this; }
    LinkInfo &setBridgePortMcastFlood(Switch value) { settings(bridgePort, portType, "bridge").mcastFlood.emplace(value.value); return *this; }
    LinkInfo &setBridgePortBcastFlood(Switch value) { settings(bridgePort, portType, "bridge").bcastFlood.emplace(value.value); return *this; }
    LinkInfo &setBridgePortMcastToUnicast(Switch value) { settings(bridgePort, portType, "bridge").mcastToUnicast.emplace(value.value); return *this; }
    LinkInfo &setBridgePortNeighSuppress(Switch value) { settings(bridgePort, portType, "bridge").neighSuppress.emplace(value.value); return *this; }
    LinkInfo &setBridgePortNeighVlanSuppress(Switch value) { settings(bridgePort, portType, "bridge").neighVlanSuppress.emplace(value.value); return *this; }
    LinkInfo &setBridgePortGroupFwdMask(Number<std::uint16_t> value) { settings(bridgePort, portType, "bridge").groupFwdMask.emplace(value.value); return *this; }
    LinkInfo &setBridgePortVlanTunnel(Switch value) { settings(bridgePort, portType, "bridge").vlanTunnel.emplace(value.value); return *this; }
    LinkInfo &setBridgePortIsolated(Switch value) { settings(bridgePort, portType, "bridge").isolated.emplace(value.value); return *this; }
    LinkInfo &setBridgePortLocked(Switch value) { settings(bridgePort, portType, "bridge").locked.emplace(value.value); return *this; }
    LinkInfo &setBridgePortMab(Switch value) { settings(bridgePort, portType, "bridge").mab.emplace(value.value); return *this; }
    LinkInfo &setBridgePortBackupPort(Interface value) { settings(bridgePort, portType, "bridge").backupPort.emplace(std::move(value)); return *this; }
    LinkInfo &setBridgePortBackupNhid(Number<std::uint32_t> value) { settings(bridgePort, portType, "bridge").backupNhid.emplace(value.value); return *this; }
    LinkInfo &setBridgePortMcastEhtHostsLimit(Number<std::uint32_t> value) { settings(bridgePort, portType, "bridge").mcastEhtHostsLimit.emplace(value.value); return *this; }
    LinkInfo &setBridgePortMcastMaxGroups(Number<std::uint32_t> value) { settings(bridgePort, portType, "bridge").mcastMaxGroups.emplace(value.value); return *this; }
    LinkInfo &setVrfPort(Boxed<VrfPort> value) { vrfPort = std::move(value); return *this; }
    LinkInfo &setInet6AddrGenMode(AddrGenMode value) { inet6AddrGenMode.emplace(value); return *this; }
    LinkInfo &setGroup(Number<std::uint32_t> value) { group.emplace(value.value); return *this; }
    LinkInfo &setAlias(Text value) { alias.emplace(std::move(value.value)); return *this; }
    LinkInfo &setAlternativeNames(std::vector<std::string> value) { alternativeNames.emplace(std::move(value)); return *this; }
    LinkInfo &setTxQueueCount(Number<std::uint32_t> value) { txQueueCount.emplace(value.value); return *this; }
    LinkInfo &setRxQueueCount(Number<std::uint32_t> value) { rxQueueCount.emplace(value.value); return *this; }
    LinkInfo &setCarrier(Switch value) { carrier.emplace(value.value); return *this; }
    LinkInfo &setProtodown(Switch value) { protodown.emplace(value.value); return *this; }
    LinkInfo &setGsoMaxSegs(Number<std::uint32_t> value) { gsoMaxSegs.emplace(value.value); return *this; }
    LinkInfo &setGsoMaxSize(Number<std::uint32_t> value) { gsoMaxSize.emplace(value.value); return *this; }
    LinkInfo &setGroMaxSize(Number<std::uint32_t> value) { groMaxSize.emplace(value.value); return *this; }
    LinkInfo &setParentDevice(Text value) { parentDevice.emplace(std::move(value.value)); return *this; }
    LinkInfo &setNetns(Text value) { netns.emplace(std::move(value.value)); return *this; }
    LinkInfo &setNamespacePid(Number<std::uint32_t> value) { namespacePid.emplace(value.value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse, and without `state`, `carrier`, `protodown` and `parentDevice`.
    /// To change a link, give its index and what changes: drivers refuse settings that they cannot change, also with the
    /// same value.
    LinkInfo settable() const
    {
        LinkInfo copy = *this;
        copy.removeReadOnly();
        copy.state = {};
        copy.carrier = {};
        copy.protodown = {};
        copy.parentDevice = {};
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        hardware = {};
        flags = {};
        permanentAddress = {};
        minMtu = {};
        maxMtu = {};
        qdisc = {};
        if (bond) {
            bond->removeReadOnly();
        }
        if (bridge) {
            bridge->removeReadOnly();
        }
        if (macvlan) {
            macvlan->removeReadOnly();
        }
        if (netkit) {
            netkit->removeReadOnly();
        }
        if (tun) {
            tun->removeReadOnly();
        }
        if (bondPort) {
            bondPort->removeReadOnly();
        }
        if (bridgePort) {
            bridgePort->removeReadOnly();
        }
        if (vrfPort) {
            vrfPort->removeReadOnly();
        }
        promiscuity = {};
        allmulti = {};
        carrierChanges = {};
        tsoMaxSize = {};
        tsoMaxSegs = {};
        parentBus = {};
        statistics = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x090aa9abu, "index", self.index);
        visit(0xdbcb75f9u, "hardware", self.hardware);
        visit(0x9c677a2cu, "flags", self.flags);
        visit(0x43430b20u, "admin", self.admin);
        visit(0x2b6f133eu, "arp", self.arp);
        visit(0x1010cf81u, "multicast", self.multicast);
        visit(0xcf007652u, "allmulticast", self.allmulticast);
        visit(0x1c17dfd0u, "promisc", self.promisc);
        visit(0x4f5296aeu, "dynamic", self.dynamic);
        visit(0x8d39bde6u, "name", self.name);
        visit(0x2c6a2953u, "address", self.address);
        visit(0xe2d789d4u, "broadcast", self.broadcast);
        visit(0x494916e6u, "permanentAddress", self.permanentAddress);
        visit(0xce828143u, "mtu", self.mtu);
        visit(0x571ca55cu, "minMtu", self.minMtu);
        visit(0x025fce8au, "maxMtu", self.maxMtu);
        visit(0xb51d04bau, "lower", self.lower);
        visit(0x737358a2u, "lowerNamespace", self.lowerNamespace);
        visit(0xca8dbf33u, "master", self.master);
        visit(0x4fc4bab9u, "qdisc", self.qdisc);
        visit(0x2c03d317u, "txqlen", self.txqlen);
        visit(0x783132f6u, "state", self.state);
        visit(0xbbbb4206u, "linkmode", self.linkmode);
        visit(0x5127f14du, "type", self.type);
        visit(0x31f7f2e3u, "portType", self.portType);
        visit(0x9e5ab17cu, "bareudp", self.bareudp);
        visit(0x41720a1cu, "bond", self.bond);
        visit(0xd8134330u, "bridge", self.bridge);
        visit(0x4f484835u, "geneve", self.geneve);
        visit(0xc5c2379bu, "gre", self.gre);
        visit(0x565c5f0au, "ip6Gre", self.ip6Gre);
        visit(0x0880d474u, "ip6Tnl", self.ip6Tnl);
        visit(0xeea552edu, "ipip", self.ipip);
        visit(0xbf4f0961u, "ipvlan", self.ipvlan);
        visit(0x549742d5u, "macvlan", self.macvlan);
        visit(0x16052d9cu, "netkit", self.netkit);
        visit(0x28bc2bffu, "sit", self.sit);
        visit(0xffb4fc04u, "tun", self.tun);
        visit(0x78529608u, "veth", self.veth);
        visit(0x8482609cu, "vlan", self.vlan);
        visit(0xd2e147a5u, "vrf", self.vrf);
        visit(0xcb395b0eu, "vxlan", self.vxlan);
        visit(0x669de1bau, "xfrm", self.xfrm);
        visit(0x841ba3d7u, "bondPort", self.bondPort);
        visit(0xef444eabu, "bridgePort", self.bridgePort);
        visit(0x84f65b66u, "vrfPort", self.vrfPort);
        visit(0xe53f8728u, "inet6AddrGenMode", self.inet6AddrGenMode);
        visit(0x5fb91e8cu, "group", self.group);
        visit(0x7d268157u, "alias", self.alias);
        visit(0xc4c12b1fu, "alternativeNames", self.alternativeNames);
        visit(0x54f99341u, "promiscuity", self.promiscuity);
        visit(0xcc31f231u, "allmulti", self.allmulti);
        visit(0xcc3f10e5u, "txQueueCount", self.txQueueCount);
        visit(0x6c4de3b7u, "rxQueueCount", self.rxQueueCount);
        visit(0xd7241cf7u, "carrier", self.carrier);
        visit(0x49d1ad19u, "carrierChanges", self.carrierChanges);
        visit(0x4e369d41u, "protodown", self.protodown);
        visit(0x1f31cd5cu, "gsoMaxSegs", self.gsoMaxSegs);
        visit(0xeda2dfd3u, "gsoMaxSize", self.gsoMaxSize);
        visit(0x7a5ba070u, "groMaxSize", self.groMaxSize);
        visit(0xf87fa1acu, "tsoMaxSize", self.tsoMaxSize);
        visit(0x59fea19fu, "tsoMaxSegs", self.tsoMaxSegs);
        visit(0x317fcfb8u, "parentDevice", self.parentDevice);
        visit(0xe79979f8u, "parentBus", self.parentBus);
        visit(0xcace7aa0u, "netns", self.netns);
        visit(0x22175e6au, "namespacePid", self.namespacePid);
        visit(0xcd3d6c0au, "statistics", self.statistics);
    }

    /// Writes a change as one message. False if the library has to do it.
    bool encode(tapline_netlink_verb verb, MessageWriter &out) const { return detail::encodeLink(*this, verb, out); }
    /// Writes the fields that are an attribute each. False if another field is given.
    bool putAttributes(MessageWriter &out) const
    {
        if (detail::isAnyGiven(hardware, flags, permanentAddress, minMtu, maxMtu, qdisc, portType, bareudp,
                               bond, bridge, geneve, gre, ip6Gre, ip6Tnl, ipip, ipvlan,
                               macvlan, netkit, sit, tun, veth, vlan, vrf, vxlan,
                               xfrm, bondPort, bridgePort, vrfPort, inet6AddrGenMode, alternativeNames, promiscuity, allmulti,
                               carrierChanges, tsoMaxSize, tsoMaxSegs, parentBus, netns, statistics)) [[unlikely]] {
            return false;
        }
        out.put(3, name);
        out.put(1, address);
        out.put(2, broadcast);
        out.put(4, mtu);
        out.put(5, lower);
        out.put(37, lowerNamespace);
        out.put(10, master);
        out.put(13, txqlen);
        out.put(16, state);
        out.put(17, linkmode);
        out.put(27, group);
        out.put(20, alias);
        out.put(31, txQueueCount);
        out.put(32, rxQueueCount);
        out.put(33, carrier);
        out.put(39, protodown);
        out.put(40, gsoMaxSegs);
        out.put(41, gsoMaxSize);
        out.put(58, groMaxSize);
        out.put(56, parentDevice);
        out.put(19, namespacePid);
        return true;
    }

    bool operator==(const LinkInfo &) const = default;

private:
    template <class Settings>
    static Settings &settings(Boxed<Settings> &box, std::optional<std::string> &kind, const char *text)
    {
        if (!kind) {
            kind = text;
        }
        return box.ensure();
    }
};

inline constexpr Field bareudpFields[] = {
    {0xaeece737u, offsetof(Bareudp, dstport), FieldType::Number, 2},
    {0x0da2c693u, offsetof(Bareudp, ethertype), FieldType::Number, 2},
    {0x27e2baeeu, offsetof(Bareudp, srcportmin), FieldType::Number, 2},
    {0xead83e58u, offsetof(Bareudp, multiproto), FieldType::Bool, 1},
};
inline constexpr FieldTable Bareudp::typeFields = {bareudpFields, std::size(bareudpFields), sizeof(Bareudp), detail::ensureBoxed<Bareudp>};

inline constexpr Field adInfoFields[] = {
    {0x5c862d0cu, offsetof(AdInfo, aggregator), FieldType::Number, 2},
    {0xb5ad7974u, offsetof(AdInfo, numPorts), FieldType::Number, 2},
    {0x15751086u, offsetof(AdInfo, actorKey), FieldType::Number, 2},
    {0x0c005079u, offsetof(AdInfo, partnerKey), FieldType::Number, 2},
    {0x875dfa05u, offsetof(AdInfo, partnerMac), FieldType::Mac},
};
inline constexpr FieldTable AdInfo::typeFields = {adInfoFields, std::size(adInfoFields), sizeof(AdInfo), detail::ensureBoxed<AdInfo>};

inline constexpr Field bondFields[] = {
    {0xec6ee012u, offsetof(Bond, mode), FieldType::Number, 1},
    {0xb7e8c343u, offsetof(Bond, activeSlave), FieldType::Interface},
    {0xc39b0f34u, offsetof(Bond, miimon), FieldType::Number, 4},
    {0x8f3e9d6fu, offsetof(Bond, updelay), FieldType::Number, 4},
    {0x7f2993a8u, offsetof(Bond, downdelay), FieldType::Number, 4},
    {0x7f43ea5fu, offsetof(Bond, peerNotifyDelay), FieldType::Number, 4},
    {0xd2698103u, offsetof(Bond, useCarrier), FieldType::Bool, 1},
    {0xe69da77au, offsetof(Bond, arpInterval), FieldType::Number, 4},
    {0x5979a522u, offsetof(Bond, arpIpTarget), FieldType::Ips},
    {0x9c11953cu, offsetof(Bond, nsIp6Target), FieldType::Ips},
    {0xdd82134du, offsetof(Bond, arpValidate), FieldType::Number, 4},
    {0xfaa66637u, offsetof(Bond, arpAllTargets), FieldType::Number, 4},
    {0xc6f6bb13u, offsetof(Bond, arpMissedMax), FieldType::Number, 1},
    {0x5a2e5fd9u, offsetof(Bond, primary), FieldType::Interface},
    {0xd0f6e04fu, offsetof(Bond, primaryReselect), FieldType::Number, 1},
    {0x424bfddcu, offsetof(Bond, failOverMac), FieldType::Number, 1},
    {0x53ba2ddbu, offsetof(Bond, xmitHashPolicy), FieldType::Number, 1},
    {0xd6af6d66u, offsetof(Bond, resendIgmp), FieldType::Number, 4},
    {0x84ed8f6du, offsetof(Bond, numPeerNotif), FieldType::Number, 1},
    {0x88f32730u, offsetof(Bond, allSlavesActive), FieldType::Number, 1},
    {0xf4129641u, offsetof(Bond, minLinks), FieldType::Number, 4},
    {0xec338c0fu, offsetof(Bond, lpInterval), FieldType::Number, 4},
    {0xf624b866u, offsetof(Bond, packetsPerSlave), FieldType::Number, 4},
    {0xf7228138u, offsetof(Bond, adLacpActive), FieldType::Bool, 1},
    {0x7285c5bcu, offsetof(Bond, adLacpRate), FieldType::Number, 1},
    {0x6bc94a6du, offsetof(Bond, adSelect), FieldType::Number, 1},
    {0x91fdbf45u, offsetof(Bond, adInfo), FieldType::Set, 0, &AdInfo::typeFields},
    {0x2318dbfbu, offsetof(Bond, adActorSysPrio), FieldType::Number, 2},
    {0x9d19e7b4u, offsetof(Bond, adUserPortKey), FieldType::Number, 2},
    {0x4e99771eu, offsetof(Bond, adActorSystem), FieldType::Mac},
    {0x92c4447eu, offsetof(Bond, tlbDynamicLb), FieldType::Bool, 1},
    {0xf7123c01u, offsetof(Bond, coupledControl), FieldType::Bool, 1},
    {0xb9d80e77u, offsetof(Bond, broadcastNeighbor), FieldType::Bool, 1},
};
inline constexpr FieldTable Bond::typeFields = {bondFields, std::size(bondFields), sizeof(Bond), detail::ensureBoxed<Bond>};

inline constexpr Field bridgeFields[] = {
    {0x427d031eu, offsetof(Bridge, forwardDelay), FieldType::Number, 4},
    {0xd096895du, offsetof(Bridge, helloTime), FieldType::Number, 4},
    {0xd6dff4fdu, offsetof(Bridge, maxAge), FieldType::Number, 4},
    {0xc5c614f0u, offsetof(Bridge, ageingTime), FieldType::Number, 4},
    {0x7c5f1cecu, offsetof(Bridge, stpState), FieldType::Number, 4},
    {0x94e4e309u, offsetof(Bridge, priority), FieldType::Number, 2},
    {0xd028514du, offsetof(Bridge, vlanFiltering), FieldType::Bool, 1},
    {0x0c1430e1u, offsetof(Bridge, vlanProtocol), FieldType::Number, 2},
    {0x02e742a8u, offsetof(Bridge, bridgeId), FieldType::Text},
    {0xa35ca033u, offsetof(Bridge, rootId), FieldType::Text},
    {0xf2f63609u, offsetof(Bridge, rootPort), FieldType::Number, 2},
    {0x113e98cfu, offsetof(Bridge, rootPathCost), FieldType::Number, 4},
    {0xb0bb6c41u, offsetof(Bridge, topologyChange), FieldType::Bool, 1},
    {0xc789b644u, offsetof(Bridge, topologyChangeDetected), FieldType::Bool, 1},
    {0x8bf9f4fdu, offsetof(Bridge, helloTimer), FieldType::Number, 8},
    {0xda224284u, offsetof(Bridge, tcnTimer), FieldType::Number, 8},
    {0x30ce9b2bu, offsetof(Bridge, topologyChangeTimer), FieldType::Number, 8},
    {0xe85723f1u, offsetof(Bridge, gcTimer), FieldType::Number, 8},
    {0x781a9e74u, offsetof(Bridge, vlanDefaultPvid), FieldType::Number, 2},
    {0x6e47b03eu, offsetof(Bridge, vlanStatsEnabled), FieldType::Bool, 1},
    {0x9f178e62u, offsetof(Bridge, vlanStatsPerPort), FieldType::Bool, 1},
    {0xba520d57u, offsetof(Bridge, groupFwdMask), FieldType::Number, 2},
    {0x1c5c51e6u, offsetof(Bridge, groupAddr), FieldType::Mac},
    {0x83cf16e6u, offsetof(Bridge, fdbFlush), FieldType::Bool, 1},
    {0x022b3fd3u, offsetof(Bridge, noLinklocalLearn), FieldType::Bool, 1},
    {0x3104927du, offsetof(Bridge, mcastVlanSnooping), FieldType::Bool, 1},
    {0xa3049821u, offsetof(Bridge, mstEnabled), FieldType::Bool, 1},
    {0xe13937cau, offsetof(Bridge, fdbNLearned), FieldType::Number, 4},
    {0x692e782eu, offsetof(Bridge, fdbMaxLearned), FieldType::Number, 4},
    {0xe489bb25u, offsetof(Bridge, mcastRouter), FieldType::Number, 1},
    {0xde65578fu, offsetof(Bridge, mcastSnooping), FieldType::Bool, 1},
    {0xcd283e5du, offsetof(Bridge, mcastQueryUseIfaddr), FieldType::Bool, 1},
    {0x902b3f0bu, offsetof(Bridge, mcastQuerier), FieldType::Bool, 1},
    {0xf0633314u, offsetof(Bridge, mcastHashElasticity), FieldType::Number, 4},
    {0x86bdca79u, offsetof(Bridge, mcastHashMax), FieldType::Number, 4},
    {0xe2e358dfu, offsetof(Bridge, mcastLastMemberCnt), FieldType::Number, 4},
    {0x6523b4eau, offsetof(Bridge, mcastStartupQueryCnt), FieldType::Number, 4},
    {0x31f54f87u, offsetof(Bridge, mcastLastMemberIntvl), FieldType::Number, 8},
    {0x2a720044u, offsetof(Bridge, mcastMembershipIntvl), FieldType::Number, 8},
    {0x512ed7ffu, offsetof(Bridge, mcastQuerierIntvl), FieldType::Number, 8},
    {0xf8e9b398u, offsetof(Bridge, mcastQueryIntvl), FieldType::Number, 8},
    {0xe599d2f2u, offsetof(Bridge, mcastQueryResponseIntvl), FieldType::Number, 8},
    {0xd7524a96u, offsetof(Bridge, mcastStartupQueryIntvl), FieldType::Number, 8},
    {0x52135cadu, offsetof(Bridge, mcastStatsEnabled), FieldType::Bool, 1},
    {0x415b770eu, offsetof(Bridge, mcastIgmpVersion), FieldType::Number, 1},
    {0x50a96244u, offsetof(Bridge, mcastMldVersion), FieldType::Number, 1},
    {0x805c4603u, offsetof(Bridge, nfCallIptables), FieldType::Bool, 1},
    {0xe5ef3c0du, offsetof(Bridge, nfCallIp6tables), FieldType::Bool, 1},
    {0xbf218c85u, offsetof(Bridge, nfCallArptables), FieldType::Bool, 1},
};
inline constexpr FieldTable Bridge::typeFields = {bridgeFields, std::size(bridgeFields), sizeof(Bridge), detail::ensureBoxed<Bridge>};

inline constexpr Field geneveFields[] = {
    {0x37386ae0u, offsetof(Geneve, id), FieldType::Number, 4},
    {0xc78d7953u, offsetof(Geneve, remote), FieldType::Ip},
    {0x88b619ffu, offsetof(Geneve, remote6), FieldType::Ip},
    {0xbd2b425bu, offsetof(Geneve, ttl), FieldType::Number, 1},
    {0x443ec0d7u, offsetof(Geneve, ttlInherit), FieldType::Bool, 1},
    {0xaa10e0f5u, offsetof(Geneve, tos), FieldType::Number, 1},
    {0x5b1ccd0fu, offsetof(Geneve, df), FieldType::Number, 1},
    {0xf69717fdu, offsetof(Geneve, label), FieldType::Number, 4},
    {0x7be412a6u, offsetof(Geneve, port), FieldType::Number, 2},
    {0x94ee5e30u, offsetof(Geneve, portRange), FieldType::Text},
    {0x331d748au, offsetof(Geneve, external), FieldType::Bool, 1},
    {0x4a0aa1f9u, offsetof(Geneve, udpCsum), FieldType::Bool, 1},
    {0xb00e0fefu, offsetof(Geneve, udpZeroCsum6Tx), FieldType::Bool, 1},
    {0xabfeff19u, offsetof(Geneve, udpZeroCsum6Rx), FieldType::Bool, 1},
    {0x70437bb2u, offsetof(Geneve, innerProtoInherit), FieldType::Bool, 1},
};
inline constexpr FieldTable Geneve::typeFields = {geneveFields, std::size(geneveFields), sizeof(Geneve), detail::ensureBoxed<Geneve>};

inline constexpr Field greFields[] = {
    {0xc78d7953u, offsetof(Gre, remote), FieldType::Ip},
    {0x9c436708u, offsetof(Gre, local), FieldType::Ip},
    {0x0ddb0669u, offsetof(Gre, link), FieldType::Interface},
    {0xbd2b425bu, offsetof(Gre, ttl), FieldType::Number, 1},
    {0xaa10e0f5u, offsetof(Gre, tos), FieldType::Number, 1},
    {0xfdfa65e8u, offsetof(Gre, pmtudisc), FieldType::Bool, 1},
    {0x1a637902u, offsetof(Gre, ignoreDf), FieldType::Bool, 1},
    {0x1d8164e2u, offsetof(Gre, ikeyed), FieldType::Bool, 1},
    {0x996deaf3u, offsetof(Gre, iseq), FieldType::Bool, 1},
    {0x2f091a48u, offsetof(Gre, icsum), FieldType::Bool, 1},
    {0xc38ece8cu, offsetof(Gre, okeyed), FieldType::Bool, 1},
    {0x53fd7705u, offsetof(Gre, oseq), FieldType::Bool, 1},
    {0x7c3a8392u, offsetof(Gre, ocsum), FieldType::Bool, 1},
    {0x385ca7a3u, offsetof(Gre, ikey), FieldType::Number, 4},
    {0xc2946a85u, offsetof(Gre, okey), FieldType::Number, 4},
    {0x331d748au, offsetof(Gre, external), FieldType::Bool, 1},
    {0xef027caau, offsetof(Gre, encap), FieldType::Number, 2},
    {0x0a035f4du, offsetof(Gre, csum), FieldType::Bool, 1},
    {0x3e4f4ea1u, offsetof(Gre, csum6), FieldType::Bool, 1},
    {0x111f571fu, offsetof(Gre, remcsum), FieldType::Bool, 1},
    {0x1219f4bfu, offsetof(Gre, encapSport), FieldType::Number, 2},
    {0x63f4eed2u, offsetof(Gre, encapDport), FieldType::Number, 2},
    {0x6e58b7c3u, offsetof(Gre, fwmark), FieldType::Number, 4},
};
inline constexpr FieldTable Gre::typeFields = {greFields, std::size(greFields), sizeof(Gre), detail::ensureBoxed<Gre>};

inline constexpr Field ip6GreFields[] = {
    {0xc78d7953u, offsetof(Ip6Gre, remote), FieldType::Ip},
    {0x9c436708u, offsetof(Ip6Gre, local), FieldType::Ip},
    {0x0ddb0669u, offsetof(Ip6Gre, link), FieldType::Interface},
    {0xbd2b425bu, offsetof(Ip6Gre, ttl), FieldType::Number, 1},
    {0x77f256dau, offsetof(Ip6Gre, encapLimit), FieldType::Number, 1},
    {0x9cc06295u, offsetof(Ip6Gre, flowinfo), FieldType::Number, 4},
    {0x9f9fd58du, offsetof(Ip6Gre, ignoreEncapLimit), FieldType::Bool, 1},
    {0x0e749f69u, offsetof(Ip6Gre, useOrigTclass), FieldType::Bool, 1},
    {0xd4045501u, offsetof(Ip6Gre, useOrigFlowlabel), FieldType::Bool, 1},
    {0xbd995b6du, offsetof(Ip6Gre, mip6), FieldType::Bool, 1},
    {0x19f2be85u, offsetof(Ip6Gre, rcvDscpCopy), FieldType::Bool, 1},
    {0x251f68cfu, offsetof(Ip6Gre, useOrigFwmark), FieldType::Bool, 1},
    {0x91508311u, offsetof(Ip6Gre, allowLocalRemote), FieldType::Bool, 1},
    {0x1d8164e2u, offsetof(Ip6Gre, ikeyed), FieldType::Bool, 1},
    {0x996deaf3u, offsetof(Ip6Gre, iseq), FieldType::Bool, 1},
    {0x2f091a48u, offsetof(Ip6Gre, icsum), FieldType::Bool, 1},
    {0xc38ece8cu, offsetof(Ip6Gre, okeyed), FieldType::Bool, 1},
    {0x53fd7705u, offsetof(Ip6Gre, oseq), FieldType::Bool, 1},
    {0x7c3a8392u, offsetof(Ip6Gre, ocsum), FieldType::Bool, 1},
    {0x385ca7a3u, offsetof(Ip6Gre, ikey), FieldType::Number, 4},
    {0xc2946a85u, offsetof(Ip6Gre, okey), FieldType::Number, 4},
    {0x331d748au, offsetof(Ip6Gre, external), FieldType::Bool, 1},
    {0xef027caau, offsetof(Ip6Gre, encap), FieldType::Number, 2},
    {0x0a035f4du, offsetof(Ip6Gre, csum), FieldType::Bool, 1},
    {0x3e4f4ea1u, offsetof(Ip6Gre, csum6), FieldType::Bool, 1},
    {0x111f571fu, offsetof(Ip6Gre, remcsum), FieldType::Bool, 1},
    {0x1219f4bfu, offsetof(Ip6Gre, encapSport), FieldType::Number, 2},
    {0x63f4eed2u, offsetof(Ip6Gre, encapDport), FieldType::Number, 2},
    {0x6e58b7c3u, offsetof(Ip6Gre, fwmark), FieldType::Number, 4},
};
inline constexpr FieldTable Ip6Gre::typeFields = {ip6GreFields, std::size(ip6GreFields), sizeof(Ip6Gre), detail::ensureBoxed<Ip6Gre>};

inline constexpr Field ip6TnlFields[] = {
    {0x73c00bb1u, offsetof(Ip6Tnl, proto), FieldType::Number, 1},
    {0xc78d7953u, offsetof(Ip6Tnl, remote), FieldType::Ip},
    {0x9c436708u, offsetof(Ip6Tnl, local), FieldType::Ip},
    {0x0ddb0669u, offsetof(Ip6Tnl, link), FieldType::Interface},
    {0xbd2b425bu, offsetof(Ip6Tnl, ttl), FieldType::Number, 1},
    {0x77f256dau, offsetof(Ip6Tnl, encapLimit), FieldType::Number, 1},
    {0x9cc06295u, offsetof(Ip6Tnl, flowinfo), FieldType::Number, 4},
    {0x9f9fd58du, offsetof(Ip6Tnl, ignoreEncapLimit), FieldType::Bool, 1},
    {0x0e749f69u, offsetof(Ip6Tnl, useOrigTclass), FieldType::Bool, 1},
    {0xd4045501u, offsetof(Ip6Tnl, useOrigFlowlabel), FieldType::Bool, 1},
    {0xbd995b6du, offsetof(Ip6Tnl, mip6), FieldType::Bool, 1},
    {0x19f2be85u, offsetof(Ip6Tnl, rcvDscpCopy), FieldType::Bool, 1},
    {0x251f68cfu, offsetof(Ip6Tnl, useOrigFwmark), FieldType::Bool, 1},
    {0x91508311u, offsetof(Ip6Tnl, allowLocalRemote), FieldType::Bool, 1},
    {0x331d748au, offsetof(Ip6Tnl, external), FieldType::Bool, 1},
    {0xef027caau, offsetof(Ip6Tnl, encap), FieldType::Number, 2},
    {0x0a035f4du, offsetof(Ip6Tnl, csum), FieldType::Bool, 1},
    {0x3e4f4ea1u, offsetof(Ip6Tnl, csum6), FieldType::Bool, 1},
    {0x111f571fu, offsetof(Ip6Tnl, remcsum), FieldType::Bool, 1},
    {0x1219f4bfu, offsetof(Ip6Tnl, encapSport), FieldType::Number, 2},
    {0x63f4eed2u, offsetof(Ip6Tnl, encapDport), FieldType::Number, 2},
    {0x6e58b7c3u, offsetof(Ip6Tnl, fwmark), FieldType::Number, 4},
};
inline constexpr FieldTable Ip6Tnl::typeFields = {ip6TnlFields, std::size(ip6TnlFields), sizeof(Ip6Tnl), detail::ensureBoxed<Ip6Tnl>};

inline constexpr Field ipipFields[] = {
    {0xc78d7953u, offsetof(Ipip, remote), FieldType::Ip},
    {0x9c436708u, offsetof(Ipip, local), FieldType::Ip},
    {0x0ddb0669u, offsetof(Ipip, link), FieldType::Interface},
    {0xbd2b425bu, offsetof(Ipip, ttl), FieldType::Number, 1},
    {0xaa10e0f5u, offsetof(Ipip, tos), FieldType::Number, 1},
    {0xfdfa65e8u, offsetof(Ipip, pmtudisc), FieldType::Bool, 1},
    {0x73c00bb1u, offsetof(Ipip, proto), FieldType::Number, 1},
    {0x331d748au, offsetof(Ipip, external), FieldType::Bool, 1},
    {0xef027caau, offsetof(Ipip, encap), FieldType::Number, 2},
    {0x0a035f4du, offsetof(Ipip, csum), FieldType::Bool, 1},
    {0x3e4f4ea1u, offsetof(Ipip, csum6), FieldType::Bool, 1},
    {0x111f571fu, offsetof(Ipip, remcsum), FieldType::Bool, 1},
    {0x1219f4bfu, offsetof(Ipip, encapSport), FieldType::Number, 2},
    {0x63f4eed2u, offsetof(Ipip, encapDport), FieldType::Number, 2},
    {0x6e58b7c3u, offsetof(Ipip, fwmark), FieldType::Number, 4},
};
inline constexpr FieldTable Ipip::typeFields = {ipipFields, std::size(ipipFields), sizeof(Ipip), detail::ensureBoxed<Ipip>};

inline constexpr Field ipvlanFields[] = {
    {0xec6ee012u, offsetof(Ipvlan, mode), FieldType::Number, 2},
    {0x9c677a2cu, offsetof(Ipvlan, flags), FieldType::Number, 2},
};
inline constexpr FieldTable Ipvlan::typeFields = {ipvlanFields, std::size(ipvlanFields), sizeof(Ipvlan), detail::ensureBoxed<Ipvlan>};

inline constexpr Field macvlanFields[] = {
    {0xec6ee012u, offsetof(Macvlan, mode), FieldType::Number, 4},
    {0x6219434du, offsetof(Macvlan, nopromisc), FieldType::Bool, 1},
    {0x5016e1cdu, offsetof(Macvlan, nodst), FieldType::Bool, 1},
    {0x50e8e57fu, offsetof(Macvlan, macaddrMode), FieldType::Number, 4},
    {0xfd681b2bu, offsetof(Macvlan, macaddr), FieldType::Mac},
    {0x794dc123u, offsetof(Macvlan, macaddrCount), FieldType::Number, 4},
    {0x1661a984u, offsetof(Macvlan, macaddrData), FieldType::Macs},
    {0x7e63eabcu, offsetof(Macvlan, bcqueuelen), FieldType::Number, 4},
    {0xb23a777du, offsetof(Macvlan, usedbcqueuelen), FieldType::Number, 4},
    {0x37964a0cu, offsetof(Macvlan, bclim), FieldType::Number, 4},
};
inline constexpr FieldTable Macvlan::typeFields = {macvlanFields, std::size(macvlanFields), sizeof(Macvlan), detail::ensureBoxed<Macvlan>};

inline constexpr Field netkitFields[] = {
    {0xb8150f49u, offsetof(Netkit, peer), FieldType::Set, 0, &LinkInfo::typeFields},
    {0x5a2e5fd9u, offsetof(Netkit, primary), FieldType::Bool, 1},
    {0xec6ee012u, offsetof(Netkit, mode), FieldType::Number, 4},
    {0xcec0fa7fu, offsetof(Netkit, policy), FieldType::Number, 4},
    {0x77c44a84u, offsetof(Netkit, peerPolicy), FieldType::Number, 4},
    {0x4edd1710u, offsetof(Netkit, scrub), FieldType::Number, 4},
    {0xbaeea361u, offsetof(Netkit, peerScrub), FieldType::Number, 4},
    {0xdd5e9b34u, offsetof(Netkit, headroom), FieldType::Number, 2},
    {0x34248bd4u, offsetof(Netkit, tailroom), FieldType::Number, 2},
};
inline constexpr FieldTable Netkit::typeFields = {netkitFields, std::size(netkitFields), sizeof(Netkit), detail::ensureBoxed<Netkit>};

inline constexpr Field sitFields[] = {
    {0xc78d7953u, offsetof(Sit, remote), FieldType::Ip},
    {0x9c436708u, offsetof(Sit, local), FieldType::Ip},
    {0x0ddb0669u, offsetof(Sit, link), FieldType::Interface},
    {0xbd2b425bu, offsetof(Sit, ttl), FieldType::Number, 1},
    {0xaa10e0f5u, offsetof(Sit, tos), FieldType::Number, 1},
    {0xfdfa65e8u, offsetof(Sit, pmtudisc), FieldType::Bool, 1},
    {0x73c00bb1u, offsetof(Sit, proto), FieldType::Number, 1},
    {0xe7ce9271u, offsetof(Sit, isatap), FieldType::Bool, 1},
    {0x9dfedf0au, offsetof(Sit, sixrdPrefix), FieldType::Ip},
    {0xce7de761u, offsetof(Sit, sixrdPrefixlen), FieldType::Number, 2},
    {0x76c8cd8cu, offsetof(Sit, sixrdRelayPrefix), FieldType::Ip},
    {0x3c6422e3u, offsetof(Sit, sixrdRelayPrefixlen), FieldType::Number, 2},
    {0xef027caau, offsetof(Sit, encap), FieldType::Number, 2},
    {0x0a035f4du, offsetof(Sit, csum), FieldType::Bool, 1},
    {0x3e4f4ea1u, offsetof(Sit, csum6), FieldType::Bool, 1},
    {0x111f571fu, offsetof(Sit, remcsum), FieldType::Bool, 1},
    {0x1219f4bfu, offsetof(Sit, encapSport), FieldType::Number, 2},
    {0x63f4eed2u, offsetof(Sit, encapDport), FieldType::Number, 2},
    {0x6e58b7c3u, offsetof(Sit, fwmark), FieldType::Number, 4},
};
inline constexpr FieldTable Sit::typeFields = {sitFields, std::size(sitFields), sizeof(Sit), detail::ensureBoxed<Sit>};

inline constexpr Field tunFields[] = {
    {0xec6ee012u, offsetof(Tun, mode), FieldType::Number, 1},
    {0x484e4bf2u, offsetof(Tun, pi), FieldType::Bool, 1},
    {0xc052fdb5u, offsetof(Tun, vnetHdr), FieldType::Bool, 1},
    {0xbe4a35beu, offsetof(Tun, multiQueue), FieldType::Bool, 1},
    {0x92b9e5f3u, offsetof(Tun, numqueues), FieldType::Number, 4},
    {0xd0027943u, offsetof(Tun, numdisabled), FieldType::Number, 4},
    {0xe979f483u, offsetof(Tun, persist), FieldType::Bool, 1},
    {0x60785ef2u, offsetof(Tun, user), FieldType::Number, 4},
    {0x5fb91e8cu, offsetof(Tun, group), FieldType::Number, 4},
};
inline constexpr FieldTable Tun::typeFields = {tunFields, std::size(tunFields), sizeof(Tun), detail::ensureBoxed<Tun>};

inline constexpr Field vethFields[] = {
    {0xb8150f49u, offsetof(Veth, peer), FieldType::Set, 0, &LinkInfo::typeFields},
};
inline constexpr FieldTable Veth::typeFields = {vethFields, std::size(vethFields), sizeof(Veth), detail::ensureBoxed<Veth>};

inline constexpr Field vlanFields[] = {
    {0xfb2805b5u, offsetof(Vlan, protocol), FieldType::Number, 2},
    {0x37386ae0u, offsetof(Vlan, id), FieldType::Number, 2},
    {0xd1ceb291u, offsetof(Vlan, reorderHdr), FieldType::Bool, 1},
    {0xfc9e4442u, offsetof(Vlan, gvrp), FieldType::Bool, 1},
    {0xe8fefb27u, offsetof(Vlan, looseBinding), FieldType::Bool, 1},
    {0x301cae48u, offsetof(Vlan, mvrp), FieldType::Bool, 1},
    {0xd887094au, offsetof(Vlan, bridgeBinding), FieldType::Bool, 1},
    {0x9ed8160eu, offsetof(Vlan, ingressQos), FieldType::Texts},
    {0x4a6ab228u, offsetof(Vlan, egressQos), FieldType::Texts},
};
inline constexpr FieldTable Vlan::typeFields = {vlanFields, std::size(vlanFields), sizeof(Vlan), detail::ensureBoxed<Vlan>};

inline constexpr Field vrfFields[] = {
    {0x4a9c9bdfu, offsetof(Vrf, table), FieldType::Number, 4},
};
inline constexpr FieldTable Vrf::typeFields = {vrfFields, std::size(vrfFields), sizeof(Vrf), detail::ensureBoxed<Vrf>};

inline constexpr Field vxlanFields[] = {
    {0x37386ae0u, offsetof(Vxlan, id), FieldType::Number, 4},
    {0xc78d7953u, offsetof(Vxlan, remote), FieldType::Ip},
    {0x88b619ffu, offsetof(Vxlan, remote6), FieldType::Ip},
    {0x9c436708u, offsetof(Vxlan, local), FieldType::Ip},
    {0x3c1b869au, offsetof(Vxlan, local6), FieldType::Ip},
    {0x0ddb0669u, offsetof(Vxlan, link), FieldType::Interface},
    {0x94ee5e30u, offsetof(Vxlan, portRange), FieldType::Text},
    {0x7be412a6u, offsetof(Vxlan, port), FieldType::Number, 2},
    {0x33380b6bu, offsetof(Vxlan, learning), FieldType::Bool, 1},
    {0x7da2065bu, offsetof(Vxlan, proxy), FieldType::Bool, 1},
    {0x3fdc7a63u, offsetof(Vxlan, rsc), FieldType::Bool, 1},
    {0x20ef3b2fu, offsetof(Vxlan, l2miss), FieldType::Bool, 1},
    {0x6db83ef0u, offsetof(Vxlan, l3miss), FieldType::Bool, 1},
    {0xaa10e0f5u, offsetof(Vxlan, tos), FieldType::Number, 1},
    {0xbd2b425bu, offsetof(Vxlan, ttl), FieldType::Number, 1},
    {0x443ec0d7u, offsetof(Vxlan, ttlInherit), FieldType::Bool, 1},
    {0x5b1ccd0fu, offsetof(Vxlan, df), FieldType::Number, 1},
    {0xf69717fdu, offsetof(Vxlan, label), FieldType::Number, 4},
    {0xb43a7008u, offsetof(Vxlan, labelPolicy), FieldType::Number, 4},
    {0xf321645cu, offsetof(Vxlan, ageing), FieldType::Number, 4},
    {0x32dad934u, offsetof(Vxlan, limit), FieldType::Number, 4},
    {0x4a0aa1f9u, offsetof(Vxlan, udpCsum), FieldType::Bool, 1},
    {0xb00e0fefu, offsetof(Vxlan, udpZeroCsum6Tx), FieldType::Bool, 1},
    {0xabfeff19u, offsetof(Vxlan, udpZeroCsum6Rx), FieldType::Bool, 1},
    {0xd1923aacu, offsetof(Vxlan, remcsumTx), FieldType::Bool, 1},
    {0xd58dc3cau, offsetof(Vxlan, remcsumRx), FieldType::Bool, 1},
    {0x17309ec4u, offsetof(Vxlan, remcsumNopartial), FieldType::Bool, 1},
    {0x560ee914u, offsetof(Vxlan, gbp), FieldType::Bool, 1},
    {0x373bd7e5u, offsetof(Vxlan, gpe), FieldType::Bool, 1},
    {0x331d748au, offsetof(Vxlan, external), FieldType::Bool, 1},
    {0xa354f166u, offsetof(Vxlan, vnifilter), FieldType::Bool, 1},
    {0x17d63738u, offsetof(Vxlan, localbypass), FieldType::Bool, 1},
    {0x11dbea12u, offsetof(Vxlan, mcroute), FieldType::Bool, 1},
};
inline constexpr FieldTable Vxlan::typeFields = {vxlanFields, std::size(vxlanFields), sizeof(Vxlan), detail::ensureBoxed<Vxlan>};

inline constexpr Field xfrmFields[] = {
    {0x0ddb0669u, offsetof(Xfrm, link), FieldType::Interface},
    {0x717d8b56u, offsetof(Xfrm, ifId), FieldType::Number, 4},
    {0x331d748au, offsetof(Xfrm, external), FieldType::Bool, 1},
};
inline constexpr FieldTable Xfrm::typeFields = {xfrmFields, std::size(xfrmFields), sizeof(Xfrm), detail::ensureBoxed<Xfrm>};

inline constexpr Field bondPortFields[] = {
    {0x783132f6u, offsetof(BondPort, state), FieldType::Number, 1},
    {0x13beaa65u, offsetof(BondPort, miiStatus), FieldType::Number, 1},
    {0xe229e60cu, offsetof(BondPort, linkFailureCount), FieldType::Number, 4},
    {0x9e34b5ceu, offsetof(BondPort, permHwaddr), FieldType::Mac},
    {0x23bf82c0u, offsetof(BondPort, queueId), FieldType::Number, 2},
    {0xc84d01bfu, offsetof(BondPort, prio), FieldType::Number, 4},
    {0x7d1596ecu, offsetof(BondPort, adAggregatorId), FieldType::Number, 2},
    {0x00e291a9u, offsetof(BondPort, adActorOperPortState), FieldType::Number, 1},
    {0x258140f2u, offsetof(BondPort, adPartnerOperPortState), FieldType::Number, 2},
};
inline constexpr FieldTable BondPort::typeFields = {bondPortFields, std::size(bondPortFields), sizeof(BondPort), detail::ensureBoxed<BondPort>};

inline constexpr Field bridgePortFields[] = {
    {0x783132f6u, offsetof(BridgePort, state), FieldType::Number, 1},
    {0x94e4e309u, offsetof(BridgePort, priority), FieldType::Number, 2},
    {0xe85c3338u, offsetof(BridgePort, cost), FieldType::Number, 4},
    {0xd8155858u, offsetof(BridgePort, hairpin), FieldType::Bool, 1},
    {0x2bd1616eu, offsetof(BridgePort, guard), FieldType::Bool, 1},
    {0xcdc002cbu, offsetof(BridgePort, rootBlock), FieldType::Bool, 1},
    {0x7776e6dau, offsetof(BridgePort, fastleave), FieldType::Bool, 1},
    {0x33380b6bu, offsetof(BridgePort, learning), FieldType::Bool, 1},
    {0xc2e71bdbu, offsetof(BridgePort, flood), FieldType::Bool, 1},
    {0x37386ae0u, offsetof(BridgePort, id), FieldType::Number, 2},
    {0x62366ffau, offsetof(BridgePort, no), FieldType::Number, 2},
    {0xb1d2a217u, offsetof(BridgePort, designatedPort), FieldType::Number, 2},
    {0x1a145b41u, offsetof(BridgePort, designatedCost), FieldType::Number, 2},
    {0x02e742a8u, offsetof(BridgePort, bridgeId), FieldType::Text},
    {0xa35ca033u, offsetof(BridgePort, rootId), FieldType::Text},
    {0xbe646682u, offsetof(BridgePort, holdTimer), FieldType::Number, 8},
    {0x626ab35au, offsetof(BridgePort, messageAgeTimer), FieldType::Number, 8},
    {0x1a838328u, offsetof(BridgePort, forwardDelayTimer), FieldType::Number, 8},
    {0xb9a67c17u, offsetof(BridgePort, topologyChangeAck), FieldType::Bool, 1},
    {0xbb26c3b3u, offsetof(BridgePort, configPending), FieldType::Bool, 1},
    {0x83cf16e6u, offsetof(BridgePort, fdbFlush), FieldType::Bool, 1},
    {0x8581dcddu, offsetof(BridgePort, proxyArp), FieldType::Bool, 1},
    {0x55c3bbd3u, offsetof(BridgePort, proxyArpWifi), FieldType::Bool, 1},
    {0x9714dd0bu, offsetof(BridgePort, multicastRouter), FieldType::Number, 1},
    {0x334bd754u, offsetof(BridgePort, mcastFlood), FieldType::Bool, 1},
    {0x93018f99u, offsetof(BridgePort, bcastFlood), FieldType::Bool, 1},
    {0x15b1a32fu, offsetof(BridgePort, mcastToUnicast), FieldType::Bool, 1},
    {0x7c807eeeu, offsetof(BridgePort, neighSuppress), FieldType::Bool, 1},
    {0xd13adee2u, offsetof(BridgePort, neighVlanSuppress), FieldType::Bool, 1},
    {0xba520d57u, offsetof(BridgePort, groupFwdMask), FieldType::Number, 2},
    {0x01f5138bu, offsetof(BridgePort, vlanTunnel), FieldType::Bool, 1},
    {0xce814e02u, offsetof(BridgePort, isolated), FieldType::Bool, 1},
    {0xce164093u, offsetof(BridgePort, locked), FieldType::Bool, 1},
    {0xeda305bbu, offsetof(BridgePort, mab), FieldType::Bool, 1},
    {0xaeff957bu, offsetof(BridgePort, backupPort), FieldType::Interface},
    {0xba4632fbu, offsetof(BridgePort, backupNhid), FieldType::Number, 4},
    {0x9a14bccbu, offsetof(BridgePort, mcastEhtHostsLimit), FieldType::Number, 4},
    {0x3b3d190bu, offsetof(BridgePort, mcastEhtHostsCnt), FieldType::Number, 4},
    {0x8b542ed7u, offsetof(BridgePort, mcastNGroups), FieldType::Number, 4},
    {0x31603473u, offsetof(BridgePort, mcastMaxGroups), FieldType::Number, 4},
};
inline constexpr FieldTable BridgePort::typeFields = {bridgePortFields, std::size(bridgePortFields), sizeof(BridgePort), detail::ensureBoxed<BridgePort>};

inline constexpr Field vrfPortFields[] = {
    {0x4a9c9bdfu, offsetof(VrfPort, table), FieldType::Number, 4},
};
inline constexpr FieldTable VrfPort::typeFields = {vrfPortFields, std::size(vrfPortFields), sizeof(VrfPort), detail::ensureBoxed<VrfPort>};

inline constexpr Field linkStatisticsFields[] = {
    {0xb355a9a9u, offsetof(LinkStatistics, rxPackets), FieldType::Number, 8},
    {0x046c78e3u, offsetof(LinkStatistics, txPackets), FieldType::Number, 8},
    {0xdc9a0e43u, offsetof(LinkStatistics, rxBytes), FieldType::Number, 8},
    {0x55b6bcb9u, offsetof(LinkStatistics, txBytes), FieldType::Number, 8},
    {0xdfabd757u, offsetof(LinkStatistics, rxErrors), FieldType::Number, 8},
    {0x0d981abdu, offsetof(LinkStatistics, txErrors), FieldType::Number, 8},
    {0xfeb4ae1eu, offsetof(LinkStatistics, rxDropped), FieldType::Number, 8},
    {0x9adb2624u, offsetof(LinkStatistics, txDropped), FieldType::Number, 8},
    {0x1010cf81u, offsetof(LinkStatistics, multicast), FieldType::Number, 8},
    {0xaa1c4db4u, offsetof(LinkStatistics, collisions), FieldType::Number, 8},
    {0x1fd58e42u, offsetof(LinkStatistics, rxLengthErrors), FieldType::Number, 8},
    {0x09a1843cu, offsetof(LinkStatistics, rxOverErrors), FieldType::Number, 8},
    {0xd4fd56b8u, offsetof(LinkStatistics, rxCrcErrors), FieldType::Number, 8},
    {0xa55df691u, offsetof(LinkStatistics, rxFrameErrors), FieldType::Number, 8},
    {0x9ac68fc0u, offsetof(LinkStatistics, rxFifoErrors), FieldType::Number, 8},
    {0x22a78f5du, offsetof(LinkStatistics, rxMissedErrors), FieldType::Number, 8},
    {0xa8380659u, offsetof(LinkStatistics, txAbortedErrors), FieldType::Number, 8},
    {0xd7c782d4u, offsetof(LinkStatistics, txCarrierErrors), FieldType::Number, 8},
    {0x42307832u, offsetof(LinkStatistics, txFifoErrors), FieldType::Number, 8},
    {0x61883000u, offsetof(LinkStatistics, txHeartbeatErrors), FieldType::Number, 8},
    {0x2be79300u, offsetof(LinkStatistics, txWindowErrors), FieldType::Number, 8},
    {0xbc122005u, offsetof(LinkStatistics, rxCompressed), FieldType::Number, 8},
    {0x7902b22bu, offsetof(LinkStatistics, txCompressed), FieldType::Number, 8},
    {0x08993111u, offsetof(LinkStatistics, rxNohandler), FieldType::Number, 8},
    {0x7f5a9689u, offsetof(LinkStatistics, rxOtherhostDropped), FieldType::Number, 8},
};
inline constexpr FieldTable LinkStatistics::typeFields = {linkStatisticsFields, std::size(linkStatisticsFields), sizeof(LinkStatistics), detail::ensureBoxed<LinkStatistics>};

inline constexpr Field linkInfoFields[] = {
    {0x090aa9abu, offsetof(LinkInfo, index), FieldType::Interface},
    {0xdbcb75f9u, offsetof(LinkInfo, hardware), FieldType::Number, 2},
    {0x9c677a2cu, offsetof(LinkInfo, flags), FieldType::Number, 4},
    {0x43430b20u, offsetof(LinkInfo, admin), FieldType::Bool, 1},
    {0x2b6f133eu, offsetof(LinkInfo, arp), FieldType::Bool, 1},
    {0x1010cf81u, offsetof(LinkInfo, multicast), FieldType::Bool, 1},
    {0xcf007652u, offsetof(LinkInfo, allmulticast), FieldType::Bool, 1},
    {0x1c17dfd0u, offsetof(LinkInfo, promisc), FieldType::Bool, 1},
    {0x4f5296aeu, offsetof(LinkInfo, dynamic), FieldType::Bool, 1},
    {0x8d39bde6u, offsetof(LinkInfo, name), FieldType::Text},
    {0x2c6a2953u, offsetof(LinkInfo, address), FieldType::Mac},
    {0xe2d789d4u, offsetof(LinkInfo, broadcast), FieldType::Mac},
    {0x494916e6u, offsetof(LinkInfo, permanentAddress), FieldType::Mac},
    {0xce828143u, offsetof(LinkInfo, mtu), FieldType::Number, 4},
    {0x571ca55cu, offsetof(LinkInfo, minMtu), FieldType::Number, 4},
    {0x025fce8au, offsetof(LinkInfo, maxMtu), FieldType::Number, 4},
    {0xb51d04bau, offsetof(LinkInfo, lower), FieldType::Interface},
    {0x737358a2u, offsetof(LinkInfo, lowerNamespace), FieldType::Number, 4},
    {0xca8dbf33u, offsetof(LinkInfo, master), FieldType::Interface},
    {0x4fc4bab9u, offsetof(LinkInfo, qdisc), FieldType::Text},
    {0x2c03d317u, offsetof(LinkInfo, txqlen), FieldType::Number, 4},
    {0x783132f6u, offsetof(LinkInfo, state), FieldType::Number, 1},
    {0xbbbb4206u, offsetof(LinkInfo, linkmode), FieldType::Number, 1},
    {0x5127f14du, offsetof(LinkInfo, type), FieldType::Text},
    {0x31f7f2e3u, offsetof(LinkInfo, portType), FieldType::Text},
    {0x9e5ab17cu, offsetof(LinkInfo, bareudp), FieldType::Set, 0, &Bareudp::typeFields},
    {0x41720a1cu, offsetof(LinkInfo, bond), FieldType::Set, 0, &Bond::typeFields},
    {0xd8134330u, offsetof(LinkInfo, bridge), FieldType::Set, 0, &Bridge::typeFields},
    {0x4f484835u, offsetof(LinkInfo, geneve), FieldType::Set, 0, &Geneve::typeFields},
    {0xc5c2379bu, offsetof(LinkInfo, gre), FieldType::Set, 0, &Gre::typeFields},
    {0x565c5f0au, offsetof(LinkInfo, ip6Gre), FieldType::Set, 0, &Ip6Gre::typeFields},
    {0x0880d474u, offsetof(LinkInfo, ip6Tnl), FieldType::Set, 0, &Ip6Tnl::typeFields},
    {0xeea552edu, offsetof(LinkInfo, ipip), FieldType::Set, 0, &Ipip::typeFields},
    {0xbf4f0961u, offsetof(LinkInfo, ipvlan), FieldType::Set, 0, &Ipvlan::typeFields},
    {0x549742d5u, offsetof(LinkInfo, macvlan), FieldType::Set, 0, &Macvlan::typeFields},
    {0x16052d9cu, offsetof(LinkInfo, netkit), FieldType::Set, 0, &Netkit::typeFields},
    {0x28bc2bffu, offsetof(LinkInfo, sit), FieldType::Set, 0, &Sit::typeFields},
    {0xffb4fc04u, offsetof(LinkInfo, tun), FieldType::Set, 0, &Tun::typeFields},
    {0x78529608u, offsetof(LinkInfo, veth), FieldType::Set, 0, &Veth::typeFields},
    {0x8482609cu, offsetof(LinkInfo, vlan), FieldType::Set, 0, &Vlan::typeFields},
    {0xd2e147a5u, offsetof(LinkInfo, vrf), FieldType::Set, 0, &Vrf::typeFields},
    {0xcb395b0eu, offsetof(LinkInfo, vxlan), FieldType::Set, 0, &Vxlan::typeFields},
    {0x669de1bau, offsetof(LinkInfo, xfrm), FieldType::Set, 0, &Xfrm::typeFields},
    {0x841ba3d7u, offsetof(LinkInfo, bondPort), FieldType::Set, 0, &BondPort::typeFields},
    {0xef444eabu, offsetof(LinkInfo, bridgePort), FieldType::Set, 0, &BridgePort::typeFields},
    {0x84f65b66u, offsetof(LinkInfo, vrfPort), FieldType::Set, 0, &VrfPort::typeFields},
    {0xe53f8728u, offsetof(LinkInfo, inet6AddrGenMode), FieldType::Number, 1},
    {0x5fb91e8cu, offsetof(LinkInfo, group), FieldType::Number, 4},
    {0x7d268157u, offsetof(LinkInfo, alias), FieldType::Text},
    {0xc4c12b1fu, offsetof(LinkInfo, alternativeNames), FieldType::Texts},
    {0x54f99341u, offsetof(LinkInfo, promiscuity), FieldType::Number, 4},
    {0xcc31f231u, offsetof(LinkInfo, allmulti), FieldType::Number, 4},
    {0xcc3f10e5u, offsetof(LinkInfo, txQueueCount), FieldType::Number, 4},
    {0x6c4de3b7u, offsetof(LinkInfo, rxQueueCount), FieldType::Number, 4},
    {0xd7241cf7u, offsetof(LinkInfo, carrier), FieldType::Bool, 1},
    {0x49d1ad19u, offsetof(LinkInfo, carrierChanges), FieldType::Number, 4},
    {0x4e369d41u, offsetof(LinkInfo, protodown), FieldType::Bool, 1},
    {0x1f31cd5cu, offsetof(LinkInfo, gsoMaxSegs), FieldType::Number, 4},
    {0xeda2dfd3u, offsetof(LinkInfo, gsoMaxSize), FieldType::Number, 4},
    {0x7a5ba070u, offsetof(LinkInfo, groMaxSize), FieldType::Number, 4},
    {0xf87fa1acu, offsetof(LinkInfo, tsoMaxSize), FieldType::Number, 4},
    {0x59fea19fu, offsetof(LinkInfo, tsoMaxSegs), FieldType::Number, 4},
    {0x317fcfb8u, offsetof(LinkInfo, parentDevice), FieldType::Text},
    {0xe79979f8u, offsetof(LinkInfo, parentBus), FieldType::Text},
    {0xcace7aa0u, offsetof(LinkInfo, netns), FieldType::Text},
    {0x22175e6au, offsetof(LinkInfo, namespacePid), FieldType::Number, 4},
    {0xcd3d6c0au, offsetof(LinkInfo, statistics), FieldType::Set, 0, &LinkStatistics::typeFields},
};
inline constexpr FieldTable LinkInfo::typeFields = {linkInfoFields, std::size(linkInfoFields), sizeof(LinkInfo), detail::ensureBoxed<LinkInfo>};

}  // namespace tapline::netlink

#endif
