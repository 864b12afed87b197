// Counts the packets of a file that match a filter, and prints the filter's program: filter trace.pcap 'udp port 53'
#include <algorithm>
#include <array>
#include <iostream>

#include <tapline/file.hpp>
#include <tapline/filter.hpp>

int main(int argc, char **argv) try {
    if (argc != 3) {
        std::cerr << "usage: filter FILE FILTER\n";
        return 2;
    }
    auto reader = tapline::reader::open(argv[1]).value();
    // A filter is for one link type: that of the first interface, as long as the file has packets.
    tapline::filter_options options;
    if (const auto interface = reader.interface(0)) {
        options.link_type = interface->link_type;
    }
    auto filter = tapline::filter::compile(argv[2], options).value();
    for (const auto &step : filter.classic().value()) {
        std::cout << step.code << ' ' << unsigned{step.jt} << ' ' << unsigned{step.jf} << ' ' << step.k << '\n';
    }

    std::size_t read = 0;
    std::ptrdiff_t matching = 0;
    for (;;) {
        tapline::batch batch = reader.next_batch().value();
        if (batch.is_end()) {
            break;
        }
        std::array<std::uint32_t, 128> keep = {};  // A batch has at most 128 packets.
        filter.run(batch.raw(), keep).value();
        matching += std::ranges::count_if(keep, [](std::uint32_t bytes) { return bytes > 0; });
        read += batch.size();
    }
    std::cout << matching << " of " << read << " packets match\n";
    return 0;
} catch (const tapline::bad_result &failed) {
    std::cerr << failed.what() << '\n';
    return 1;
}
