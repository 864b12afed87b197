/* Captures packets to a file and prints the account: capture eth0 trace.pcapng 10 'tcp port 443' */
#include <stdio.h>
#include <stdlib.h>

#include <tapline.h>
#include <tapline/cursor.h>

/* The error is written by the call that made the status, so it is read here, through its address. */
static void check(tapline_status status, tapline_error *const *error) {
    if (status < 0) {
        const char *hint = tapline_error_hint(*error);
        fprintf(stderr, "%s%s%s\n", tapline_error_message(*error), hint ? "; " : "", hint ? hint : "");
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: capture INTERFACE FILE PACKETS FILTER\n");
        return 2;
    }
    tapline_error *error = NULL;
    const char *interfaces[] = {argv[1]};
    tapline_capture_options options = {
        .size = sizeof options,
        .interfaces = interfaces,
        .interface_count = 1,
        .filter = argv[4],
        .max_packets = strtoull(argv[3], NULL, 10),
    };
    tapline_capture *capture;
    check(tapline_capture_open(&options, &capture, &error), &error);

    tapline_interface interface;
    check(tapline_capture_interface(capture, 0, &interface, &error), &error);
    tapline_writer_options file = {.size = sizeof file, .interfaces = &interface, .interface_count = 1};
    tapline_writer *writer;
    check(tapline_writer_create(argv[2], &file, &writer, &error), &error);
    printf("capturing on %s\n", interface.name);
    fflush(stdout);

    tapline_cursor *packets;
    tapline_status status;
    /* Packets are lent until the next call; writing copies them. */
    while ((status = tapline_capture_next_packets(capture, -1, &packets, &error)) == TAPLINE_STATUS_OK) {
        check(tapline_writer_write_packets(writer, packets, &error), &error);
    }
    check(status, &error);

    uint64_t written;
    check(tapline_writer_close(writer, &written, &error), &error);
    tapline_capture_stats stats = {.size = sizeof stats};
    check(tapline_capture_finish(capture, &stats, &error), &error);
    printf("%llu written, %llu delivered, %llu lost in the ring\n", (unsigned long long)written,
           (unsigned long long)stats.delivered, (unsigned long long)stats.lost_ring);
    return 0;
}
