// Generated from the attribute tables of tapline-netlink. Do not edit.
//
// To write it again: TAPLINE_WRITE=1 cargo test -p tapline-c --test main netlink_types
#ifndef TAPLINE_NETLINK_NEIGH_HPP
#define TAPLINE_NETLINK_NEIGH_HPP

#include "message.hpp"

namespace tapline::netlink {

enum class NeighState : std::uint16_t {
    None = 0,
    Incomplete = 1,
    Reachable = 2,
    Stale = 4,
    Delay = 8,
    Probe = 16,
    Failed = 32,
    Noarp = 64,
    Permanent = 128,
};

template <>
struct Names<NeighState> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 9> values = {{{0u, "none"}, {1u, "incomplete"}, {2u, "reachable"}, {4u, "stale"}, {8u, "delay"}, {16u, "probe"}, {32u, "failed"}, {64u, "noarp"}, {128u, "permanent"}}};
};

/// A neighbour, a host on the link of an interface: the desired state, or the state that the kernel reported.
///
/// Equals `ip neighbour add DST lladdr LLADDR dev DEV [nud STATE] …`. `dst` and `dev` are the key. As in
/// `ip(8)`, the default state is permanent, also in a change.
struct NeighInfo {
    static constexpr const char *typeName = "NeighInfo";
    static const FieldTable typeFields;

    /// Its interface.
    std::optional<Interface> dev = {};
    /// Its family. Derived from `dst` in changes; a filter in queries.
    std::optional<Family> family = {};
    /// Its state.
    std::optional<NeighState> state = {};
    /// The kernel keeps its hardware address resolved; Linux 5.16.
    std::optional<bool> managed = {};
    /// Seconds since it was last used. Read-only.
    std::optional<Duration<std::uint32_t>> used = {};
    /// Seconds since it was last confirmed. Read-only.
    std::optional<Duration<std::uint32_t>> confirmed = {};
    /// Seconds since it was last updated. Read-only.
    std::optional<Duration<std::uint32_t>> updated = {};
    /// Reference count. Read-only.
    std::optional<std::uint32_t> refcnt = {};
    /// A proxy entry: this host answers for the address. Queries return either proxy entries or
    /// neighbours, never both.
    std::optional<bool> proxy = {};
    /// It is a router; IPv6.
    std::optional<bool> router = {};
    /// Learned and maintained by a program.
    std::optional<bool> externLearn = {};
    /// Resolve its hardware address now. Write-only.
    std::optional<bool> resolve = {};
    /// Offloaded to a device. Read-only.
    std::optional<bool> offload = {};
    std::optional<IpAddress> dst = {};
    std::optional<MacAddress> lladdr = {};
    /// Unanswered probes. Read-only.
    std::optional<std::uint32_t> probes = {};
    /// The bridge, bond or VRF of its link; a filter in queries only.
    std::optional<Interface> master = {};
    /// Origin.
    std::optional<RouteProtocol> protocol = {};

