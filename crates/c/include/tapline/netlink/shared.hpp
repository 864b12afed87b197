// Generated from the attribute tables of tapline-netlink. Do not edit.
//
// To write it again: TAPLINE_WRITE=1 cargo test -p tapline-c --test main netlink_types
#ifndef TAPLINE_NETLINK_SHARED_HPP
#define TAPLINE_NETLINK_SHARED_HPP

#include "fields.hpp"

namespace tapline::netlink {

enum class Family : std::uint8_t {
    V4 = 2,
    V6 = 10,
};

template <>
struct Names<Family> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 2> values = {{{2u, "inet"}, {10u, "inet6"}}};
};

enum class Scope : std::uint8_t {
    Global = 0,
    Site = 200,
    Link = 253,
    Host = 254,
    Nowhere = 255,
};

template <>
struct Names<Scope> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 5> values = {{{0u, "global"}, {200u, "site"}, {253u, "link"}, {254u, "host"}, {255u, "nowhere"}}};
};

enum class PortState : std::uint8_t {
    Disabled = 0,
    Listening = 1,
    Learning = 2,
    Forwarding = 3,
    Blocking = 4,
};

template <>
struct Names<PortState> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 5> values = {{{0u, "disabled"}, {1u, "listening"}, {2u, "learning"}, {3u, "forwarding"}, {4u, "blocking"}}};
};

enum class RouteProtocol : std::uint8_t {
    Unspec = 0,
    Redirect = 1,
    Kernel = 2,
    Boot = 3,
    Static = 4,
    Gated = 8,
    Ra = 9,
    Mrt = 10,
    Zebra = 11,
    Bird = 12,
    Dnrouted = 13,
    Xorp = 14,
    Ntk = 15,
    Dhcp = 16,
    Keepalived = 18,
    Babel = 42,
    Openr = 99,
    Bgp = 186,
    Isis = 187,
    Ospf = 188,
    Rip = 189,
    Eigrp = 192,
};

template <>
struct Names<RouteProtocol> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 22> values = {{{0u, "unspec"}, {1u, "redirect"}, {2u, "kernel"}, {3u, "boot"}, {4u, "static"}, {8u, "gated"}, {9u, "ra"}, {10u, "mrt"}, {11u, "zebra"}, {12u, "bird"}, {13u, "dnrouted"}, {14u, "xorp"}, {15u, "ntk"}, {16u, "dhcp"}, {18u, "keepalived"}, {42u, "babel"}, {99u, "openr"}, {186u, "bgp"}, {187u, "isis"}, {188u, "ospf"}, {189u, "rip"}, {192u, "eigrp"}}};
};

enum class RouteFlags : std::uint32_t {
    Dead = 1,
    Onlink = 4,
    Pervasive = 2,
    Offload = 8,
    Trap = 64,
    Notify = 256,
    Linkdown = 16,
    Unresolved = 32,
    RtOffload = 16384,
    RtTrap = 32768,
    RtOffloadFailed = 536870912,
};

template <>
struct Names<RouteFlags> {
    static constexpr bool isFlags = true;
    static constexpr std::array<Named, 11> values = {{{1u, "dead"}, {4u, "onlink"}, {2u, "pervasive"}, {8u, "offload"}, {64u, "trap"}, {256u, "notify"}, {16u, "linkdown"}, {32u, "unresolved"}, {16384u, "rt_offload"}, {32768u, "rt_trap"}, {536870912u, "rt_offload_failed"}}};
};

/// A stack of MPLS labels.
struct MplsEncap {
    static constexpr const char *typeName = "MplsEncap";
    static const FieldTable typeFields;

    /// The labels, outermost first.
    std::optional<std::string> dst = {};
    /// Time to live of the labels.
    std::optional<std::uint8_t> ttl = {};

    MplsEncap &setDst(Text value) { dst.emplace(std::move(value.value)); return *this; }
    MplsEncap &setTtl(Number<std::uint8_t> value) { ttl.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xd3237a9cu, "dst", self.dst);
        visit(0xbd2b425bu, "ttl", self.ttl);
    }

    bool operator==(const MplsEncap &) const = default;
};

/// IPv4 tunnel metadata.
struct IpEncap {
    static constexpr const char *typeName = "IpEncap";
    static const FieldTable typeFields;

