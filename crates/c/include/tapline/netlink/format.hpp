// std::format of netlink objects and their values, where the standard library has it (GCC 13, clang 17).
#ifndef TAPLINE_NETLINK_FORMAT_HPP
#define TAPLINE_NETLINK_FORMAT_HPP

#include <version>

#include "values.hpp"

#ifdef __cpp_lib_format

#include <format>

/// Formats what `toString` returns, with the options of strings.
template <class T>
    requires tapline::netlink::Printable<T>
struct std::formatter<T, char> : std::formatter<std::string, char> {
    template <class Context>
    auto format(const T &value, Context &context) const
    {
        return std::formatter<std::string, char>::format(tapline::netlink::toString(value), context);
    }
};

#endif

#endif
