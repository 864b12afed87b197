// A value or an error, as std::expected of C++23.
#ifndef TAPLINE_RESULT_HPP
#define TAPLINE_RESULT_HPP

#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "boxed.hpp"
#include "error.hpp"

namespace tapline {

/// Thrown by `result::value` where there is no value.
class bad_result : public std::runtime_error {
public:
    explicit bad_result(tapline::error error) : std::runtime_error(error.describe()), error_(std::move(error)) {}
    /// Why there is no value.
    const tapline::error &error() const noexcept { return error_; }

private:
    tapline::error error_;
};

namespace detail {

/// What `error()` returns where there is none.
inline const tapline::error &no_error() {
    static const tapline::error none = [] {
        tapline::error empty;
        empty.status = TAPLINE_STATUS_OK;
        return empty;
    }();
    return none;
}

/// What `error()` returns where a move has taken it.
inline const tapline::error &moved_error() {
    static const tapline::error moved = [] {
        tapline::error gone;
        gone.status = TAPLINE_STATUS_INVALID_HANDLE;
        gone.message = "the result has been moved from";
        return gone;
    }();
    return moved;
}

}  // namespace detail

template <class T>
class result;

namespace detail {

/// The result of a function that returns a value or nothing.
template <class F, class... A>
using result_of = result<std::remove_cv_t<std::invoke_result_t<F, A...>>>;

/// What `change` returns, as a result.
template <class F, class... A>
result_of<F, A...> transformed(F &&change, A &&...arguments) {
    if constexpr (std::is_void_v<std::invoke_result_t<F, A...>>) {
        std::forward<F>(change)(std::forward<A>(arguments)...);
        return {};
    } else {
        return std::forward<F>(change)(std::forward<A>(arguments)...);
    }
}

}  // namespace detail

/// A value of type `T`, or the error of the call that should have made it.
///
/// `*` and `->` require a value; `value()` throws `bad_result` without one.
template <class T>
class [[nodiscard]] result {
public:
    using value_type = T;
    using error_type = tapline::error;

    result(T value) : value_(std::in_place, std::move(value)) {}
    /// A value that is made in place, and then changed by `fill`.
    template <class Fill>
    result(std::in_place_t, Fill fill) : value_(std::in_place) {
        fill(*value_);
    }
    result(tapline::error error) : error_(std::move(error)) {}

    bool has_value() const noexcept { return value_.has_value(); }
    explicit operator bool() const noexcept { return has_value(); }

    T &operator*() & noexcept { return *value_; }
    const T &operator*() const & noexcept { return *value_; }
    /// By value, so that `for (… : *call())` is safe: the loop keeps the value, and nothing keeps the result.
    T operator*() && { return *std::move(value_); }
    T *operator->() noexcept { return &*value_; }
    const T *operator->() const noexcept { return &*value_; }

    T &value() & {
        check();
        return *value_;
    }
    const T &value() const & {
        check();
        return *value_;
    }
    /// By value, for the same reason.
    T value() && {
        check();
        return *std::move(value_);
    }
    template <class U>
    T value_or(U &&otherwise) const & {
        return has_value() ? *value_ : static_cast<T>(std::forward<U>(otherwise));
    }
    template <class U>
    T value_or(U &&otherwise) && {
        return has_value() ? *std::move(value_) : static_cast<T>(std::forward<U>(otherwise));
    }

    /// The error. Where there is a value: one with TAPLINE_STATUS_OK. After a move: one with
    /// TAPLINE_STATUS_INVALID_HANDLE.
    const tapline::error &error() const & { return error_ ? *error_ : absent(); }
    tapline::error error() && { return error_ ? std::move(*error_) : absent(); }

