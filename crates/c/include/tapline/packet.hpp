// Packets, and batches of them.
#ifndef TAPLINE_PACKET_HPP
#define TAPLINE_PACKET_HPP

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>

#include "../tapline.h"

namespace tapline {

/// A point in time as packets carry it.
using time_point = std::chrono::sys_time<std::chrono::nanoseconds>;

/// A packet, lent: its bytes belong to whoever lends it. Converts to a span of its captured bytes.
class packet {
public:
    explicit packet(const ::tapline_packet &raw) noexcept : raw_(&raw) {}

    /// The captured bytes, from the link-layer header on, VLAN tags included.
    std::span<const std::byte> data() const noexcept {
        return {reinterpret_cast<const std::byte *>(raw_->data), raw_->captured_len};
    }
    operator std::span<const std::byte>() const noexcept { return data(); }

    /// Length on the wire.
    std::size_t len() const noexcept { return raw_->len; }
    /// When it was received or sent; none if a file has no time for it.
    std::optional<time_point> time() const noexcept {
        if (raw_->time_ns == TAPLINE_UNKNOWN) {
            return std::nullopt;
        }
        return time_point(std::chrono::nanoseconds(static_cast<std::int64_t>(raw_->time_ns)));
    }
    /// Position of its interface.
    std::uint32_t interface() const noexcept { return raw_->interface; }
    /// Receive queue; none if it is not known, or if the interface has only one.
    std::optional<std::uint32_t> queue() const noexcept {
        return raw_->queue == TAPLINE_NO_QUEUE ? std::nullopt : std::optional(raw_->queue);
    }
    /// Packets that the ring dropped before this one.
    std::uint64_t drops_before() const noexcept { return raw_->drops_before; }
    /// Whether it was received or sent.
    ::tapline_direction direction() const noexcept { return static_cast<::tapline_direction>(raw_->direction); }
    /// How it was addressed.
    ::tapline_reception reception() const noexcept { return static_cast<::tapline_reception>(raw_->reception); }
    /// The state of its transport checksum.
    ::tapline_checksum checksum() const noexcept { return static_cast<::tapline_checksum>(raw_->checksum); }

    /// As the C interface has it.
    const ::tapline_packet &raw() const noexcept { return *raw_; }

private:
    const ::tapline_packet *raw_;
};

/// Packets that are ready: a random-access range. Valid until the next call with the object that lends them.
class batch {
public:
    class iterator {
    public:
        using iterator_concept = std::random_access_iterator_tag;
        using iterator_category = std::input_iterator_tag;
        using value_type = packet;
        using difference_type = std::ptrdiff_t;
        using reference = packet;
        using pointer = void;

        iterator() = default;
        explicit iterator(const ::tapline_packet *at) noexcept : at_(at) {}
        packet operator*() const noexcept { return packet(*at_); }
        packet operator[](difference_type n) const noexcept { return packet(at_[n]); }
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
        const ::tapline_packet *at_ = nullptr;
    };

    batch() = default;
    batch(const ::tapline_packet *first, std::size_t count, bool is_end) noexcept
        : packets_(first, count), is_end_(is_end) {}

    iterator begin() const noexcept { return iterator(packets_.data()); }
    iterator end() const noexcept { return iterator(packets_.data() + packets_.size()); }
    std::size_t size() const noexcept { return packets_.size(); }
    bool empty() const noexcept { return packets_.empty(); }
    packet operator[](std::size_t index) const noexcept { return packet(packets_[index]); }
    /// Whether there is no more: the capture, or the file, has ended.
    bool is_end() const noexcept { return is_end_; }
    /// As the C interface has it.
    std::span<const ::tapline_packet> raw() const noexcept { return packets_; }

private:
    std::span<const ::tapline_packet> packets_;
    bool is_end_ = false;
};

}  // namespace tapline

#endif
