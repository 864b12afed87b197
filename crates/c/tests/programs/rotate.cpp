// rotate FILE PACKETS: writes packets into files of 10, of which 2 are kept.
#include <string>
#include <tapline/file.hpp>

int main(int count, char **words)
{
    if (count != 3) {
        return 2;
    }
    auto writer = tapline::writer::create(words[1], {.rotate_packets = 10, .keep_files = 2}).value();
    const std::uint8_t data[60] = {};
    const auto packets = std::stoull(words[2]);
    for (std::uint64_t at = 0; at < packets; ++at) {
        tapline_packet packet = {};
        packet.data = data;
        packet.captured_len = packet.len = sizeof data;
        packet.time_ns = at;
        writer.write(std::span(&packet, 1)).value();
    }
    writer.close().value();
}
