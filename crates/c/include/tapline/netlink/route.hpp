// Generated from the attribute tables of tapline-netlink. Do not edit.
//
// To write it again: TAPLINE_WRITE=1 cargo test -p tapline-c --test main netlink_types
#ifndef TAPLINE_NETLINK_ROUTE_HPP
#define TAPLINE_NETLINK_ROUTE_HPP

#include "message.hpp"

namespace tapline::netlink {

enum class RouteType : std::uint8_t {
    None = 0,
    Unicast = 1,
    Local = 2,
    Broadcast = 3,
    Anycast = 4,
    Multicast = 5,
    Blackhole = 6,
    Unreachable = 7,
    Prohibit = 8,
    Throw = 9,
    Nat = 10,
    Xresolve = 11,
};

template <>
struct Names<RouteType> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 12> values = {{{0u, "none"}, {1u, "unicast"}, {2u, "local"}, {3u, "broadcast"}, {4u, "anycast"}, {5u, "multicast"}, {6u, "blackhole"}, {7u, "unreachable"}, {8u, "prohibit"}, {9u, "throw"}, {10u, "nat"}, {11u, "xresolve"}}};
};

enum class RouteCacheFlags : std::uint32_t {
    Local = 2147483648,
    Mc = 536870912,
    Brd = 268435456,
    Redirected = 262144,
    Redirect = 16777216,
    Notify = 65536,
};

template <>
struct Names<RouteCacheFlags> {
    static constexpr bool isFlags = true;
    static constexpr std::array<Named, 6> values = {{{2147483648u, "local"}, {536870912u, "mc"}, {268435456u, "brd"}, {262144u, "redirected"}, {16777216u, "redirect"}, {65536u, "notify"}}};
};

enum class RouteLocks : std::uint32_t {
    Mtu = 4,
    Window = 8,
    Rtt = 16,
    Rttvar = 32,
    Ssthresh = 64,
    Cwnd = 128,
    Advmss = 256,
    Reordering = 512,
    Hoplimit = 1024,
    Initcwnd = 2048,
    RtoMin = 8192,
    Initrwnd = 16384,
    Quickack = 32768,
    Congctl = 65536,
    FastopenNoCookie = 131072,
};

template <>
struct Names<RouteLocks> {
    static constexpr bool isFlags = true;
    static constexpr std::array<Named, 15> values = {{{4u, "mtu"}, {8u, "window"}, {16u, "rtt"}, {32u, "rttvar"}, {64u, "ssthresh"}, {128u, "cwnd"}, {256u, "advmss"}, {512u, "reordering"}, {1024u, "hoplimit"}, {2048u, "initcwnd"}, {8192u, "rto_min"}, {16384u, "initrwnd"}, {32768u, "quickack"}, {65536u, "congctl"}, {131072u, "fastopen_no_cookie"}}};
};

enum class RouteFeatures : std::uint32_t {
    Ecn = 1,
    TcpUsecTs = 16,
};

template <>
struct Names<RouteFeatures> {
    static constexpr bool isFlags = true;
    static constexpr std::array<Named, 2> values = {{{1u, "ecn"}, {16u, "tcp_usec_ts"}}};
};

/// Metrics of the path to a destination, for TCP and IP (`RTA_METRICS`).
struct Metrics {
    static constexpr const char *typeName = "Metrics";
    static const FieldTable typeFields;

    /// The locked metrics, which the kernel must not change.
    std::optional<RouteLocks> lock = {};
    /// Path MTU in bytes.
    std::optional<std::uint32_t> mtu = {};
    /// Maximum TCP window in bytes.
    std::optional<std::uint32_t> window = {};
    /// Initial round-trip time.
    std::optional<Duration<std::uint32_t, std::milli>> rtt = {};
    /// Initial round-trip time variance.
    std::optional<Duration<std::uint32_t, std::milli>> rttvar = {};
    /// Initial slow-start threshold, in segments.
    std::optional<std::uint32_t> ssthresh = {};
    /// Maximum congestion window in segments.
    std::optional<std::uint32_t> cwnd = {};
    /// Advertised maximum segment size in bytes.
    std::optional<std::uint32_t> advmss = {};
    /// Maximum reordering in segments.
    std::optional<std::uint32_t> reordering = {};
    /// Hop limit; IPv6.
    std::optional<std::uint32_t> hoplimit = {};
    /// Initial congestion window in segments.
    std::optional<std::uint32_t> initcwnd = {};
    /// TCP features.
    std::optional<RouteFeatures> features = {};
    /// Minimum retransmission timeout.
    std::optional<Duration<std::uint32_t, std::milli>> rtoMin = {};
    /// Initial advertised receive window in segments.
    std::optional<std::uint32_t> initrwnd = {};
    /// Quick acknowledgements: 1 is on.
    std::optional<std::uint32_t> quickack = {};
    /// Congestion control algorithm.
    std::optional<std::string> congestion = {};
    /// TCP fast open without a cookie: 1 is on.
    std::optional<std::uint32_t> fastopenNoCookie = {};

