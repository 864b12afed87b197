/* pull INTERFACE BACKEND PACKETS: twice its ring is filled until a line arrives, and read; prints the CPU time per packet
 * of the second time. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tapline.h>

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        return 2;
    }
    const size_t packet_count = strtoull(argv[3], NULL, 10);
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
        .max_packets = 2 * packet_count,
    };
    tapline_capture *capture;
    tapline_error *error = NULL;
    if (tapline_capture_open(&options, &capture, &error) < 0) {
        fprintf(stderr, "%s\n", tapline_error_message(error));
        return 1;
    }
    size_t bytes = 0, received = 0;
    double used = 0;
    for (int turn = 1; turn <= 2; turn++) {
        puts("ready");
        fflush(stdout);
        getchar();
        const tapline_packet *packets;
        size_t count;
        const double before = cpu_ns();
        while (received < turn * packet_count &&
               tapline_capture_next_batch(capture, -1, &packets, &count, NULL) == TAPLINE_STATUS_OK) {
            for (size_t at = 0; at < count; at++) {
                bytes += packets[at].len + packets[at].data[0];
            }
            received += count;
        }
        used = cpu_ns() - before;
    }
    tapline_capture_close(capture, NULL);
    printf("%zu %zu %f\n", received - packet_count, bytes, used / (double)packet_count);
    return 0;
}
