// capture INTERFACE FILTER PACKETS: prints the packets, then the account.
#include <tapline/capture.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ranges>

static_assert(std::ranges::random_access_range<tapline::batch>);
static_assert(std::ranges::sized_range<tapline::batch>);
static_assert(std::is_convertible_v<tapline::packet, std::span<const std::byte>>);

static int fail(const tapline::error &error) {
    std::fprintf(stderr, "%s\n", error.describe().c_str());
    return 1;
}

int main(int count, char **words) {
    if (count != 4) {
        return 2;
    }
    auto capture = tapline::capture::open({
        .interfaces = {words[1]},
        .filter = words[2],
        .delivery = TAPLINE_DELIVERY_IMMEDIATE,
        .snaplen = 2000,
        .max_packets = std::strtoull(words[3], nullptr, 10),
        .max_time = std::chrono::seconds(20),
        .measure_delays = true,
    });
    if (!capture) {
        return fail(capture.error());
    }
    std::puts("ready");
    std::fflush(stdout);
    for (;;) {
        auto batch = capture->next_batch();
        if (!batch) {
            return fail(batch.error());
        }
        if (batch->is_end()) {
            break;
        }
        if (!std::ranges::all_of(*batch, [](tapline::packet packet) { return packet.time().has_value(); })) {
            return 3;
        }
        for (tapline::packet packet : *batch) {
            std::printf("%zu ", packet.len());
            for (std::byte byte : packet.data()) {
                std::printf("%02x", std::to_integer<unsigned>(byte));
            }
            std::puts("");
        }
    }
    const auto delays = capture->delays().value();
    if (delays.packets != std::strtoull(words[3], nullptr, 10) || delays.p50 > delays.max) {
        return 4;
    }
    auto stats = capture->finish();
    if (!stats) {
        return fail(stats.error());
    }
    std::printf("%llu received, %llu delivered, %llu bytes, %llu filtered, %llu lost\n",
                static_cast<unsigned long long>(stats->received.value_or(0)),
                static_cast<unsigned long long>(stats->delivered),
                static_cast<unsigned long long>(stats->delivered_bytes),
                static_cast<unsigned long long>(stats->filtered.value_or(0)),
                static_cast<unsigned long long>(stats->lost_ring + stats->lost_program + stats->lost_reader));
    return 0;
}
