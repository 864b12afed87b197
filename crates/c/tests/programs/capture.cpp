// capture INTERFACE FILTER PACKETS WAY...: captures once for each way, and prints the packets, then the account. It reads them
// in batches (arrays), or packet by packet from blocks or frames.
#include <tapline/capture.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ranges>
#include <string_view>

static_assert(std::ranges::random_access_range<tapline::batch>);
static_assert(std::ranges::sized_range<tapline::batch>);
static_assert(std::is_convertible_v<tapline::packet, std::span<const std::byte>>);

static_assert(std::ranges::input_range<tapline::packets>);

static void print(tapline::packet packet) {
    std::printf("%zu ", packet.len());
    for (std::byte byte : packet.data()) {
        std::printf("%02x", std::to_integer<unsigned>(byte));
    }
    std::puts("");
}

static int fail(const tapline::error &error) {
    std::fprintf(stderr, "%s\n", error.describe().c_str());
    return 1;
}

static int run(char **words, std::string_view way) {
    const bool has_cursor = way != "arrays";
    const bool has_blocks = way == "blocks";
    auto capture = tapline::capture::open({
        .interfaces = {words[1]},
        .filter = words[2],
        .delivery = has_blocks ? TAPLINE_DELIVERY_BATCH : TAPLINE_DELIVERY_IMMEDIATE,
        .backend = has_blocks ? TAPLINE_BACKEND_PACKET_V3 : TAPLINE_BACKEND_AUTO,
        .snaplen = 2000,
        .max_packets = std::strtoull(words[3], nullptr, 10),
        .max_time = std::chrono::seconds(20),
        // Packets whose delays are measured are in arrays.
        .measure_delays = !has_cursor,
    });
    if (!capture) {
        return fail(capture.error());
    }
    std::puts("ready");
    std::fflush(stdout);
    while (has_cursor) {
        auto packets = capture->next_packets();
        if (!packets) {
            return fail(packets.error());
        }
        if (packets->is_end()) {
            break;
        }
        std::ranges::for_each(*packets, print);
    }
    while (!has_cursor) {
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
        std::ranges::for_each(*batch, print);
    }
    if (!has_cursor) {
        const auto delays = capture->delays().value();
        if (delays.packets != std::strtoull(words[3], nullptr, 10) || delays.p50 > delays.max) {
            return 4;
        }
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
    std::fflush(stdout);
    return 0;
}

int main(int count, char **words) {
    if (count < 5) {
        return 2;
    }
    for (int at = 4; at < count; at++) {
        if (const int status = run(words, words[at]); status != 0) {
            return status;
        }
    }
    return 0;
}
