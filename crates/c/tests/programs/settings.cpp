// settings JOB KEY=VALUE …: a job with any of its options.
#include <chrono>
#include <string>
#include <thread>

#include <tapline/capture.hpp>
#include <tapline/count.hpp>
#include <tapline/file.hpp>
#include <tapline/ping.hpp>
#include <tapline/send.hpp>

#include "words.h"

using namespace std::chrono_literals;

namespace {

using ull = unsigned long long;

std::chrono::nanoseconds time_of(char **words, const char *key)
{
    return std::chrono::nanoseconds(static_cast<std::int64_t>(number(words, key)));
}

std::optional<std::string> name_of(char **words, const char *key)
{
    const char *const found = text(words, key);
    return found == nullptr ? std::nullopt : std::optional<std::string>(found);
}

template <class T>
T value_of(char **words, const char *key)
{
    return static_cast<T>(number(words, key));
}

void capture(char **words)
{
    tapline::capture_options options = {
        .interfaces = {text(words, "interface")},
        .netns = name_of(words, "netns"),
        .filter = name_of(words, "filter").value_or(""),
        .mode = value_of<tapline_capture_mode>(words, "mode"),
        .delivery = value_of<tapline_delivery>(words, "delivery"),
        .direction = value_of<tapline_capture_direction>(words, "direction"),
        .backend = value_of<tapline_backend>(words, "backend"),
        .xdp_mode = value_of<tapline_xdp_mode>(words, "xdp_mode"),
        .delivery_time = time_of(words, "delivery_ns"),
        .delivery_bytes = number(words, "delivery_bytes"),
        .buffer_bytes = number(words, "buffer_bytes"),
        .snaplen = value_of<std::uint32_t>(words, "snaplen"),
        .max_packets = number(words, "max_packets"),
        .promiscuous = number(words, "no_promiscuous") == 0,
        .drop_others = number(words, "drop_others") != 0,
    };
    if (const auto second = name_of(words, "second")) {
        options.interfaces.push_back(*second);
    }
    auto capture = tapline::capture::open(options).value();
    ready();
    bool has_input = true;
    if (number(words, "late") != 0) {
        wait_for_input();
        do {
            capture.next_batch(100ms).value();
        } while (capture.stats().value().received < number(words, "late"));
        CHECK(write(capture.stop_fd(), "", 1) == 1);
        has_input = false;
    }
    if (const auto refilter = name_of(words, "refilter")) {
        wait_for_input();
        has_input = false;
        if (const auto changed = capture.set_filter(*refilter); !changed) {
            std::printf("status %d\n", static_cast<int>(changed.error().status));
            return;
        }
        ready();
    }
    // For packets that are to wait for their batch.
    const bool waits = number(words, "wait") != 0;
    for (bool is_end = false; !is_end;) {
        if (!waits) {
            has_input = wait_for_work(capture.fd(), capture.stop_fd(), has_input);
        }
        for (bool is_empty = false; !is_end && !is_empty;) {
            const auto batch = waits ? capture.next_batch().value() : capture.next_batch(0ns).value();
            is_end = batch.is_end();
            is_empty = batch.empty();
            for (const tapline::packet packet : batch) {
                if (number(words, "late") == 0) {
                    std::printf("%u: %zu of %zu\n", packet.interface(), packet.data().size(), packet.len());
                }
            }
        }
    }
    for (std::size_t at = 0; at < options.interfaces.size(); ++at) {
        std::printf("%zu: %llu delivered\n", at, static_cast<ull>(capture.interface_stats(at).value()->delivered));
    }
    const auto stats = capture.finish().value();
    CHECK(stats.received == stats.delivered + *stats.filtered + stats.lost_ring);
    std::printf("%llu received, %s\n", static_cast<ull>(*stats.received), stats.lost_ring > 0 ? "some lost" : "none lost");
}

void send_packets(char **words)
{
    const tapline::sender_options options = {
        .interface = text(words, "interface"),
        .netns = name_of(words, "netns"),
        .rate = number(words, "rate"),
        .rate_unit = value_of<tapline_rate>(words, "rate_unit"),
        .path = value_of<tapline_send_path>(words, "path"),
        .long_frames = value_of<tapline_long_frames>(words, "long_frames"),
        .allow_uplink = number(words, "allow_uplink") != 0,
        .max_packets = number(words, "max_packets"),
    };
    auto opened = tapline::sender::open(options);
    if (!opened) {
        std::printf("%s\n", opened.error().hint.c_str());
        return;
    }
    auto sender = std::move(opened).value();
    std::array<std::uint8_t, 4096> frame = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
    const auto bytes = std::as_bytes(std::span(frame));
    const auto start_ns = monotonic_ns() + number(words, "start_ns");
    auto queue = tapline::send_queue::create().value();
    queue.push(bytes, std::chrono::nanoseconds(static_cast<std::int64_t>(start_ns))).value();
    queue.clear().value();
    for (std::uint64_t at = 0; at < number(words, "count"); ++at) {
        const auto time_ns = static_cast<std::int64_t>(start_ns + at * number(words, "gap_ns"));
        queue.push(bytes.first(number(words, "bytes")), std::chrono::nanoseconds(time_ns)).value();
    }
    if (number(words, "inject") != 0) {
        sender.inject(bytes.first(number(words, "bytes"))).value();
    }
    sender.transmit(queue).value();
    CHECK(options.rate_unit != TAPLINE_RATE_ABSOLUTE || monotonic_ns() >= start_ns);
    const auto stats = sender.finish().value();
    CHECK(stats.duration >= time_of(words, "least_ns"));
    std::printf("%llu accepted, %llu truncated, %llu skipped\n", static_cast<ull>(stats.accepted),
                static_cast<ull>(stats.truncated), static_cast<ull>(stats.skipped));
}

void ping(char **words)
{
    const auto start_ns = monotonic_ns();
    std::vector<std::string> targets = {text(words, "target")};
    if (const auto also = name_of(words, "also")) {
        targets.push_back(*also);
    }
    auto opened = tapline::pinger::open({
        .targets = std::move(targets),
        .family = value_of<tapline_family>(words, "family"),
        .netns = name_of(words, "netns"),
        .count = value_of<std::uint32_t>(words, "count"),
        .interval = time_of(words, "interval_ns"),
        .timeout = time_of(words, "timeout_ns"),
        .max_time = time_of(words, "max_ns"),
        .payload_bytes = value_of<std::uint32_t>(words, "payload_bytes"),
        .rate_pps = value_of<std::uint32_t>(words, "rate_pps"),
        .ttl = value_of<std::uint8_t>(words, "ttl"),
        .tos = value_of<std::uint8_t>(words, "tos"),
        .interface = name_of(words, "interface"),
        .source = name_of(words, "source"),
        .dont_fragment = number(words, "dont_fragment") != 0,
        .histograms = number(words, "histograms") != 0,
    });
    if (!opened) {
        std::printf("status %d\n", static_cast<int>(opened.error().status));
        return;
    }
    auto pinger = std::move(opened).value();
    while (!pinger.next_batch().value().is_end()) {
    }
    CHECK(monotonic_ns() - start_ns >= number(words, "least_ns"));
    const auto target = pinger.target(0).value();
    for (std::uint32_t at = 0; number(words, "names") != 0; ++at) {
        const auto named = pinger.target(at).value();
        const auto name = pinger.name(at).value();
        if (!named) {
            CHECK(!name);
            break;
        }
        std::printf("%s %s\n", name.value_or("-").c_str(), named->address.c_str());
    }
    const auto before = pinger.stats().value();
    const auto all = pinger.finish().value();
    CHECK(before.sent == all.sent && before.received == all.received && before.lost == all.lost);
    std::printf("%llu sent, %llu received, %s\n", static_cast<ull>(all.sent), static_cast<ull>(all.received),
                target->rtt_p50 ? "quantiles" : "no quantiles");
}

/// Counts received packets until there are max_packets.
void count_packets(char **words)
{
    auto counter = tapline::counter::open({
        .interfaces = {text(words, "interface")},
        .netns = name_of(words, "netns"),
        .interval = 5ms,
        .max_time = 20s,
        .direction = TAPLINE_COUNT_DIRECTION_IN,
    }).value();
    ready();
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    while (packets < number(words, "max_packets")) {
        const auto interval = counter.next().value();
        if (!interval) {
            break;
        }
        packets += interval->classes[0].packets;
        bytes += interval->classes[0].bytes;
    }
    std::printf("%llu packets, %llu bytes\n", static_cast<ull>(packets), static_cast<ull>(bytes));
}

void files(char **words)
{
    auto writer = tapline::writer::create(text(words, "path"), {
        .format = value_of<tapline_format>(words, "format"),
        .zstd = number(words, "zstd") != 0,
        .rotate_bytes = number(words, "rotate_bytes"),
        .rotate_time = time_of(words, "rotate_ns"),
        .rotate_packets = number(words, "rotate_packets"),
        .keep_files = number(words, "keep_files"),
    }).value();
    const std::uint8_t data[100] = {};
    const auto start = static_cast<std::uint64_t>(time(nullptr)) / 10 * 10;
    for (std::uint64_t at = 0; at < number(words, "count"); ++at) {
        tapline_packet packet = {};
        packet.data = data;
        packet.captured_len = packet.len = sizeof data;
        packet.time_ns = (start + at) * 1000000000;
        writer.write(std::span(&packet, 1)).value();
    }
    std::printf("%llu written\n", static_cast<ull>(writer.close().value()));
}

/// Copies a file. Its interfaces are known in the order in which they appear.
void copy(char **words)
{
    auto reader = tapline::reader::open(text(words, "from")).value();
    auto writer = tapline::writer::create(text(words, "path"), {
        .interfaces = {reader.interface(0).value()},
        .format = value_of<tapline_format>(words, "format"),
    }).value();
    for (std::uint32_t known = 1;;) {
        const auto batch = reader.next_batch().value();
        if (batch.is_end()) {
            break;
        }
        while (const auto interface = reader.interface(known)) {
            CHECK(writer.add_interface(*interface).value() == known++);
        }
        writer.write(batch).value();
    }
    std::printf("%llu written\n", static_cast<ull>(writer.close().value()));
}

/// Prints the number of packets of each batch. The end of the input ends a call that waits.
void live(char **words)
{
    auto reader = tapline::reader::open(text(words, "from"), {.filter = name_of(words, "filter").value_or("")}).value();
    std::thread stopping([&reader] {
        wait_for_input();
        reader.stop().value();
    });
    for (bool is_end = false; !is_end;) {
        const auto batch = reader.next_batch().value();
        is_end = batch.is_end();
        std::printf("%zu packets\n", batch.size());
        std::fflush(stdout);
    }
    stopping.join();
}

}  // namespace

int main(int count, char **words)
{
    CHECK(count >= 2);
    const std::string job = words[1];
    words += 2;
    if (job == "capture") {
        capture(words);
    } else if (job == "send") {
        send_packets(words);
    } else if (job == "ping") {
        ping(words);
    } else if (job == "count") {
        count_packets(words);
    } else if (job == "copy") {
        copy(words);
    } else if (job == "live") {
        live(words);
    } else {
        files(words);
    }
}
