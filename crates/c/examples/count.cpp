// Counts packets in the kernel until the seconds are over: count eth0 3
#include <cstdlib>
#include <iostream>

#include <tapline/count.hpp>

int main(int argc, char **argv) try {
    if (argc != 3) {
        std::cerr << "usage: count INTERFACE SECONDS\n";
        return 2;
    }
    auto counter = tapline::counter::open({
        .interfaces = {argv[1]},
        .classes = {{"udp", "udp"}, {"all", ""}},
        .max_time = std::chrono::seconds(std::atoi(argv[2])),
        .direction = TAPLINE_COUNT_DIRECTION_IN,
    }).value();
    std::cout << "counting on " << argv[1] << std::endl;

    while (auto interval = counter.next().value()) {
        for (const auto &figure : interval->classes) {
            std::cout << figure.name << ": " << figure.packets << " packets\n";
        }
    }
    for (const auto &figure : counter.totals().value()) {
        std::cout << figure.name << " in total: " << figure.packets << " packets, " << figure.bytes << " bytes\n";
    }
    return 0;
} catch (const tapline::bad_result &failed) {
    std::cerr << failed.what() << '\n';
    return 1;
}
