// Values of netlink objects, and how the generated types are encoded, compared and printed.
#ifndef TAPLINE_NETLINK_VALUES_HPP
#define TAPLINE_NETLINK_VALUES_HPP

#include <arpa/inet.h>

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <limits>
#include <optional>
#include <ratio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../boxed.hpp"
#include "../chrono.hpp"

namespace tapline::netlink {

namespace detail {

/// Text that is given. Throws `std::invalid_argument` if it is null.
inline const char *notNull(const char *text)
{
    if (text == nullptr) {
        throw std::invalid_argument("a text is null");
    }
    return text;
}

/// Text up to its end. One with a zero byte before that is no text of an address: the empty one stands for it.
inline const char *whole(const std::string &text)
{
    return text.find('\0') == std::string::npos ? text.c_str() : "";
}

/// A number, and neither a letter nor a truth value.
template <class T>
inline constexpr bool isInteger = std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>;

}  // namespace detail

/// Text that a setter takes. Throws `std::invalid_argument` if it is null.
struct Text {
    std::string value;

    Text(std::nullptr_t) = delete;
    Text(const char *text) : value(detail::notNull(text)) {}
    Text(std::string text) : value(std::move(text)) {}
    Text(std::string_view text) : value(text) {}
};

/// On or off, which a setter takes. A pointer is neither: `setAdmin("off")` does not compile.
struct Switch {
    bool value;

    constexpr Switch(bool on) : value(on) {}
    template <class T>
    Switch(const T *) = delete;
    Switch(std::nullptr_t) = delete;
};

namespace detail {

/// A number of the language, with its sign.
struct AnyNumber {
    bool isNegative;
    std::uint64_t magnitude;
};

[[noreturn]] inline void throwOutOfRange(AnyNumber number, std::int64_t least, std::uint64_t most)
{
    throw std::out_of_range((number.isNegative ? "-" : "") + std::to_string(number.magnitude) + " is not between " +
                            std::to_string(least) + " and " + std::to_string(most));
}

}  // namespace detail

/// A number that a setter takes. Throws `std::out_of_range` if the field cannot hold it: `setPrefixlen(280)`.
template <class Value>
struct Number {
    Value value;

    template <class T>
        requires detail::isInteger<T> || (std::is_enum_v<T> && std::is_convertible_v<T, Value>)
    constexpr Number(T number) : value(static_cast<Value>(number))
    {
        using Limits = std::numeric_limits<Value>;
        const bool isNegative = number < T{};
        // What is narrowed and differs was out of range, and so is what has another sign then.
        if (static_cast<T>(value) != number || isNegative != (value < Value{})) [[unlikely]] {
            const auto bits = static_cast<std::uint64_t>(number);
            detail::throwOutOfRange({isNegative, isNegative ? 0 - bits : bits}, Limits::min(), Limits::max());
        }
    }
};

/// An IPv4 or IPv6 address.
class IpAddress {
public:
    /// 0.0.0.0
    constexpr IpAddress() = default;
    /// From text. Throws `std::invalid_argument` if it is not an address, or null; `parse` does not throw.
    IpAddress(std::nullptr_t) = delete;
    IpAddress(const char *text) : IpAddress(parsed(detail::notNull(text))) {}
    IpAddress(const std::string &text) : IpAddress(parsed(detail::whole(text))) {}

    static std::optional<IpAddress> parse(const char *text)
    {
        IpAddress ip;
        if (text == nullptr) {
            return std::nullopt;
        }
        if (inet_pton(AF_INET, text, ip.words_.data()) == 1) {
            return ip;
        }
        ip.size_ = 16;
        if (inet_pton(AF_INET6, text, ip.words_.data()) == 1) {
            return ip;
        }
        return std::nullopt;
    }
    static std::optional<IpAddress> parse(std::string_view text)
    {
        const std::string address(text);
        return parse(detail::whole(address));
    }
    /// An IPv4 address from a number in host byte order.
    static constexpr IpAddress v4(std::uint32_t number)
    {
        IpAddress ip;
        ip.words_[0] = std::endian::native == std::endian::little ? __builtin_bswap32(number) : number;
        return ip;
    }
    /// From 4 or 16 bytes in network byte order; otherwise 0.0.0.0.
    static IpAddress fromBytes(const std::uint8_t *bytes, std::size_t size)
    {
        IpAddress ip;
        if (size == 4 || size == 16) {
            ip.size_ = static_cast<std::uint8_t>(size);
            std::memcpy(ip.words_.data(), bytes, size);
        }
        return ip;
    }