    Metrics &setLock(RouteLocks value) { lock.emplace(value); return *this; }
    Metrics &setMtu(Number<std::uint32_t> value) { mtu.emplace(value.value); return *this; }
    Metrics &setWindow(Number<std::uint32_t> value) { window.emplace(value.value); return *this; }
    Metrics &setRtt(Duration<std::uint32_t, std::milli> value) { rtt.emplace(value); return *this; }
    Metrics &setRttvar(Duration<std::uint32_t, std::milli> value) { rttvar.emplace(value); return *this; }
    Metrics &setSsthresh(Number<std::uint32_t> value) { ssthresh.emplace(value.value); return *this; }
    Metrics &setCwnd(Number<std::uint32_t> value) { cwnd.emplace(value.value); return *this; }
    Metrics &setAdvmss(Number<std::uint32_t> value) { advmss.emplace(value.value); return *this; }
    Metrics &setReordering(Number<std::uint32_t> value) { reordering.emplace(value.value); return *this; }
    Metrics &setHoplimit(Number<std::uint32_t> value) { hoplimit.emplace(value.value); return *this; }
    Metrics &setInitcwnd(Number<std::uint32_t> value) { initcwnd.emplace(value.value); return *this; }
    Metrics &setFeatures(RouteFeatures value) { features.emplace(value); return *this; }
    Metrics &setRtoMin(Duration<std::uint32_t, std::milli> value) { rtoMin.emplace(value); return *this; }
    Metrics &setInitrwnd(Number<std::uint32_t> value) { initrwnd.emplace(value.value); return *this; }
    Metrics &setQuickack(Number<std::uint32_t> value) { quickack.emplace(value.value); return *this; }
    Metrics &setCongestion(Text value) { congestion.emplace(std::move(value.value)); return *this; }
    Metrics &setFastopenNoCookie(Number<std::uint32_t> value) { fastopenNoCookie.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xef0d7842u, "lock", self.lock);
        visit(0xce828143u, "mtu", self.mtu);
        visit(0xa172b7ddu, "window", self.window);
        visit(0x36cfa045u, "rtt", self.rtt);
        visit(0x2f57233eu, "rttvar", self.rttvar);
        visit(0x4429bc2du, "ssthresh", self.ssthresh);
        visit(0x97da06a5u, "cwnd", self.cwnd);
        visit(0xee4ca8a3u, "advmss", self.advmss);
        visit(0x01bc27c0u, "reordering", self.reordering);
        visit(0x6ab1ed7bu, "hoplimit", self.hoplimit);
        visit(0x79f9d9cfu, "initcwnd", self.initcwnd);
        visit(0x5f8383cau, "features", self.features);
        visit(0xd56d6d6bu, "rtoMin", self.rtoMin);
        visit(0x1ee07966u, "initrwnd", self.initrwnd);
        visit(0x787857e5u, "quickack", self.quickack);
        visit(0x9f58afeau, "congestion", self.congestion);
        visit(0xabc343e2u, "fastopenNoCookie", self.fastopenNoCookie);
    }

    bool operator==(const Metrics &) const = default;
};

enum class RoutePreference : std::uint8_t {
    Medium = 0,
    High = 1,
    Invalid = 2,
    Low = 3,
};

template <>
struct Names<RoutePreference> {
    static constexpr bool isFlags = false;
    static constexpr std::array<Named, 4> values = {{{0u, "medium"}, {1u, "high"}, {2u, "invalid"}, {3u, "low"}}};
};

