// A handle of the C interface that closes itself.
#ifndef TAPLINE_HANDLE_HPP
#define TAPLINE_HANDLE_HPP

#include <utility>

#include "result.hpp"

namespace tapline {

namespace detail {

/// The error of a call with an object that has no handle any more.
inline error gone() {
    error failed;
    failed.status = TAPLINE_STATUS_INVALID_HANDLE;
    failed.message = "the object has been closed or moved from";
    return failed;
}

}  // namespace detail

/// Owns a handle of type `T`, which `Close` closes. Movable, not copyable. A moved-from handle is null, and calls with
/// it return TAPLINE_STATUS_INVALID_HANDLE.
template <class T, auto Close>
class handle {
public:
    handle() = default;
    explicit handle(T *raw) noexcept : raw_(raw) {}
    handle(handle &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    handle &operator=(handle &&other) noexcept {
        if (this != &other) {
            close();
            raw_ = std::exchange(other.raw_, nullptr);
        }
        return *this;
    }
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;
    ~handle() { close(); }

    /// For calls of the C interface; stays owned.
    T *get() const noexcept { return raw_; }
    /// Calls `function`, which closes the handle. The functions of the C interface that do so accept null; here it is an
    /// error. A call that failed may have closed the handle too: closing it again does nothing.
    template <class F, class... A>
    result<::tapline_status> finish(F *function, A... arguments) {
        if (raw_ == nullptr) {
            return detail::gone();
        }
        auto status = detail::call(function, raw_, arguments...);
        if (status) {
            raw_ = nullptr;
        }
        return status;
    }

private:
    void close() noexcept {
        if (raw_ != nullptr) {
            Close(std::exchange(raw_, nullptr), nullptr);
        }
    }

    T *raw_ = nullptr;
};

}  // namespace tapline

#endif
