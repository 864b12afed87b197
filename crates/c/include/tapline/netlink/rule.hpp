// Generated from the attribute tables of tapline-netlink. Do not edit.
//
// To write it again: TAPLINE_WRITE=1 cargo test -p tapline-c --test main netlink_types
#ifndef TAPLINE_NETLINK_RULE_HPP
#define TAPLINE_NETLINK_RULE_HPP

#include "shared.hpp"

namespace tapline::netlink {

enum class RuleAction : std::uint8_t {
    ToTable = 1,
    Goto = 2,
    Nop = 3,
    Blackhole = 6,
    Unreachable = 7,
    Prohibit = 8,
};

template <>
struct Names<RuleAction> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 6> values = {{{1u, "to_tbl"}, {2u, "goto"}, {3u, "nop"}, {6u, "blackhole"}, {7u, "unreachable"}, {8u, "prohibit"}}};
};

/// A routing policy rule: selects packets and the routing table for them.
///
/// Fields that are not given match everything. Equals `ip rule add [from NETWORK] [iif NAME] … lookup TABLE`: without
/// a table, an action, `goto` and `l3mdev`, a new rule looks up in the table main. A rule without any field is neither
/// added nor deleted: the kernel would delete the first one.
struct RuleInfo {
    static constexpr const char *typeName = "RuleInfo";
    static const FieldTable typeFields;

    /// Its family. Default: that of the networks, otherwise IPv4.
    std::optional<Family> family = {};
    /// The source network.
    std::optional<Prefix> src = {};
    /// The destination network.
    std::optional<Prefix> dst = {};
    /// The type of service.
    std::optional<std::uint8_t> tos = {};
    /// Its action. Default: look up in a table.
    std::optional<RuleAction> action = {};
    /// Whether the selection is inverted.
    std::optional<bool> inverted = {};
    /// Whether the target of `goto` is missing. Read-only.
    std::optional<bool> unresolved = {};
    /// Whether the ingress link is missing. Read-only.
    std::optional<bool> iifDetached = {};
    /// Whether the egress link is missing. Read-only.
    std::optional<bool> oifDetached = {};
    /// Its priority. Rules are evaluated in ascending order.
    std::optional<std::uint32_t> priority = {};
    /// The ingress link; `lo` selects packets of this host. Always a name: a rule may wait for a link that does not exist yet.
    std::optional<std::string> iif = {};
    /// The egress link of a bound socket, by its name.
    std::optional<std::string> oif = {};
    /// The firewall mark.
    std::optional<std::uint32_t> fwmark = {};
    /// The mask for the firewall mark.
    std::optional<std::uint32_t> fwmask = {};
    /// The routing table. Default: main, if the action is to look up.
    std::optional<RouteTable> table = {};
    /// The priority of the next rule.
    std::optional<std::uint32_t> gotoPriority = {};
    /// Whether the table is that of the packet's VRF.
    std::optional<bool> l3mdev = {};
    /// The user ids: `5` or `5-6`.
    std::optional<std::string> uidrange = {};
    /// The IP protocol: 6 TCP, 17 UDP.
    std::optional<std::uint8_t> ipproto = {};
    /// The source ports: `80` or `80-90`.
    std::optional<std::string> sport = {};
    /// The destination ports: `80` or `80-90`.
    std::optional<std::string> dport = {};
    /// The tunnel id.
    std::optional<std::uint64_t> tunId = {};
    /// Ignore routes with a prefix length of at most this.
    std::optional<std::int32_t> suppressPrefixlen = {};
    /// Ignore routes over links of this group.
    std::optional<std::int32_t> suppressIfgroup = {};
    /// Realms: source in the upper half, destination in the lower.
    std::optional<std::uint32_t> flow = {};
    /// Origin.
    std::optional<RouteProtocol> protocol = {};

