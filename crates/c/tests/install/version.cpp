#include <iostream>

#include <tapline/filter.hpp>

int main() {
    auto filter = tapline::filter::compile("udp port 53");
    std::cout << TAPLINE_VERSION_MAJOR << '.' << TAPLINE_VERSION_MINOR << '.' << TAPLINE_VERSION_PATCH << ' ';
    std::cout << tapline_version() << ' ' << (filter ? 0 : 1) << '\n';
    return tapline_version_number() == TAPLINE_VERSION_NUMBER ? 0 : 1;
}
