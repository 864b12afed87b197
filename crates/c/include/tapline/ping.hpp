// Ping.
#ifndef TAPLINE_PING_HPP
#define TAPLINE_PING_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "handle.hpp"
#include "options.hpp"
#include "range.hpp"

namespace tapline {

/// What to ping, and how. See `tapline_ping_options` for the defaults.
struct ping_options {
    /// Host names, addresses, prefixes and ranges. Each address is one target.
    std::vector<std::string> targets;
    /// The family of the addresses of host names. Other addresses must have it, too.
    ::tapline_family family = TAPLINE_FAMILY_ANY;
    /// The network namespace to ping in: a name below /run/netns, or a path. Default: that of the calling thread.
    std::optional<std::string> netns = {};
    /// Probes to each target. Default: until stopped.
    std::uint32_t count = 0;
    std::chrono::nanoseconds interval = {};
    std::chrono::nanoseconds timeout = {};
    std::chrono::nanoseconds max_time = {};
    std::uint32_t payload_bytes = 0;
    std::uint32_t rate_pps = 0;
    std::uint8_t ttl = 0;
    /// Type of service or traffic class.
    std::uint8_t tos = 0;
    std::optional<std::string> interface = {};
    /// Source address of the probes to targets of its family.
    std::optional<std::string> source = {};
    bool dont_fragment = false;
    bool histograms = false;
};

/// Something that happened in a run. It may be kept: the range of its batch is lent, its events are copies.
class ping_event {
public:
    explicit ping_event(const ::tapline_ping_event &raw) noexcept : raw_(raw) {}

    ::tapline_ping_event_kind kind() const noexcept { return static_cast<::tapline_ping_event_kind>(raw_.kind); }
    /// Position of the target; 0 with `OTHER`.
    std::uint32_t target() const noexcept { return raw_.target; }
    /// Sequence number of the probe, in the ICMP header.
    std::uint16_t sequence() const noexcept { return raw_.sequence; }
    /// Type of an ICMP error.
    std::uint8_t icmp_type() const noexcept { return raw_.icmp_type; }
    /// Code of an ICMP error.
    std::uint8_t icmp_code() const noexcept { return raw_.icmp_code; }
    /// Error number of the kernel, with `NOT_SENT`.
    int os_error() const noexcept { return raw_.os_error; }
    /// Round-trip time of an answer; none without one.
    std::optional<std::chrono::nanoseconds> rtt() const noexcept { return known_time(raw_.rtt_ns); }
    /// When an answer arrived; none without one.
    std::optional<time_point> time() const noexcept { return known_time_point(raw_.time_ns); }

    /// As the C interface has it.
    const ::tapline_ping_event &raw() const & noexcept { return raw_; }
    ::tapline_ping_event raw() const && noexcept { return raw_; }

private:
    ::tapline_ping_event raw_;
};

/// The events of a batch. `is_end` when the run is over.
using ping_events = lent_range<ping_event, ::tapline_ping_event>;

/// The account of a target, or of all: sent = received + lost + late + errors + those in flight. A time that is not
/// known is none.
struct ping_stats {
    std::uint64_t sent = 0;
    /// Probes answered in time.
    std::uint64_t received = 0;
    /// Probes without an answer.
    std::uint64_t lost = 0;
    /// Probes answered after the timeout.
    std::uint64_t late = 0;
    /// Further answers to answered probes.
    std::uint64_t duplicate = 0;
    /// Answers whose bytes differ from those sent.
    std::uint64_t corrupt = 0;
    /// Probes that an ICMP error ended.
    std::uint64_t errors = 0;
    /// Probes that this host could not send.
    std::uint64_t local_drops = 0;
    std::optional<std::chrono::nanoseconds> rtt_min;
    std::optional<std::chrono::nanoseconds> rtt_mean;
    std::optional<std::chrono::nanoseconds> rtt_max;
    std::optional<std::chrono::nanoseconds> rtt_stddev;
    /// Of a target only with the option `histograms`.
    std::optional<std::chrono::nanoseconds> rtt_p50;
    /// Of a target only with the option `histograms`.
    std::optional<std::chrono::nanoseconds> rtt_p99;
    /// The target's address; empty if it has none, or for all.
    std::string address;

