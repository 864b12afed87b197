#include <iostream>

#include <tapline/filter.hpp>

int main() {
    auto filter = tapline::filter::compile("udp port 53");
    std::cout << tapline_version() << ' ' << (filter ? 0 : 1) << '\n';
}
