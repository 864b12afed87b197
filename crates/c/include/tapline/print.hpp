// Prints errors, accounts and findings: `operator<<`, and std::format where the standard library has it (GCC 13, clang 17).
// Include the headers of the accounts as well: this one needs none of them. Netlink objects print themselves: see
// netlink/format.hpp for std::format.
#ifndef TAPLINE_PRINT_HPP
#define TAPLINE_PRINT_HPP

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <version>

#include "chrono.hpp"
#include "error.hpp"

namespace tapline {

struct capture_stats;
struct delay_stats;
struct finding;
struct ping_stats;
struct sender_stats;

namespace detail {

/// A number, or `unknown`.
inline std::string shown(std::uint64_t number) { return std::to_string(number); }
inline std::string shown(std::optional<std::uint64_t> number) { return number ? shown(*number) : "unknown"; }
/// A time in the largest unit that it is a whole number of: `1500us`.
inline std::string shown(std::chrono::nanoseconds time) {
    static constexpr const char *units[] = {"ns", "us", "ms", "s"};
    auto count = time.count();
    unsigned unit = 0;
    while (unit < 3 && count != 0 && count % 1000 == 0) {
        count /= 1000;
        ++unit;
    }
    return std::to_string(count) + units[count == 0 ? 3 : unit];
}
inline std::string shown(std::optional<std::chrono::nanoseconds> time) { return time ? shown(*time) : "unknown"; }

/// `name: value` pairs in one line.
class pairs {
public:
    template <class T>
    pairs &add(const char *name, const T &value) {
        text_ += (text_.empty() ? "" : ", ") + std::string(name) + ": " + shown(value);
        return *this;
    }
    std::string text() { return std::move(text_); }

private:
    std::string text_;
};

}  // namespace detail

/// Message and hint in one line.
inline std::string to_string(const error &failed) { return failed.describe(); }

/// `received: 3, delivered: 2, …`
template <class T>
    requires std::is_same_v<T, capture_stats>
std::string to_string(const T &stats) {
    return detail::pairs()
        .add("received", stats.received)
        .add("delivered", stats.delivered)
        .add("delivered_bytes", stats.delivered_bytes)
        .add("filtered", stats.filtered)
        .add("lost_nic", stats.lost_nic)
        .add("lost_driver", stats.lost_driver)
        .add("lost_ring", stats.lost_ring)
        .add("lost_program", stats.lost_program)
        .add("lost_reader", stats.lost_reader)
        .add("duration", stats.duration)
        .text();
}

/// `packets: 2, ahead: 0, …`
template <class T>
    requires std::is_same_v<T, delay_stats>
std::string to_string(const T &stats) {
    return detail::pairs()
        .add("packets", stats.packets)
        .add("ahead", stats.ahead)
        .add("unstamped", stats.unstamped)
        .add("min", stats.min)
        .add("mean", stats.mean)
        .add("p50", stats.p50)
        .add("p99", stats.p99)
        .add("p999", stats.p999)
        .add("max", stats.max)
        .text();
}

/// `submitted: 2, accepted: 2, …`
template <class T>
    requires std::is_same_v<T, sender_stats>
std::string to_string(const T &stats) {
    return detail::pairs()
        .add("submitted", stats.submitted)
        .add("accepted", stats.accepted)
        .add("failed", stats.failed)
        .add("delivered", stats.delivered)
        .add("bytes", stats.bytes)
        .add("skipped", stats.skipped)
        .add("truncated", stats.truncated)
        .add("retries", stats.retries)
        .add("duration", stats.duration)
        .text();
}

/// `192.0.2.1: sent: 3, received: 3, …`
template <class T>
    requires std::is_same_v<T, ping_stats>
std::string to_string(const T &stats) {
    auto text = detail::pairs()
                    .add("sent", stats.sent)
                    .add("received", stats.received)
                    .add("lost", stats.lost)
                    .add("late", stats.late)
                    .add("duplicate", stats.duplicate)
                    .add("corrupt", stats.corrupt)
                    .add("errors", stats.errors)
                    .add("local_drops", stats.local_drops)
                    .add("rtt_min", stats.rtt_min)
                    .add("rtt_mean", stats.rtt_mean)
                    .add("rtt_max", stats.rtt_max)
                    .add("rtt_stddev", stats.rtt_stddev)
                    .add("rtt_p50", stats.rtt_p50)
                    .add("rtt_p99", stats.rtt_p99)
                    .text();
    return stats.address.empty() ? text : stats.address + ": " + text;
}

/// `link: observed: effect: remedy`; parts that are empty are left out.
template <class T>
    requires std::is_same_v<T, finding>
std::string to_string(const T &found) {
    std::string text = found.id;
    for (const std::string *part : {&found.observed, &found.effect, &found.remedy}) {
        text += part->empty() ? "" : ": " + *part;
    }
    return text;
}

/// The types of this header.
template <class T>
concept printable = std::is_same_v<T, error> || std::is_same_v<T, capture_stats> || std::is_same_v<T, delay_stats> ||
                    std::is_same_v<T, sender_stats> || std::is_same_v<T, ping_stats> || std::is_same_v<T, finding>;

template <printable T>
std::ostream &operator<<(std::ostream &out, const T &value) {
    return out << to_string(value);
}

}  // namespace tapline

#ifdef __cpp_lib_format

#include <format>

/// Formats what `to_string` returns, with the options of strings.
template <tapline::printable T>
struct std::formatter<T, char> : std::formatter<std::string, char> {
    template <class Context>
    auto format(const T &value, Context &context) const {
        return std::formatter<std::string, char>::format(tapline::to_string(value), context);
    }
};

#endif

#endif
