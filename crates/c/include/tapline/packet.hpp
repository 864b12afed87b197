// Packets, and batches of them.
#ifndef TAPLINE_PACKET_HPP
#define TAPLINE_PACKET_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>

#include "cursor.h"
#include "range.hpp"

namespace tapline {

/// A packet, lent: its bytes belong to whoever lends it, and a copy has the same ones. Converts to a span of its captured
/// bytes.
class packet {
public:
    /// The compiler leaves out the fields that nobody reads.
    explicit packet(const ::tapline_packet &raw) noexcept { ::tapline_packet_copy(&raw, &raw_); }

    /// The captured bytes, from the link-layer header on, VLAN tags included.
    std::span<const std::byte> data() const noexcept {
        return {reinterpret_cast<const std::byte *>(raw_.data), raw_.captured_len};
    }
    operator std::span<const std::byte>() const noexcept { return data(); }

    /// Length on the wire.
    std::size_t len() const noexcept { return raw_.len; }
    /// When it was received or sent; none if a file has no time for it.
    std::optional<time_point> time() const noexcept { return known_time_point(raw_.time_ns); }
    /// Position of its interface.
    std::uint32_t interface() const noexcept { return raw_.interface; }
    /// Receive queue; none if it is not known, or if the interface has only one.
    std::optional<std::uint32_t> queue() const noexcept {
        return raw_.queue == TAPLINE_NO_QUEUE ? std::nullopt : std::optional(raw_.queue);
    }
    /// Packets that the ring dropped before this one.
    std::uint64_t drops_before() const noexcept { return raw_.drops_before; }
    /// Whether it was received or sent.
    ::tapline_direction direction() const noexcept { return static_cast<::tapline_direction>(raw_.direction); }
    /// How it was addressed.
    ::tapline_reception reception() const noexcept { return static_cast<::tapline_reception>(raw_.reception); }
    /// The state of its transport checksum.
    ::tapline_checksum checksum() const noexcept { return static_cast<::tapline_checksum>(raw_.checksum); }

    /// As the C interface has it.
    const ::tapline_packet &raw() const & noexcept { return raw_; }
    ::tapline_packet raw() const && noexcept { return raw_; }

private:
    ::tapline_packet raw_;
};

/// Packets that are ready.
using batch = lent_range<packet, ::tapline_packet>;

/// Packets that are ready, one by one: an input range, for one pass. Cheaper per packet than a batch, because the compiler
/// keeps only what is read of a packet. The bytes of a packet are valid until the next call with the capture. Packets that the
/// iterator has not passed come again with that call.
class packets {
public:
    /// Takes a packet when it is compared with the end or read, and not before: `packets | std::views::take(n)` takes n.
    class iterator {
    public:
        using iterator_concept = std::input_iterator_tag;
        using value_type = packet;
        using difference_type = std::ptrdiff_t;

        iterator() = default;
        explicit iterator(::tapline_cursor *cursor) noexcept : cursor_(cursor) {}
        [[gnu::always_inline]] packet operator*() const noexcept {
            take();
            return packet(raw_);
        }
        [[gnu::always_inline]] iterator &operator++() noexcept {
            take();
            is_taken_ = false;
            return *this;
        }
        void operator++(int) noexcept { ++*this; }
        [[gnu::always_inline]] friend bool operator==(const iterator &at, std::default_sentinel_t) noexcept {
            at.take();
            return !at.has_packet_;
        }

    private:
        /// In a loop the compiler knows whether the packet is taken, and leaves the question out.
        [[gnu::always_inline]] void take() const noexcept {
            if (!is_taken_) {
                has_packet_ = ::tapline_cursor_next(cursor_, &raw_);
                is_taken_ = true;
            }
        }

        ::tapline_cursor *cursor_ = nullptr;
        mutable ::tapline_packet raw_ = {};
        mutable bool has_packet_ = false;
        mutable bool is_taken_ = false;
    };

    packets() = default;
    explicit packets(::tapline_cursor *cursor) noexcept : cursor_(cursor) {}

    iterator begin() const noexcept { return iterator(cursor_); }
    std::default_sentinel_t end() const noexcept { return {}; }
    /// Whether there is no more: the capture has ended.
    bool is_end() const noexcept { return cursor_ == nullptr; }
    /// As the C interface has it; null at the end.
    ::tapline_cursor *raw() const noexcept { return cursor_; }

private:
    ::tapline_cursor *cursor_ = nullptr;
};

}  // namespace tapline

// The cursor belongs to the capture, and not to the range.
template <>
inline constexpr bool std::ranges::enable_view<tapline::packets> = true;
template <>
inline constexpr bool std::ranges::enable_borrowed_range<tapline::packets> = true;

#endif
