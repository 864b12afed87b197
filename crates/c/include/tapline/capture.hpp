// Capture: packets of interfaces, with an account of every packet.
#ifndef TAPLINE_CAPTURE_HPP
#define TAPLINE_CAPTURE_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "handle.hpp"
#include "options.hpp"
#include "packet.hpp"

namespace tapline {

/// What to capture, and how. See `tapline_capture_options` for the defaults.
struct capture_options {
    /// Names of the interfaces; at least one.
    std::vector<std::string> interfaces;
    /// Their network namespace: a name below /run/netns, or a path. Default: that of the calling thread.
    std::optional<std::string> netns = {};
    /// Packets to capture, in the language of pcap-filter(7). Default: all.
    std::string filter = {};
    /// Whether the network stack also gets the packets.
    ::tapline_capture_mode mode = TAPLINE_CAPTURE_MODE_MIRROR;
    /// When packets are delivered: in batches, at once, or within `delivery_time`.
    ::tapline_delivery delivery = TAPLINE_DELIVERY_BATCH;
    /// Received packets, sent ones, or both.
    ::tapline_capture_direction direction = TAPLINE_CAPTURE_DIRECTION_BOTH;
    /// How packets cross from the kernel. AUTO: as suits mode and delivery.
    ::tapline_backend backend = TAPLINE_BACKEND_AUTO;
    /// Where XDP programs may run. Must be AUTO where none captures.
    ::tapline_xdp_mode xdp_mode = TAPLINE_XDP_MODE_AUTO;
    /// The longest that a packet waits for its delivery. 0: as `tapline_delivery` says. Must be 0 with IMMEDIATE.
    std::chrono::nanoseconds delivery_time = {};
    /// With BATCH: deliver when so many bytes have gathered. 0: 1 MiB. Must be 0 otherwise.
    std::size_t delivery_bytes = 0;
    /// How long to look for the next packet before sleeping. Must be 0 with BATCH.
    std::chrono::nanoseconds spin = {};
    /// Ring size per interface, bytes. 0: 32 MiB.
    std::size_t buffer_bytes = 0;
    /// Bytes to keep of each packet. 0: 262144.
    std::uint32_t snaplen = 0;
    /// End after this many packets. 0: never.
    std::uint64_t max_packets = 0;
    /// End after this time. 0: never.
    std::chrono::nanoseconds max_time = {};
    /// Put the interfaces into promiscuous mode.
    bool promiscuous = true;
    /// Time stamps of the interface's hardware clock, instead of the kernel's.
    bool hardware_timestamps = false;
    /// Also drop the packets that the filter refuses. Only in drop mode.
    bool drop_others = false;
    /// Measure the delay of each packet: see `capture::delays`.
    bool measure_delays = false;
};

/// How long after their time stamps packets were lent. A time without packets is none. Quantiles have a relative error
/// of at most 1/256.
struct delay_stats {
    /// Measured packets.
    std::uint64_t packets = 0;
    /// Packets with a time stamp later than their delivery: the clock was set. Not measured.
    std::uint64_t ahead = 0;
    /// Packets without a time stamp. Not measured.
    std::uint64_t unstamped = 0;
    std::optional<std::chrono::nanoseconds> min;
    std::optional<std::chrono::nanoseconds> mean;
    std::optional<std::chrono::nanoseconds> p50;
    std::optional<std::chrono::nanoseconds> p99;
    std::optional<std::chrono::nanoseconds> p999;
    std::optional<std::chrono::nanoseconds> max;

    explicit delay_stats(const ::tapline_delays &raw)
        : packets(raw.packets),
          ahead(raw.ahead),
          unstamped(raw.unstamped),
          min(known_time(raw.min_ns)),
          mean(known_time(raw.mean_ns)),
          p50(known_time(raw.p50_ns)),
          p99(known_time(raw.p99_ns)),
          p999(known_time(raw.p999_ns)),
          max(known_time(raw.max_ns)) {}
};

/// The account of a capture. A number that cannot be known is none.
struct capture_stats {
    std::optional<std::uint64_t> received;
    std::uint64_t delivered = 0;
    std::uint64_t delivered_bytes = 0;
    std::optional<std::uint64_t> filtered;
    std::optional<std::uint64_t> lost_nic;
    std::optional<std::uint64_t> lost_driver;
    std::uint64_t lost_ring = 0;
    std::uint64_t lost_program = 0;
    std::uint64_t lost_reader = 0;
    /// None while the capture runs.
    std::optional<std::chrono::nanoseconds> duration;

