// Times of std::chrono.
#ifndef TAPLINE_CHRONO_HPP
#define TAPLINE_CHRONO_HPP

#if __cplusplus < 202002L
#error "the C++ headers of tapline require C++20: -std=c++20"
#endif

#include <cstdint>
#include <version>

// In C++20 <chrono> has calendars and includes streams, which take GCC 12 0.2 s. Its own part for durations, time points
// and clocks is enough here.
#if defined(__GLIBCXX__) && __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif

namespace tapline::detail {

/// The timeout of a call in the form of the C interface, where a negative time means no limit. Here it means that a deadline
/// has passed, so that the call does not wait.
constexpr std::int64_t waiting_ns(std::chrono::nanoseconds timeout) {
    return timeout.count() < 0 ? 0 : timeout.count();
}

}  // namespace tapline::detail

#endif
