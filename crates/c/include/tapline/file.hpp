// Capture files: readers and writers.
#ifndef TAPLINE_FILE_HPP
#define TAPLINE_FILE_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "handle.hpp"
#include "options.hpp"
#include "packet.hpp"

namespace tapline {

/// What to read of a file.
struct reader_options {
    /// Packets to read, in the language of pcap-filter(7). Default: all.
    std::string filter = {};
    /// End after this many packets. Default: never.
    std::uint64_t max_packets = 0;
};

/// An open capture file: pcap or pcapng, also compressed. One thread at a time; `stop` from any, but not beside a move or the
/// destructor. A temporary reader lends nothing.
class reader {
public:
    static result<reader> open(const std::string &path, const reader_options &options = {}) {
        detail::c_strings text;
        const char *const name = text("path", path);
        ::tapline_reader_options raw = {};
        raw.size = sizeof raw;
        raw.filter = text.unless_empty("filter", options.filter);
        raw.max_packets = options.max_packets;
        if (auto wrong = text.wrong()) {
            return *std::move(wrong);
        }
        ::tapline_reader *opened = nullptr;
        auto status = detail::call(&::tapline_reader_open, name, &raw, &opened);
        if (!status) {
            return std::move(status).error();
        }
        return reader(opened);
    }

    /// The next packets, valid until the next call other than `interface` and `stop`. Waits while a pipe has none. `is_end` at
    /// the end of the file.
    result<batch> next_batch() & {
        const ::tapline_packet *packets = nullptr;
        std::size_t count = 0;
        auto status = detail::call(&::tapline_reader_next_batch, handle_.get(), &packets, &count);
        if (!status) {
            return std::move(status).error();
        }
        return batch(packets, count, *status == TAPLINE_STATUS_END);
    }

    /// The interface at `index` of the packets that were read so far, if there is one. Before the first batch, this reads the
    /// first packet. Its name lives as long as the reader.
    std::optional<::tapline_interface> interface(std::size_t index) const & {
        ::tapline_interface found = {};
        if (::tapline_reader_interface(handle_.get(), index, &found, nullptr) != TAPLINE_STATUS_OK) {
            return std::nullopt;
        }
        return found;
    }
    std::optional<::tapline_interface> interface(std::size_t index) const && = delete;

    /// Ends the reader, also a call that waits for a pipe. Any thread.
    result<void> stop() const { return detail::done(detail::call(&::tapline_reader_stop, handle_.get())); }

private:
    explicit reader(::tapline_reader *raw) : handle_(raw) {}

    handle<::tapline_reader, &::tapline_reader_close> handle_;
};

/// How to write a file.
struct writer_options {
    /// The interfaces, to which packets refer by position. Default: one of Ethernet packets.
    std::vector<::tapline_interface> interfaces = {};
    ::tapline_format format = TAPLINE_FORMAT_PCAPNG;
    /// Compress with Zstandard.
    bool zstd = false;
    /// Start a new file before one has more bytes than this. Default: never.
    std::uint64_t rotate_bytes = 0;
    /// Start a new file at multiples of this time since 1970, by the times of the packets. Default: never.
    std::chrono::nanoseconds rotate_time = {};
    /// Start a new file after this many packets. Default: never.
    std::uint64_t rotate_packets = 0;
    /// Keep this many files, the current one included. Default: all.
    std::uint64_t keep_files = 0;
};

/// A capture file that is being written. One thread at a time. The destructor closes it and loses the error: call
/// `close`.
class writer {
public:
    static result<writer> create(const std::string &path, const writer_options &options = {}) {
        if (auto wrong = detail::negative({{"rotate_time", options.rotate_time}})) {
            return *std::move(wrong);
        }
        detail::c_strings text;
        const char *const name = text("path", path);
        if (auto wrong = text.wrong()) {
            return *std::move(wrong);
        }
        ::tapline_writer_options raw = {};
        raw.size = sizeof raw;
        raw.interfaces = options.interfaces.data();
        raw.interface_count = options.interfaces.size();
        raw.format = options.format;
        raw.zstd = options.zstd ? 1 : 0;
        raw.rotate_bytes = options.rotate_bytes;
        raw.rotate_ns = static_cast<std::uint64_t>(options.rotate_time.count());
        raw.rotate_packets = options.rotate_packets;
        raw.keep_files = options.keep_files;
        ::tapline_writer *opened = nullptr;
        auto status = detail::call(&::tapline_writer_create, name, &raw, &opened);
        if (!status) {
            return std::move(status).error();
        }
        return writer(opened);
    }

    /// Writes packets of a capture, all that no iterator has taken.
    result<void> write(const packets &lent) {
        return detail::done(detail::call(&::tapline_writer_write_packets, handle_.get(), lent.raw()));
    }
    /// Writes a batch of a capture or a reader.
    result<void> write(const batch &packets) { return write(packets.raw()); }
    result<void> write(std::span<const ::tapline_packet> packets) {
        return detail::done(detail::call(&::tapline_writer_write, handle_.get(), packets.data(), packets.size()));
    }
    /// Adds an interface behind those of the file, and returns its position.
    result<std::uint32_t> add_interface(const ::tapline_interface &interface) {
        std::uint32_t position = 0;
        auto status = detail::call(&::tapline_writer_add_interface, handle_.get(), &interface, &position);
        if (!status) {
            return std::move(status).error();
        }
        return position;
    }
    /// Writes what is in the buffer.
    result<void> flush() { return detail::done(detail::call(&::tapline_writer_flush, handle_.get())); }
    /// Closes the file, and returns the number of its packets.
    result<std::uint64_t> close() {
        std::uint64_t packets = 0;
        auto status = handle_.finish(&::tapline_writer_close, &packets);
        if (!status) {
            return std::move(status).error();
        }
        return packets;
    }

private:
    explicit writer(::tapline_writer *raw) : handle_(raw) {}

    static void abandon(::tapline_writer *raw, ::tapline_error **failed) {
        ::tapline_writer_close(raw, nullptr, failed);
    }

    handle<::tapline_writer, &abandon> handle_;
};

}  // namespace tapline

#endif
