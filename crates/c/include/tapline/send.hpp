// Sending.
#ifndef TAPLINE_SEND_HPP
#define TAPLINE_SEND_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "handle.hpp"
#include "options.hpp"
#include "range.hpp"

namespace tapline {

/// Packets to send, in order, each with a time. One thread at a time.
class send_queue {
public:
    /// A queue with memory for `packets` packets of `bytes` bytes in total.
    static result<send_queue> create(std::size_t packets = 0, std::size_t bytes = 0) {
        ::tapline_queue *created = nullptr;
        auto status = detail::call(&::tapline_queue_create, packets, bytes, &created);
        if (!status) {
            return std::move(status).error();
        }
        return send_queue(created);
    }

    /// Adds a packet; its bytes are copied. The time counts with the rates RECORDED and ABSOLUTE, and cannot be negative.
    result<void> push(std::span<const std::byte> frame, std::chrono::nanoseconds time = {}) {
        if (time < std::chrono::nanoseconds::zero()) [[unlikely]] {
            return *detail::negative({{"time", time}});
        }
        return detail::done(detail::call(&::tapline_queue_push, handle_.get(), static_cast<std::uint64_t>(time.count()),
                                         reinterpret_cast<const std::uint8_t *>(frame.data()), frame.size()));
    }
    /// Adds a packet with the time of a recorded one.
    result<void> push(std::span<const std::byte> frame, time_point time) { return push(frame, time.time_since_epoch()); }
    /// Removes all packets and keeps the memory.
    result<void> clear() { return detail::done(detail::call(&::tapline_queue_clear, handle_.get())); }

    /// For calls of the C interface.
    ::tapline_queue *get() const noexcept { return handle_.get(); }

private:
    explicit send_queue(::tapline_queue *raw) : handle_(raw) {}

    handle<::tapline_queue, &::tapline_queue_free> handle_;
};

/// What to send on, and how.
struct sender_options {
    std::string interface;
    /// Its network namespace: a name below /run/netns, or a path. Default: that of the calling thread.
    std::optional<std::string> netns = {};
    std::uint64_t rate = 0;
    ::tapline_rate rate_unit = TAPLINE_RATE_MAX;
    ::tapline_send_path path = TAPLINE_SEND_PATH_AUTO;
    ::tapline_long_frames long_frames = TAPLINE_LONG_FRAMES_REFUSE;
    /// Also send on an uplink: an interface with a route wider than 10.0.0.0/8 or fc00::/7.
    bool allow_uplink = false;
    /// End after this many packets. Default: never.
    std::uint64_t max_packets = 0;
};

/// Which packets to generate. Values are written as in `tapline_generator_options`.
struct generator_options {
    /// Required.
    std::string destinations;
    /// Default: the address of the interface.
    std::string sources = {};
    std::string destination_ports = {};
    std::string source_ports = {};
    /// Lengths of the frames, without FCS.
    std::string sizes = {};
    ::tapline_generator_kind kind = TAPLINE_GENERATOR_KIND_UDP;
    /// Default: the address of the next hop.
    std::optional<std::array<std::uint8_t, 6>> destination_mac = {};
    /// Default: the address of the interface.
    std::optional<std::array<std::uint8_t, 6>> source_mac = {};
    /// End after this many packets. Default: never.
    std::uint64_t max_packets = 0;
    /// Number of different flows. Default: all combinations of the values.
    std::uint64_t flows = 0;
    std::uint64_t seed = 0;
    /// Default: no tag.
    std::uint16_t vlan = 0;
};

/// The account of a send job: submitted = accepted + failed.
struct sender_stats {
    std::uint64_t submitted = 0;
    std::uint64_t accepted = 0;
    std::uint64_t failed = 0;
    /// Packets that the device sent, by its own counters; none if unknown.
    std::optional<std::uint64_t> delivered;
    std::uint64_t bytes = 0;
    std::uint64_t skipped = 0;
    std::uint64_t truncated = 0;
    std::uint64_t retries = 0;
    std::chrono::nanoseconds duration = {};
};

/// An open send job. One thread at a time; `stop` from any, but not beside `finish`, a move or the destructor.
class sender {
public:
    /// As `tapline_sender_open`: CAP_NET_RAW.
    static result<sender> open(const sender_options &options) {
        detail::c_strings text;
        ::tapline_sender_options raw = {};
        raw.size = sizeof raw;
        raw.interface = text("interface", options.interface);
        raw.netns = text("netns", options.netns);
        if (auto wrong = text.wrong()) {
            return *std::move(wrong);
        }
        raw.rate = options.rate;
        raw.rate_unit = options.rate_unit;
        raw.path = options.path;
        raw.long_frames = options.long_frames;
        raw.allow_uplink = options.allow_uplink ? 1 : 0;
        raw.max_packets = options.max_packets;
        ::tapline_sender *opened = nullptr;
        auto status = detail::call(&::tapline_sender_open, &raw, &opened);
        if (!status) {
            return std::move(status).error();
        }
        return sender(opened);
    }

