// results: `tapline::result` composes as std::expected does, and the types of the library are printed.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <tapline/capture.hpp>
#include <tapline/doctor.hpp>
#include <tapline/netlink/factory.hpp>
#include <tapline/print.hpp>
#include <tapline/send.hpp>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace net = tapline::netlink;

void check(bool holds, const char *what, int line)
{
    if (!holds) {
        std::fprintf(stderr, "results.cpp:%d: %s\n", line, what);
        std::exit(1);
    }
}

#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

tapline::error wrong(const char *message)
{
    tapline::error failed;
    failed.status = TAPLINE_STATUS_NOT_FOUND;
    failed.message = message;
    return failed;
}

void values()
{
    const tapline::result<int> seven = 7, none = wrong("no number");
    const auto half = [](int value) -> tapline::result<int> {
        return value % 2 == 0 ? tapline::result<int>(value / 2) : wrong("it is odd");
    };
    CHECK(seven.and_then(half).error().message == "it is odd");
    CHECK(none.and_then(half).error() == none.error());
    CHECK(tapline::result<int>(8).and_then(half).and_then(half).value() == 2);

    const auto text = [](int value) { return std::to_string(value); };
    CHECK(seven.transform(text).value() == "7");
    CHECK(none.transform(text).error() == none.error());
    int calls = 0;
    const tapline::result<void> counted = seven.transform([&calls](int) { ++calls; });
    CHECK(counted && calls == 1);
    CHECK(!none.transform([&calls](int) { ++calls; }) && calls == 1);

    const auto zero = [](const tapline::error &) { return tapline::result<int>(0); };
    CHECK(seven.or_else(zero).value() == 7 && none.or_else(zero).value() == 0);
    CHECK(tapline::result<int>(wrong("gone")).or_else(zero).value() == 0);
    const auto more = [](tapline::error failed) {
        failed.hint = "count again";
        return failed;
    };
    CHECK(seven.transform_error(more).value() == 7);
    CHECK(none.transform_error(more).error().describe() == "no number (count again)");

    CHECK(seven == tapline::result<int>(7) && seven != none && none == tapline::result<int>(wrong("no number")));
    CHECK(tapline::result<void>() == tapline::result<void>() && tapline::result<void>() != tapline::result<void>(wrong("it")));

    // A loop keeps the value of a result that nothing else keeps.
    const auto numbers = [] { return tapline::result<std::vector<int>>(std::vector<int>(1000, 7)); };
    int sum = 0;
    for (const int number : *numbers()) {
        sum += number;
    }
    for (const int number : numbers().value()) {
        sum += number;
    }
    CHECK(sum == 14000);

    // A value that can only be moved.
    tapline::result<std::unique_ptr<int>> owned = std::make_unique<int>(3);
    const auto read = [](std::unique_ptr<int> pointer) { return *pointer; };
    CHECK(std::move(owned).transform(read).value() == 3);
    tapline::result<std::unique_ptr<int>> lost = wrong("no pointer");
    CHECK(*std::move(lost).value_or(std::make_unique<int>(4)) == 4);
}

void nothing()
{
    const tapline::result<void> good, bad = wrong("it failed");
    const auto next = [] { return tapline::result<int>(5); };
    CHECK(good.and_then(next).value() == 5 && bad.and_then(next).error() == bad.error());
    CHECK(good.transform([] { return 6; }).value() == 6 && bad.transform([] { return 6; }).error() == bad.error());
    int calls = 0;
    CHECK(good.transform([&calls] { ++calls; }) && calls == 1);
    const auto ignore = [](const tapline::error &) { return tapline::result<void>(); };
    const auto again = [](const tapline::error &) { return wrong("again"); };
    CHECK(good.or_else(ignore) && bad.or_else(ignore));
    CHECK(good.transform_error(again) && bad.transform_error(again).error().message == "again");
}

template <class T>
std::string printed(const T &value)
{
    std::ostringstream out;
    out << value;
    return out.str();
}

void printing()
{
    auto failed = wrong("no such interface");
    failed.hint = "look again";
    CHECK(printed(failed) == "no such interface (look again)");

    tapline_capture_stats raw = {};
    raw.received = TAPLINE_UNKNOWN;
    raw.delivered = 2;
    raw.duration_ns = 1'500'000'000;
    CHECK(printed(tapline::capture_stats(raw)) ==
          "received: unknown, delivered: 2, delivered_bytes: 0, filtered: 0, lost_nic: 0, lost_driver: 0, "
          "lost_ring: 0, lost_program: 0, lost_reader: 0, duration: 1500ms");
    tapline_delays delays = {};
    delays.packets = 1;
    delays.min_ns = 7;
    delays.mean_ns = 2000;
    delays.max_ns = TAPLINE_UNKNOWN;
    CHECK(printed(tapline::delay_stats(delays)) ==
          "packets: 1, ahead: 0, unstamped: 0, min: 7ns, mean: 2us, p50: 0s, p99: 0s, p999: 0s, max: unknown");
    tapline::sender_stats sent;
    sent.submitted = 3;
    sent.duration = 2s;
    CHECK(printed(sent) ==
          "submitted: 3, accepted: 0, failed: 0, delivered: unknown, bytes: 0, skipped: 0, truncated: 0, retries: 0, "
          "duration: 2s");
    const tapline::finding found = {"link", TAPLINE_SEVERITY_WARNING, "eth0 is down", "", "ip link set eth0 up"};
    CHECK(printed(found) == "link: eth0 is down: ip link set eth0 up");

    // The times of netlink, which no stream operator of the standard library takes as they are.
    const auto address = net::AddrInfo().setDev("eth0").setValidLifeTime(90s);
    CHECK(printed(*address.validLifeTime) == "90s");
    CHECK(printed(net::AddrInfo().setValidLifeTime(net::Duration<std::uint32_t>::max()).validLifeTime.value()) == "forever");
    net::Event<net::AddrInfo> event;
    CHECK(printed(event) == "overrun");
    event.kind = TAPLINE_WATCH_EVENT_CHANGED;
    event.before = net::AddrInfo().setDev("eth0");
    event.object = address;
    CHECK(printed(event) == "changed AddrInfo{dev=eth0} to AddrInfo{dev=eth0, validLifeTime=90s}");
    event.kind = TAPLINE_WATCH_EVENT_REMOVED;
    CHECK(printed(event) == "removed AddrInfo{dev=eth0, validLifeTime=90s}");
}

}  // namespace

int main()
{
    values();
    nothing();
    printing();
    std::puts("done");
    return 0;
}
