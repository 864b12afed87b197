// Captures packets to a file and prints the account: capture eth0 trace.pcapng 10 'tcp port 443'
#include <cstdlib>
#include <iostream>

#include <tapline/capture.hpp>
#include <tapline/file.hpp>

int main(int argc, char **argv) try {
    if (argc != 5) {
        std::cerr << "usage: capture INTERFACE FILE PACKETS FILTER\n";
        return 2;
    }
    auto capture = tapline::capture::open({
        .interfaces = {argv[1]},
        .filter = argv[4],
        .max_packets = std::strtoull(argv[3], nullptr, 10),
    }).value();
    auto interface = capture.interface(0);
    auto writer = tapline::writer::create(argv[2], {.interfaces = {interface.value()}}).value();
    std::cout << "capturing on " << interface->name << std::endl;

    for (;;) {
        tapline::packets packets = capture.next_packets().value();
        if (packets.is_end()) {
            break;
        }
        writer.write(packets).value();
    }

    auto written = writer.close().value();
    auto stats = capture.finish().value();
    std::cout << written << " written, " << stats.delivered << " delivered, " << stats.lost_ring
              << " lost in the ring\n";
    return 0;
} catch (const tapline::bad_result &failed) {
    std::cerr << failed.what() << '\n';
    return 1;
}
