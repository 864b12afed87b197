// Packets, and batches of them.
#ifndef TAPLINE_PACKET_HPP
#define TAPLINE_PACKET_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "range.hpp"

namespace tapline {

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
    std::optional<time_point> time() const noexcept { return known_time_point(raw_->time_ns); }
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

/// Packets that are ready.
using batch = lent_range<packet, ::tapline_packet>;

}  // namespace tapline

#endif
