// Generated from the attribute tables of tapline-netlink. Do not edit.
//
// To write it again: TAPLINE_WRITE=1 cargo test -p tapline-c --test main netlink_types
#ifndef TAPLINE_NETLINK_ADDR_HPP
#define TAPLINE_NETLINK_ADDR_HPP

#include "message.hpp"

namespace tapline::netlink {

enum class AddrProtocol : std::uint8_t {
    Unspecified = 0,
    KernelLoopback = 1,
    KernelRouter = 2,
    KernelLinkLocal = 3,
};

template <>
struct Names<AddrProtocol> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 4> values = {{{0u, "unspec"}, {1u, "kernel_lo"}, {2u, "kernel_ra"}, {3u, "kernel_ll"}}};
};

/// An IP address of an interface: the desired state, or the state that the kernel reported.
///
/// Equals `ip address add LOCAL/PREFIXLEN [peer PEER] dev DEV …`. Fields that are not given or not reported
/// are empty. `dev`, `local`, `prefixlen` and `peer` are the key. Changing an address that does not exist
/// creates it; flags and lifetimes that are not given are then cleared.
struct AddrInfo {
    static constexpr const char *typeName = "AddrInfo";
    static const FieldTable typeFields;

    /// Its interface.
    std::optional<Interface> dev = {};
    /// Its family. Derived from `local` in changes; a filter in queries.
    std::optional<Family> family = {};
    /// Prefix length. Default: all bits. With a peer it is the prefix length of the peer.
    std::optional<std::uint8_t> prefixlen = {};
    /// Its scope; IPv4 only. The scope of an IPv6 address follows from the address.
    std::optional<Scope> scope = {};
    /// Valid lifetime.
    std::optional<Duration<std::uint32_t>> validLifeTime = {};
    /// Preferred lifetime: how long new connections use it. At most the valid lifetime.
    std::optional<Duration<std::uint32_t>> preferredLifeTime = {};
    /// No duplicate address detection; IPv6.
    std::optional<bool> nodad = {};
    /// Usable during duplicate address detection; IPv6.
    std::optional<bool> optimistic = {};
    /// The home address of a mobile host (RFC 6275); IPv6.
    std::optional<bool> home = {};
    /// A template of temporary addresses (RFC 8981); IPv6, prefix of 64 bits.
    std::optional<bool> mngtmpaddr = {};
    /// No route to its prefix.
    std::optional<bool> noprefixroute = {};
    /// The interface joins this multicast group.
    std::optional<bool> autojoin = {};
    /// It has a finite lifetime; read-only.
    std::optional<bool> dynamic = {};
    /// Its preferred lifetime has expired: new connections do not use it. Read-only.
    std::optional<bool> deprecated = {};
    /// Duplicate address detection is in progress: it cannot be a source address yet. Read-only.
    std::optional<bool> tentative = {};
    /// Another host uses it. Read-only.
    std::optional<bool> dadfailed = {};
    /// It is not the first address of its network; IPv4; read-only.
    std::optional<bool> secondary = {};
    /// A temporary privacy address (RFC 8981); IPv6; read-only.
    std::optional<bool> temporary = {};
    /// Generated from the prefix and a secret (RFC 7217); IPv6; read-only.
    std::optional<bool> stablePrivacy = {};
    /// The interface's own address.
    std::optional<IpAddress> local = {};
    /// The peer address; the prefix then belongs to the peer.
    std::optional<IpAddress> peer = {};
    /// The broadcast address; IPv4. `+` and `-` stand for the prefix followed by ones and by zeros.
    std::optional<std::string> broadcast = {};
    /// The anycast address; read-only.
    std::optional<IpAddress> anycast = {};
    /// A label that begins with the name of the interface, at most 15 bytes; IPv4.
    std::optional<std::string> label = {};
    /// Metric of the route to its prefix.
    std::optional<std::uint32_t> metric = {};
    /// Origin.
    std::optional<AddrProtocol> protocol = {};

