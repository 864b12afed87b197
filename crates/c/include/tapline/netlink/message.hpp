// Changes as the kernel takes them: netlink messages, which C++ code writes and sends without a detour.
//
// Only what one message can express is written here. The functions return false for the rest, e.g. an interface that
// is known by its name alone, or settings of a kind of link: the library then encodes the object. What the library
// would reject is left to it too, so that the error is the same.
#ifndef TAPLINE_NETLINK_MESSAGE_HPP
#define TAPLINE_NETLINK_MESSAGE_HPP

#include <cstddef>

#include "../../tapline.h"
#include "numbers.hpp"
#include "shared.hpp"

namespace tapline::netlink {

/// struct nlmsghdr
struct MessageHeader {
    std::uint32_t length;
    std::uint16_t type;
    std::uint16_t flags;
    std::uint32_t sequence;
    std::uint32_t port;
};

/// Writes one message into memory of fixed size.
class MessageWriter {
public:
    /// Room for every message that is written here, with one long text.
    static constexpr std::size_t maxBytes = 1024;

    /// `begin` has `maxBytes` bytes, aligned to 4.
    explicit MessageWriter(std::uint8_t *begin) : begin_(begin), at_(begin), end_(begin + maxBytes) {}

    /// Begins the message for `verb` about objects of which `Numbers` has the numbers. `header` is the fixed header.
    template <class Numbers, class Header>
    void begin(tapline_netlink_verb verb, const Header &header)
    {
        std::memcpy(beginInPlace<Numbers, sizeof header>(verb), &header, sizeof header);
    }
    /// As `begin`, for a fixed header of `size` bytes that is written to the returned place.
    template <class Numbers, std::size_t size>
    std::uint8_t *beginInPlace(tapline_netlink_verb verb)
    {
        static_assert(size % 4 == 0);
        MessageHeader message{};
        message.type = verb == TAPLINE_NETLINK_VERB_DEL ? Numbers::delType : Numbers::newType;
        message.flags = Numbers::flags(verb);
        std::uint8_t *const header = at_ + sizeof message;
        std::memcpy(at_, &message, sizeof message);
        at_ = header + size;
        return header;
    }

    /// Most fields are empty: the code that appends them is kept out of the way.
    template <class T>
    void put(std::uint16_t type, const std::optional<T> &value)
    {
        if (value) [[unlikely]] {
            put(type, *value);
        }
    }
    template <class T>
        requires std::is_arithmetic_v<T> || NamedNumber<T> || Time<T>
    void put(std::uint16_t type, T value)
    {
        attribute(type, &value, sizeof value);
    }
    /// Text ends with a NUL. The library checks text that is not ASCII, and refuses one with a NUL in it.
    void put(std::uint16_t type, const std::string &text)
    {
        unsigned others = 0;
        for (const char letter : text) {
            // Those are not between 1 and 127.
            others |= static_cast<unsigned char>(letter) - 1u >= 127u;
        }
        isComplete_ = isComplete_ && others == 0;
        attribute(type, text.c_str(), text.size() + 1);
    }
    void put(std::uint16_t type, const IpAddress &ip)
    {
        // A copy of fixed size takes one instruction.
        if (ip.isV4()) {
            attribute(type, ip.data(), 4);
        } else {
            attribute(type, ip.data(), 16);
        }
    }
    void put(std::uint16_t type, const MacAddress &mac) { attribute(type, mac.data(), mac.size()); }
    /// An interface that is known by its name alone has to be looked up.
    void put(std::uint16_t type, const Interface &interface)
    {
        isComplete_ = isComplete_ && isKnown(interface);
        put(type, interface.index);
    }
    /// Begins an attribute with nested attributes.
    std::uint8_t *beginNest(std::uint16_t type)
    {
        std::uint8_t *nest = at_;
        constexpr std::uint16_t nested = 0x8000;  // NLA_F_NESTED
        attribute(static_cast<std::uint16_t>(type | nested), nullptr, 0);
        return nest;
    }
    void endNest(std::uint8_t *nest)
    {
        if (!isComplete_) {
            return;
        }
        const auto length = static_cast<std::uint16_t>(at_ - nest);
        std::memcpy(nest, &length, sizeof length);
    }

