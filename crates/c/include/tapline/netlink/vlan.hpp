// Generated from the attribute tables of tapline-netlink. Do not edit.
//
// To write it again: TAPLINE_WRITE=1 cargo test -p tapline-c --test main netlink_types
#ifndef TAPLINE_NETLINK_VLAN_HPP
#define TAPLINE_NETLINK_VLAN_HPP

#include "shared.hpp"

namespace tapline::netlink {

enum class PortVlanFlags : std::uint16_t {
    Pvid = 2,
    Untagged = 4,
};

template <>
struct Names<PortVlanFlags> {
    static constexpr bool isFlags = true;
    static constexpr std::array<Named, 2> values = {{{2u, "PVID"}, {4u, "Egress Untagged"}}};
};

/// A VLAN or a range of VLANs of a bridge port, or of the bridge itself: the desired state, or the state that
/// the kernel reported.
///
/// Equals `bridge vlan add dev DEV vid VLAN[-VLANEND] [pvid] [untagged] [self] [master]`. Adding an
/// existing VLAN changes its flags. Its options (`state`, `mcast_router`) can be set after it was added, as with
/// `bridge vlan set`.
struct VlanInfo {
    static constexpr const char *typeName = "VlanInfo";
    static const FieldTable typeFields;

    /// The port, or the bridge.
    std::optional<Interface> dev = {};
    /// The VLAN, or the first of a range: 1 to 4094.
    std::optional<std::uint16_t> vlan = {};
    /// The last VLAN of a range. Write-only: VLANs are reported one by one.
    std::optional<std::uint16_t> vlanEnd = {};
    /// Handling of untagged packets.
    std::optional<PortVlanFlags> flags = {};
    /// Apply to the device itself; required if that is the bridge. Write-only.
    std::optional<bool> own = {};
    /// Apply to the bridge of the device, possibly in addition to `own`. Default. Write-only.
    std::optional<bool> master = {};
    /// Spanning tree state.
    std::optional<PortState> state = {};
    /// Whether a multicast router is behind the port: 0 never, 1 if queries are seen, 2 always.
    std::optional<std::uint8_t> mcastRouter = {};
    /// Received bytes. Read-only.
    std::optional<std::uint64_t> rxBytes = {};
    /// Received packets. Read-only.
    std::optional<std::uint64_t> rxPackets = {};
    /// Sent bytes. Read-only.
    std::optional<std::uint64_t> txBytes = {};
    /// Sent packets. Read-only.
    std::optional<std::uint64_t> txPackets = {};

    VlanInfo &setDev(Interface value) { dev.emplace(std::move(value)); return *this; }
    VlanInfo &setVlan(Number<std::uint16_t> value) { vlan.emplace(value.value); return *this; }
    VlanInfo &setVlanEnd(Number<std::uint16_t> value) { vlanEnd.emplace(value.value); return *this; }
    VlanInfo &setFlags(PortVlanFlags value) { flags.emplace(value); return *this; }
    VlanInfo &setOwn(Switch value) { own.emplace(value.value); return *this; }
    VlanInfo &setMaster(Switch value) { master.emplace(value.value); return *this; }
    VlanInfo &setState(PortState value) { state.emplace(value); return *this; }
    VlanInfo &setMcastRouter(Number<std::uint8_t> value) { mcastRouter.emplace(value.value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse, and without `state` and `mcastRouter`.
    VlanInfo settable() const
    {
        VlanInfo copy = *this;
        copy.removeReadOnly();
        copy.state = {};
        copy.mcastRouter = {};
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        rxBytes = {};
        rxPackets = {};
        txBytes = {};
        txPackets = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xd55997bcu, "dev", self.dev);
        visit(0x0454817cu, "vlan", self.vlan);
        visit(0x4afdddfeu, "vlanEnd", self.vlanEnd);
        visit(0x9c677a2cu, "flags", self.flags);
        visit(0xa515afbfu, "own", self.own);
        visit(0xca8dbf33u, "master", self.master);
        visit(0x783132f6u, "state", self.state);
        visit(0xe489bb25u, "mcastRouter", self.mcastRouter);
        visit(0xdc9a0e43u, "rxBytes", self.rxBytes);
        visit(0xb355a9a9u, "rxPackets", self.rxPackets);
        visit(0x55b6bcb9u, "txBytes", self.txBytes);
        visit(0x046c78e3u, "txPackets", self.txPackets);
    }

    bool operator==(const VlanInfo &) const = default;
};

inline constexpr Field vlanInfoFields[] = {
    {0xd55997bcu, offsetof(VlanInfo, dev), FieldType::Interface},
    {0x0454817cu, offsetof(VlanInfo, vlan), FieldType::Number, 2},
    {0x4afdddfeu, offsetof(VlanInfo, vlanEnd), FieldType::Number, 2},
    {0x9c677a2cu, offsetof(VlanInfo, flags), FieldType::Number, 2},
    {0xa515afbfu, offsetof(VlanInfo, own), FieldType::Bool, 1},
    {0xca8dbf33u, offsetof(VlanInfo, master), FieldType::Bool, 1},
    {0x783132f6u, offsetof(VlanInfo, state), FieldType::Number, 1},
    {0xe489bb25u, offsetof(VlanInfo, mcastRouter), FieldType::Number, 1},
    {0xdc9a0e43u, offsetof(VlanInfo, rxBytes), FieldType::Number, 8},
    {0xb355a9a9u, offsetof(VlanInfo, rxPackets), FieldType::Number, 8},
    {0x55b6bcb9u, offsetof(VlanInfo, txBytes), FieldType::Number, 8},
    {0x046c78e3u, offsetof(VlanInfo, txPackets), FieldType::Number, 8},
};
inline constexpr FieldTable VlanInfo::typeFields = {vlanInfoFields, std::size(vlanInfoFields), sizeof(VlanInfo), detail::ensureBoxed<VlanInfo>};

}  // namespace tapline::netlink

#endif
