// A range of things that the library lends, and how its times and numbers are read.
#ifndef TAPLINE_RANGE_HPP
#define TAPLINE_RANGE_HPP

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>

#include "../tapline.h"
#include "chrono.hpp"

namespace tapline {

/// A point in time as packets carry it.
using time_point = std::chrono::sys_time<std::chrono::nanoseconds>;

/// A number of the C interface; none if it is not known.
inline std::optional<std::uint64_t> known(std::uint64_t number) noexcept {
    return number == TAPLINE_UNKNOWN ? std::nullopt : std::optional(number);
}
/// A time of the C interface; none if it is not known.
inline std::optional<std::chrono::nanoseconds> known_time(std::uint64_t time_ns) noexcept {
    if (time_ns == TAPLINE_UNKNOWN) {
        return std::nullopt;
    }
    return std::chrono::nanoseconds(static_cast<std::int64_t>(time_ns));
}
/// A point in time of the C interface; none if it is not known.
inline std::optional<time_point> known_time_point(std::uint64_t time_ns) noexcept {
    const auto since_1970 = known_time(time_ns);
    return since_1970 ? std::optional(time_point(*since_1970)) : std::nullopt;
}

/// An array of `Raw` that the library lends, as a random-access range of `View`. Valid until the next call with the
/// object that lends it.
template <class View, class Raw>
class lent_range {
public:
    class iterator {
    public:
        using iterator_concept = std::random_access_iterator_tag;
        using iterator_category = std::input_iterator_tag;
        using value_type = View;
        using difference_type = std::ptrdiff_t;
        using reference = View;
        using pointer = void;

        iterator() = default;
        explicit iterator(const Raw *at) noexcept : at_(at) {}
        View operator*() const noexcept { return View(*at_); }
        View operator[](difference_type n) const noexcept { return View(at_[n]); }
        iterator &operator++() noexcept { return *this += 1; }
        iterator &operator--() noexcept { return *this -= 1; }
        iterator operator++(int) noexcept { return iterator(at_++); }
        iterator operator--(int) noexcept { return iterator(at_--); }
        iterator &operator+=(difference_type n) noexcept {
            at_ += n;
            return *this;
        }
        iterator &operator-=(difference_type n) noexcept {
            at_ -= n;
            return *this;
        }
        friend iterator operator+(iterator a, difference_type n) noexcept { return a += n; }
        friend iterator operator+(difference_type n, iterator a) noexcept { return a += n; }
        friend iterator operator-(iterator a, difference_type n) noexcept { return a -= n; }
        friend difference_type operator-(iterator a, iterator b) noexcept { return a.at_ - b.at_; }
        friend auto operator<=>(const iterator &, const iterator &) = default;

    private:
        const Raw *at_ = nullptr;
    };

    lent_range() = default;
    lent_range(const Raw *first, std::size_t count, bool is_end) noexcept : raw_(first, count), is_end_(is_end) {}

    iterator begin() const noexcept { return iterator(raw_.data()); }
    iterator end() const noexcept { return iterator(raw_.data() + raw_.size()); }
    std::size_t size() const noexcept { return raw_.size(); }
    bool empty() const noexcept { return raw_.empty(); }
    View operator[](std::size_t index) const noexcept { return View(raw_[index]); }
    /// Whether there is no more: the capture, the file or the run has ended.
    bool is_end() const noexcept { return is_end_; }
    /// As the C interface has it.
    std::span<const Raw> raw() const noexcept { return raw_; }

private:
    std::span<const Raw> raw_;
    bool is_end_ = false;
};

}  // namespace tapline

// As of std::span: a copy costs nothing, and iterators do not need the range.
template <class View, class Raw>
inline constexpr bool std::ranges::enable_view<tapline::lent_range<View, Raw>> = true;
template <class View, class Raw>
inline constexpr bool std::ranges::enable_borrowed_range<tapline::lent_range<View, Raw>> = true;

#endif
