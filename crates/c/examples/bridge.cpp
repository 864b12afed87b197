// bridge NAME: creates a bridge with its settings in one message, and prints what the kernel made of it.
#include <chrono>
#include <exception>
#include <iostream>
#include <tapline/netlink/factory.hpp>

using namespace tapline::netlink;
using namespace std::chrono_literals;

int main(int argc, char **argv)
try {
    if (argc != 2) {
        std::cerr << "usage: bridge NAME\n";
        return 2;
    }
    const auto factory = NetlinkFactory::open();
    if (!factory) {
        std::cerr << factory.error().describe() << '\n';
        return 1;
    }
    const auto bridge = LinkInfo().setName(argv[1]).setAdmin(true).setMtu(1400).setBridgeAgeingTime(123s);
    const auto created = (*factory)->link()->create(bridge);
    if (!created) {
        std::cerr << created.error().describe() << '\n';
        return 1;
    }
    std::cout << *created << '\n';
    return 0;
} catch (const std::exception &failed) {
    // A value that an attribute cannot have.
    std::cerr << failed.what() << '\n';
    return 1;
}