    bool isV4() const { return size_ == 4; }
    const std::uint8_t *data() const { return reinterpret_cast<const std::uint8_t *>(words_.data()); }
    /// 4 or 16.
    std::size_t size() const { return size_; }

    std::string toString() const
    {
        std::array<char, INET6_ADDRSTRLEN> text{};
        inet_ntop(isV4() ? AF_INET : AF_INET6, words_.data(), text.data(), static_cast<socklen_t>(text.size()));
        return text.data();
    }

    bool operator==(const IpAddress &) const = default;
    /// IPv4 precedes IPv6; addresses of one family are in numeric order.
    std::strong_ordering operator<=>(const IpAddress &other) const
    {
        return size_ != other.size_ ? size_ <=> other.size_ : std::memcmp(data(), other.data(), size_) <=> 0;
    }

private:
    static IpAddress parsed(const char *text)
    {
        if (auto ip = parse(text)) {
            return *ip;
        }
        throw std::invalid_argument(std::string(text) + " is not an IP address");
    }

    /// In network byte order. Words, because the compiler keeps them in registers on their way into a message: bytes
    /// would be written to the stack and then waited for.
    std::array<std::uint32_t, 4> words_{};
    std::uint8_t size_ = 4;
};

/// An address with a prefix length: `192.0.2.0/24`. Without a length: all bits. `default` is 0.0.0.0/0.
struct Prefix {
    IpAddress address;
    std::uint8_t length = 0;

    constexpr Prefix() = default;
    constexpr Prefix(IpAddress ip, Number<std::uint8_t> bits) : address(ip), length(bits.value) {}
    /// From text. Throws `std::invalid_argument` if it is not a prefix; `parse` does not throw.
    Prefix(std::nullptr_t) = delete;
    Prefix(const char *text) : Prefix(parsed(detail::notNull(text))) {}
    Prefix(const std::string &text) : Prefix(parsed(text)) {}

    static std::optional<Prefix> parse(const char *text)
    {
        return text == nullptr ? std::nullopt : parse(std::string_view(text));
    }
    static std::optional<Prefix> parse(std::string_view text)
    {
        if (text == "default") {
            return Prefix();
        }
        const auto slash = text.find('/');
        const auto ip = IpAddress::parse(text.substr(0, slash));
        if (!ip) {
            return std::nullopt;
        }
        const unsigned most = ip->isV4() ? 32 : 128;
        if (slash == std::string_view::npos) {
            return Prefix(*ip, static_cast<std::uint8_t>(most));
        }
        unsigned bits = 0;
        const auto digits = text.substr(slash + 1);
        for (const char digit : digits) {
            if (digit < '0' || digit > '9' || bits > most) {
                return std::nullopt;
            }
            bits = bits * 10 + static_cast<unsigned>(digit - '0');
        }
        if (digits.empty() || bits > most) {
            return std::nullopt;
        }
        return Prefix(*ip, static_cast<std::uint8_t>(bits));
    }

    std::string toString() const { return address.toString() + "/" + std::to_string(length); }

    bool operator==(const Prefix &) const = default;
    /// By address, and then the shortest first.
    std::strong_ordering operator<=>(const Prefix &) const = default;

private:
    static Prefix parsed(std::string_view text)
    {
        if (auto prefix = parse(text)) {
            return *prefix;
        }
        throw std::invalid_argument(std::string(text) + " is not a network");
    }
};

/// A hardware address: 6 bytes for Ethernet, up to 32 for other links.
class MacAddress {
public:
    constexpr MacAddress() = default;
    /// From text: `02:00:00:00:00:01`. Throws `std::invalid_argument` if it is not an address; `parse` does not throw.
    MacAddress(std::nullptr_t) = delete;
    MacAddress(const char *text) : MacAddress(parsed(detail::notNull(text))) {}
    MacAddress(const std::string &text) : MacAddress(parsed(text)) {}

