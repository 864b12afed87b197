// generate INTERFACE: 90 UDP packets to three ports.
#include <iostream>
#include <tapline/send.hpp>

int main(int count, char **words)
{
    if (count != 2) {
        return 2;
    }
    auto sender = tapline::sender::open({.interface = words[1]}).value();
    const bool isDone = sender
                            .generate({.destinations = "198.18.0.2",
                                       .sources = "198.18.0.1",
                                       .destination_ports = "1000-1002",
                                       .sizes = "100",
                                       .destination_mac = std::array<std::uint8_t, 6>{2, 0, 0, 0, 0, 2},
                                       .max_packets = 90})
                            .value();
    std::cout << sender.finish().value().accepted << " accepted\n";
    return isDone ? 0 : 1;
}
