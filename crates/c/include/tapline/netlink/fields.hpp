// How the generated types cross the C interface: as fields. The format is described at `tapline_netlink_form`.
#ifndef TAPLINE_NETLINK_FIELDS_HPP
#define TAPLINE_NETLINK_FIELDS_HPP

#include <cstdlib>
#include <new>

#include "values.hpp"

namespace tapline::netlink {

/// A growing array of bytes that is never cleared, so that appending costs no more than the copy.
class Bytes {
public:
    Bytes() = default;
    Bytes(const Bytes &other) { append(other.data_, other.size_); }
    Bytes(Bytes &&other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          room_(std::exchange(other.room_, 0))
    {
    }
    ~Bytes() { std::free(data_); }
    Bytes &operator=(Bytes other) noexcept
    {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(room_, other.room_);
        return *this;
    }

    const std::uint8_t *data() const { return data_; }
    std::size_t size() const { return size_; }
    void clear() { size_ = 0; }

    /// Room for `count` bytes at the end.
    std::uint8_t *extend(std::size_t count)
    {
        if (room_ - size_ < count) [[unlikely]] {
            grow(count);
        }
        size_ += count;
        return data_ + (size_ - count);
    }
    void append(const void *bytes, std::size_t count)
    {
        if (count != 0) {
            std::memcpy(extend(count), bytes, count);
        }
    }
    template <class T>
        requires std::is_arithmetic_v<T>
    void number(T value)
    {
        std::memcpy(extend(sizeof value), &value, sizeof value);
    }
    /// Keeps only the first `size` bytes.
    void truncate(std::size_t size) { size_ = size; }
    /// Replaces the bytes at `at`.
    void overwrite(std::size_t at, const void *bytes, std::size_t count) { std::memcpy(data_ + at, bytes, count); }
    /// Writes the number of bytes behind the 32 bits at `at` there.
    void patch(std::size_t at)
    {
        const auto length = static_cast<std::uint32_t>(size_ - at - 4);
        std::memcpy(data_ + at, &length, sizeof length);
    }

private:
    void grow(std::size_t count)
    {
        const std::size_t room = (room_ < 128 ? 256 : 2 * room_) + count;
        void *data = std::realloc(data_, room);
        if (data == nullptr) {
            throw std::bad_alloc();
        }
        data_ = static_cast<std::uint8_t *>(data);
        room_ = room;
    }

    std::uint8_t *data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t room_ = 0;
};

/// Appends values.
struct FieldWriter {
    Bytes &out;

    template <class T>
        requires std::is_arithmetic_v<T>
    void put(T value)
    {
        out.number(value);
    }
    template <NamedNumber T>
    void put(T value)
    {
        out.number(static_cast<std::underlying_type_t<T>>(value));
    }
    template <Time T>
    void put(T value)
    {
        out.number(value.count());
    }
    void put(const std::string &value) { out.append(value.data(), value.size()); }
    void put(const IpAddress &value) { out.append(value.data(), value.size()); }
    void put(const MacAddress &value) { out.append(value.data(), value.size()); }
    void put(const Prefix &value)
    {
        out.number(value.length);
        put(value.address);
    }
    void put(const Interface &value)
    {
        out.number(value.index);
        put(value.name);
    }
    template <class T>
    void put(const std::vector<T> &values)
    {
        for (const auto &value : values) {
            sized([&] { put(value); });
        }
    }
    template <FieldSet T>
    void put(const T &set)
    {
        T::fields(set, [this](std::uint32_t id, const char *, const auto &value) {
            // Most fields are empty: the code that appends them is kept out of the way.
            if (value) [[unlikely]] {
                this->field(id, *value);
            }
        });
    }

private:
    /// What the fields of a number begin with.
    struct Header {
        std::uint32_t id;
        std::uint32_t length;
    };

    template <class T>
    void field(std::uint32_t id, const T &value)
    {
        if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || Time<T>) {
            const Header header{id, sizeof value};
            std::uint8_t *place = out.extend(sizeof header + sizeof value);
            std::memcpy(place, &header, sizeof header);
            std::memcpy(place + sizeof header, &value, sizeof value);
        } else {
            out.number(id);
            sized([&] { put(value); });
        }
    }
    template <class Fill>
    void sized(Fill fill)
    {
        const std::size_t at = out.size();
        out.extend(4);
        fill();
        out.patch(at);
    }
};

/// Reads values from bytes. What is too short is left as it is: only a library of another version sends it.
struct FieldReader {
    const std::uint8_t *at = nullptr;
    std::size_t left = 0;

    /// The next 32-bit number; 0 at the end.
    std::uint32_t number()
    {
        std::uint32_t value = 0;
        get(value);
        skip(sizeof value);
        return value;
    }
    /// The bytes behind the next 32-bit number, which is their length.
    FieldReader sized()
    {
        const std::size_t length = number();
        const FieldReader inner{at, length < left ? length : left};
        skip(inner.left);
        return inner;
    }

    template <class T>
        requires std::is_arithmetic_v<T>
    void get(T &value) const
    {
        if (left >= sizeof value) {
            std::memcpy(&value, at, sizeof value);
        }
    }
    void get(bool &value) const { value = left > 0 && *at != 0; }
    template <NamedNumber T>
    void get(T &value) const
    {
        std::underlying_type_t<T> number = 0;
        get(number);
        value = static_cast<T>(number);
    }
    template <Time T>
    void get(T &value) const
    {
        typename T::rep number = 0;
        get(number);
        value = T(number);
    }
    void get(std::string &value) const { value.assign(reinterpret_cast<const char *>(at), left); }
    void get(IpAddress &value) const { value = IpAddress::fromBytes(at, left); }
    void get(MacAddress &value) const { value = MacAddress::fromBytes(at, left); }
    void get(Prefix &value) const
    {
        FieldReader rest = *this;
        get(value.length);
        rest.skip(1);
        rest.get(value.address);
    }
    void get(Interface &value) const
    {
        FieldReader rest = *this;
        value.index = rest.number();
        rest.get(value.name);
    }
    template <class T>
    void get(std::vector<T> &values) const
    {
        for (FieldReader rest = *this; rest.left > 0;) {
            rest.sized().get(values.emplace_back());
        }
    }
    /// Ignores the fields that the type does not have.
    template <FieldSet T>
    void get(T &set) const
    {
        for (FieldReader rest = *this; rest.left > 0;) {
            const std::uint32_t wanted = rest.number();
            const FieldReader field = rest.sized();
            T::fields(set, [wanted, &field](std::uint32_t id, const char *, auto &value) {
                if (id == wanted) {
                    field.get(ensure(value));
                }
            });
        }
    }

private:
    template <class T>
    static T &ensure(std::optional<T> &value)
    {
        return value.emplace();
    }
    template <class T>
    static T &ensure(Boxed<T> &value)
    {
        return value.ensure();
    }
    void skip(std::size_t count)
    {
        count = count < left ? count : left;
        at += count;
        left -= count;
    }
};

}  // namespace tapline::netlink

#endif
