// A value on the heap.
#ifndef TAPLINE_BOXED_HPP
#define TAPLINE_BOXED_HPP

#include <exception>
#include <utility>

namespace tapline {

/// Thrown by `*` and `->` of a `boxed` that has no value.
class empty_boxed : public std::exception {
public:
    const char *what() const noexcept override { return "there is no value"; }
};

/// A value on the heap that can be absent. Copies are deep. Takes one pointer. `*` and `->` throw `empty_boxed` without a value.
template <class T>
class boxed {
public:
    using value_type = T;

    boxed() = default;
    boxed(T value) : value_(new T(std::move(value))) {}
    boxed(const boxed &other) : value_(other.value_ == nullptr ? nullptr : new T(*other.value_)) {}
    boxed(boxed &&other) noexcept : value_(other.value_) { other.value_ = nullptr; }
    ~boxed() {
        // Nearly all are empty: a large object with many of them has a short destructor.
        if (value_ != nullptr) [[unlikely]] {
            destroy();
        }
    }
    boxed &operator=(boxed other) noexcept {
        T *const old = value_;
        value_ = other.value_;
        other.value_ = old;
        return *this;
    }

    bool has_value() const noexcept { return value_ != nullptr; }
    explicit operator bool() const noexcept { return has_value(); }
    T &operator*() { return *present(); }
    const T &operator*() const { return *present(); }
    T *operator->() { return present(); }
    const T *operator->() const { return present(); }
    void reset() noexcept { *this = boxed(); }
    /// The value, which is created if it is absent.
    T &ensure() {
        if (value_ == nullptr) {
            value_ = new T();
        }
        return *value_;
    }

    friend bool operator==(const boxed &a, const boxed &b) {
        return a.has_value() && b.has_value() ? *a == *b : a.has_value() == b.has_value();
    }

private:
    T *present() const {
        if (value_ == nullptr) [[unlikely]] {
            throw empty_boxed();
        }
        return value_;
    }
    [[gnu::noinline]] void destroy() noexcept { delete value_; }

    T *value_ = nullptr;
};

}  // namespace tapline

#endif
