/* Counts packets in the kernel until so many have passed, for a minute at most: count eth0 1000 */
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
        fprintf(stderr, "usage: count INTERFACE PACKETS\n");
        return 2;
    }
    tapline_error *error = NULL;
    const char *interfaces[] = {argv[1]};
    const tapline_count_class classes[] = {{"udp", "udp"}, {"all", NULL}};
    tapline_count_options options = {
        .size = sizeof options,
        .interfaces = interfaces,
        .interface_count = 1,
        .classes = classes,
        .class_count = 2,
        .direction = TAPLINE_COUNT_DIRECTION_IN,
        .interval_ns = 100000000,
        .max_ns = 60000000000,
    };
    tapline_count *counter;
    check(tapline_count_open(&options, &counter, &error), &error);
    printf("counting on %s\n", argv[1]);
    fflush(stdout);

    const tapline_class_count *figures;
    size_t count;
    tapline_status status = TAPLINE_STATUS_OK;
    uint64_t wanted = strtoull(argv[2], NULL, 10), passed = 0;
    while (passed < wanted && status == TAPLINE_STATUS_OK) {
        check(status = tapline_count_next(counter, -1, &figures, &count, NULL, &error), &error);
        if (status == TAPLINE_STATUS_OK) {
            printf("%s: %llu packets\n", figures[1].name, (unsigned long long)figures[1].packets);
            passed += figures[1].packets;
        }
    }

    check(tapline_count_totals(counter, &figures, &count, &error), &error);
    for (size_t at = 0; at < count; at++) {
        printf("%s in total: %llu packets, %llu bytes\n", figures[at].name, (unsigned long long)figures[at].packets,
               (unsigned long long)figures[at].bytes);
    }
    tapline_count_close(counter, NULL);
    return 0;
}