    static std::optional<MacAddress> parse(const char *text)
    {
        return text == nullptr ? std::nullopt : parse(std::string_view(text));
    }
    static std::optional<MacAddress> parse(std::string_view text)
    {
        MacAddress mac;
        mac.size_ = 0;
        unsigned digits = 0;
        for (const char letter : text) {
            if (letter == ':') {
                if (digits == 0) {
                    return std::nullopt;
                }
                digits = 0;
                continue;
            }
            const int digit = value(letter);
            if (digits == 0) {
                ++mac.size_;
            }
            if (digit < 0 || ++digits > 2 || mac.size_ > 32) {
                return std::nullopt;
            }
            auto &byte = mac.bytes_[mac.size_ - 1u];
            byte = static_cast<std::uint8_t>(byte * 16 + digit);
        }
        return digits == 0 ? std::nullopt : std::optional(mac);
    }
    /// From at most 32 bytes.
    static MacAddress fromBytes(const std::uint8_t *bytes, std::size_t size)
    {
        MacAddress mac;
        mac.size_ = static_cast<std::uint8_t>(size < 32 ? size : 32);
        std::memcpy(mac.bytes_.data(), bytes, mac.size_);
        return mac;
    }

    const std::uint8_t *data() const { return bytes_.data(); }
    std::size_t size() const { return size_; }

    std::string toString() const
    {
        static constexpr char hex[] = "0123456789abcdef";
        std::string text;
        for (std::size_t at = 0; at < size_; ++at) {
            if (at > 0) {
                text += ':';
            }
            text += hex[bytes_[at] >> 4];
            text += hex[bytes_[at] & 15];
        }
        return text;
    }

    bool operator==(const MacAddress &) const = default;
    /// The shortest first; those of one length are in numeric order.
    std::strong_ordering operator<=>(const MacAddress &other) const
    {
        return size_ != other.size_ ? size_ <=> other.size_ : std::memcmp(data(), other.data(), size_) <=> 0;
    }

private:
    static int value(char letter)
    {
        if (letter >= '0' && letter <= '9') {
            return letter - '0';
        }
        const char lower = static_cast<char>(letter | 0x20);
        return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
    }
    static MacAddress parsed(std::string_view text)
    {
        if (auto mac = parse(text)) {
            return *mac;
        }
        throw std::invalid_argument(std::string(text) + " is not a hardware address");
    }

    std::array<std::uint8_t, 32> bytes_{};
    std::uint8_t size_ = 6;
};

/// An interface, by its index or by its name.
///
/// A request may give either. A name is looked up when the request is made, and never before or again: after a rename,
/// the old name no longer means the interface, and an index still does. Replies have the index and the name at the
/// time of the reply.
struct Interface {
    /// 0 if unknown.
    std::uint32_t index = 0;
    /// Empty if unknown.
    std::string name;

    Interface() = default;
    /// Throws `std::out_of_range` if no index can be that number.
    template <class T>
        requires detail::isInteger<T>
    Interface(T number) : index(static_cast<std::uint32_t>(number))
    {
        if (!std::in_range<std::uint32_t>(number)) {
            throw std::out_of_range(std::to_string(number) + " is not the index of an interface");
        }
    }
    Interface(const char *text) : name(detail::notNull(text)) {}
    Interface(std::string text) : name(std::move(text)) {}
    Interface(std::string_view text) : name(text) {}
    Interface(std::uint32_t number, std::string text) : index(number), name(std::move(text)) {}

    std::string toString() const { return name.empty() ? std::to_string(index) : name; }

