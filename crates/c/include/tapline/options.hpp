// Times and texts of option structs.
#ifndef TAPLINE_OPTIONS_HPP
#define TAPLINE_OPTIONS_HPP

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "chrono.hpp"
#include "error.hpp"

namespace tapline::detail {

/// A time of an option struct, with its name.
struct named_duration {
    const char *name;
    std::chrono::nanoseconds value;
};

/// The error of the first of these times that is negative. None of them can be.
inline std::optional<error> negative(std::initializer_list<named_duration> times) {
    for (const named_duration &time : times) {
        if (time.value < std::chrono::nanoseconds::zero()) {
            error failed;
            failed.status = TAPLINE_STATUS_INVALID_ARGUMENT;
            failed.message = std::string(time.name) + " is negative";
            return failed;
        }
    }
    return std::nullopt;
}

/// The texts of a call as C strings. A C string ends at its first zero byte, so a text cannot contain one.
class c_strings {
public:
    /// The text called `name` as a C string, which lives as long as the text.
    const char *operator()(const char *name, const std::string &text) {
        if (text.find('\0') != std::string::npos && !wrong_) {
            wrong_.emplace();
            wrong_->status = TAPLINE_STATUS_INVALID_ARGUMENT;
            wrong_->message = std::string(name) + " contains a zero byte";
        }
        return text.c_str();
    }
    /// The same; null without a text.
    const char *operator()(const char *name, const std::optional<std::string> &text) {
        return text ? (*this)(name, *text) : nullptr;
    }
    /// The same; null if it is empty.
    const char *unless_empty(const char *name, const std::string &text) {
        return text.empty() ? nullptr : (*this)(name, text);
    }
    /// The error of the first text with a zero byte.
    std::optional<error> wrong() { return std::move(wrong_); }

private:
    std::optional<error> wrong_;
};

}  // namespace tapline::detail

#endif
