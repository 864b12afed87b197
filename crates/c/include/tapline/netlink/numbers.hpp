// Generated from the attribute tables of tapline-netlink. Do not edit.
//
// To write it again: TAPLINE_WRITE=1 cargo test -p tapline-c --test main netlink_types
#ifndef TAPLINE_NETLINK_NUMBERS_HPP
#define TAPLINE_NETLINK_NUMBERS_HPP

#include <cstdint>

#include "../../tapline.h"

namespace tapline::netlink {

/// Messages about Addr objects.
struct AddrMessage {
    static constexpr std::uint16_t newType = 20;
    static constexpr std::uint16_t delType = 21;
    /// The flags of a request.
    static constexpr std::uint16_t flags(tapline_netlink_verb verb)
    {
        switch (verb) {
        case TAPLINE_NETLINK_VERB_ADD:
            return 0x605;
        case TAPLINE_NETLINK_VERB_REPLACE:
            return 0x505;
        case TAPLINE_NETLINK_VERB_SET:
            return 0x105;
        case TAPLINE_NETLINK_VERB_APPEND:
            return 0xc05;
        default:
            return 0x5;
        }
    }
    static constexpr std::uint16_t ifaAddress = 1;
    static constexpr std::uint16_t ifaLocal = 2;
};

/// Messages about Link objects.
struct LinkMessage {
    static constexpr std::uint16_t newType = 16;
    static constexpr std::uint16_t delType = 17;
    /// The flags of a request.
    static constexpr std::uint16_t flags(tapline_netlink_verb verb)
    {
        switch (verb) {
        case TAPLINE_NETLINK_VERB_ADD:
            return 0x605;
        case TAPLINE_NETLINK_VERB_REPLACE:
            return 0x505;
        case TAPLINE_NETLINK_VERB_SET:
            return 0x5;
        case TAPLINE_NETLINK_VERB_APPEND:
            return 0xc05;
        default:
            return 0x5;
        }
    }
    static constexpr std::uint16_t iflaIfname = 3;
    static constexpr std::uint16_t iflaLinkinfo = 18;
    static constexpr std::uint16_t iflaLinkinfoKind = 1;
    static constexpr std::uint32_t iffUp = 0x1;
    static constexpr std::uint32_t iffNoarp = 0x80;
    static constexpr std::uint32_t iffMulticast = 0x1000;
    static constexpr std::uint32_t iffAllmulti = 0x200;
    static constexpr std::uint32_t iffPromisc = 0x100;
    static constexpr std::uint32_t iffDynamic = 0x8000;
};

/// Messages about Neigh objects.
struct NeighMessage {
    static constexpr std::uint16_t newType = 28;
    static constexpr std::uint16_t delType = 29;
    /// The flags of a request.
    static constexpr std::uint16_t flags(tapline_netlink_verb verb)
    {
        switch (verb) {
        case TAPLINE_NETLINK_VERB_ADD:
            return 0x605;
        case TAPLINE_NETLINK_VERB_REPLACE:
            return 0x505;
        case TAPLINE_NETLINK_VERB_SET:
            return 0x105;
        case TAPLINE_NETLINK_VERB_APPEND:
            return 0xc05;
        default:
            return 0x5;
        }
    }
    static constexpr std::uint16_t ndaDst = 1;
};

/// Messages about Route objects.
struct RouteMessage {
    static constexpr std::uint16_t newType = 24;
    static constexpr std::uint16_t delType = 25;
    /// The flags of a request.
    static constexpr std::uint16_t flags(tapline_netlink_verb verb)
    {
        switch (verb) {
        case TAPLINE_NETLINK_VERB_ADD:
            return 0x605;
        case TAPLINE_NETLINK_VERB_REPLACE:
            return 0x505;
        case TAPLINE_NETLINK_VERB_SET:
            return 0x105;
        case TAPLINE_NETLINK_VERB_APPEND:
            return 0xc05;
        default:
            return 0x5;
        }
    }
    static constexpr std::uint16_t rtaDst = 1;
    static constexpr std::uint16_t rtaTable = 15;
    static constexpr std::uint32_t rtnhFOnlink = 0x4;
};

}  // namespace tapline::netlink

#endif
