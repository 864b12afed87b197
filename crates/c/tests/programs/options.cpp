// options JOB …: options of the jobs that no other program uses.
#include <sys/epoll.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include <tapline/capture.hpp>
#include <tapline/count.hpp>
#include <tapline/ping.hpp>
#include <tapline/send.hpp>

#include "check.h"

using namespace std::chrono_literals;

namespace {

// An event loop with a capture that ends by its time limit, although nothing arrives.
void idle(char **words) {
    auto capture = tapline::capture::open({.interfaces = {words[0]}, .max_time = 200ms}).value();
    const int loop = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event = {};
    event.events = EPOLLIN;
    CHECK(loop >= 0 && epoll_ctl(loop, EPOLL_CTL_ADD, capture.fd(), &event) == 0);
    for (bool is_end = false; !is_end;) {
        CHECK(epoll_wait(loop, &event, 1, 20000) == 1);
        is_end = capture.next_batch(0ns).value().is_end();
    }
    close(loop);
    // A moment that has passed is no wait, and not one until the end of the capture.
    auto longer = tapline::capture::open({.interfaces = {words[0]}, .max_time = 60s}).value();
    CHECK(!longer.next_batch(-1s).value().is_end() && !longer.next_packets(-1ns).value().is_end());
    const auto stats = capture.finish().value();
    CHECK(stats.delivered == 0 && stats.duration >= 200ms);
}

template <class T>
void fails(const tapline::result<T> &result, const char *field, const char *hint) {
    CHECK(!result && result.error().status == TAPLINE_STATUS_INVALID_ARGUMENT);
    CHECK(result.error().message.find(field) != std::string::npos);
    CHECK(result.error().hint.find(hint) != std::string::npos);
}

// Options that have no effect together with others are refused with a hint.
void refused(char **words) {
    const std::string name = words[0];
    using tapline::capture;
    fails(capture::open({.interfaces = {name}, .drop_others = true}), "drop_others", "mode to DROP");
    fails(capture::open({.interfaces = {name}, .xdp_mode = TAPLINE_XDP_MODE_NATIVE}), "xdp_mode", "XDP_RINGBUF");
    fails(capture::open({.interfaces = {name}, .delivery = TAPLINE_DELIVERY_IMMEDIATE, .delivery_time = 1ns}),
          "delivery_ns", "BATCH or ADAPTIVE");
    fails(capture::open({.interfaces = {name}, .delivery = TAPLINE_DELIVERY_IMMEDIATE, .delivery_bytes = 1}),
          "delivery_bytes", "BATCH");
    fails(capture::open({.interfaces = {name}, .spin = 1ns}), "spin_ns", "IMMEDIATE or ADAPTIVE");
    fails(tapline::sender::open({.interface = name, .rate = 10}), "rate is 10", "PACKETS, BITS or WIRE_BITS");
    fails(tapline::sender::open({.interface = name, .rate = 10, .rate_unit = TAPLINE_RATE_ABSOLUTE}), "rate is 10",
          "leave rate at 0");
    fails(tapline::counter::open({.interfaces = {name}, .max_groups = 9}), "max_groups", "set by");
    fails(tapline::counter::open({.interfaces = {name}, .netns = std::string("a\0b", 3)}), "netns contains a zero byte", "");
    const auto family = TAPLINE_FAMILY_IPV6;
    fails(tapline::pinger::open({.targets = {"127.0.0.1"}, .family = family}), "wrong address family", "");
    fails(tapline::pinger::open({.targets = {"127.0.0.1"}, .source = "here"}), "source is \"here\"", "");
}

}  // namespace

int main(int count, char **words) {
    CHECK(count >= 2);
    if (std::strcmp(words[1], "idle") == 0) {
        idle(&words[2]);
    } else if (std::strcmp(words[1], "refused") == 0) {
        refused(&words[2]);
    } else {
        return 2;
    }
    std::puts("done");
}
