// A value or an error, as std::expected of C++23.
#ifndef TAPLINE_RESULT_HPP
#define TAPLINE_RESULT_HPP

#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

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

/// A value of type `T`, or the error of the call that should have made it.
///
/// `*` and `->` require a value; `value()` throws `bad_result` without one.
template <class T>
class [[nodiscard]] result {
public:
    using value_type = T;
    using error_type = tapline::error;

    result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    result(tapline::error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    T &operator*() & noexcept { return *std::get_if<0>(&state_); }
    const T &operator*() const & noexcept { return *std::get_if<0>(&state_); }
    T &&operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
    T *operator->() noexcept { return std::get_if<0>(&state_); }
    const T *operator->() const noexcept { return std::get_if<0>(&state_); }

    T &value() & {
        check();
        return **this;
    }
    const T &value() const & {
        check();
        return **this;
    }
    /// By value, so that `for (… : call().value())` is safe.
    T value() && {
        check();
        return *std::move(*this);
    }
    template <class U>
    T value_or(U &&otherwise) const & {
        return has_value() ? **this : static_cast<T>(std::forward<U>(otherwise));
    }

    /// The error; only where there is no value.
    const tapline::error &error() const & noexcept { return *std::get_if<1>(&state_); }
    tapline::error &&error() && noexcept { return std::move(*std::get_if<1>(&state_)); }

    /// The result of `next` with the value, or this error. `next` returns a result.
    template <class F>
    auto and_then(F &&next) && -> std::invoke_result_t<F, T &&> {
        if (has_value()) {
            return std::forward<F>(next)(*std::move(*this));
        }
        return std::move(*this).error();
    }
    /// What `change` makes of the value, or this error.
    template <class F>
    auto transform(F &&change) && -> result<std::invoke_result_t<F, T &&>> {
        if (has_value()) {
            return std::forward<F>(change)(*std::move(*this));
        }
        return std::move(*this).error();
    }

private:
    void check() const {
        if (!has_value()) {
            throw bad_result(error());
        }
    }

    std::variant<T, tapline::error> state_;
};

/// Nothing, or the error of a call.
template <>
class [[nodiscard]] result<void> {
public:
    using value_type = void;
    using error_type = tapline::error;

    result() = default;
    result(tapline::error error) : error_(std::in_place_index<1>, std::move(error)) {}

    bool has_value() const noexcept { return error_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    void value() const {
        if (!has_value()) {
            throw bad_result(error());
        }
    }
    /// The error; only where the call failed.
    const tapline::error &error() const & noexcept { return *std::get_if<1>(&error_); }

private:
    std::variant<std::monostate, tapline::error> error_;
};

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
    if (status < 0) {
        return error::take(raw, status);
    }
    return status;
}

}  // namespace tapline

#endif
