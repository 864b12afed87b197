// Pings hosts, prefixes and ranges three times each: ping 192.0.2.1 198.51.100.0/28
#include <algorithm>
#include <chrono>
#include <iostream>

#include <tapline/ping.hpp>

int main(int argc, char **argv) try {
    using namespace std::chrono_literals;
    if (argc < 2) {
        std::cerr << "usage: ping TARGET...\n";
        return 2;
    }
    auto ping = tapline::pinger::open({
        .targets = {argv + 1, argv + argc},
        .count = 3,
        .interval = 100ms,
    }).value();

    std::ptrdiff_t answers = 0;
    for (;;) {
        tapline::ping_events events = ping.next_batch().value();
        if (events.is_end()) {
            break;
        }
        answers += std::ranges::count(events, TAPLINE_PING_EVENT_KIND_RECEIVED, &tapline::ping_event::kind);
    }

    for (std::uint32_t index = 0; auto stats = ping.target(index).value(); index++) {
        std::cout << stats->address << ": " << stats->sent << " sent, " << stats->received << " received\n";
    }
    std::cout << answers << " answers, " << ping.finish().value().lost << " lost\n";
    return 0;
} catch (const tapline::bad_result &failed) {
    std::cerr << failed.what() << '\n';
    return 1;
}