/// One of several next hops of a route (`struct rtnexthop`).
///
/// Equals `nexthop [via GATEWAY] [dev NAME] [weight WEIGHT] …` in `ip route add`.
struct Hop {
    static constexpr const char *typeName = "Hop";
    static const FieldTable typeFields;

    /// Its link.
    std::optional<Interface> dev = {};
    /// Its share of the traffic, 1 to 256. Default: 1.
    std::optional<std::uint16_t> weight = {};
    /// Its flags. Read-only.
    std::optional<RouteFlags> flags = {};
    /// The next hop is on the link, regardless of the addresses there.
    std::optional<bool> onlink = {};
    /// The next hop, if it belongs to the family of the route.
    std::optional<IpAddress> gateway = {};
    /// The next hop, if it belongs to another family.
    std::optional<IpAddress> via = {};
    Boxed<Encap> encap = {};
    /// Its realms, for accounting.
    std::optional<std::uint32_t> realms = {};

    Hop &setDev(Interface value) { dev.emplace(std::move(value)); return *this; }
    Hop &setWeight(Number<std::uint16_t> value) { weight.emplace(value.value); return *this; }
    Hop &setOnlink(Switch value) { onlink.emplace(value.value); return *this; }
    Hop &setGateway(IpAddress value) { gateway.emplace(value); return *this; }
    Hop &setVia(IpAddress value) { via.emplace(value); return *this; }
    Hop &setEncap(Boxed<Encap> value) { encap = std::move(value); return *this; }
    Hop &setRealms(Number<std::uint32_t> value) { realms.emplace(value.value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse.
    Hop settable() const
    {
        Hop copy = *this;
        copy.removeReadOnly();
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        flags = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xd55997bcu, "dev", self.dev);
        visit(0x50a09eb9u, "weight", self.weight);
        visit(0x9c677a2cu, "flags", self.flags);
        visit(0x81731a80u, "onlink", self.onlink);
        visit(0xe7ca41f9u, "gateway", self.gateway);
        visit(0x69122c13u, "via", self.via);
        visit(0xef027caau, "encap", self.encap);
        visit(0x8f16a659u, "realms", self.realms);
    }

    bool operator==(const Hop &) const = default;
};

/// A route: the desired state, or the state that the kernel reported.
///
/// Fields that are not given or not reported are empty. Defaults of a new route, as in `ip route`: main
/// table, type unicast, protocol `boot`. Deletion removes the first route that matches the given fields; with
/// a destination alone it removes any route there.
struct RouteInfo {
    static constexpr const char *typeName = "RouteInfo";
    static const FieldTable typeFields;

    /// Its type.
    std::optional<RouteType> kind = {};
    /// Its family. Default: that of the destination.
    std::optional<Family> family = {};
    /// Its destination.
    std::optional<Prefix> dst = {};
    /// The source network to which it applies; IPv6 only.
    std::optional<Prefix> src = {};
    /// The type of service to which it applies.
    std::optional<std::uint8_t> tos = {};
    /// Its table.
    std::optional<RouteTable> table = {};
    /// Origin.
    std::optional<RouteProtocol> protocol = {};
    /// Its scope; IPv4 only.
    std::optional<Scope> scope = {};
    /// Its flags. Read-only.
    std::optional<RouteFlags> flags = {};
    /// Flags of an IPv4 lookup result. Read-only.
    std::optional<RouteCacheFlags> cache = {};
    /// Reference count. Reported by lookups only.
    std::optional<std::uint32_t> users = {};
    /// Use count. Reported by lookups only.
    std::optional<std::uint32_t> used = {};
    /// Seconds since it was last used. Reported by lookups only.
    std::optional<Duration<std::uint32_t>> age = {};
    /// The error returned to senders, as a negative 32-bit number. Reported by lookups only.
    std::optional<std::uint32_t> error = {};
    /// The next hop is on the link, regardless of the addresses there.
    std::optional<bool> onlink = {};
    /// The next hop, if it belongs to the family of the route.
    std::optional<IpAddress> gateway = {};
    /// The next hop, if it belongs to another family: IPv4 via IPv6.
    std::optional<IpAddress> via = {};
    /// The interface through which packets leave.
    std::optional<Interface> dev = {};
    /// The nexthop object that it uses.
    std::optional<std::uint32_t> nhid = {};
    /// Its metric. The route with the lowest metric is used.
    std::optional<std::uint32_t> metric = {};
    /// The preferred source address.
    std::optional<IpAddress> prefsrc = {};
    /// Metrics of the path.
    Boxed<Metrics> metrics = {};
    /// How packets are encapsulated on this route: in MPLS, SRv6 or an IP tunnel, for example.
    Boxed<Encap> encap = {};
    /// Router preference; IPv6 only.
    std::optional<RoutePreference> pref = {};
    /// Seconds until it expires; IPv6 only.
    std::optional<Duration<std::uint32_t>> expires = {};
    /// Several next hops that share the traffic.
    std::optional<std::vector<Hop>> nexthops = {};
    /// The ingress link. Reported by lookups only.
    std::optional<Interface> iif = {};
    /// Its realms, for accounting; IPv4 only.
    std::optional<std::uint32_t> realms = {};
    /// The firewall mark. Reported by lookups only.
    std::optional<std::uint32_t> mark = {};
    /// The user id. Reported by lookups only.
    std::optional<std::uint32_t> uid = {};

