// Generated from the attribute tables of tapline-netlink. Do not edit.
//
// To write it again: TAPLINE_WRITE=1 cargo test -p tapline-c --test main netlink_types
#ifndef TAPLINE_NETLINK_FDB_HPP
#define TAPLINE_NETLINK_FDB_HPP

#include "shared.hpp"

namespace tapline::netlink {

enum class FdbState : std::uint16_t {
    Permanent = 192,
    Static = 66,
    Dynamic = 2,
    Stale = 4,
};

template <>
struct Names<FdbState> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 4> values = {{{192u, "permanent"}, {66u, "static"}, {2u, "dynamic"}, {4u, "stale"}}};
};

enum class FdbFlags : std::uint8_t {
    Self = 2,
    Master = 4,
    Router = 128,
    ExternLearn = 16,
    Offload = 32,
    Sticky = 64,
    Use = 1,
};

template <>
struct Names<FdbFlags> {
    static constexpr bool isFlags = true;
    static constexpr std::array<Named, 7> values = {{{2u, "self"}, {4u, "master"}, {128u, "router"}, {16u, "extern_learn"}, {32u, "offload"}, {64u, "sticky"}, {1u, "use"}}};
};

/// A forwarding entry of a bridge, of a VXLAN or of a device: the desired state, or the state that the kernel
/// reported.
///
/// Equals `bridge fdb add LLADDR dev DEV …`. Without the flags `self` and `master` the entry belongs to the bridge that
/// `master` names, as in what the kernel reports, or else to the device itself. Without a
/// state it is permanent, as with `bridge(8)`. A VXLAN sends packets without an entry of their own to the remote ends of the
/// address of zeros. Further remote ends of one address are appended.
struct FdbInfo {
    static constexpr const char *typeName = "FdbInfo";
    static const FieldTable typeFields;

    /// The port, or the device.
    std::optional<Interface> dev = {};
    /// How long it is kept.
    std::optional<FdbState> state = {};
    /// Whether the device or its bridge has it, and how it is treated. A filter matches entries with at least these flags.
    std::optional<FdbFlags> flags = {};
    /// Seconds since it was last used. Read-only.
    std::optional<Duration<std::uint32_t>> used = {};
    /// Seconds since it last changed. Read-only.
    std::optional<Duration<std::uint32_t>> updated = {};
    std::optional<MacAddress> lladdr = {};
    /// The remote end of the VXLAN.
    std::optional<IpAddress> dst = {};
    /// The VLAN, if the bridge filters by VLAN.
    std::optional<std::uint16_t> vlan = {};
    /// UDP port of the remote end. Default: that of the device.
    std::optional<std::uint16_t> port = {};
    /// Network identifier at the remote end. Default: that of the device.
    std::optional<std::uint32_t> vni = {};
    /// The interface through which the remote end is reached.
    std::optional<Interface> via = {};
    /// The bridge that has it. In a change, the flag `master` if neither `self` nor `master` is given.
    std::optional<Interface> master = {};
    /// Network identifier of the packets to which it applies, on a device with several.
    std::optional<std::uint32_t> srcVni = {};
    /// The nexthop group of the remote ends.
    std::optional<std::uint32_t> nhid = {};

    FdbInfo &setDev(Interface value) { dev.emplace(std::move(value)); return *this; }
    FdbInfo &setState(FdbState value) { state.emplace(value); return *this; }
    FdbInfo &setFlags(FdbFlags value) { flags.emplace(value); return *this; }
    FdbInfo &setLladdr(MacAddress value) { lladdr.emplace(value); return *this; }
    FdbInfo &setDst(IpAddress value) { dst.emplace(value); return *this; }
    FdbInfo &setVlan(Number<std::uint16_t> value) { vlan.emplace(value.value); return *this; }
    FdbInfo &setPort(Number<std::uint16_t> value) { port.emplace(value.value); return *this; }
    FdbInfo &setVni(Number<std::uint32_t> value) { vni.emplace(value.value); return *this; }
    FdbInfo &setVia(Interface value) { via.emplace(std::move(value)); return *this; }
    FdbInfo &setMaster(Interface value) { master.emplace(std::move(value)); return *this; }
    FdbInfo &setSrcVni(Number<std::uint32_t> value) { srcVni.emplace(value.value); return *this; }
    FdbInfo &setNhid(Number<std::uint32_t> value) { nhid.emplace(value.value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse.
    FdbInfo settable() const
    {
        FdbInfo copy = *this;
        copy.removeReadOnly();
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        used = {};
        updated = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xd55997bcu, "dev", self.dev);
        visit(0x783132f6u, "state", self.state);
        visit(0x9c677a2cu, "flags", self.flags);
        visit(0x6a786eb0u, "used", self.used);
        visit(0x20861530u, "updated", self.updated);
        visit(0xc4cb32d2u, "lladdr", self.lladdr);
        visit(0xd3237a9cu, "dst", self.dst);
        visit(0x0454817cu, "vlan", self.vlan);
        visit(0x7be412a6u, "port", self.port);
        visit(0x79238e64u, "vni", self.vni);
        visit(0x69122c13u, "via", self.via);
        visit(0xca8dbf33u, "master", self.master);
        visit(0x9e9d13edu, "srcVni", self.srcVni);
        visit(0x81fa8d56u, "nhid", self.nhid);
    }

    bool operator==(const FdbInfo &) const = default;
};

inline constexpr Field fdbInfoFields[] = {
    {0xd55997bcu, offsetof(FdbInfo, dev), FieldType::Interface},
    {0x783132f6u, offsetof(FdbInfo, state), FieldType::Number, 2},
    {0x9c677a2cu, offsetof(FdbInfo, flags), FieldType::Number, 1},
    {0x6a786eb0u, offsetof(FdbInfo, used), FieldType::Number, 4},
    {0x20861530u, offsetof(FdbInfo, updated), FieldType::Number, 4},
    {0xc4cb32d2u, offsetof(FdbInfo, lladdr), FieldType::Mac},
    {0xd3237a9cu, offsetof(FdbInfo, dst), FieldType::Ip},
    {0x0454817cu, offsetof(FdbInfo, vlan), FieldType::Number, 2},
    {0x7be412a6u, offsetof(FdbInfo, port), FieldType::Number, 2},
    {0x79238e64u, offsetof(FdbInfo, vni), FieldType::Number, 4},
    {0x69122c13u, offsetof(FdbInfo, via), FieldType::Interface},
    {0xca8dbf33u, offsetof(FdbInfo, master), FieldType::Interface},
    {0x9e9d13edu, offsetof(FdbInfo, srcVni), FieldType::Number, 4},
    {0x81fa8d56u, offsetof(FdbInfo, nhid), FieldType::Number, 4},
};
inline constexpr FieldTable FdbInfo::typeFields = {fdbInfoFields, std::size(fdbInfoFields), sizeof(FdbInfo), detail::ensureBoxed<FdbInfo>};

}  // namespace tapline::netlink

#endif