    /// Tunnel id, e.g. the VNI of a VXLAN.
    std::optional<std::uint64_t> id = {};
    /// Local address.
    std::optional<IpAddress> src = {};
    /// Remote address.
    std::optional<IpAddress> dst = {};
    /// Time to live.
    std::optional<std::uint8_t> ttl = {};
    /// The DS field.
    std::optional<std::uint8_t> tos = {};
    /// Options of the tunnel header (`TUNNEL_*`).
    std::optional<std::uint16_t> flags = {};

    IpEncap &setId(Number<std::uint64_t> value) { id.emplace(value.value); return *this; }
    IpEncap &setSrc(IpAddress value) { src.emplace(value); return *this; }
    IpEncap &setDst(IpAddress value) { dst.emplace(value); return *this; }
    IpEncap &setTtl(Number<std::uint8_t> value) { ttl.emplace(value.value); return *this; }
    IpEncap &setTos(Number<std::uint8_t> value) { tos.emplace(value.value); return *this; }
    IpEncap &setFlags(Number<std::uint16_t> value) { flags.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x37386ae0u, "id", self.id);
        visit(0xd33ce1c9u, "src", self.src);
        visit(0xd3237a9cu, "dst", self.dst);
        visit(0xbd2b425bu, "ttl", self.ttl);
        visit(0xaa10e0f5u, "tos", self.tos);
        visit(0x9c677a2cu, "flags", self.flags);
    }

    bool operator==(const IpEncap &) const = default;
};

/// IPv6 tunnel metadata.
struct Ip6Encap {
    static constexpr const char *typeName = "Ip6Encap";
    static const FieldTable typeFields;

    /// Tunnel id.
    std::optional<std::uint64_t> id = {};
    /// Local address.
    std::optional<IpAddress> src = {};
    /// Remote address.
    std::optional<IpAddress> dst = {};
    /// Hop limit.
    std::optional<std::uint8_t> hoplimit = {};
    /// Traffic class.
    std::optional<std::uint8_t> tc = {};
    /// Options of the tunnel header (`TUNNEL_*`).
    std::optional<std::uint16_t> flags = {};

    Ip6Encap &setId(Number<std::uint64_t> value) { id.emplace(value.value); return *this; }
    Ip6Encap &setSrc(IpAddress value) { src.emplace(value); return *this; }
    Ip6Encap &setDst(IpAddress value) { dst.emplace(value); return *this; }
    Ip6Encap &setHoplimit(Number<std::uint8_t> value) { hoplimit.emplace(value.value); return *this; }
    Ip6Encap &setTc(Number<std::uint8_t> value) { tc.emplace(value.value); return *this; }
    Ip6Encap &setFlags(Number<std::uint16_t> value) { flags.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x37386ae0u, "id", self.id);
        visit(0xd33ce1c9u, "src", self.src);
        visit(0xd3237a9cu, "dst", self.dst);
        visit(0x6ab1ed7bu, "hoplimit", self.hoplimit);
        visit(0x36453540u, "tc", self.tc);
        visit(0x9c677a2cu, "flags", self.flags);
    }

    bool operator==(const Ip6Encap &) const = default;
};

enum class Seg6Mode : std::uint32_t {
    Inline = 0,
    Encap = 1,
    L2encap = 2,
    EncapRed = 3,
    L2encapRed = 4,
};

template <>
struct Names<Seg6Mode> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 5> values = {{{0u, "inline"}, {1u, "encap"}, {2u, "l2encap"}, {3u, "encap.red"}, {4u, "l2encap.red"}}};
};

/// A segment routing header (RFC 8754).
struct Seg6Encap {
    static constexpr const char *typeName = "Seg6Encap";
    static const FieldTable typeFields;

    /// Where the header is inserted.
    std::optional<Seg6Mode> mode = {};
    /// The segments, in the order of travel.
    std::optional<std::vector<IpAddress>> segs = {};

    Seg6Encap &setMode(Seg6Mode value) { mode.emplace(value); return *this; }
    Seg6Encap &setSegs(std::vector<IpAddress> value) { segs.emplace(std::move(value)); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xec6ee012u, "mode", self.mode);
        visit(0x674a5e0fu, "segs", self.segs);
    }

    bool operator==(const Seg6Encap &) const = default;
};

/// The encapsulation of a route: one of the fields.
struct Encap {
    static constexpr const char *typeName = "Encap";
    static const FieldTable typeFields;

    /// A stack of MPLS labels.
    Boxed<MplsEncap> mpls = {};
    /// IPv4 tunnel metadata.
    Boxed<IpEncap> ip = {};
    /// IPv6 tunnel metadata.
    Boxed<Ip6Encap> ip6 = {};
    /// A segment routing header.
    Boxed<Seg6Encap> seg6 = {};