    RouteInfo &setKind(RouteType value) { kind.emplace(value); return *this; }
    RouteInfo &setFamily(Family value) { family.emplace(value); return *this; }
    RouteInfo &setDst(Prefix value) { dst.emplace(value); return *this; }
    RouteInfo &setSrc(Prefix value) { src.emplace(value); return *this; }
    RouteInfo &setTos(Number<std::uint8_t> value) { tos.emplace(value.value); return *this; }
    RouteInfo &setTable(RouteTable value) { table.emplace(value); return *this; }
    RouteInfo &setProtocol(RouteProtocol value) { protocol.emplace(value); return *this; }
    RouteInfo &setScope(Scope value) { scope.emplace(value); return *this; }
    RouteInfo &setOnlink(Switch value) { onlink.emplace(value.value); return *this; }
    RouteInfo &setGateway(IpAddress value) { gateway.emplace(value); return *this; }
    RouteInfo &setVia(IpAddress value) { via.emplace(value); return *this; }
    RouteInfo &setDev(Interface value) { dev.emplace(std::move(value)); return *this; }
    RouteInfo &setNhid(Number<std::uint32_t> value) { nhid.emplace(value.value); return *this; }
    RouteInfo &setMetric(Number<std::uint32_t> value) { metric.emplace(value.value); return *this; }
    RouteInfo &setPrefsrc(IpAddress value) { prefsrc.emplace(value); return *this; }
    RouteInfo &setMetrics(Boxed<Metrics> value) { metrics = std::move(value); return *this; }
    RouteInfo &setEncap(Boxed<Encap> value) { encap = std::move(value); return *this; }
    RouteInfo &setPref(RoutePreference value) { pref.emplace(value); return *this; }
    RouteInfo &setExpires(Duration<std::uint32_t> value) { expires.emplace(value); return *this; }
    RouteInfo &setNexthops(std::vector<Hop> value) { nexthops.emplace(std::move(value)); return *this; }
    RouteInfo &setRealms(Number<std::uint32_t> value) { realms.emplace(value.value); return *this; }