    AddrInfo &setDev(Interface value) { dev.emplace(std::move(value)); return *this; }
    AddrInfo &setFamily(Family value) { family.emplace(value); return *this; }
    AddrInfo &setPrefixlen(Number<std::uint8_t> value) { prefixlen.emplace(value.value); return *this; }
    AddrInfo &setScope(Scope value) { scope.emplace(value); return *this; }
    AddrInfo &setValidLifeTime(Duration<std::uint32_t> value) { validLifeTime.emplace(value); return *this; }
    AddrInfo &setPreferredLifeTime(Duration<std::uint32_t> value) { preferredLifeTime.emplace(value); return *this; }
    AddrInfo &setNodad(Switch value) { nodad.emplace(value.value); return *this; }
    AddrInfo &setOptimistic(Switch value) { optimistic.emplace(value.value); return *this; }
    AddrInfo &setHome(Switch value) { home.emplace(value.value); return *this; }
    AddrInfo &setMngtmpaddr(Switch value) { mngtmpaddr.emplace(value.value); return *this; }
    AddrInfo &setNoprefixroute(Switch value) { noprefixroute.emplace(value.value); return *this; }
    AddrInfo &setAutojoin(Switch value) { autojoin.emplace(value.value); return *this; }
    AddrInfo &setLocal(IpAddress value) { local.emplace(value); return *this; }
    AddrInfo &setPeer(IpAddress value) { peer.emplace(value); return *this; }
    AddrInfo &setBroadcast(Text value) { broadcast.emplace(std::move(value.value)); return *this; }
    AddrInfo &setLabel(Text value) { label.emplace(std::move(value.value)); return *this; }
    AddrInfo &setMetric(Number<std::uint32_t> value) { metric.emplace(value.value); return *this; }
    AddrInfo &setProtocol(AddrProtocol value) { protocol.emplace(value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse.
    AddrInfo settable() const
    {
        AddrInfo copy = *this;
        copy.removeReadOnly();
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        dynamic = {};
        deprecated = {};
        tentative = {};
        dadfailed = {};
        secondary = {};
        temporary = {};
        stablePrivacy = {};
        anycast = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xd55997bcu, "dev", self.dev);
        visit(0x521d0429u, "family", self.family);
        visit(0x78314fc0u, "prefixlen", self.prefixlen);
        visit(0xbe2af3ebu, "scope", self.scope);
        visit(0x462a678cu, "validLifeTime", self.validLifeTime);
        visit(0x3682ec5bu, "preferredLifeTime", self.preferredLifeTime);
        visit(0x2c43c8bfu, "nodad", self.nodad);
        visit(0xbccd31a8u, "optimistic", self.optimistic);
        visit(0xd2c8c28eu, "home", self.home);
        visit(0xa705c35fu, "mngtmpaddr", self.mngtmpaddr);
        visit(0x1a6e00d7u, "noprefixroute", self.noprefixroute);
        visit(0xcbcba9a2u, "autojoin", self.autojoin);
        visit(0x4f5296aeu, "dynamic", self.dynamic);
        visit(0x700e0da4u, "deprecated", self.deprecated);
        visit(0x251a4509u, "tentative", self.tentative);
        visit(0x85d69377u, "dadfailed", self.dadfailed);
        visit(0x4b7c8bd1u, "secondary", self.secondary);
        visit(0x3ab68efcu, "temporary", self.temporary);
        visit(0x296ef775u, "stablePrivacy", self.stablePrivacy);
        visit(0x9c436708u, "local", self.local);
        visit(0xb8150f49u, "peer", self.peer);
        visit(0xe2d789d4u, "broadcast", self.broadcast);
        visit(0x02bbecf6u, "anycast", self.anycast);
        visit(0xf69717fdu, "label", self.label);
        visit(0xc9af4301u, "metric", self.metric);
        visit(0xfb2805b5u, "protocol", self.protocol);
    }

    /// Writes a change as one message. False if the library has to do it.
    bool encode(tapline_netlink_verb verb, MessageWriter &out) const { return detail::encodeAddr(*this, verb, out); }
    /// Writes the fields that are an attribute each. False if another field is given.
    bool putAttributes(MessageWriter &out) const
    {
        if (detail::isAnyGiven(validLifeTime, preferredLifeTime, nodad, optimistic, home, mngtmpaddr, noprefixroute, autojoin,
                               dynamic, deprecated, tentative, dadfailed, secondary, temporary, stablePrivacy, broadcast,
                               anycast)) [[unlikely]] {
            return false;
        }
        out.put(2, local);
        out.put(1, peer);
        out.put(3, label);
        out.put(9, metric);
        out.put(11, protocol);
        return true;
    }

    bool operator==(const AddrInfo &) const = default;
};

inline constexpr Field addrInfoFields[] = {
    {0xd55997bcu, offsetof(AddrInfo, dev), FieldType::Interface},
    {0x521d0429u, offsetof(AddrInfo, family), FieldType::Number, 1},
    {0x78314fc0u, offsetof(AddrInfo, prefixlen), FieldType::Number, 1},
    {0xbe2af3ebu, offsetof(AddrInfo, scope), FieldType::Number, 1},
    {0x462a678cu, offsetof(AddrInfo, validLifeTime), FieldType::Number, 4},
    {0x3682ec5bu, offsetof(AddrInfo, preferredLifeTime), FieldType::Number, 4},
    {0x2c43c8bfu, offsetof(AddrInfo, nodad), FieldType::Bool, 1},
    {0xbccd31a8u, offsetof(AddrInfo, optimistic), FieldType::Bool, 1},
    {0xd2c8c28eu, offsetof(AddrInfo, home), FieldType::Bool, 1},
    {0xa705c35fu, offsetof(AddrInfo, mngtmpaddr), FieldType::Bool, 1},
    {0x1a6e00d7u, offsetof(AddrInfo, noprefixroute), FieldType::Bool, 1},
    {0xcbcba9a2u, offsetof(AddrInfo, autojoin), FieldType::Bool, 1},
    {0x4f5296aeu, offsetof(AddrInfo, dynamic), FieldType::Bool, 1},
    {0x700e0da4u, offsetof(AddrInfo, deprecated), FieldType::Bool, 1},
    {0x251a4509u, offsetof(AddrInfo, tentative), FieldType::Bool, 1},
    {0x85d69377u, offsetof(AddrInfo, dadfailed), FieldType::Bool, 1},
    {0x4b7c8bd1u, offsetof(AddrInfo, secondary), FieldType::Bool, 1},
    {0x3ab68efcu, offsetof(AddrInfo, temporary), FieldType::Bool, 1},
    {0x296ef775u, offsetof(AddrInfo, stablePrivacy), FieldType::Bool, 1},
    {0x9c436708u, offsetof(AddrInfo, local), FieldType::Ip},
    {0xb8150f49u, offsetof(AddrInfo, peer), FieldType::Ip},
    {0xe2d789d4u, offsetof(AddrInfo, broadcast), FieldType::Text},
    {0x02bbecf6u, offsetof(AddrInfo, anycast), FieldType::Ip},
    {0xf69717fdu, offsetof(AddrInfo, label), FieldType::Text},
    {0xc9af4301u, offsetof(AddrInfo, metric), FieldType::Number, 4},
    {0xfb2805b5u, offsetof(AddrInfo, protocol), FieldType::Number, 1},
};
inline constexpr FieldTable AddrInfo::typeFields = {addrInfoFields, std::size(addrInfoFields), sizeof(AddrInfo), detail::ensureBoxed<AddrInfo>};

}  // namespace tapline::netlink

#endif
