// Times of std::chrono.
#ifndef TAPLINE_CHRONO_HPP
#define TAPLINE_CHRONO_HPP

#include <version>

// In C++20 <chrono> has calendars and includes streams, which take GCC 12 0.2 s. Its own part for durations, time points
// and clocks is enough here.
#if defined(__GLIBCXX__) && __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif

#endif