    /// The result of `next` with the value, or this error. `next` returns a result.
    template <class F>
    std::remove_cvref_t<std::invoke_result_t<F, const T &>> and_then(F &&next) const & {
        if (has_value()) {
            return std::forward<F>(next)(*value_);
        }
        return error();
    }
    template <class F>
    std::remove_cvref_t<std::invoke_result_t<F, T &&>> and_then(F &&next) && {
        if (has_value()) {
            return std::forward<F>(next)(*std::move(value_));
        }
        return std::move(*this).error();
    }
    /// What `change` makes of the value, or this error.
    template <class F>
    detail::result_of<F, const T &> transform(F &&change) const & {
        if (has_value()) {
            return detail::transformed(std::forward<F>(change), *value_);
        }
        return error();
    }
    template <class F>
    detail::result_of<F, T &&> transform(F &&change) && {
        if (has_value()) {
            return detail::transformed(std::forward<F>(change), *std::move(value_));
        }
        return std::move(*this).error();
    }
    /// This value, or the result of `otherwise` with the error. `otherwise` returns a result of the same type.
    template <class F>
    result or_else(F &&otherwise) const & {
        if (has_value()) {
            return *this;
        }
        return std::forward<F>(otherwise)(error());
    }
    template <class F>
    result or_else(F &&otherwise) && {
        if (has_value()) {
            return std::move(*this);
        }
        return std::forward<F>(otherwise)(std::move(*this).error());
    }
    /// This value, or the error that `change` makes of this one.
    template <class F>
    result transform_error(F &&change) const & {
        return has_value() ? *this : result(std::forward<F>(change)(error()));
    }
    template <class F>
    result transform_error(F &&change) && {
        return has_value() ? std::move(*this) : result(std::forward<F>(change)(std::move(*this).error()));
    }

    friend bool operator==(const result &a, const result &b)
        requires requires(const T &value) { value == value; }
    {
        return a.value_ == b.value_ && a.error_ == b.error_;
    }

private:
    void check() const {
        if (!has_value()) {
            throw bad_result(error());
        }
    }
    const tapline::error &absent() const { return has_value() ? detail::no_error() : detail::moved_error(); }

    std::optional<T> value_;
    boxed<tapline::error> error_;
};

/// Nothing, or the error of a call.
template <>
class [[nodiscard]] result<void> {
public:
    using value_type = void;
    using error_type = tapline::error;

    result() = default;
    result(tapline::error error) : error_(std::move(error)) {}
    // Moving copies, so that a failure that was moved from is no success.
    result(const result &) = default;
    result &operator=(const result &) = default;

    bool has_value() const noexcept { return !error_.has_value(); }
    explicit operator bool() const noexcept { return has_value(); }
    void value() const {
        if (!has_value()) {
            throw bad_result(*error_);
        }
    }
    /// The error. Where the call succeeded: one with TAPLINE_STATUS_OK.
    const tapline::error &error() const & { return error_ ? *error_ : detail::no_error(); }
    tapline::error error() && { return error_ ? std::move(*error_) : detail::no_error(); }

    /// The result of `next`, or this error. `next` returns a result.
    template <class F>
    std::remove_cvref_t<std::invoke_result_t<F>> and_then(F &&next) const {
        if (has_value()) {
            return std::forward<F>(next)();
        }
        return *error_;
    }
    /// What `change` returns, or this error.
    template <class F>
    detail::result_of<F> transform(F &&change) const {
        if (has_value()) {
            return detail::transformed(std::forward<F>(change));
        }
        return *error_;
    }
    /// Success, or the result of `otherwise` with the error. `otherwise` returns a `result<void>`.
    template <class F>
    result or_else(F &&otherwise) const {
        return has_value() ? result() : std::forward<F>(otherwise)(*error_);
    }
    /// Success, or the error that `change` makes of this one.
    template <class F>
    result transform_error(F &&change) const {
        return has_value() ? result() : result(std::forward<F>(change)(*error_));
    }

    friend bool operator==(const result &, const result &) = default;

private:
    boxed<tapline::error> error_;
};

namespace detail {

/// A status without its value.
inline result<void> done(result<::tapline_status> status) {
    return status ? result<void>() : result<void>(std::move(status).error());
}

/// Calls a function of the C interface with `arguments` and a place for its error.
///
/// `TAPLINE_STATUS_END` is no error: `call` returns it.
template <class F, class... A>
result<::tapline_status> call(F *function, A... arguments) {
    ::tapline_error *raw = nullptr;
    const ::tapline_status status = function(arguments..., &raw);
    if (status < 0) [[unlikely]] {
        return error::take(raw, status);
    }
    return status;
}

}  // namespace detail

}  // namespace tapline

#endif
