/* Pings hosts, prefixes and ranges three times each: ping 192.0.2.1 198.51.100.0/28 */
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
    if (argc < 2) {
        fprintf(stderr, "usage: ping TARGET...\n");
        return 2;
    }
    tapline_error *error = NULL;
    tapline_ping_options options = {
        .size = sizeof options,
        .targets = (const char *const *)argv + 1,
        .target_count = (size_t)(argc - 1),
        .count = 3,
        .interval_ns = 100000000,
    };
    tapline_ping *ping;
    check(tapline_ping_open(&options, &ping, &error), &error);

    const tapline_ping_event *events;
    size_t count, answers = 0;
    tapline_status status;
    while ((status = tapline_ping_next_batch(ping, -1, &events, &count, &error)) == TAPLINE_STATUS_OK) {
        for (size_t at = 0; at < count; at++) {
            answers += events[at].kind == TAPLINE_PING_EVENT_KIND_RECEIVED;
        }
    }
    check(status, &error);

    tapline_ping_stats stats = {.size = sizeof stats};
    for (uint32_t target = 0; tapline_ping_target_stats(ping, target, &stats, NULL) == TAPLINE_STATUS_OK; target++) {
        printf("%s: %llu sent, %llu received\n", stats.address, (unsigned long long)stats.sent,
               (unsigned long long)stats.received);
    }
    check(tapline_ping_finish(ping, &stats, &error), &error);
    printf("%zu answers, %llu lost\n", answers, (unsigned long long)stats.lost);
    return 0;
}
