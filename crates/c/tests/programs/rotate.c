/* rotate FILE PACKETS: writes packets into files of 10, of which 2 are kept. */
#include <stdlib.h>

#include "check.h"

int main(int count, char **words) {
    CHECK(count == 3);
    tapline_writer_options options = {.size = sizeof options, .keep_files = 2};
    tapline_writer *writer = NULL;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "keep_files requires a limit",
          tapline_writer_create(words[1], &options, &writer, &error));
    options.rotate_packets = 10;
    OK(tapline_writer_create(words[1], &options, &writer, &error));
    const uint8_t data[60] = {0};
    const uint64_t packets = strtoull(words[2], NULL, 10);
    for (uint64_t at = 0; at < packets; at++) {
        const tapline_packet packet = {.data = data, .captured_len = sizeof data, .len = sizeof data, .time_ns = at};
        OK(tapline_writer_write(writer, &packet, 1, &error));
    }
    OK(tapline_writer_close(writer, NULL, &error));
    return 0;
}
