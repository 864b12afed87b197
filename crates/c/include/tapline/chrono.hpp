// Times of std::chrono.
#ifndef TAPLINE_CHRONO_HPP
#define TAPLINE_CHRONO_HPP

#include <initializer_list>
#include <optional>
#include <string>
#include <version>

#include "error.hpp"

// In C++20 <chrono> has calendars and includes streams, which take GCC 12 0.2 s. Its own part for durations, time points
// and clocks is enough here.
#if defined(__GLIBCXX__) && __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif

namespace tapline {

/// A time of an option struct, with its name.
struct named_duration {
    const char *name;
    std::chrono::nanoseconds value;
};

/// The error of the first of these times that is negative. None of them can be.
inline std::optional<error> negative(std::initializer_list<named_duration> times) {
    for (const named_duration &time : times) {
        if (time.value < std::chrono::nanoseconds::zero()) {
            error failed;
            failed.status = TAPLINE_STATUS_INVALID_ARGUMENT;
            failed.message = std::string(time.name) + " is negative";
            return failed;
        }
    }
    return std::nullopt;
}

}  // namespace tapline

#endif
