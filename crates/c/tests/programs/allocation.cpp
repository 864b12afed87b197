// allocation INTERFACE PACKETS arrays|cursor: captures and filters, and prints how often the calls allocated behind the
// first batch.
#include "allocations.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <tapline/capture.hpp>
#include <tapline/filter.hpp>

int main(int count, char **words) {
    if (count != 4 || count_allocations() == 0) {
        return 2;
    }
    const bool by_cursor = std::string_view(words[3]) == "cursor";
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
    while (by_cursor && received < expected) {
        const tapline::packets packets = capture.next_packets().value();
        if (packets.is_end()) {
            return 4;
        }
        for (const tapline::packet packet : packets) {
            filter.run({&packet.raw(), 1}, keep).value();
            received += keep[0] > 0 && packet.time().has_value() && packet.data().size() == packet.len();
        }
    }
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
