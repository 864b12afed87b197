/* groups INTERFACE PACKETS: the groups of all UDP packets by destination port, when PACKETS have arrived. */
#include <stdlib.h>

#include "check.h"

int main(int count, char **words) {
    CHECK(count == 3);
    const char *interfaces[] = {words[1]};
    const tapline_count_class classes[] = {{.name = "udp", .filter = "udp"}};
    tapline_count_options options = {.size = sizeof options, .interfaces = interfaces, .interface_count = 1,
                                     .classes = classes, .class_count = 1, .interval_ns = 5000000,
                                     .direction = TAPLINE_COUNT_DIRECTION_IN, .by = 77, .max_groups = 2};
    const uint64_t wanted = strtoull(words[2], NULL, 10);
    tapline_count *counter = NULL;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "by is 77, which is not one of its values", tapline_count_open(&options, &counter, &error));
    options.by = TAPLINE_COUNT_BY_DST_PORT;
    OK(tapline_count_open(&options, &counter, &error));
    const tapline_group_count *groups;
    size_t number;
    uint64_t other;
    CHECK(tapline_count_groups(counter, 0, &groups, &number, &other, NULL) == TAPLINE_STATUS_END);
    printf("ready\n");
    fflush(stdout);

    const tapline_class_count *figures;
    size_t figure_count;
    do {
        OK(tapline_count_next(counter, -1, &figures, &figure_count, NULL, &error));
        OK(tapline_count_totals(counter, &figures, &figure_count, &error));
    } while (figures[0].packets < wanted);
    /* The groups of the totals are read after the class. */
    OK(tapline_count_totals(counter, &figures, &figure_count, &error));
    OK(tapline_count_groups(counter, 0, &groups, &number, &other, &error));
    for (size_t at = 0; at < number; at++) {
        printf("%s: %llu packets, %llu bytes\n", groups[at].key, (unsigned long long)groups[at].packets,
               (unsigned long long)groups[at].bytes);
    }
    printf("others: %llu packets\n", (unsigned long long)other);
    CHECK(tapline_count_groups(counter, 1, &groups, &number, &other, NULL) == TAPLINE_STATUS_END);
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_groups is null",
          tapline_count_groups(counter, 0, NULL, &number, NULL, &error));
    OK(tapline_count_close(counter, &error));
    return 0;
}
