// What the tests of the netlink library share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tapline/netlink/factory.hpp>
#include <tapline/netlink/mock.hpp>

#include <chrono>
#include <cstdio>
#include <ostream>
#include <string>

namespace tapline {

inline void PrintTo(const error &error, std::ostream *out) { *out << error.describe() << " [" << error.kernel_text << "]"; }
template <class T>
void PrintTo(const result<T> &result, std::ostream *out)
{
    result ? void(*out << "a value") : PrintTo(result.error(), out);
}

}  // namespace tapline

/// What a command prints.
inline std::string output(const std::string &command)
{
    FILE *pipe = popen((command + " 2>&1").c_str(), "r");
    std::string text;
    for (char part[4096]; std::fgets(part, sizeof part, pipe) != nullptr;) {
        text += part;
    }
    pclose(pipe);
    return text;
}

/// The kernel's network namespace that the test runs in.
inline std::shared_ptr<tapline::netlink::NetlinkFactory> kernel()
{
    return tapline::netlink::NetlinkFactory::open().value();
}