    /// Completes the message. False if it is not all that was to be written.
    bool finish()
    {
        const auto length = static_cast<std::uint32_t>(at_ - begin_);
        std::memcpy(begin_, &length, sizeof length);
        return isComplete_;
    }
    std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }

    static bool isKnown(const Interface &interface) { return interface.index != 0 || interface.name.empty(); }

private:
    void attribute(std::uint16_t type, const void *value, std::size_t size)
    {
        std::uint8_t *const at = at_;
        const std::size_t length = 4 + size;
        const std::size_t padded = (length + 3) & ~std::size_t{3};
        if (static_cast<std::size_t>(end_ - at) < padded) [[unlikely]] {
            isComplete_ = false;
            return;
        }
        const std::uint32_t zero = 0;
        std::memcpy(at + padded - sizeof zero, &zero, sizeof zero);
        const std::uint16_t header[2] = {static_cast<std::uint16_t>(length), type};
        std::memcpy(at, header, sizeof header);
        if (size != 0) {
            std::memcpy(at + 4, value, size);
        }
        at_ = at + padded;
    }

    std::uint8_t *begin_;
    std::uint8_t *at_;
    std::uint8_t *end_;
    bool isComplete_ = true;
};

/// Types of which simple changes are written here.
template <class Info>
concept Encodable = requires(const Info &info, MessageWriter &out) { info.encode(TAPLINE_NETLINK_VERB_ADD, out); };

namespace detail {

/// Whether any of the fields has a value. Without branches, whose code would be twice as long.
template <class... Fields>
bool isAnyGiven(const Fields &...fields)
{
    return (static_cast<unsigned>(fields.has_value()) | ...) != 0;
}

/// Whether it is a name that an interface can have, all in printable ASCII.
inline bool isInterfaceName(const std::string &name)
{
    if (name.size() > 15) {
        return false;
    }
    bool isDots = name.size() <= 2;
    for (const char letter : name) {
        if (letter <= ' ' || letter > '~' || letter == '/' || letter == ':') {
            return false;
        }
        isDots = isDots && letter == '.';
    }
    // Neither empty nor "." or "..".
    return !isDots;
}

/// struct ifinfomsg
struct LinkHeader {
    std::uint8_t family = 0;
    std::uint8_t padding = 0;
    std::uint16_t hardware = 0;
    std::uint32_t index = 0;
    std::uint32_t flags = 0;
    std::uint32_t mask = 0;