    RuleInfo &setFamily(Family value) { family.emplace(value); return *this; }
    RuleInfo &setSrc(Prefix value) { src.emplace(value); return *this; }
    RuleInfo &setDst(Prefix value) { dst.emplace(value); return *this; }
    RuleInfo &setTos(Number<std::uint8_t> value) { tos.emplace(value.value); return *this; }
    RuleInfo &setAction(RuleAction value) { action.emplace(value); return *this; }
    RuleInfo &setInverted(Switch value) { inverted.emplace(value.value); return *this; }
    RuleInfo &setPriority(Number<std::uint32_t> value) { priority.emplace(value.value); return *this; }
    RuleInfo &setIif(Text value) { iif.emplace(std::move(value.value)); return *this; }
    RuleInfo &setOif(Text value) { oif.emplace(std::move(value.value)); return *this; }
    RuleInfo &setFwmark(Number<std::uint32_t> value) { fwmark.emplace(value.value); return *this; }
    RuleInfo &setFwmask(Number<std::uint32_t> value) { fwmask.emplace(value.value); return *this; }
    RuleInfo &setTable(RouteTable value) { table.emplace(value); return *this; }
    RuleInfo &setGotoPriority(Number<std::uint32_t> value) { gotoPriority.emplace(value.value); return *this; }
    RuleInfo &setL3mdev(Switch value) { l3mdev.emplace(value.value); return *this; }
    RuleInfo &setUidrange(Text value) { uidrange.emplace(std::move(value.value)); return *this; }
    RuleInfo &setIpproto(Number<std::uint8_t> value) { ipproto.emplace(value.value); return *this; }
    RuleInfo &setSport(Text value) { sport.emplace(std::move(value.value)); return *this; }
    RuleInfo &setDport(Text value) { dport.emplace(std::move(value.value)); return *this; }
    RuleInfo &setTunId(Number<std::uint64_t> value) { tunId.emplace(value.value); return *this; }
    RuleInfo &setSuppressPrefixlen(Number<std::int32_t> value) { suppressPrefixlen.emplace(value.value); return *this; }
    RuleInfo &setSuppressIfgroup(Number<std::int32_t> value) { suppressIfgroup.emplace(value.value); return *this; }
    RuleInfo &setFlow(Number<std::uint32_t> value) { flow.emplace(value.value); return *this; }
    RuleInfo &setProtocol(RouteProtocol value) { protocol.emplace(value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse.
    RuleInfo settable() const
    {
        RuleInfo copy = *this;
        copy.removeReadOnly();
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        unresolved = {};
        iifDetached = {};
        oifDetached = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x521d0429u, "family", self.family);
        visit(0xd33ce1c9u, "src", self.src);
        visit(0xd3237a9cu, "dst", self.dst);
        visit(0xaa10e0f5u, "tos", self.tos);
        visit(0xc4642effu, "action", self.action);
        visit(0x29b19c8au, "inverted", self.inverted);
        visit(0x70719e0au, "unresolved", self.unresolved);
        visit(0xebfc9fa2u, "iifDetached", self.iifDetached);
        visit(0x1a5e622cu, "oifDetached", self.oifDetached);
        visit(0x94e4e309u, "priority", self.priority);
        visit(0x95f03a23u, "iif", self.iif);
        visit(0xbd3867c9u, "oif", self.oif);
        visit(0x6e58b7c3u, "fwmark", self.fwmark);
        visit(0x565c6392u, "fwmask", self.fwmask);
        visit(0x4a9c9bdfu, "table", self.table);
        visit(0xf5a30fe6u, "gotoPriority", self.gotoPriority);
        visit(0xa1bb030eu, "l3mdev", self.l3mdev);
        visit(0xcd7c839au, "uidrange", self.uidrange);
        visit(0x32d51102u, "ipproto", self.ipproto);
        visit(0x2f54deedu, "sport", self.sport);
        visit(0x16865a8cu, "dport", self.dport);
        visit(0x07679c34u, "tunId", self.tunId);
        visit(0x6ae2255eu, "suppressPrefixlen", self.suppressPrefixlen);
        visit(0x68658fe3u, "suppressIfgroup", self.suppressIfgroup);
        visit(0xbdc81695u, "flow", self.flow);
        visit(0xfb2805b5u, "protocol", self.protocol);
    }

    bool operator==(const RuleInfo &) const = default;
};

inline constexpr Field ruleInfoFields[] = {
    {0x521d0429u, offsetof(RuleInfo, family), FieldType::Number, 1},
    {0xd33ce1c9u, offsetof(RuleInfo, src), FieldType::Prefix},
    {0xd3237a9cu, offsetof(RuleInfo, dst), FieldType::Prefix},
    {0xaa10e0f5u, offsetof(RuleInfo, tos), FieldType::Number, 1},
    {0xc4642effu, offsetof(RuleInfo, action), FieldType::Number, 1},
    {0x29b19c8au, offsetof(RuleInfo, inverted), FieldType::Bool, 1},
    {0x70719e0au, offsetof(RuleInfo, unresolved), FieldType::Bool, 1},
    {0xebfc9fa2u, offsetof(RuleInfo, iifDetached), FieldType::Bool, 1},
    {0x1a5e622cu, offsetof(RuleInfo, oifDetached), FieldType::Bool, 1},
    {0x94e4e309u, offsetof(RuleInfo, priority), FieldType::Number, 4},
    {0x95f03a23u, offsetof(RuleInfo, iif), FieldType::Text},
    {0xbd3867c9u, offsetof(RuleInfo, oif), FieldType::Text},
    {0x6e58b7c3u, offsetof(RuleInfo, fwmark), FieldType::Number, 4},
    {0x565c6392u, offsetof(RuleInfo, fwmask), FieldType::Number, 4},
    {0x4a9c9bdfu, offsetof(RuleInfo, table), FieldType::Number, 4},
    {0xf5a30fe6u, offsetof(RuleInfo, gotoPriority), FieldType::Number, 4},
    {0xa1bb030eu, offsetof(RuleInfo, l3mdev), FieldType::Bool, 1},
    {0xcd7c839au, offsetof(RuleInfo, uidrange), FieldType::Text},
    {0x32d51102u, offsetof(RuleInfo, ipproto), FieldType::Number, 1},
    {0x2f54deedu, offsetof(RuleInfo, sport), FieldType::Text},
    {0x16865a8cu, offsetof(RuleInfo, dport), FieldType::Text},
    {0x07679c34u, offsetof(RuleInfo, tunId), FieldType::Number, 8},
    {0x6ae2255eu, offsetof(RuleInfo, suppressPrefixlen), FieldType::Number, 4},
    {0x68658fe3u, offsetof(RuleInfo, suppressIfgroup), FieldType::Number, 4},
    {0xbdc81695u, offsetof(RuleInfo, flow), FieldType::Number, 4},
    {0xfb2805b5u, offsetof(RuleInfo, protocol), FieldType::Number, 1},
};
inline constexpr FieldTable RuleInfo::typeFields = {ruleInfoFields, std::size(ruleInfoFields), sizeof(RuleInfo), detail::ensureBoxed<RuleInfo>};

}  // namespace tapline::netlink

#endif
