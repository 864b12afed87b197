// Times of std::chrono.
#ifndef TAPLINE_CHRONO_HPP
#define TAPLINE_CHRONO_HPP

#include <cstdint>
#include <version>

// In C++20 <chrono> has calendars and includes streams, which take GCC 12 0.2 s. Its own part for durations, time points
// and clocks is enough here.
#if defined(__GLIBCXX__) && __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif

namespace tapline {

/// The time that a call waits, as the C interface has it: there a negative time is no limit, and here the wait until a
/// moment that has passed, which is none.
constexpr std::int64_t waiting_ns(std::chrono::nanoseconds timeout) {
    return timeout.count() < 0 ? 0 : timeout.count();
}

}  // namespace tapline

#endif