    void flag(const std::optional<bool> &value, std::uint32_t bit, bool on = true)
    {
        if (value) {
            mask |= bit;
            flags |= *value == on ? bit : 0;
        }
    }
};

template <class Link>
bool encodeLink(const Link &link, tapline_netlink_verb verb, MessageWriter &out)
{
    const bool isNew = verb == TAPLINE_NETLINK_VERB_ADD;
    const bool isDel = verb == TAPLINE_NETLINK_VERB_DEL;
    if (!isNew && !isDel && verb != TAPLINE_NETLINK_VERB_SET) {
        return false;
    }
    LinkHeader header;
    if (link.index) {
        header.index = link.index->index;
    }
    if ((link.index && header.index == 0) || (link.name && !isInterfaceName(*link.name)) ||
        (!isNew && !link.index && !link.name)) {
        return false;
    }
    if (isDel) {
        out.begin<LinkMessage>(verb, header);
        if (!link.index) {
            out.put(LinkMessage::iflaIfname, *link.name);
        }
        return out.finish();
    }
    header.flag(link.admin, LinkMessage::iffUp);
    header.flag(link.arp, LinkMessage::iffNoarp, false);
    header.flag(link.multicast, LinkMessage::iffMulticast);
    header.flag(link.allmulticast, LinkMessage::iffAllmulti);
    header.flag(link.promisc, LinkMessage::iffPromisc);
    header.flag(link.dynamic, LinkMessage::iffDynamic);
    out.begin<LinkMessage>(verb, header);
    if (link.type) {
        // Setting a type again means its settings. A tun device is created by its driver.
        if (!isNew || std::string_view(*link.type) == "tun") {
            return false;
        }
        std::uint8_t *nest = out.beginNest(LinkMessage::iflaLinkinfo);
        out.put(LinkMessage::iflaLinkinfoKind, *link.type);
        out.endNest(nest);
    }
    // The kernel ignores it in the message that creates a link.
    if (isNew && link.alias) {
        return false;
    }
    return link.putAttributes(out) && out.finish();
}

template <class T>
std::uint8_t byteOr(const std::optional<T> &value, std::uint8_t otherwise)
{
    return value ? static_cast<std::uint8_t>(*value) : otherwise;
}

inline Family familyOf(const IpAddress &ip) { return ip.isV4() ? Family::V4 : Family::V6; }

/// Whether an address, if there is one, belongs to `family`.
inline bool isOf(const std::optional<IpAddress> &ip, Family family) { return !ip || familyOf(*ip) == family; }

/// Batches have many routes, so their encoder is fast in a loop: all inline, with the members of the writer in registers.
template <class Route>
[[gnu::flatten]] bool encodeRoute(const Route &route, tapline_netlink_verb verb, MessageWriter &writer)
{
    MessageWriter out = writer;
    const bool isDel = verb == TAPLINE_NETLINK_VERB_DEL;
    if (!route.dst) {
        return false;
    }
    const Prefix &dst = *route.dst;
    const Family family = familyOf(dst.address);
    // A nexthop object excludes a next hop of its own.
    if ((route.family && *route.family != family) || dst.length > 8 * dst.address.size() || route.src ||
        !isOf(route.gateway, family) || !isOf(route.prefsrc, family) || (route.nhid && route.dev)) {
        return false;
    }
    // The defaults are those of `ip route`.
    using Kind = typename std::remove_cvref_t<decltype(route.kind)>::value_type;
    const Kind kind = route.kind.value_or(Kind::Unicast);
    const bool isOfHost = kind == Kind::Local || kind == Kind::Nat;
    const bool isOfLink = kind == Kind::Broadcast || kind == Kind::Anycast || kind == Kind::Multicast;
    const bool isLocal = isOfHost || kind == Kind::Broadcast || kind == Kind::Anycast;
    auto table = isLocal ? RouteTable::Local : RouteTable::Main;
    if (route.table) {
        table = *route.table;
    }
    auto scope = Scope::Global;
    if (route.scope) {
        scope = *route.scope;
    } else if (family == Family::V6) {
        scope = Scope::Global;
    } else if (isDel) {
        scope = Scope::Nowhere;
    } else if (isOfHost) {
        scope = Scope::Host;
    } else if (isOfLink || (kind <= Kind::Unicast && !route.gateway && !route.nhid)) {
        scope = Scope::Link;
    }
    const auto number = static_cast<std::uint32_t>(table);
    // struct rtmsg. In place: the bytes of a struct would be written to the stack and then waited for.
    std::uint8_t *const header = out.beginInPlace<RouteMessage, 12>(verb);
    header[0] = static_cast<std::uint8_t>(family);
    header[1] = dst.length;
    header[2] = 0;
    header[3] = byteOr(route.tos, 0);
    header[4] = number <= 255 ? static_cast<std::uint8_t>(number) : std::uint8_t{0};
    header[5] = byteOr(route.protocol, isDel ? 0 : static_cast<std::uint8_t>(RouteProtocol::Boot));
    header[6] = static_cast<std::uint8_t>(scope);
    header[7] = byteOr(route.kind, isDel ? 0 : static_cast<std::uint8_t>(kind));
    const std::uint32_t flags = route.onlink.value_or(false) ? RouteMessage::rtnhFOnlink : 0;
    std::memcpy(header + 8, &flags, sizeof flags);
    if (dst.length != 0) {
        out.put(RouteMessage::rtaDst, dst.address);
    }
    if (number > 255) {
        out.put(RouteMessage::rtaTable, number);
    }
    const bool isComplete = route.putAttributes(out) && out.finish();
    writer = out;
    return isComplete;
}

/// struct ifaddrmsg
struct AddrHeader {
    std::uint8_t family = 0;
    std::uint8_t prefixLength = 0;
    std::uint8_t flags = 0;
    std::uint8_t scope = 0;
    std::uint32_t index = 0;
};

template <class Addr>
bool encodeAddr(const Addr &addr, tapline_netlink_verb verb, MessageWriter &out)
{
    const bool isDel = verb == TAPLINE_NETLINK_VERB_DEL;
    if (verb == TAPLINE_NETLINK_VERB_APPEND || !addr.local || !addr.dev || addr.dev->index == 0) {
        return false;
    }
    const Family family = familyOf(*addr.local);
    const std::size_t bits = 8 * addr.local->size();
    // Deletion with any prefix length, and fields that only one family has, are left to the library.
    if ((addr.family && *addr.family != family) || !isOf(addr.peer, family) ||
        addr.prefixlen.value_or(0) > bits || (isDel && !addr.prefixlen) || addr.label || addr.anycast ||
        addr.broadcast || addr.nodad || addr.optimistic || addr.home || addr.mngtmpaddr) {
        return false;
    }
    AddrHeader header;
    header.family = static_cast<std::uint8_t>(family);
    header.prefixLength = addr.prefixlen.value_or(static_cast<std::uint8_t>(bits));
    const bool isLoopback = family == Family::V4 && addr.local->data()[0] == 127;
    header.scope = static_cast<std::uint8_t>(addr.scope.value_or(isLoopback ? Scope::Host : Scope::Global));
    header.index = addr.dev->index;
    out.begin<AddrMessage>(verb, header);
    if (isDel) {
        out.put(AddrMessage::ifaLocal, *addr.local);
        out.put(AddrMessage::ifaAddress, addr.peer ? *addr.peer : *addr.local);
        return out.finish();
    }
    if (!addr.peer) {
        out.put(AddrMessage::ifaAddress, *addr.local);
    }
    return addr.putAttributes(out) && out.finish();
}

/// struct ndmsg
struct NeighHeader {
    std::uint8_t family = 0;
    std::uint8_t padding[3] = {};
    std::uint32_t index = 0;
    std::uint16_t state = 0;
    std::uint8_t flags = 0;
    std::uint8_t type = 0;
};

template <class Neigh>
bool encodeNeigh(const Neigh &neigh, tapline_netlink_verb verb, MessageWriter &out)
{
    // Proxies and other flags are left to the library.
    if (verb == TAPLINE_NETLINK_VERB_APPEND || !neigh.dst || !neigh.dev || neigh.dev->index == 0 || neigh.proxy ||
        neigh.router || neigh.externLearn || neigh.resolve || neigh.managed || neigh.master) {
        return false;
    }
    const Family family = familyOf(*neigh.dst);
    if (neigh.family && *neigh.family != family) {
        return false;
    }
    NeighHeader header;
    header.family = static_cast<std::uint8_t>(family);
    header.index = neigh.dev->index;
    if (verb == TAPLINE_NETLINK_VERB_DEL) {
        out.begin<NeighMessage>(verb, header);
        out.put(NeighMessage::ndaDst, *neigh.dst);
        return out.finish();
    }
    // Permanent, as in `ip neighbour`.
    using State = typename std::remove_cvref_t<decltype(neigh.state)>::value_type;
    header.state = static_cast<std::uint16_t>(neigh.state.value_or(State::Permanent));
    out.begin<NeighMessage>(verb, header);
    return neigh.putAttributes(out) && out.finish();
}

}  // namespace detail

}  // namespace tapline::netlink

#endif
