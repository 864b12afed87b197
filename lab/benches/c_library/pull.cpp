// pull INTERFACE BACKEND PACKETS WAY TURNS: as often as TURNS its ring is filled until a line arrives, and read; prints the
// CPU time per packet, the median of all times but the first. WAY is arrays, or cursor, that is packet by packet.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <vector>

#include <tapline/capture.hpp>

static double cpu_ns() {
    timespec now = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Reads this many packets at least. Returns the sum of what it looked at.
template <auto next>
static std::size_t read_packets(tapline::capture &capture, std::size_t wanted) {
    std::size_t bytes = 0;
    for (std::size_t received = 0; received < wanted;) {
        auto packets = next(capture);
        if (!packets || packets->is_end()) {
            return 0;
        }
        for (tapline::packet packet : *packets) {
            bytes += packet.len() + std::to_integer<std::size_t>(packet.data()[0]);
            received++;
        }
    }
    return bytes;
}

static tapline::result<tapline::batch> next_array(tapline::capture &capture) { return capture.next_batch(); }
static tapline::result<tapline::packets> next_one_by_one(tapline::capture &capture) { return capture.next_packets(); }

int main(int argc, char **argv) {
    if (argc != 6) {
        return 2;
    }
    const auto backend = static_cast<tapline_backend>(std::atoi(argv[2]));
    const std::size_t packet_count = std::strtoull(argv[3], nullptr, 10);
    const std::size_t turns = std::strtoull(argv[5], nullptr, 10);
    if (turns < 2) {
        return 2;
    }
    auto capture = tapline::capture::open({
        .interfaces = {argv[1]},
        .delivery = backend == TAPLINE_BACKEND_PACKET_V2 ? TAPLINE_DELIVERY_IMMEDIATE : TAPLINE_DELIVERY_BATCH,
        .backend = backend,
        .buffer_bytes = 64 << 20,
        .snaplen = 96,
        .max_packets = turns * packet_count,
    });
    if (!capture) {
        std::fprintf(stderr, "%s\n", capture.error().describe().c_str());
        return 1;
    }
    const bool has_cursor = std::string_view(argv[4]) == "cursor";
    std::size_t bytes = 0;
    std::vector<double> times;
    for (std::size_t turn = 0; turn < turns; turn++) {
        std::puts("ready");
        std::fflush(stdout);
        std::getchar();
        const double before = cpu_ns();
        bytes = (has_cursor ? read_packets<next_one_by_one> : read_packets<next_array>)(*capture, packet_count);
        times.push_back(cpu_ns() - before);
    }
    std::sort(times.begin() + 1, times.end());
    std::printf("%zu %zu %f\n", bytes == 0 ? 0 : packet_count, bytes, times[turns / 2] / static_cast<double>(packet_count));
    return 0;
}