    /// Whether the indices are equal, if both are known, and otherwise whether the names are.
    friend bool operator==(const Interface &a, const Interface &b)
    {
        return a.index != 0 && b.index != 0 ? a.index == b.index : a.name == b.name && (!a.name.empty() || a.index == b.index);
    }
};

/// Settings in an object, or none.
template <class T>
using Boxed = tapline::boxed<T>;

/// The name of a value or of a bit.
struct Named {
    std::uint64_t value;
    const char *text;
};

/// The names of the values of an enumeration, as in `ip(8)`.
template <class Enum>
struct Names;

template <class T>
concept NamedNumber = std::is_enum_v<T> && requires { Names<T>::values; };

template <class T>
concept Flags = NamedNumber<T> && Names<T>::isFlags;

/// A type that is generated from a table of fields.
template <class T>
concept FieldSet = requires { T::typeName; };

template <Flags T>
constexpr T operator|(T a, T b)
{
    using Number = std::underlying_type_t<T>;
    return static_cast<T>(static_cast<Number>(a) | static_cast<Number>(b));
}

/// A time, in the unit and with the width of the kernel's attribute. Its greatest value, `max()`, stands for an infinite
/// lifetime.
template <class Number, class Unit = std::ratio<1>>
class Duration : public std::chrono::duration<Number, Unit> {
    using Base = std::chrono::duration<Number, Unit>;

public:
    constexpr Duration() : Base(0) {}
    explicit constexpr Duration(Number count) : Base(count) {}
    constexpr Duration(Base time) : Base(time) {}
    /// From a time in an equal or coarser unit: `90s`. Throws `std::out_of_range` if the attribute cannot hold it.
    template <class OtherNumber, class OtherUnit>
        requires std::is_integral_v<OtherNumber> && (std::ratio_divide<OtherUnit, Unit>::den == 1)
    constexpr Duration(std::chrono::duration<OtherNumber, OtherUnit> time)
        : Base(counted(time.count(), std::ratio_divide<OtherUnit, Unit>::num))
    {
    }

private:
    template <class OtherNumber>
    static constexpr Number counted(OtherNumber count, std::intmax_t units)
    {
        constexpr Number most = Base::max().count();
        const auto unit = static_cast<std::uintmax_t>(units);
        if (std::cmp_less(count, Base::min().count()) || std::cmp_greater(count, most / unit)) {
            throw std::out_of_range("a time is beyond " + std::to_string(most) + " units of its attribute");
        }
        return static_cast<Number>(static_cast<std::uintmax_t>(count) * unit);
    }
};

template <class T>
inline constexpr bool isTime = false;
template <class Number, class Unit>
inline constexpr bool isTime<Duration<Number, Unit>> = true;
template <class T>
concept Time = isTime<T>;

/// Whether all of `flags` are set.
template <Flags T>
constexpr bool contains(T value, T flags)
{
    return (value | flags) == value;
}

// How values are printed.

inline std::string toString(bool value) { return value ? "on" : "off"; }
inline std::string toString(const std::string &value) { return value; }
template <class T>
    requires std::is_arithmetic_v<T>
std::string toString(T value)
{
    return std::to_string(value);
}
template <class T>
    requires requires(const T &value) { value.toString(); }
std::string toString(const T &value)
{
    return value.toString();
}
template <Time T>
std::string toString(T value)
{
    using Unit = typename T::period;
    if (value == T::max()) {
        return "forever";
    }
    constexpr const char *unit = Unit::den == 1 ? "s" : Unit::den == 100 ? "cs" : "ms";
    return std::to_string(value.count()) + unit;
}
template <NamedNumber T>
std::string toString(T value)
{
    auto rest = static_cast<std::uint64_t>(value);
    if constexpr (Names<T>::isFlags) {
        std::string text;
        for (const auto &[bit, name] : Names<T>::values) {
            if ((rest & bit) != 0) {
                text += text.empty() ? name : std::string("|") + name;
                rest &= ~bit;
            }
        }
        return rest == 0 && !text.empty() ? text : text + (text.empty() ? "" : "|") + std::to_string(rest);
    } else {
        for (const auto &[number, name] : Names<T>::values) {
            if (number == rest) {
                return name;
            }
        }
        return std::to_string(rest);
    }
}
template <class T>
std::string toString(const std::vector<T> &values);

/// `LinkInfo{name=br0, mtu=1500}`: the fields that have a value.
template <FieldSet T>
std::string toString(const T &set)
{
    std::string text = std::string(T::typeName) + "{";
    T::fields(set, [&text](std::uint32_t, const char *name, const auto &value) {
        if (value) {
            text += text.back() == '{' ? "" : ", ";
            text += name;
            text += "=";
            text += toString(*value);
        }
    });
    return text + "}";
}
template <class T>
std::string toString(const std::vector<T> &values)
{
    std::string text = "[";
    for (const auto &value : values) {
        text += (text.size() > 1 ? ", " : "") + toString(value);
    }
    return text + "]";
}

/// Types of other headers that `toString` takes.
template <class T>
inline constexpr bool isPrintable = false;

/// The types of this library that can be printed.
template <class T>
concept Printable = FieldSet<T> || NamedNumber<T> || Time<T> || std::is_same_v<T, IpAddress> || std::is_same_v<T, Prefix> ||
                    std::is_same_v<T, MacAddress> || std::is_same_v<T, Interface> || isPrintable<T>;

template <class Traits, Printable T>
std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, const T &value)
{
    return out << toString(value);
}

}  // namespace tapline::netlink

#endif