    NeighInfo &setDev(Interface value) { dev.emplace(std::move(value)); return *this; }
    NeighInfo &setFamily(Family value) { family.emplace(value); return *this; }
    NeighInfo &setState(NeighState value) { state.emplace(value); return *this; }
    NeighInfo &setManaged(Switch value) { managed.emplace(value.value); return *this; }
    NeighInfo &setProxy(Switch value) { proxy.emplace(value.value); return *this; }
    NeighInfo &setRouter(Switch value) { router.emplace(value.value); return *this; }
    NeighInfo &setExternLearn(Switch value) { externLearn.emplace(value.value); return *this; }
    NeighInfo &setResolve(Switch value) { resolve.emplace(value.value); return *this; }
    NeighInfo &setDst(IpAddress value) { dst.emplace(value); return *this; }
    NeighInfo &setLladdr(MacAddress value) { lladdr.emplace(value); return *this; }
    NeighInfo &setMaster(Interface value) { master.emplace(std::move(value)); return *this; }
    NeighInfo &setProtocol(RouteProtocol value) { protocol.emplace(value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse.
    NeighInfo settable() const
    {
        NeighInfo copy = *this;
        copy.removeReadOnly();
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        used = {};
        confirmed = {};
        updated = {};
        refcnt = {};
        offload = {};
        probes = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xd55997bcu, "dev", self.dev);
        visit(0x521d0429u, "family", self.family);
        visit(0x783132f6u, "state", self.state);
        visit(0x49179dd6u, "managed", self.managed);
        visit(0x6a786eb0u, "used", self.used);
        visit(0x13a0440eu, "confirmed", self.confirmed);
        visit(0x20861530u, "updated", self.updated);
        visit(0xebc02c69u, "refcnt", self.refcnt);
        visit(0x7da2065bu, "proxy", self.proxy);
        visit(0x4c1b5704u, "router", self.router);
        visit(0x5b460aaeu, "externLearn", self.externLearn);
        visit(0xaef31c63u, "resolve", self.resolve);
        visit(0xb8954782u, "offload", self.offload);
        visit(0xd3237a9cu, "dst", self.dst);
        visit(0xc4cb32d2u, "lladdr", self.lladdr);
        visit(0xedd78866u, "probes", self.probes);
        visit(0xca8dbf33u, "master", self.master);
        visit(0xfb2805b5u, "protocol", self.protocol);
    }

    /// Writes a change as one message. False if the library has to do it.
    bool encode(tapline_netlink_verb verb, MessageWriter &out) const { return detail::encodeNeigh(*this, verb, out); }
    /// Writes the fields that are an attribute each. False if another field is given.
    bool putAttributes(MessageWriter &out) const
    {
        if (detail::isAnyGiven(used, confirmed, updated, refcnt, offload, probes)) [[unlikely]] {
            return false;
        }
        out.put(1, dst);
        out.put(2, lladdr);
        out.put(9, master);
        out.put(12, protocol);
        return true;
    }

    bool operator==(const NeighInfo &) const = default;
};

inline constexpr Field neighInfoFields[] = {
    {0xd55997bcu, offsetof(NeighInfo, dev), FieldType::Interface},
    {0x521d0429u, offsetof(NeighInfo, family), FieldType::Number, 1},
    {0x783132f6u, offsetof(NeighInfo, state), FieldType::Number, 2},
    {0x49179dd6u, offsetof(NeighInfo, managed), FieldType::Bool, 1},
    {0x6a786eb0u, offsetof(NeighInfo, used), FieldType::Number, 4},
    {0x13a0440eu, offsetof(NeighInfo, confirmed), FieldType::Number, 4},
    {0x20861530u, offsetof(NeighInfo, updated), FieldType::Number, 4},
    {0xebc02c69u, offsetof(NeighInfo, refcnt), FieldType::Number, 4},
    {0x7da2065bu, offsetof(NeighInfo, proxy), FieldType::Bool, 1},
    {0x4c1b5704u, offsetof(NeighInfo, router), FieldType::Bool, 1},
    {0x5b460aaeu, offsetof(NeighInfo, externLearn), FieldType::Bool, 1},
    {0xaef31c63u, offsetof(NeighInfo, resolve), FieldType::Bool, 1},
    {0xb8954782u, offsetof(NeighInfo, offload), FieldType::Bool, 1},
    {0xd3237a9cu, offsetof(NeighInfo, dst), FieldType::Ip},
    {0xc4cb32d2u, offsetof(NeighInfo, lladdr), FieldType::Mac},
    {0xedd78866u, offsetof(NeighInfo, probes), FieldType::Number, 4},
    {0xca8dbf33u, offsetof(NeighInfo, master), FieldType::Interface},
    {0xfb2805b5u, offsetof(NeighInfo, protocol), FieldType::Number, 1},
};
inline constexpr FieldTable NeighInfo::typeFields = {neighInfoFields, std::size(neighInfoFields), sizeof(NeighInfo), detail::ensureBoxed<NeighInfo>};

}  // namespace tapline::netlink

#endif
