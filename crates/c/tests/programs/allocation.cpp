// allocation INTERFACE PACKETS: captures and filters, and prints how often the calls allocated behind the first batch.
#include "allocations.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <tapline/capture.hpp>
#include <tapline/filter.hpp>

int main(int count, char **words) {
    if (count != 3 || count_allocations() == 0) {
        return 2;
    }
    const auto expected = std::strtoul(words[2], nullptr, 10);
    auto before = allocations;
    auto capture = tapline::capture::open({
        .interfaces = {words[1]},
        .delivery = TAPLINE_DELIVERY_IMMEDIATE,
        .snaplen = 2000,
        .max_time = std::chrono::seconds(20),
    }).value();
    auto filter = tapline::filter::compile("udp").value();
    if (allocations == before) {
        return 3;
    }
    // The first calls prepare the reader and the filter.
    capture.next_batch(std::chrono::nanoseconds(0)).value();
    filter.matches({}).value();
    std::puts("ready");
    std::fflush(stdout);
    before = allocations;
    unsigned long received = 0;
    std::array<std::uint32_t, 128> keep = {};
    while (received < expected) {
        const tapline::batch batch = capture.next_batch().value();
        if (batch.is_end()) {
            return 4;
        }
        filter.run(batch.raw(), keep).value();
        std::size_t at = 0;
        for (const tapline::packet packet : batch) {
            received += keep[at++] > 0 && packet.time().has_value() && packet.data().size() == packet.len();
        }
    }
    std::printf("%lu packets, %lu allocations\n", received, allocations - before);
    return 0;
}
