// Filters without a capture.
#ifndef TAPLINE_FILTER_HPP
#define TAPLINE_FILTER_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "../tapline.h"
#include "handle.hpp"
#include "options.hpp"

namespace tapline {

/// What a filter is compiled for.
struct filter_options {
    /// Link-layer header type (LINKTYPE_ of libpcap).
    std::uint32_t link_type = 1;
    /// Bytes to keep of a packet that matches. Default: 262144.
    std::uint32_t snaplen = 0;
};

/// A compiled filter. Any number of threads may run it at once; `classic` is for one at a time.
class filter {
public:
    static result<filter> compile(const std::string &text, const filter_options &options = {}) {
        detail::c_strings strings;
        const char *const source = strings("text", text);
        if (auto wrong = strings.wrong()) {
            return *std::move(wrong);
        }
        ::tapline_filter_options raw = {};
        raw.size = sizeof raw;
        raw.link_type = options.link_type;
        raw.snaplen = options.snaplen;
        ::tapline_filter *compiled = nullptr;
        auto status = detail::call(&::tapline_filter_compile, source, &raw, &compiled);
        if (!status) {
            return std::move(status).error();
        }
        return filter(compiled);
    }

    /// Writes the number of bytes to keep of each packet to `keep`, which has room for as many: 0 rejects a packet.
    result<void> run(std::span<const ::tapline_packet> packets, std::span<std::uint32_t> keep) const {
        if (keep.size() < packets.size()) {
            error failed;
            failed.status = TAPLINE_STATUS_INVALID_ARGUMENT;
            failed.message = "keep is shorter than the packets";
            return failed;
        }
        return detail::done(
            detail::call(&::tapline_filter_run, handle_.get(), packets.data(), packets.size(), keep.data()));
    }

    /// Whether a whole packet matches.
    result<bool> matches(std::span<const std::byte> bytes) const {
        if (bytes.size() > UINT32_MAX) [[unlikely]] {
            error failed;
            failed.status = TAPLINE_STATUS_INVALID_ARGUMENT;
            failed.message = "a packet has at most 4294967295 bytes";
            return failed;
        }
        ::tapline_packet packet = {};
        packet.data = reinterpret_cast<const std::uint8_t *>(bytes.data());
        packet.captured_len = static_cast<std::uint32_t>(bytes.size());
        packet.len = packet.captured_len;
        return keeps(packet);
    }
    /// Whether a `tapline::packet` matches. `greater`, `less` and `len` compare its length on the wire.
    template <class Packet>
        requires requires(const Packet &packet) { ::tapline_packet(packet.raw()); }
    result<bool> matches(const Packet &packet) const {
        return keeps(packet.raw());
    }

    /// The filter as a program of classic BPF. Lives as long as the filter.
    result<std::span<const ::tapline_instruction>> classic() & {
        const ::tapline_instruction *instructions = nullptr;
        std::size_t count = 0;
        auto status = detail::call(&::tapline_filter_classic, handle_.get(), &instructions, &count);
        if (!status) {
            return std::move(status).error();
        }
        return std::span(instructions, count);
    }

private:
    explicit filter(::tapline_filter *raw) : handle_(raw) {}

    result<bool> keeps(const ::tapline_packet &packet) const {
        std::uint32_t keep = 0;
        auto status = run({&packet, 1}, {&keep, 1});
        if (!status) {
            return status.error();
        }
        return keep > 0;
    }

    handle<::tapline_filter, &::tapline_filter_free> handle_;
};

}  // namespace tapline

#endif
