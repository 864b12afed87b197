/* pull INTERFACE BACKEND PACKETS WAY TURNS: as often as TURNS its ring is filled until a line arrives, and read; prints the
 * CPU time per packet, the median of all times but the first. WAY is arrays, or cursor, that is packet by packet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tapline.h>
#include <tapline/cursor.h>

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Reads this many packets. Returns the sum of what it looked at. */
static size_t read_arrays(tapline_capture *capture, size_t wanted) {
    const tapline_packet *packets;
    size_t count, received = 0, bytes = 0;
    while (received < wanted &&
           tapline_capture_next_batch(capture, -1, &packets, &count, NULL) == TAPLINE_STATUS_OK) {
        for (size_t at = 0; at < count; at++) {
            bytes += packets[at].len + packets[at].data[0];
        }
        received += count;
    }
    return received == wanted ? bytes : 0;
}

static size_t read_cursor(tapline_capture *capture, size_t wanted) {
    tapline_cursor *cursor;
    tapline_packet packet;
    size_t received = 0, bytes = 0;
    while (received < wanted && tapline_capture_next_packets(capture, -1, &cursor, NULL) == TAPLINE_STATUS_OK) {
        while (tapline_cursor_next(cursor, &packet)) {
            bytes += packet.len + packet.data[0];
            received++;
        }
    }
    return received == wanted ? bytes : 0;
}

static int compare(const void *one, const void *other) {
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    if (argc != 6) {
        return 2;
    }
    const size_t packet_count = strtoull(argv[3], NULL, 10);
    const size_t turns = strtoull(argv[5], NULL, 10);
    double *const times = calloc(turns, sizeof *times);
    if (turns < 2 || times == NULL) {
        return 2;
    }
    const char *interfaces[] = {argv[1]};
    const uint32_t backend = (uint32_t)atoi(argv[2]);
    tapline_capture_options options = {
        .size = sizeof options,
        .interfaces = interfaces,
        .interface_count = 1,
        .backend = backend,
        .delivery = backend == TAPLINE_BACKEND_PACKET_V2 ? TAPLINE_DELIVERY_IMMEDIATE : TAPLINE_DELIVERY_BATCH,
        .snaplen = 96,
        .buffer_bytes = 64 << 20,
        .max_packets = turns * packet_count,
    };
    tapline_capture *capture;
    tapline_error *error = NULL;
    if (tapline_capture_open(&options, &capture, &error) < 0) {
        fprintf(stderr, "%s\n", tapline_error_message(error));
        return 1;
    }
    const bool has_cursor = strcmp(argv[4], "cursor") == 0;
    size_t bytes = 0;
    for (size_t turn = 0; turn < turns; turn++) {
        puts("ready");
        fflush(stdout);
        getchar();
        const double before = cpu_ns();
        bytes = (has_cursor ? read_cursor : read_arrays)(capture, packet_count);
        times[turn] = cpu_ns() - before;
    }
    tapline_capture_close(capture, NULL);
    qsort(times + 1, turns - 1, sizeof *times, compare);
    printf("%zu %zu %f\n", bytes == 0 ? 0 : packet_count, bytes, times[turns / 2] / (double)packet_count);
    free(times);
    return 0;
}
