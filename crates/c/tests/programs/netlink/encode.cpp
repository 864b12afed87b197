// Prints changes twice, as fields and as the message that C++ makes of them: OBJECT VERB FIELDS MESSAGE, in hexadecimal,
// with - for a message that is left to the library. Each field of each object occurs, with several neighbours.
#include <tapline/netlink/factory.hpp>

#include <cstdio>

using namespace tapline::netlink;

namespace {

void print(const std::uint8_t *bytes, std::size_t size)
{
    std::printf(size == 0 ? " " : " x");
    for (std::size_t at = 0; at < size; ++at) {
        std::printf("%02x", bytes[at]);
    }
    if (size == 0) {
        std::printf("-");
    }
}

template <class Info>
void print(const char *object, const Info &info)
{
    for (std::uint32_t verb = TAPLINE_NETLINK_VERB_ADD; verb <= TAPLINE_NETLINK_VERB_DEL; ++verb) {
        Bytes fields;
        FieldWriter{fields}.put(info);
        alignas(4) std::uint8_t message[MessageWriter::maxBytes];
        MessageWriter out(message);
        const bool isEncoded = info.encode(static_cast<tapline_netlink_verb>(verb), out);
        std::printf("%s %u", object, verb);
        print(fields.data(), fields.size());
        print(message, isEncoded ? out.size() : 0);
        std::printf("\n");
    }
}

// A value of each type.

template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
void give(T &value, unsigned seed)
{
    value = static_cast<T>(seed);
}
template <Time T>
void give(T &value, unsigned seed)
{
    value = T(static_cast<typename T::rep>(seed));
}
void give(std::string &value, unsigned seed) { value = "text" + std::to_string(seed); }
void give(IpAddress &value, unsigned seed) { value = seed % 2 == 0 ? IpAddress("2001:db8::1") : IpAddress("192.0.2.9"); }
void give(MacAddress &value, unsigned) { value = MacAddress("02:00:00:00:00:09"); }
void give(Prefix &value, unsigned seed) { value = seed % 2 == 0 ? Prefix("2001:db8::/64") : Prefix("192.0.2.0/24"); }
void give(Interface &value, unsigned seed) { value = Interface(static_cast<std::uint32_t>(seed)); }
template <FieldSet T>
void give(T &, unsigned)
{
}
template <class T>
void give(std::vector<T> &values, unsigned seed)
{
    give(values.emplace_back(), seed);
}

/// The object, and the object with each of its fields in turn.
template <class Info>
void variants(const char *object, const Info &base)
{
    print(object, base);
    unsigned count = 0;
    Info::fields(base, [&](std::uint32_t, const char *, const auto &) { ++count; });
    for (unsigned wanted = 0; wanted < count; ++wanted) {
        for (unsigned seed = 0; seed < 4; ++seed) {
            Info changed = base;
            unsigned at = 0;
            Info::fields(changed, [&](std::uint32_t, const char *, auto &field) {
                if (at++ == wanted) {
                    field = typename std::remove_cvref_t<decltype(field)>::value_type{};
                    give(*field, seed);
                }
            });
            print(object, changed);
        }
    }
}

void links()
{
    variants("Link", LinkInfo());
    variants("Link", LinkInfo().setName("b0"));
    variants("Link", LinkInfo().setIndex(7));
    variants("Link", LinkInfo().setName("b0").setType("dummy").setMtu(1400));
    variants("Link", LinkInfo().setIndex(7).setName("renamed").setAdmin(true).setArp(false));
    for (const char *name : {"", ".", "..", "a/b", "a:b", "a b", "a\n", "fifteen-letters", "sixteen-letters!", "\xc3\xa4"}) {
        print("Link", LinkInfo().setName(name));
        print("Link", LinkInfo().setName(name).setType("tun"));
    }
    print("Link", LinkInfo().setName("b0").setAlias(std::string(200, 'a')));
    print("Link", LinkInfo().setName("b0").setAlias(std::string(3000, 'a')));
    print("Link", LinkInfo().setName("b0").setAlias("\xff"));
}

void addresses()
{
    const auto addr = AddrInfo().setDev(3);
    variants("Addr", addr);
    variants("Addr", AddrInfo(addr).setLocal("192.0.2.1").setPrefixlen(24));
    variants("Addr", AddrInfo(addr).setLocal("127.0.0.5"));
    variants("Addr", AddrInfo(addr).setLocal("2001:db8::5").setPrefixlen(64));
    variants("Addr", AddrInfo(addr).setLocal("192.0.2.1").setPeer("192.0.2.2").setPrefixlen(32));
    print("Addr", AddrInfo(addr).setLocal("192.0.2.1").setPrefixlen(33));
    print("Addr", AddrInfo(addr).setLocal("192.0.2.1").setPeer("2001:db8::1"));
    print("Addr", AddrInfo().setLocal("192.0.2.1").setPrefixlen(24));
}

void routes()
{
    variants("Route", RouteInfo());
    for (const char *dst : {"198.51.100.0/24", "default", "2001:db8:1::/48", "::/0", "192.0.2.200/0"}) {
        const auto route = RouteInfo().setDst(dst);
        const IpAddress gateway(route.dst->address.isV4() ? "192.0.2.1" : "2001:db8::9");
        variants("Route", route);
        variants("Route", RouteInfo(route).setGateway(gateway).setDev(3));
        variants("Route", RouteInfo(route).setNhid(9));
        for (std::uint8_t kind = 0; kind < 12; ++kind) {
            variants("Route", RouteInfo(route).setKind(static_cast<RouteType>(kind)));
            print("Route", RouteInfo(route).setKind(static_cast<RouteType>(kind)).setGateway(gateway));
        }
        for (std::uint32_t table : {0u, 100u, 255u, 256u, 100'000u}) {
            print("Route", RouteInfo(route).setTable(static_cast<RouteTable>(table)).setDev(3));
        }
    }
    print("Route", RouteInfo().setDst(Prefix(IpAddress("192.0.2.0"), 33)));
}

void neighbours()
{
    const auto neigh = NeighInfo().setDev(3);
    variants("Neigh", neigh);
    variants("Neigh", NeighInfo(neigh).setDst("192.0.2.7"));
    variants("Neigh", NeighInfo(neigh).setDst("2001:db8::7").setLladdr("02:00:00:00:00:01"));
    variants("Neigh", NeighInfo().setDst("192.0.2.7"));
}

}  // namespace

int main()
{
    links();
    addresses();
    routes();
    neighbours();
    return 0;
}