    /// Sends one packet now, whatever the rate.
    result<void> inject(std::span<const std::byte> frame) {
        return detail::done(detail::call(&::tapline_sender_inject, handle_.get(),
                                         reinterpret_cast<const std::uint8_t *>(frame.data()), frame.size()));
    }

    /// Sends the packets of `queue` at the rate of the job. Returns whether all were sent.
    result<bool> transmit(const send_queue &queue) {
        auto status = detail::call(&::tapline_sender_transmit, handle_.get(), queue.get());
        if (!status) {
            return std::move(status).error();
        }
        return *status == TAPLINE_STATUS_OK;
    }

    /// Sends generated packets at the rate of the job. Returns whether all were sent.
    result<bool> generate(const generator_options &options) {
        detail::c_strings text;
        ::tapline_generator_options raw = {};
        raw.size = sizeof raw;
        raw.destinations = text.unless_empty("destinations", options.destinations);
        raw.sources = text.unless_empty("sources", options.sources);
        raw.destination_ports = text.unless_empty("destination_ports", options.destination_ports);
        raw.source_ports = text.unless_empty("source_ports", options.source_ports);
        raw.sizes = text.unless_empty("sizes", options.sizes);
        if (auto wrong = text.wrong()) {
            return *std::move(wrong);
        }
        raw.destination_mac = options.destination_mac ? options.destination_mac->data() : nullptr;
        raw.source_mac = options.source_mac ? options.source_mac->data() : nullptr;
        raw.max_packets = options.max_packets;
        raw.flows = options.flows;
        raw.seed = options.seed;
        raw.kind = options.kind;
        raw.vlan = options.vlan;
        auto status = detail::call(&::tapline_sender_generate, handle_.get(), &raw);
        if (!status) {
            return std::move(status).error();
        }
        return *status == TAPLINE_STATUS_OK;
    }

    /// Ends the job. Any thread.
    result<void> stop() const { return detail::done(detail::call(&::tapline_sender_stop, handle_.get())); }

    /// Closes the job and returns its account.
    result<sender_stats> finish() {
        ::tapline_sender_stats raw = {};
        raw.size = sizeof raw;
        auto status = handle_.finish(&::tapline_sender_finish, &raw);
        if (!status) {
            return std::move(status).error();
        }
        sender_stats stats;
        stats.submitted = raw.submitted;
        stats.accepted = raw.accepted;
        stats.failed = raw.failed;
        stats.delivered = known(raw.delivered);
        stats.bytes = raw.bytes;
        stats.skipped = raw.skipped;
        stats.truncated = raw.truncated;
        stats.retries = raw.retries;
        stats.duration = std::chrono::nanoseconds(static_cast<std::int64_t>(raw.duration_ns));
        return stats;
    }

private:
    explicit sender(::tapline_sender *raw) : handle_(raw) {}

    static void abandon(::tapline_sender *raw, ::tapline_error **failed) {
        ::tapline_sender_finish(raw, nullptr, failed);
    }

    handle<::tapline_sender, &abandon> handle_;
};

}  // namespace tapline

#endif