    explicit capture_stats(const ::tapline_capture_stats &raw)
        : received(known(raw.received)),
          delivered(raw.delivered),
          delivered_bytes(raw.delivered_bytes),
          filtered(known(raw.filtered)),
          lost_nic(known(raw.lost_nic)),
          lost_driver(known(raw.lost_driver)),
          lost_ring(raw.lost_ring),
          lost_program(raw.lost_program),
          lost_reader(raw.lost_reader),
          duration(known_time(raw.duration_ns)) {}
};

/// A running capture. One thread at a time; `stats`, `interface_stats` and `stop` from any, but not beside `finish`, a move
/// or the destructor. A temporary capture lends nothing: `capture::open(…).value().next_batch()` does not compile.
class capture {
public:
    /// Opens and starts a capture. Requires CAP_NET_RAW; `tapline_capture_open` says what else some options require.
    static result<capture> open(const capture_options &options) {
        if (auto wrong = detail::negative({{"delivery_time", options.delivery_time},
                                           {"spin", options.spin},
                                           {"max_time", options.max_time}})) {
            return *std::move(wrong);
        }
        detail::c_strings text;
        std::vector<const char *> names;
        for (const std::string &name : options.interfaces) {
            names.push_back(text("interfaces", name));
        }
        ::tapline_capture_options raw = {};
        raw.size = sizeof raw;
        raw.interfaces = names.data();
        raw.interface_count = names.size();
        raw.netns = text("netns", options.netns);
        raw.filter = text.unless_empty("filter", options.filter);
        if (auto wrong = text.wrong()) {
            return *std::move(wrong);
        }
        raw.buffer_bytes = options.buffer_bytes;
        raw.snaplen = options.snaplen;
        raw.mode = options.mode;
        raw.delivery = options.delivery;
        raw.direction = options.direction;
        raw.delivery_ns = static_cast<std::uint64_t>(options.delivery_time.count());
        raw.delivery_bytes = options.delivery_bytes;
        raw.spin_ns = static_cast<std::uint64_t>(options.spin.count());
        raw.max_packets = options.max_packets;
        raw.max_ns = static_cast<std::uint64_t>(options.max_time.count());
        raw.backend = options.backend;
        raw.xdp_mode = options.xdp_mode;
        raw.no_promiscuous = options.promiscuous ? 0 : 1;
        raw.hardware_timestamps = options.hardware_timestamps ? 1 : 0;
        raw.drop_others = options.drop_others ? 1 : 0;
        raw.measure_delays = options.measure_delays ? 1 : 0;
        ::tapline_capture *opened = nullptr;
        auto status = detail::call(&::tapline_capture_open, &raw, &opened);
        if (!status) {
            return std::move(status).error();
        }
        return capture(opened);
    }

    /// Waits for packets, at most `timeout`, and lends those that are ready. They are valid until the next call. Does not
    /// wait if `timeout` is negative.
    result<batch> next_batch(std::chrono::nanoseconds timeout) & { return next(detail::waiting_ns(timeout)); }
    /// Waits for packets without a limit.
    result<batch> next_batch() & { return next(-1); }

    /// As `next_batch`, for a reader that takes packet after packet.
    result<packets> next_packets(std::chrono::nanoseconds timeout) & {
        return next_one_by_one(detail::waiting_ns(timeout));
    }
    /// Waits for packets without a limit.
    result<packets> next_packets() & { return next_one_by_one(-1); }

    /// Replaces the filter of a capture of one interface in mirror mode: see `tapline_capture_set_filter`. An empty text
    /// captures all packets.
    result<void> set_filter(const std::string &filter) {
        detail::c_strings text;
        const char *const source = text("filter", filter);
        if (auto wrong = text.wrong()) {
            return *std::move(wrong);
        }
        return detail::done(detail::call(&::tapline_capture_set_filter, handle_.get(), source));
    }

