/* allocation INTERFACE PACKETS arrays|cursor: captures and filters, and prints how often the calls allocated behind the
 * first batch. */
#include <string.h>
#include <tapline/cursor.h>

#include "allocations.h"
#include "check.h"

int main(int count, char **words) {
    CHECK(count == 4 && count_allocations() != 0);
    const char *interfaces[] = {words[1]};
    bool by_cursor = strcmp(words[3], "cursor") == 0;
    unsigned long expected = strtoul(words[2], NULL, 10);
    tapline_capture_options options = {
        .size = sizeof options,
        .interfaces = interfaces,
        .interface_count = 1,
        .snaplen = 2000,
        .delivery = TAPLINE_DELIVERY_IMMEDIATE,
        .max_ns = 20000000000,
    };
    tapline_capture *capture = NULL;
    tapline_filter *filter = NULL;
    unsigned long before = allocations;
    OK(tapline_capture_open(&options, &capture, &error));
    OK(tapline_filter_compile("udp", NULL, &filter, &error));
    CHECK(allocations > before);
    /* The first calls prepare the reader and the filter. */
    const tapline_packet *packets;
    size_t packet_count;
    uint32_t keep[128] = {0};
    OK(tapline_capture_next_batch(capture, 0, &packets, &packet_count, &error));
    const tapline_packet empty = {.interface = 0};
    OK(tapline_filter_run(filter, &empty, 1, keep, &error));
    printf("ready\n");
    fflush(stdout);
    before = allocations;
    unsigned long received = 0;
    tapline_status status = TAPLINE_STATUS_OK;
    while (by_cursor && received < expected) {
        tapline_cursor *cursor;
        tapline_packet packet;
        OK(status = tapline_capture_next_packets(capture, -1, &cursor, &error));
        CHECK(status == TAPLINE_STATUS_OK);
        while (tapline_cursor_next(cursor, &packet)) {
            OK(tapline_filter_run(filter, &packet, 1, keep, &error));
            received += keep[0] > 0;
        }
    }
    while (received < expected) {
        OK(status = tapline_capture_next_batch(capture, -1, &packets, &packet_count, &error));
        CHECK(status == TAPLINE_STATUS_OK);
        OK(tapline_filter_run(filter, packets, packet_count, keep, &error));
        for (size_t at = 0; at < packet_count; at++) {
            received += keep[at] > 0;
        }
    }
    printf("%lu packets, %lu allocations\n", received, allocations - before);
    OK(tapline_filter_free(filter, &error));
    OK(tapline_capture_close(capture, &error));
    return 0;
}
