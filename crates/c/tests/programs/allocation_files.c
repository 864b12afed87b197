/* allocation_files FILE: writes and reads 64 batches of 128 packets, and prints how often the calls allocated behind the
 * first batch of each. */
#include "allocations.h"
#include "check.h"

enum { BATCHES = 64, PACKETS = 128 };

int main(int count, char **words) {
    CHECK(count == 2 && count_allocations() != 0);
    static uint8_t frame[200];
    tapline_packet packets[PACKETS];
    for (size_t at = 0; at < PACKETS; at++) {
        packets[at] = (tapline_packet){.data = frame, .captured_len = sizeof frame, .len = sizeof frame, .time_ns = 1 + at,
                                       .queue = TAPLINE_NO_QUEUE};
    }
    tapline_writer *writer = NULL;
    OK(tapline_writer_create(words[1], NULL, &writer, &error));
    OK(tapline_writer_write(writer, packets, PACKETS, &error));
    unsigned long before = allocations;
    for (size_t batch = 1; batch < BATCHES; batch++) {
        OK(tapline_writer_write(writer, packets, PACKETS, &error));
    }
    printf("written: %lu\n", allocations - before);
    uint64_t written = 0;
    OK(tapline_writer_close(writer, &written, &error));
    CHECK(written == BATCHES * PACKETS);

    tapline_reader *reader = NULL;
    tapline_filter *filter = NULL;
    OK(tapline_reader_open(words[1], NULL, &reader, &error));
    OK(tapline_filter_compile("greater 100", NULL, &filter, &error));
    const tapline_packet *found;
    size_t found_count;
    uint32_t keep[1024] = {0};
    uint64_t read = 0;
    before = allocations;
    for (;;) {
        tapline_status status;
        OK(status = tapline_reader_next_batch(reader, &found, &found_count, &error));
        if (status == TAPLINE_STATUS_END) {
            break;
        }
        CHECK(found_count <= 1024);
        OK(tapline_filter_run(filter, found, found_count, keep, &error));
        for (size_t at = 0; at < found_count; at++) {
            CHECK(keep[at] > 0);
        }
        if (read == 0) {
            before = allocations;
        }
        read += found_count;
    }
    printf("read: %lu\n", allocations - before);
    CHECK(read == BATCHES * PACKETS);
    OK(tapline_filter_free(filter, &error));
    OK(tapline_reader_close(reader, &error));
    return 0;
}