    /// What a request can give again of a reported object: without the read-only fields, which `add` and `set`
    /// refuse.
    RouteInfo settable() const
    {
        RouteInfo copy = *this;
        copy.removeReadOnly();
        return copy;
    }
    /// Removes the read-only fields.
    void removeReadOnly()
    {
        flags = {};
        cache = {};
        users = {};
        used = {};
        age = {};
        error = {};
        if (nexthops) {
            for (auto &element : *nexthops) {
                element.removeReadOnly();
            }
        }
        iif = {};
        mark = {};
        uid = {};
    }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0xd913e243u, "kind", self.kind);
        visit(0x521d0429u, "family", self.family);
        visit(0xd3237a9cu, "dst", self.dst);
        visit(0xd33ce1c9u, "src", self.src);
        visit(0xaa10e0f5u, "tos", self.tos);
        visit(0x4a9c9bdfu, "table", self.table);
        visit(0xfb2805b5u, "protocol", self.protocol);
        visit(0xbe2af3ebu, "scope", self.scope);
        visit(0x9c677a2cu, "flags", self.flags);
        visit(0x265dafe5u, "cache", self.cache);
        visit(0x5e7cc513u, "users", self.users);
        visit(0x6a786eb0u, "used", self.used);
        visit(0x2c41499cu, "age", self.age);
        visit(0x21918751u, "error", self.error);
        visit(0x81731a80u, "onlink", self.onlink);
        visit(0xe7ca41f9u, "gateway", self.gateway);
        visit(0x69122c13u, "via", self.via);
        visit(0xd55997bcu, "dev", self.dev);
        visit(0x81fa8d56u, "nhid", self.nhid);
        visit(0xc9af4301u, "metric", self.metric);
        visit(0xff0bf0e6u, "prefsrc", self.prefsrc);
        visit(0xf0e72c76u, "metrics", self.metrics);
        visit(0xef027caau, "encap", self.encap);
        visit(0xbf2ede80u, "pref", self.pref);
        visit(0x3e8ec783u, "expires", self.expires);
        visit(0x1a215e0cu, "nexthops", self.nexthops);
        visit(0x95f03a23u, "iif", self.iif);
        visit(0x8f16a659u, "realms", self.realms);
        visit(0xc77ae4a0u, "mark", self.mark);
        visit(0x5cc7e6cdu, "uid", self.uid);
    }

    /// Writes a change as one message. False if the library has to do it.
    bool encode(tapline_netlink_verb verb, MessageWriter &out) const { return detail::encodeRoute(*this, verb, out); }
    /// Writes the fields that are an attribute each. False if another field is given.
    bool putAttributes(MessageWriter &out) const
    {
        if (detail::isAnyGiven(flags, cache, users, used, age, error, via, metrics,
                               encap, nexthops, iif, mark, uid)) [[unlikely]] {
            return false;
        }
        out.put(5, gateway);
        out.put(4, dev);
        out.put(30, nhid);
        out.put(6, metric);
        out.put(7, prefsrc);
        out.put(20, pref);
        out.put(23, expires);
        out.put(11, realms);
        return true;
    }

    bool operator==(const RouteInfo &) const = default;
};

/// The properties of a packet that select its route. Equals the arguments of `ip route get`.
struct RouteQuery {
    static constexpr const char *typeName = "RouteQuery";
    static const FieldTable typeFields;

    /// Its destination.
    std::optional<IpAddress> to = {};
    /// Its source.
    std::optional<IpAddress> src = {};
    /// Its type of service; IPv4 only.
    std::optional<std::uint8_t> tos = {};
    /// Return the matching route of the table instead of the result for this packet.
    std::optional<bool> fibmatch = {};
    /// Its ingress link. Default: sent by this host.
    std::optional<Interface> iif = {};
    /// Its egress link or VRF.
    std::optional<Interface> oif = {};
    /// Its firewall mark.
    std::optional<std::uint32_t> mark = {};
    /// The user id of its sender.
    std::optional<std::uint32_t> uid = {};
    /// Its protocol above IP: 6 TCP, 17 UDP.
    std::optional<std::uint8_t> ipproto = {};
    std::optional<std::uint16_t> sport = {};
    std::optional<std::uint16_t> dport = {};

    RouteQuery &setTo(IpAddress value) { to.emplace(value); return *this; }
    RouteQuery &setSrc(IpAddress value) { src.emplace(value); return *this; }
    RouteQuery &setTos(Number<std::uint8_t> value) { tos.emplace(value.value); return *this; }
    RouteQuery &setFibmatch(Switch value) { fibmatch.emplace(value.value); return *this; }
    RouteQuery &setIif(Interface value) { iif.emplace(std::move(value)); return *this; }
    RouteQuery &setOif(Interface value) { oif.emplace(std::move(value)); return *this; }
    RouteQuery &setMark(Number<std::uint32_t> value) { mark.emplace(value.value); return *this; }
    RouteQuery &setUid(Number<std::uint32_t> value) { uid.emplace(value.value); return *this; }
    RouteQuery &setIpproto(Number<std::uint8_t> value) { ipproto.emplace(value.value); return *this; }
    RouteQuery &setSport(Number<std::uint16_t> value) { sport.emplace(value.value); return *this; }
    RouteQuery &setDport(Number<std::uint16_t> value) { dport.emplace(value.value); return *this; }