    Encap &setMpls(Boxed<MplsEncap> value) { mpls = std::move(value); return *this; }
    Encap &setIp(Boxed<IpEncap> value) { ip = std::move(value); return *this; }
    Encap &setIp6(Boxed<Ip6Encap> value) { ip6 = std::move(value); return *this; }
    Encap &setSeg6(Boxed<Seg6Encap> value) { seg6 = std::move(value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xad88dfbdu, "mpls", self.mpls);
        visit(0x4b388a5cu, "ip", self.ip);
        visit(0xd401e4deu, "ip6", self.ip6);
        visit(0xa24abaf0u, "seg6", self.seg6);
    }

    bool operator==(const Encap &) const = default;
};

enum class RouteTable : std::uint32_t {
    Unspec = 0,
    Default = 253,
    Main = 254,
    Local = 255,
};

template <>
struct Names<RouteTable> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 4> values = {{{0u, "unspec"}, {253u, "default"}, {254u, "main"}, {255u, "local"}}};
};

inline constexpr Field mplsEncapFields[] = {
    {0xd3237a9cu, offsetof(MplsEncap, dst), FieldType::Text},
    {0xbd2b425bu, offsetof(MplsEncap, ttl), FieldType::Number, 1},
};
inline constexpr FieldTable MplsEncap::typeFields = {mplsEncapFields, std::size(mplsEncapFields), sizeof(MplsEncap), detail::ensureBoxed<MplsEncap>};

inline constexpr Field ipEncapFields[] = {
    {0x37386ae0u, offsetof(IpEncap, id), FieldType::Number, 8},
    {0xd33ce1c9u, offsetof(IpEncap, src), FieldType::Ip},
    {0xd3237a9cu, offsetof(IpEncap, dst), FieldType::Ip},
    {0xbd2b425bu, offsetof(IpEncap, ttl), FieldType::Number, 1},
    {0xaa10e0f5u, offsetof(IpEncap, tos), FieldType::Number, 1},
    {0x9c677a2cu, offsetof(IpEncap, flags), FieldType::Number, 2},
};
inline constexpr FieldTable IpEncap::typeFields = {ipEncapFields, std::size(ipEncapFields), sizeof(IpEncap), detail::ensureBoxed<IpEncap>};

inline constexpr Field ip6EncapFields[] = {
    {0x37386ae0u, offsetof(Ip6Encap, id), FieldType::Number, 8},
    {0xd33ce1c9u, offsetof(Ip6Encap, src), FieldType::Ip},
    {0xd3237a9cu, offsetof(Ip6Encap, dst), FieldType::Ip},
    {0x6ab1ed7bu, offsetof(Ip6Encap, hoplimit), FieldType::Number, 1},
    {0x36453540u, offsetof(Ip6Encap, tc), FieldType::Number, 1},
    {0x9c677a2cu, offsetof(Ip6Encap, flags), FieldType::Number, 2},
};
inline constexpr FieldTable Ip6Encap::typeFields = {ip6EncapFields, std::size(ip6EncapFields), sizeof(Ip6Encap), detail::ensureBoxed<Ip6Encap>};

inline constexpr Field seg6EncapFields[] = {
    {0xec6ee012u, offsetof(Seg6Encap, mode), FieldType::Number, 4},
    {0x674a5e0fu, offsetof(Seg6Encap, segs), FieldType::Ips},
};
inline constexpr FieldTable Seg6Encap::typeFields = {seg6EncapFields, std::size(seg6EncapFields), sizeof(Seg6Encap), detail::ensureBoxed<Seg6Encap>};

inline constexpr Field encapFields[] = {
    {0xad88dfbdu, offsetof(Encap, mpls), FieldType::Set, 0, &MplsEncap::typeFields},
    {0x4b388a5cu, offsetof(Encap, ip), FieldType::Set, 0, &IpEncap::typeFields},
    {0xd401e4deu, offsetof(Encap, ip6), FieldType::Set, 0, &Ip6Encap::typeFields},
    {0xa24abaf0u, offsetof(Encap, seg6), FieldType::Set, 0, &Seg6Encap::typeFields},
};
inline constexpr FieldTable Encap::typeFields = {encapFields, std::size(encapFields), sizeof(Encap), detail::ensureBoxed<Encap>};

}  // namespace tapline::netlink

#endif
