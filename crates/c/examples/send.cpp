// Sends UDP frames at 10 000 per second: send veth0 1000. Refuses an interface with a default route.
#include <array>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <span>

#include <tapline/send.hpp>

int main(int argc, char **argv) try {
    if (argc != 3) {
        std::cerr << "usage: send INTERFACE PACKETS\n";
        return 2;
    }
    // Ethernet, and an IPv4 packet without options: from 198.18.0.1 to 198.18.0.2, UDP port 9.
    std::array<unsigned char, 60> frame = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 46, 0, 0, 0x40, 0,
                                           64, 17, 0xae, 0x99, 198, 18, 0, 1, 198, 18, 0, 2, 0, 9, 0, 9, 0, 26};
    auto queue = tapline::send_queue::create().value();
    const unsigned long packets = std::strtoul(argv[2], nullptr, 10);
    for (unsigned long number = 0; number < packets; number++) {
        std::memcpy(frame.data() + 42, &number, sizeof number);
        queue.push(std::as_bytes(std::span(frame))).value();
    }

    auto sender = tapline::sender::open({
        .interface = argv[1],
        .rate = 10000,
        .rate_unit = TAPLINE_RATE_PACKETS,
    }).value();
    sender.transmit(queue).value();
    auto stats = sender.finish().value();
    std::cout << stats.submitted << " submitted, " << stats.accepted << " accepted, " << stats.failed << " failed\n";
    return 0;
} catch (const tapline::bad_result &failed) {
    std::cerr << failed.what() << '\n';
    return 1;
}
