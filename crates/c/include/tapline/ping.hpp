// Ping.
#ifndef TAPLINE_PING_HPP
#define TAPLINE_PING_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "handle.hpp"

namespace tapline {

/// What to ping, and how. See `tapline_ping_options` for the defaults.
struct ping_options {
    /// Host names, addresses, prefixes and ranges.
    std::vector<std::string> targets;
    /// Probes to each target. Default: until stopped.
    std::uint32_t count = 0;
    std::chrono::nanoseconds interval = {};
    std::chrono::nanoseconds timeout = {};
    std::chrono::nanoseconds max_time = {};
    std::uint32_t payload_bytes = 0;
    std::uint32_t rate_pps = 0;
    std::uint8_t ttl = 0;
    std::optional<std::string> interface = {};
    bool dont_fragment = false;
    bool histograms = false;
};

/// A time of `tapline_ping_stats` and `tapline_ping_event`; none if it is not known.
inline std::optional<std::chrono::nanoseconds> known_time(std::uint64_t time_ns) {
    if (time_ns == TAPLINE_UNKNOWN) {
        return std::nullopt;
    }
    return std::chrono::nanoseconds(static_cast<std::int64_t>(time_ns));
}

/// The events of a batch, lent until the next call. `is_end` when the run is over.
struct ping_events {
    std::span<const ::tapline_ping_event> events;
    bool is_end = false;

    auto begin() const noexcept { return events.begin(); }
    auto end() const noexcept { return events.end(); }
};

/// A run of probes. One thread at a time; `stop` from any.
class pinger {
public:
    /// As `tapline_ping_open`: CAP_NET_RAW, or a group within net.ipv4.ping_group_range.
    static result<pinger> open(const ping_options &options) {
        std::vector<const char *> targets;
        for (const std::string &target : options.targets) {
            targets.push_back(target.c_str());
        }
        ::tapline_ping_options raw = {};
        raw.size = sizeof raw;
        raw.targets = targets.data();
        raw.target_count = targets.size();
        raw.interval_ns = static_cast<std::uint64_t>(options.interval.count());
        raw.timeout_ns = static_cast<std::uint64_t>(options.timeout.count());
        raw.max_ns = static_cast<std::uint64_t>(options.max_time.count());
        raw.count = options.count;
        raw.payload_bytes = options.payload_bytes;
        raw.rate_pps = options.rate_pps;
        raw.ttl = options.ttl;
        raw.interface = options.interface ? options.interface->c_str() : nullptr;
        raw.dont_fragment = options.dont_fragment ? 1 : 0;
        raw.histograms = options.histograms ? 1 : 0;
        ::tapline_ping *opened = nullptr;
        auto status = call(&::tapline_ping_open, &raw, &opened);
        if (!status) {
            return std::move(status).error();
        }
        return pinger(opened);
    }

    /// Sends what is due and waits for events, at most `timeout`.
    result<ping_events> next_batch(std::chrono::nanoseconds timeout) { return next(timeout.count()); }
    /// Sends what is due and waits for events.
    result<ping_events> next_batch() { return next(-1); }

    /// The account of all targets so far.
    result<::tapline_ping_stats> stats() const {
        ::tapline_ping_stats raw = {};
        raw.size = sizeof raw;
        auto status = call(&::tapline_ping_stats_read, handle_.get(), &raw);
        if (!status) {
            return std::move(status).error();
        }
        return raw;
    }

    /// The account of one target so far; none behind the last one.
    result<std::optional<::tapline_ping_stats>> target(std::uint32_t index) const {
        ::tapline_ping_stats raw = {};
        raw.size = sizeof raw;
        auto status = call(&::tapline_ping_target_stats, handle_.get(), index, &raw);
        if (!status) {
            return std::move(status).error();
        }
        return *status == TAPLINE_STATUS_END ? std::optional<::tapline_ping_stats>() : std::optional(raw);
    }

    /// Ends the run. Any thread.
    result<void> stop() const { return done(call(&::tapline_ping_stop, handle_.get())); }

    /// For poll(2) and epoll(7): call `next_batch` with a timeout of 0 when it is readable.
    int fd() const {
        int descriptor = -1;
        ::tapline_ping_fd(handle_.get(), &descriptor, nullptr);
        return descriptor;
    }

    /// Closes the run and returns the account of all targets.
    result<::tapline_ping_stats> finish() {
        ::tapline_ping_stats raw = {};
        raw.size = sizeof raw;
        auto status = call(&::tapline_ping_finish, handle_.release(), &raw);
        if (!status) {
            return std::move(status).error();
        }
        return raw;
    }

private:
    explicit pinger(::tapline_ping *raw) : handle_(raw) {}

    static void abandon(::tapline_ping *raw, ::tapline_error **failed) {
        ::tapline_ping_finish(raw, nullptr, failed);
    }

    result<ping_events> next(std::int64_t timeout_ns) {
        const ::tapline_ping_event *events = nullptr;
        std::size_t count = 0;
        auto status = call(&::tapline_ping_next_batch, handle_.get(), timeout_ns, &events, &count);
        if (!status) {
            return std::move(status).error();
        }
        return ping_events{{events, count}, *status == TAPLINE_STATUS_END};
    }

    handle<::tapline_ping, &abandon> handle_;
};

}  // namespace tapline

#endif