    explicit ping_stats(const ::tapline_ping_stats &raw)
        : sent(raw.sent),
          received(raw.received),
          lost(raw.lost),
          late(raw.late),
          duplicate(raw.duplicate),
          corrupt(raw.corrupt),
          errors(raw.errors),
          local_drops(raw.local_drops),
          rtt_min(known_time(raw.rtt_min_ns)),
          rtt_mean(known_time(raw.rtt_mean_ns)),
          rtt_max(known_time(raw.rtt_max_ns)),
          rtt_stddev(known_time(raw.rtt_stddev_ns)),
          rtt_p50(known_time(raw.rtt_p50_ns)),
          rtt_p99(known_time(raw.rtt_p99_ns)),
          address(raw.address) {}
};

/// A run of probes. One thread at a time; `stop` from any, but not beside `finish`, a move or the destructor. A temporary
/// run lends nothing.
class pinger {
public:
    /// As `tapline_ping_open`: CAP_NET_RAW, or a group within net.ipv4.ping_group_range.
    static result<pinger> open(const ping_options &options) {
        if (auto wrong = detail::negative({{"interval", options.interval},
                                           {"timeout", options.timeout},
                                           {"max_time", options.max_time}})) {
            return *std::move(wrong);
        }
        detail::c_strings text;
        std::vector<const char *> targets;
        for (const std::string &target : options.targets) {
            targets.push_back(text("targets", target));
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
        raw.tos = options.tos;
        raw.family = options.family;
        raw.interface = text("interface", options.interface);
        raw.source = text("source", options.source);
        raw.netns = text("netns", options.netns);
        if (auto wrong = text.wrong()) {
            return *std::move(wrong);
        }
        raw.dont_fragment = options.dont_fragment ? 1 : 0;
        raw.histograms = options.histograms ? 1 : 0;
        ::tapline_ping *opened = nullptr;
        auto status = detail::call(&::tapline_ping_open, &raw, &opened);
        if (!status) {
            return std::move(status).error();
        }
        return pinger(opened);
    }

    /// Sends what is due and waits for events, at most `timeout`. Does not wait if `timeout` is negative.
    result<ping_events> next_batch(std::chrono::nanoseconds timeout) & { return next(detail::waiting_ns(timeout)); }
    /// Sends what is due and waits for events.
    result<ping_events> next_batch() & { return next(-1); }

    /// The account of all targets so far.
    result<ping_stats> stats() const {
        ::tapline_ping_stats raw = {};
        raw.size = sizeof raw;
        auto status = detail::call(&::tapline_ping_stats_read, handle_.get(), &raw);
        if (!status) {
            return std::move(status).error();
        }
        return ping_stats(raw);
    }

    /// The account of one target so far; none behind the last one.
    result<std::optional<ping_stats>> target(std::uint32_t index) const {
        ::tapline_ping_stats raw = {};
        raw.size = sizeof raw;
        auto status = detail::call(&::tapline_ping_target_stats, handle_.get(), index, &raw);
        if (!status) {
            return std::move(status).error();
        }
        return *status == TAPLINE_STATUS_END ? std::optional<ping_stats>() : std::optional(ping_stats(raw));
    }

    /// The host name of a target; none if it was given as an address, and behind the last one.
    result<std::optional<std::string>> name(std::uint32_t index) const {
        const char *found = nullptr;
        auto status = detail::call(&::tapline_ping_target_name, handle_.get(), index, &found);
        if (!status) {
            return std::move(status).error();
        }
        return found == nullptr ? std::optional<std::string>() : std::optional<std::string>(found);
    }

    /// Ends the run. Any thread.
    result<void> stop() const { return detail::done(detail::call(&::tapline_ping_stop, handle_.get())); }

    /// For poll(2) and epoll(7): call `next_batch` with a timeout of 0 when it is readable.
    int fd() const {
        int descriptor = -1;
        ::tapline_ping_fd(handle_.get(), &descriptor, nullptr);
        return descriptor;
    }

    /// Closes the run and returns the account of all targets.
    result<ping_stats> finish() {
        ::tapline_ping_stats raw = {};
        raw.size = sizeof raw;
        auto status = handle_.finish(&::tapline_ping_finish, &raw);
        if (!status) {
            return std::move(status).error();
        }
        return ping_stats(raw);
    }

private:
    explicit pinger(::tapline_ping *raw) : handle_(raw) {}

    static void abandon(::tapline_ping *raw, ::tapline_error **failed) {
        ::tapline_ping_finish(raw, nullptr, failed);
    }

    result<ping_events> next(std::int64_t timeout_ns) {
        const ::tapline_ping_event *events = nullptr;
        std::size_t count = 0;
        auto status = detail::call(&::tapline_ping_next_batch, handle_.get(), timeout_ns, &events, &count);
        if (!status) {
            return std::move(status).error();
        }
        return ping_events(events, count, *status == TAPLINE_STATUS_END);
    }

    handle<::tapline_ping, &abandon> handle_;
};

}  // namespace tapline

#endif