    /// Calls `visit` with the id, the name and the value of each field.
    template <class Self, class Visit>
    static constexpr void fields(Self &self, Visit &&visit)
    {
        visit(0x42454824u, "to", self.to);
        visit(0xd33ce1c9u, "src", self.src);
        visit(0xaa10e0f5u, "tos", self.tos);
        visit(0xa8f7a5bfu, "fibmatch", self.fibmatch);
        visit(0x95f03a23u, "iif", self.iif);
        visit(0xbd3867c9u, "oif", self.oif);
        visit(0xc77ae4a0u, "mark", self.mark);
        visit(0x5cc7e6cdu, "uid", self.uid);
        visit(0x32d51102u, "ipproto", self.ipproto);
        visit(0x2f54deedu, "sport", self.sport);
        visit(0x16865a8cu, "dport", self.dport);
    }

    bool operator==(const RouteQuery &) const = default;
};

inline constexpr Field metricsFields[] = {
    {0xef0d7842u, offsetof(Metrics, lock), FieldType::Number, 4},
    {0xce828143u, offsetof(Metrics, mtu), FieldType::Number, 4},
    {0xa172b7ddu, offsetof(Metrics, window), FieldType::Number, 4},
    {0x36cfa045u, offsetof(Metrics, rtt), FieldType::Number, 4},
    {0x2f57233eu, offsetof(Metrics, rttvar), FieldType::Number, 4},
    {0x4429bc2du, offsetof(Metrics, ssthresh), FieldType::Number, 4},
    {0x97da06a5u, offsetof(Metrics, cwnd), FieldType::Number, 4},
    {0xee4ca8a3u, offsetof(Metrics, advmss), FieldType::Number, 4},
    {0x01bc27c0u, offsetof(Metrics, reordering), FieldType::Number, 4},
    {0x6ab1ed7bu, offsetof(Metrics, hoplimit), FieldType::Number, 4},
    {0x79f9d9cfu, offsetof(Metrics, initcwnd), FieldType::Number, 4},
    {0x5f8383cau, offsetof(Metrics, features), FieldType::Number, 4},
    {0xd56d6d6bu, offsetof(Metrics, rtoMin), FieldType::Number, 4},
    {0x1ee07966u, offsetof(Metrics, initrwnd), FieldType::Number, 4},
    {0x787857e5u, offsetof(Metrics, quickack), FieldType::Number, 4},
    {0x9f58afeau, offsetof(Metrics, congestion), FieldType::Text},
    {0xabc343e2u, offsetof(Metrics, fastopenNoCookie), FieldType::Number, 4},
};
inline constexpr FieldTable Metrics::typeFields = {metricsFields, std::size(metricsFields), sizeof(Metrics), detail::ensureBoxed<Metrics>};

inline constexpr Field hopFields[] = {
    {0xd55997bcu, offsetof(Hop, dev), FieldType::Interface},
    {0x50a09eb9u, offsetof(Hop, weight), FieldType::Number, 2},
    {0x9c677a2cu, offsetof(Hop, flags), FieldType::Number, 4},
    {0x81731a80u, offsetof(Hop, onlink), FieldType::Bool, 1},
    {0xe7ca41f9u, offsetof(Hop, gateway), FieldType::Ip},
    {0x69122c13u, offsetof(Hop, via), FieldType::Ip},
    {0xef027caau, offsetof(Hop, encap), FieldType::Set, 0, &Encap::typeFields},
    {0x8f16a659u, offsetof(Hop, realms), FieldType::Number, 4},
};
inline constexpr FieldTable Hop::typeFields = {hopFields, std::size(hopFields), sizeof(Hop), detail::ensureBoxed<Hop>};

