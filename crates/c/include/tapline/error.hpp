// Errors of the library, with their texts copied: an object without a handle.
#ifndef TAPLINE_ERROR_HPP
#define TAPLINE_ERROR_HPP

#if __cplusplus < 202002L
#error "the C++ headers of tapline require C++20: -std=c++20"
#endif

#include <string>

#include "../tapline.h"

namespace tapline {

/// What failed, on what, why, and what to do.
struct error {
    /// The status that the call returned.
    ::tapline_status status = TAPLINE_STATUS_INTERNAL;
    /// What failed, on what, and why.
    std::string message;
    /// What to do about it; empty if nothing is known.
    std::string hint;
    /// The kernel's own text; empty without one.
    std::string kernel_text;
    /// Path of the netlink attribute that the kernel rejected; empty without one.
    std::string attribute;
    /// As in `errno`; 0 without one.
    int os_error = 0;

    /// Takes an error of the C interface, and frees it.
    static error take(::tapline_error *raw, ::tapline_status status) {
        // Also if there is no memory for a text.
        const struct freed_at_end {
            ::tapline_error *owned;
            ~freed_at_end() { ::tapline_error_free(owned); }
        } freed{raw};
        error taken;
        taken.status = status;
        taken.message = text(::tapline_error_message(raw));
        taken.hint = text(::tapline_error_hint(raw));
        taken.kernel_text = text(::tapline_error_kernel_text(raw));
        taken.attribute = text(::tapline_error_attribute(raw));
        taken.os_error = ::tapline_error_os_error(raw);
        return taken;
    }

    /// Message and hint in one line: `cannot … (use …)`.
    std::string describe() const { return hint.empty() ? message : message + " (" + hint + ")"; }

    friend bool operator==(const error &, const error &) = default;

private:
    static std::string text(const char *raw) { return raw == nullptr ? std::string() : std::string(raw); }
};

}  // namespace tapline

#endif
