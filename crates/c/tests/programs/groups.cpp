// groups INTERFACE PACKETS: the groups of all UDP packets by destination port, when PACKETS have arrived.
#include <iostream>
#include <tapline/count.hpp>

int main(int count, char **words)
{
    if (count != 3) {
        return 2;
    }
    auto counter = tapline::counter::open({.interfaces = {words[1]},
                                           .classes = {{"udp", "udp"}},
                                           .interval = std::chrono::milliseconds(5),
                                           .direction = TAPLINE_COUNT_DIRECTION_IN,
                                           .by = TAPLINE_COUNT_BY_DST_PORT,
                                           .max_groups = 2})
                       .value();
    std::cout << "ready" << std::endl;
    const auto wanted = std::stoull(words[2]);
    while (counter.totals().value()[0].packets < wanted) {
        counter.next().value();
    }
    // The groups of the totals are read after the class.
    static_cast<void>(counter.totals().value());
    const auto found = counter.groups(0).value().value();
    for (const auto &group : found.groups) {
        std::cout << group.key << ": " << group.packets << " packets, " << group.bytes << " bytes\n";
    }
    std::cout << "others: " << found.other << " packets\n";
    return counter.groups(1).value() ? 1 : 0;
}