    /// The account so far. Any thread.
    result<capture_stats> stats() const {
        ::tapline_capture_stats raw = {};
        raw.size = sizeof raw;
        auto status = detail::call(&::tapline_capture_stats_read, handle_.get(), &raw);
        if (!status) {
            return std::move(status).error();
        }
        return capture_stats(raw);
    }

    /// The account of one interface so far; none if there is none at `index`. Any thread.
    result<std::optional<capture_stats>> interface_stats(std::size_t index) const {
        ::tapline_capture_stats raw = {};
        raw.size = sizeof raw;
        auto status = detail::call(&::tapline_capture_interface_stats, handle_.get(), index, &raw);
        if (!status) {
            return std::move(status).error();
        }
        return *status == TAPLINE_STATUS_END ? std::optional<capture_stats>() : std::optional(capture_stats(raw));
    }

    /// How long after their time stamps the packets so far were lent, with the option `measure_delays`.
    result<delay_stats> delays() const {
        ::tapline_delays raw = {};
        raw.size = sizeof raw;
        auto status = detail::call(&::tapline_capture_delays, handle_.get(), &raw);
        if (!status) {
            return std::move(status).error();
        }
        return delay_stats(raw);
    }

    /// Ends the flow of packets; those in the rings can still be read. Any thread.
    result<void> stop() const { return detail::done(detail::call(&::tapline_capture_stop, handle_.get())); }

    /// For poll(2) and epoll(7): readable when `next_batch` with a timeout of 0 has work, also at the time limit. -1 after
    /// `finish`.
    int fd() const {
        int descriptor = -1;
        ::tapline_capture_fd(handle_.get(), &descriptor, nullptr);
        return descriptor;
    }

    /// For write(2) in a signal handler: any byte stops the capture. -1 after `finish`. Disable the handler before that: later
    /// another file may have its number.
    int stop_fd() const {
        int descriptor = -1;
        ::tapline_capture_stop_fd(handle_.get(), &descriptor, nullptr);
        return descriptor;
    }

    /// The name, the snaplen and the link type of interface `index`, if there is one. The name lives as long as the
    /// capture.
    std::optional<::tapline_interface> interface(std::size_t index) const & {
        ::tapline_interface found = {};
        if (::tapline_capture_interface(handle_.get(), index, &found, nullptr) != TAPLINE_STATUS_OK) {
            return std::nullopt;
        }
        return found;
    }
    std::optional<::tapline_interface> interface(std::size_t index) const && = delete;

    /// Ends and closes the capture, and returns its final account. Fails with SYSTEM if waiting for packets failed
    /// earlier.
    result<capture_stats> finish() {
        std::optional<capture_stats> account;
        auto ended = finish(account);
        if (!ended) {
            return std::move(ended).error();
        }
        return *std::move(account);
    }
    /// The same with the account also of a capture in which waiting for packets failed: `account` is set, and the result
    /// has the error. After other errors it is none.
    result<void> finish(std::optional<capture_stats> &account) {
        ::tapline_capture_stats raw = {};
        raw.size = sizeof raw;
        // The duration of a capture that has ended is known.
        raw.duration_ns = TAPLINE_UNKNOWN;
        auto status = handle_.finish(&::tapline_capture_finish, &raw);
        account.reset();
        if (raw.duration_ns != TAPLINE_UNKNOWN) {
            account.emplace(raw);
        }
        return detail::done(std::move(status));
    }

private:
    explicit capture(::tapline_capture *raw) : handle_(raw) {}

    result<batch> next(std::int64_t timeout_ns) {
        const ::tapline_packet *packets = nullptr;
        std::size_t count = 0;
        auto status = detail::call(&::tapline_capture_next_batch, handle_.get(), timeout_ns, &packets, &count);
        if (!status) {
            return std::move(status).error();
        }
        return batch(packets, count, *status == TAPLINE_STATUS_END);
    }

    result<packets> next_one_by_one(std::int64_t timeout_ns) {
        ::tapline_cursor *cursor = nullptr;
        auto status = detail::call(&::tapline_capture_next_packets, handle_.get(), timeout_ns, &cursor);
        if (!status) {
            return std::move(status).error();
        }
        return packets(cursor);
    }

    handle<::tapline_capture, &::tapline_capture_close> handle_;
};

}  // namespace tapline

#endif
