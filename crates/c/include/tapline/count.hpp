// Counting in the kernel.
#ifndef TAPLINE_COUNT_HPP
#define TAPLINE_COUNT_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "handle.hpp"
#include "options.hpp"

namespace tapline {

/// What to count, and where.
struct count_options {
    /// Names of the interfaces; at least one.
    std::vector<std::string> interfaces;
    /// Their network namespace: a name below /run/netns, or a path. Default: that of the calling thread.
    std::optional<std::string> netns = {};
    /// The classes: a name and a filter, which may be empty. Default: `all`.
    std::vector<std::pair<std::string, std::string>> classes = {};
    /// Length of an interval. Default: 1 s.
    std::chrono::nanoseconds interval = {};
    /// End after this time. Default: never.
    std::chrono::nanoseconds max_time = {};
    ::tapline_count_direction direction = TAPLINE_COUNT_DIRECTION_BOTH;
    ::tapline_count_layer layer = TAPLINE_COUNT_LAYER_ETHERNET;
    /// Splits each class into groups.
    ::tapline_count_by by = TAPLINE_COUNT_BY_NOTHING;
    /// Maximum number of groups of all classes. Default: 4096.
    std::uint32_t max_groups = 0;
};

/// The groups of a class, most packets first, lent until the next call.
struct count_groups {
    std::span<const ::tapline_group_count> groups;
    /// Packets of groups for which there was no room.
    std::uint64_t other = 0;
};

/// The figures of all classes in one interval, lent until the next call.
struct count_interval {
    std::span<const ::tapline_class_count> classes;
    std::chrono::nanoseconds span = {};
};

/// Programs in the kernel that count. One thread at a time; `stop` from any, but not beside a move or the destructor. A
/// temporary counter lends nothing.
class counter {
public:
    /// As `tapline_count_open`: CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON.
    static result<counter> open(const count_options &options) {
        if (auto wrong = detail::negative({{"interval", options.interval}, {"max_time", options.max_time}})) {
            return *std::move(wrong);
        }
        detail::c_strings text;
        std::vector<const char *> names;
        for (const std::string &name : options.interfaces) {
            names.push_back(text("interfaces", name));
        }
        std::vector<::tapline_count_class> classes;
        for (const auto &[name, filter] : options.classes) {
            classes.push_back({text("classes", name), text("classes", filter)});
        }
        const char *const netns = text("netns", options.netns);
        if (auto wrong = text.wrong()) {
            return *std::move(wrong);
        }
        ::tapline_count_options raw = {};
        raw.size = sizeof raw;
        raw.interfaces = names.data();
        raw.interface_count = names.size();
        raw.classes = classes.data();
        raw.class_count = classes.size();
        raw.interval_ns = static_cast<std::uint64_t>(options.interval.count());
        raw.max_ns = static_cast<std::uint64_t>(options.max_time.count());
        raw.direction = options.direction;
        raw.layer = options.layer;
        raw.by = options.by;
        raw.max_groups = options.max_groups;
        raw.netns = netns;
        ::tapline_count *opened = nullptr;
        auto status = detail::call(&::tapline_count_open, &raw, &opened);
        if (!status) {
            return std::move(status).error();
        }
        return counter(opened);
    }

    /// Waits for the end of the interval, at most `timeout`. If it does not end in that time, the result has no classes. None
    /// when the count has ended. Does not wait if `timeout` is negative.
    result<std::optional<count_interval>> next(std::chrono::nanoseconds timeout) & {
        return next_interval(detail::waiting_ns(timeout));
    }
    /// Waits for the end of the interval. None when the count has ended.
    result<std::optional<count_interval>> next() & { return next_interval(-1); }

    /// The totals of all classes as of now, lent until the next call.
    result<std::span<const ::tapline_class_count>> totals() & {
        const ::tapline_class_count *figures = nullptr;
        std::size_t count = 0;
        auto status = detail::call(&::tapline_count_totals, handle_.get(), &figures, &count);
        if (!status) {
            return std::move(status).error();
        }
        return std::span(figures, count);
    }

    /// The groups of the class at this position in the last interval or totals. None if there is no such class, as
    /// after a result without classes.
    result<std::optional<count_groups>> groups(std::size_t index) & {
        const ::tapline_group_count *found = nullptr;
        std::size_t count = 0;
        std::uint64_t other = 0;
        auto status = detail::call(&::tapline_count_groups, handle_.get(), index, &found, &count, &other);
        if (!status) {
            return std::move(status).error();
        }
        if (*status == TAPLINE_STATUS_END) {
            return std::optional<count_groups>();
        }
        return std::optional(count_groups{{found, count}, other});
    }

    /// Ends the count. Any thread.
    result<void> stop() const { return detail::done(detail::call(&::tapline_count_stop, handle_.get())); }

    /// For poll(2) and epoll(7): call `next` with a timeout of 0 when it is readable.
    int fd() const {
        int descriptor = -1;
        ::tapline_count_fd(handle_.get(), &descriptor, nullptr);
        return descriptor;
    }

private:
    explicit counter(::tapline_count *raw) : handle_(raw) {}

    result<std::optional<count_interval>> next_interval(std::int64_t timeout_ns) {
        const ::tapline_class_count *figures = nullptr;
        std::size_t count = 0;
        std::uint64_t span_ns = 0;
        auto status = detail::call(&::tapline_count_next, handle_.get(), timeout_ns, &figures, &count, &span_ns);
        if (!status) {
            return std::move(status).error();
        }
        if (*status == TAPLINE_STATUS_END) {
            return std::optional<count_interval>();
        }
        const auto span = std::chrono::nanoseconds(static_cast<std::int64_t>(span_ns));
        return std::optional(count_interval{{figures, count}, span});
    }

    handle<::tapline_count, &::tapline_count_close> handle_;
};

}  // namespace tapline

#endif
