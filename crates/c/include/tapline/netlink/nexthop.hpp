// Generated from the attribute tables of tapline-netlink. Do not edit.
//
// To write it again: TAPLINE_WRITE=1 cargo test -p tapline-c --test main netlink_types
#ifndef TAPLINE_NETLINK_NEXTHOP_HPP
#define TAPLINE_NETLINK_NEXTHOP_HPP

#include "shared.hpp"

namespace tapline::netlink {

enum class GroupType : std::uint16_t {
    Mpath = 0,
    Resilient = 1,
};

template <>
struct Names<GroupType> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 2> values = {{{0u, "mpath"}, {1u, "resilient"}}};
};

/// Parameters of a resilient group (`NHA_RES_GROUP`).
struct ResilientArgs {
    static constexpr const char *typeName = "ResilientArgs";
    static const FieldTable typeFields;

    /// Number of buckets; fixed at creation.
    std::optional<std::uint16_t> buckets = {};
    /// Idle time before a bucket may move.
    std::optional<Duration<std::uint32_t, std::centi>> idleTimer = {};
    /// Time out of balance before busy buckets move too; 0 is infinite.
    std::optional<Duration<std::uint32_t, std::centi>> unbalancedTimer = {};
    /// Time out of balance. Read-only.
    std::optional<Duration<std::uint32_t, std::centi>> unbalancedTime = {};

    ResilientArgs &setBuckets(Number<std::uint16_t> value) { buckets.emplace(value.value); return *this; }
    ResilientArgs &setIdleTimer(Duration<std::uint32_t, std::centi> value) { idleTimer.emplace(value); return *this; }
    ResilientArgs &setUnbalancedTimer(Duration<std::uint32_t, std::centi> value) { unbalancedTimer.emplace(value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse.
    ResilientArgs settable() const
    {
        ResilientArgs copy = *this;
        copy.removeReadOnly();
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        unbalancedTime = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x8ac9880cu, "buckets", self.buckets);
        visit(0x3a568875u, "idleTimer", self.idleTimer);
        visit(0x794c40e8u, "unbalancedTimer", self.unbalancedTimer);
        visit(0x47c8ec0au, "unbalancedTime", self.unbalancedTime);
    }

    bool operator==(const ResilientArgs &) const = default;
};

/// A next hop, or a group of them. Routes refer to it by id (`RouteInfo::nhid`).
///
/// Adding routes that share a nexthop is about 1.5 times as fast. They all change with it.
/// Equals `ip nexthop add id ID via GATEWAY dev NAME` and `ip nexthop add id ID group 1/2`.
struct NexthopInfo {
    static constexpr const char *typeName = "NexthopInfo";
    static const FieldTable typeFields;

    /// Its family. Default: that of the gateway.
    std::optional<Family> family = {};
    /// Its scope. Read-only.
    std::optional<Scope> scope = {};
    /// Origin.
    std::optional<RouteProtocol> protocol = {};
    /// Its flags. Read-only.
    std::optional<RouteFlags> flags = {};
    /// It is on the link, regardless of the addresses there.
    std::optional<bool> onlink = {};
    /// Its id. Default: chosen by the kernel.
    std::optional<std::uint32_t> id = {};
    /// The members of a group.
    std::optional<std::string> group = {};
    std::optional<GroupType> groupType = {};
    /// Parameters of a resilient group.
    Boxed<ResilientArgs> resilientArgs = {};
    /// Whether it drops packets.
    std::optional<bool> blackhole = {};
    std::optional<IpAddress> gateway = {};
    std::optional<Interface> dev = {};
    Boxed<Encap> encap = {};
    /// Whether it is for forwarding entries.
    std::optional<bool> fdb = {};
    /// Groups only; a filter in queries.
    std::optional<bool> groups = {};
    /// The bridge, bond or VRF of its link; a filter in queries.
    std::optional<Interface> master = {};