inline constexpr Field routeInfoFields[] = {
    {0xd913e243u, offsetof(RouteInfo, kind), FieldType::Number, 1},
    {0x521d0429u, offsetof(RouteInfo, family), FieldType::Number, 1},
    {0xd3237a9cu, offsetof(RouteInfo, dst), FieldType::Prefix},
    {0xd33ce1c9u, offsetof(RouteInfo, src), FieldType::Prefix},
    {0xaa10e0f5u, offsetof(RouteInfo, tos), FieldType::Number, 1},
    {0x4a9c9bdfu, offsetof(RouteInfo, table), FieldType::Number, 4},
    {0xfb2805b5u, offsetof(RouteInfo, protocol), FieldType::Number, 1},
    {0xbe2af3ebu, offsetof(RouteInfo, scope), FieldType::Number, 1},
    {0x9c677a2cu, offsetof(RouteInfo, flags), FieldType::Number, 4},
    {0x265dafe5u, offsetof(RouteInfo, cache), FieldType::Number, 4},
    {0x5e7cc513u, offsetof(RouteInfo, users), FieldType::Number, 4},
    {0x6a786eb0u, offsetof(RouteInfo, used), FieldType::Number, 4},
    {0x2c41499cu, offsetof(RouteInfo, age), FieldType::Number, 4},
    {0x21918751u, offsetof(RouteInfo, error), FieldType::Number, 4},
    {0x81731a80u, offsetof(RouteInfo, onlink), FieldType::Bool, 1},
    {0xe7ca41f9u, offsetof(RouteInfo, gateway), FieldType::Ip},
    {0x69122c13u, offsetof(RouteInfo, via), FieldType::Ip},
    {0xd55997bcu, offsetof(RouteInfo, dev), FieldType::Interface},
    {0x81fa8d56u, offsetof(RouteInfo, nhid), FieldType::Number, 4},
    {0xc9af4301u, offsetof(RouteInfo, metric), FieldType::Number, 4},
    {0xff0bf0e6u, offsetof(RouteInfo, prefsrc), FieldType::Ip},
    {0xf0e72c76u, offsetof(RouteInfo, metrics), FieldType::Set, 0, &Metrics::typeFields},
    {0xef027caau, offsetof(RouteInfo, encap), FieldType::Set, 0, &Encap::typeFields},
    {0xbf2ede80u, offsetof(RouteInfo, pref), FieldType::Number, 1},
    {0x3e8ec783u, offsetof(RouteInfo, expires), FieldType::Number, 4},
    {0x1a215e0cu, offsetof(RouteInfo, nexthops), FieldType::Sets, 0, &Hop::typeFields, &detail::fieldList<Hop>},
    {0x95f03a23u, offsetof(RouteInfo, iif), FieldType::Interface},
    {0x8f16a659u, offsetof(RouteInfo, realms), FieldType::Number, 4},
    {0xc77ae4a0u, offsetof(RouteInfo, mark), FieldType::Number, 4},
    {0x5cc7e6cdu, offsetof(RouteInfo, uid), FieldType::Number, 4},
};
inline constexpr FieldTable RouteInfo::typeFields = {routeInfoFields, std::size(routeInfoFields), sizeof(RouteInfo), detail::ensureBoxed<RouteInfo>};

inline constexpr Field routeQueryFields[] = {
    {0x42454824u, offsetof(RouteQuery, to), FieldType::Ip},
    {0xd33ce1c9u, offsetof(RouteQuery, src), FieldType::Ip},
    {0xaa10e0f5u, offsetof(RouteQuery, tos), FieldType::Number, 1},
    {0xa8f7a5bfu, offsetof(RouteQuery, fibmatch), FieldType::Bool, 1},
    {0x95f03a23u, offsetof(RouteQuery, iif), FieldType::Interface},
    {0xbd3867c9u, offsetof(RouteQuery, oif), FieldType::Interface},
    {0xc77ae4a0u, offsetof(RouteQuery, mark), FieldType::Number, 4},
    {0x5cc7e6cdu, offsetof(RouteQuery, uid), FieldType::Number, 4},
    {0x32d51102u, offsetof(RouteQuery, ipproto), FieldType::Number, 1},
    {0x2f54deedu, offsetof(RouteQuery, sport), FieldType::Number, 2},
    {0x16865a8cu, offsetof(RouteQuery, dport), FieldType::Number, 2},
};
inline constexpr FieldTable RouteQuery::typeFields = {routeQueryFields, std::size(routeQueryFields), sizeof(RouteQuery), detail::ensureBoxed<RouteQuery>};

}  // namespace tapline::netlink

#endif
