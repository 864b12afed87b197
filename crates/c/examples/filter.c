/* Counts the packets of a file that match a filter, and prints the filter's program: filter trace.pcap 'udp port 53' */
#include <stdio.h>
#include <stdlib.h>

#include <tapline.h>

/* The error is written by the call that made the status, so it is read here, through its address. */
static void check(tapline_status status, tapline_error *const *error) {
    if (status < 0) {
        const char *hint = tapline_error_hint(*error);
        fprintf(stderr, "%s%s%s\n", tapline_error_message(*error), hint ? "; " : "", hint ? hint : "");
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: filter FILE FILTER\n");
        return 2;
    }
    tapline_error *error = NULL;
    tapline_reader *reader;
    check(tapline_reader_open(argv[1], NULL, &reader, &error), &error);

    /* A filter is for one link type: that of the first interface, as long as the file has packets. */
    tapline_filter_options options = {.size = sizeof options};
    tapline_interface interface;
    tapline_status status = tapline_reader_interface(reader, 0, &interface, &error);
    check(status, &error);
    if (status == TAPLINE_STATUS_OK) {
        options.link_type = interface.link_type;
    }
    tapline_filter *filter;
    check(tapline_filter_compile(argv[2], &options, &filter, &error), &error);

    const tapline_instruction *program;
    size_t length;
    check(tapline_filter_classic(filter, &program, &length, &error), &error);
    for (size_t at = 0; at < length; at++) {
        printf("%u %u %u %u\n", program[at].code, program[at].jt, program[at].jf, program[at].k);
    }

    const tapline_packet *packets;
    size_t count, read = 0, matching = 0;
    while ((status = tapline_reader_next_batch(reader, &packets, &count, &error)) == TAPLINE_STATUS_OK) {
        uint32_t keep[128]; /* A batch has at most 128 packets. */
        check(tapline_filter_run(filter, packets, count, keep, &error), &error);
        for (size_t at = 0; at < count; at++) {
            matching += keep[at] > 0;
        }
        read += count;
    }
    check(status, &error);
    printf("%zu of %zu packets match\n", matching, read);

    tapline_reader_close(reader, NULL);
    tapline_filter_free(filter, NULL);
    return 0;
}
