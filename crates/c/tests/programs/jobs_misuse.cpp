// jobs_misuse INTERFACE: what C++ code may do wrong with counters is an error, and never a crash.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <tapline/count.hpp>

namespace {

void check(bool holds, const char *what, int line)
{
    if (!holds) {
        std::fprintf(stderr, "jobs_misuse.cpp:%d: %s\n", line, what);
        std::exit(1);
    }
}

#define CHECK(condition) check(condition, #condition, __LINE__)

template <class T>
bool isInvalid(const tapline::result<T> &result)
{
    return !result && result.error().status == TAPLINE_STATUS_INVALID_HANDLE;
}

void useMoved(tapline::counter &counter)
{
    CHECK(isInvalid(counter.next()));
    CHECK(isInvalid(counter.next(std::chrono::nanoseconds(0))));
    CHECK(isInvalid(counter.totals()));
    CHECK(isInvalid(counter.groups(0)));
    CHECK(isInvalid(counter.stop()));
    CHECK(counter.fd() == -1);
}

}  // namespace

int main(int count, char **words)
{
    CHECK(count == 2);
    auto counter = tapline::counter::open({.interfaces = {words[1]}}).value();
    auto moved = std::move(counter);
    useMoved(counter);
    CHECK(moved.fd() >= 0 && moved.totals().value().size() == 1 && !moved.groups(1).value());
    counter = std::move(moved);
    useMoved(moved);
    // A negative timeout does not wait. The result without classes lends no groups.
    auto longer = tapline::counter::open({.interfaces = {words[1]}, .interval = std::chrono::hours(1)}).value();
    CHECK(longer.totals().value().size() == 1 && longer.groups(0).value());
    CHECK(longer.next(std::chrono::seconds(-1)).value()->classes.empty() && !longer.groups(0).value());
    counter.stop().value();
    // The last interval, and then the end.
    for (int intervals = 0; counter.next().value(); ++intervals) {
        CHECK(intervals < 2);
    }
    CHECK(!counter.next().value());
    std::puts("done");
    return 0;
}
