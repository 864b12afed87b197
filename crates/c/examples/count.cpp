// Counts packets in the kernel until so many have passed, for a minute at most: count eth0 1000
#include <cstdlib>
#include <iostream>

#include <tapline/count.hpp>

int main(int argc, char **argv) try {
    if (argc != 3) {
        std::cerr << "usage: count INTERFACE PACKETS\n";
        return 2;
    }
    auto counter = tapline::counter::open({
        .interfaces = {argv[1]},
        .classes = {{"udp", "udp"}, {"all", ""}},
        .interval = std::chrono::milliseconds(100),
        .max_time = std::chrono::minutes(1),
        .direction = TAPLINE_COUNT_DIRECTION_IN,
    }).value();
    std::cout << "counting on " << argv[1] << std::endl;

    const std::uint64_t wanted = std::strtoull(argv[2], nullptr, 10);
    for (std::uint64_t passed = 0; passed < wanted;) {
        auto interval = counter.next().value();
        if (!interval) {
            break;
        }
        const auto &all = interval->classes[1];
        std::cout << all.name << ": " << all.packets << " packets\n";
        passed += all.packets;
    }
    for (const auto &figure : counter.totals().value()) {
        std::cout << figure.name << " in total: " << figure.packets << " packets, " << figure.bytes << " bytes\n";
    }
    return 0;
} catch (const tapline::bad_result &failed) {
    std::cerr << failed.what() << '\n';
    return 1;
}
