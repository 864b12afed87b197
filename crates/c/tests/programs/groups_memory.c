/* groups_memory INTERFACE GROUPS: with too little memory for the groups of a count, reading them fails, and succeeds later.
 * Until all packets are counted, it prints after each interval how many are. */
#include <malloc.h>
#include <time.h>

#include "limit.h"

enum { MIB = 1 << 20, DEADLINE_SECONDS = 60 };

static const tapline_class_count *figures;
static size_t figure_count;

/* Opens a count of received UDP packets, in groups or not. */
static tapline_count *open_count(const char *name, uint32_t by, uint32_t max_groups) {
    const char *interfaces[] = {name};
    const tapline_count_class classes[] = {{.name = "udp", .filter = "udp"}};
    const tapline_count_options options = {.size = sizeof options, .interfaces = interfaces, .interface_count = 1,
                                           .classes = classes, .class_count = 1, .interval_ns = 5000000,
                                           .direction = TAPLINE_COUNT_DIRECTION_IN, .by = by, .max_groups = max_groups};
    tapline_count *counter = NULL;
    OK(tapline_count_open(&options, &counter, &error));
    return counter;
}

/* Waits until `counter` has counted all packets: prints after each interval how many it has. */
static void wait_for(tapline_count *counter, uint64_t packets) {
    const time_t start = time(NULL);
    do {
        CHECK(time(NULL) - start < DEADLINE_SECONDS);
        OK(tapline_count_next(counter, -1, &figures, &figure_count, NULL, &error));
        OK(tapline_count_totals(counter, &figures, &figure_count, &error));
        printf("%llu\n", (unsigned long long)figures[0].packets);
        fflush(stdout);
    } while (figures[0].packets < packets);
}

int main(int count, char **words) {
    CHECK(count == 3);
    const uint64_t wanted = strtoull(words[2], NULL, 10);
    /* The second one reads no groups, so that no memory for them is left over. */
    tapline_count *const by_port = open_count(words[1], TAPLINE_COUNT_BY_DST_PORT, 2 * (uint32_t)wanted);
    tapline_count *const plain = open_count(words[1], TAPLINE_COUNT_BY_NOTHING, 0);
    printf("ready\n");
    fflush(stdout);
    wait_for(plain, wanted);

    /* What opening the counts has freed is no reserve. */
    malloc_trim(0);
    limit_memory(MIB);
    NO_MEMORY("cannot read counters", tapline_count_totals(by_port, &figures, &figure_count, &error));
    NO_MEMORY("cannot read counters", tapline_count_next(by_port, -1, &figures, &figure_count, NULL, &error));
    OK(tapline_count_stop(by_port, &error));
    NO_MEMORY("cannot read counters", tapline_count_next(by_port, -1, &figures, &figure_count, NULL, &error));
    for (uint64_t spare = 2; spare < 64; spare *= 2) {
        limit_memory(spare * MIB);
        tapline_error *error = NULL;
        const tapline_status status = tapline_count_totals(by_port, &figures, &figure_count, &error);
        CHECK(status == TAPLINE_STATUS_OK || tapline_error_os_error(error) == ENOMEM);
        tapline_error_free(error);
    }
    const struct rlimit none = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &none) == 0);
    OK(tapline_count_totals(by_port, &figures, &figure_count, &error));
    CHECK(figures[0].packets == wanted);
    const tapline_group_count *groups;
    size_t number;
    uint64_t other;
    OK(tapline_count_groups(by_port, 0, &groups, &number, &other, &error));
    CHECK(number == wanted && other == 0);
    /* The intervals that could not be read are part of the next one, which is the last. */
    CHECK(tapline_count_next(by_port, -1, &figures, &figure_count, NULL, NULL) == TAPLINE_STATUS_OK);
    CHECK(figures[0].packets == wanted);
    CHECK(tapline_count_next(by_port, -1, &figures, &figure_count, NULL, NULL) == TAPLINE_STATUS_END);
    OK(tapline_count_close(plain, &error));
    OK(tapline_count_close(by_port, &error));
    printf("done\n");
    return 0;
}
