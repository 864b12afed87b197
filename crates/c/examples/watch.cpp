// watch COUNT: prints COUNT events of links: first the links that exist, and then every change.
#include <cstdlib>
#include <iostream>
#include <tapline/netlink/factory.hpp>

using namespace tapline::netlink;

int main(int argc, char **argv)
try {
    long left = argc == 2 ? std::atol(argv[1]) : 0;
    if (left <= 0) {
        std::cerr << "usage: watch COUNT\n";
        return 2;
    }
    const auto watch = NetlinkFactory::open().value()->link()->watch(LinkInfo()).value();
    while (left > 0) {
        const auto events = watch->next();
        if (!events) {
            std::cerr << events.error().describe() << '\n';
            return 1;
        }
        for (const auto &event : *events) {
            if (left-- > 0) {
                const char *const kinds[] = {"", "added", "changed", "removed", "overrun"};
                std::cout << kinds[event.kind] << ' ' << (event.object ? toString(*event.object) : "") << std::endl;
            }
        }
    }
    return 0;
} catch (const tapline::bad_result &failed) {
    std::cerr << failed.what() << '\n';
    return 1;
}