    NexthopInfo &setFamily(Family value) { family.emplace(value); return *this; }
    NexthopInfo &setProtocol(RouteProtocol value) { protocol.emplace(value); return *this; }
    NexthopInfo &setOnlink(Switch value) { onlink.emplace(value.value); return *this; }
    NexthopInfo &setId(Number<std::uint32_t> value) { id.emplace(value.value); return *this; }
    NexthopInfo &setGroup(Text value) { group.emplace(std::move(value.value)); return *this; }
    NexthopInfo &setGroupType(GroupType value) { groupType.emplace(value); return *this; }
    NexthopInfo &setResilientArgs(Boxed<ResilientArgs> value) { resilientArgs = std::move(value); return *this; }
    NexthopInfo &setBlackhole(Switch value) { blackhole.emplace(value.value); return *this; }
    NexthopInfo &setGateway(IpAddress value) { gateway.emplace(value); return *this; }
    NexthopInfo &setDev(Interface value) { dev.emplace(std::move(value)); return *this; }
    NexthopInfo &setEncap(Boxed<Encap> value) { encap = std::move(value); return *this; }
    NexthopInfo &setFdb(Switch value) { fdb.emplace(value.value); return *this; }
    NexthopInfo &setGroups(Switch value) { groups.emplace(value.value); return *this; }
    NexthopInfo &setMaster(Interface value) { master.emplace(std::move(value)); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse, and without `groups` and `master`.
    NexthopInfo settable() const
    {
        NexthopInfo copy = *this;
        copy.removeReadOnly();
        copy.groups = {};
        copy.master = {};
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        scope = {};
        flags = {};
        if (resilientArgs) {
            resilientArgs->removeReadOnly();
        }
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x521d0429u, "family", self.family);
        visit(0xbe2af3ebu, "scope", self.scope);
        visit(0xfb2805b5u, "protocol", self.protocol);
        visit(0x9c677a2cu, "flags", self.flags);
        visit(0x81731a80u, "onlink", self.onlink);
        visit(0x37386ae0u, "id", self.id);
        visit(0x5fb91e8cu, "group", self.group);
        visit(0x658eb981u, "groupType", self.groupType);
        visit(0x8efce070u, "resilientArgs", self.resilientArgs);
        visit(0x436bf706u, "blackhole", self.blackhole);
        visit(0xe7ca41f9u, "gateway", self.gateway);
        visit(0xd55997bcu, "dev", self.dev);
        visit(0xef027caau, "encap", self.encap);
        visit(0xa704c33fu, "fdb", self.fdb);
        visit(0xaf6bcb6du, "groups", self.groups);
        visit(0xca8dbf33u, "master", self.master);
    }

    bool operator==(const NexthopInfo &) const = default;
};

inline constexpr Field resilientArgsFields[] = {
    {0x8ac9880cu, offsetof(ResilientArgs, buckets), FieldType::Number, 2},
    {0x3a568875u, offsetof(ResilientArgs, idleTimer), FieldType::Number, 4},
    {0x794c40e8u, offsetof(ResilientArgs, unbalancedTimer), FieldType::Number, 4},
    {0x47c8ec0au, offsetof(ResilientArgs, unbalancedTime), FieldType::Number, 4},
};
inline constexpr FieldTable ResilientArgs::typeFields = {resilientArgsFields, std::size(resilientArgsFields), sizeof(ResilientArgs), detail::ensureBoxed<ResilientArgs>};

inline constexpr Field nexthopInfoFields[] = {
    {0x521d0429u, offsetof(NexthopInfo, family), FieldType::Number, 1},
    {0xbe2af3ebu, offsetof(NexthopInfo, scope), FieldType::Number, 1},
    {0xfb2805b5u, offsetof(NexthopInfo, protocol), FieldType::Number, 1},
    {0x9c677a2cu, offsetof(NexthopInfo, flags), FieldType::Number, 4},
    {0x81731a80u, offsetof(NexthopInfo, onlink), FieldType::Bool, 1},
    {0x37386ae0u, offsetof(NexthopInfo, id), FieldType::Number, 4},
    {0x5fb91e8cu, offsetof(NexthopInfo, group), FieldType::Text},
    {0x658eb981u, offsetof(NexthopInfo, groupType), FieldType::Number, 2},
    {0x8efce070u, offsetof(NexthopInfo, resilientArgs), FieldType::Set, 0, &ResilientArgs::typeFields},
    {0x436bf706u, offsetof(NexthopInfo, blackhole), FieldType::Bool, 1},
    {0xe7ca41f9u, offsetof(NexthopInfo, gateway), FieldType::Ip},
    {0xd55997bcu, offsetof(NexthopInfo, dev), FieldType::Interface},
    {0xef027caau, offsetof(NexthopInfo, encap), FieldType::Set, 0, &Encap::typeFields},
    {0xa704c33fu, offsetof(NexthopInfo, fdb), FieldType::Bool, 1},
    {0xaf6bcb6du, offsetof(NexthopInfo, groups), FieldType::Bool, 1},
    {0xca8dbf33u, offsetof(NexthopInfo, master), FieldType::Interface},
};
inline constexpr FieldTable NexthopInfo::typeFields = {nexthopInfoFields, std::size(nexthopInfoFields), sizeof(NexthopInfo), detail::ensureBoxed<NexthopInfo>};

}  // namespace tapline::netlink

#endif
