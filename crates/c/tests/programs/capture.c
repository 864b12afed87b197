/* capture INTERFACE FILTER PACKETS: prints the packets, then the account. */
#include "check.h"
#include <time.h>

static uint64_t realtime_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(int count, char **words) {
    CHECK(count == 4);
    const char *interfaces[] = {words[1]};
    tapline_capture_options options = {
        .size = sizeof options,
        .interfaces = interfaces,
        .interface_count = 1,
        .filter = words[2],
        .snaplen = 2000,
        .delivery = TAPLINE_DELIVERY_IMMEDIATE,
        .max_ns = 20000000000,
        .max_packets = strtoull(words[3], NULL, 10),
        .measure_delays = 1,
    };
    tapline_capture *capture = NULL;
    OK(tapline_capture_open(&options, &capture, &error));
    tapline_interface interface;
    OK(tapline_capture_interface(capture, 0, &interface, &error));
    CHECK(strcmp(interface.name, words[1]) == 0 && interface.link_type == 1);
    CHECK(tapline_capture_interface(capture, 1, &interface, NULL) == TAPLINE_STATUS_END);
    printf("ready\n");
    fflush(stdout);

    /* The delays as this program sees them, just after the library. */
    uint64_t shortest = UINT64_MAX, longest = 0;
    for (;;) {
        const tapline_packet *packets = NULL;
        size_t packet_count = 0;
        tapline_status status = TAPLINE_STATUS_OK;
        OK(status = tapline_capture_next_batch(capture, -1, &packets, &packet_count, &error));
        if (status == TAPLINE_STATUS_END) {
            break;
        }
        const uint64_t now_ns = realtime_ns();
        for (size_t at = 0; at < packet_count; at++) {
            const uint64_t delay_ns = now_ns - packets[at].time_ns;
            shortest = delay_ns < shortest ? delay_ns : shortest;
            longest = delay_ns > longest ? delay_ns : longest;
            CHECK(packets[at].direction == TAPLINE_DIRECTION_IN && packets[at].interface == 0);
            CHECK(packets[at].time_ns != TAPLINE_UNKNOWN && packets[at].queue == TAPLINE_NO_QUEUE);
            print_packet(&packets[at]);
        }
    }

    tapline_delays delays = {.size = sizeof delays};
    OK(tapline_capture_delays(capture, &delays, &error));
    CHECK(delays.packets == options.max_packets && delays.ahead == 0 && delays.unstamped == 0);
    CHECK(delays.min_ns <= shortest && delays.max_ns <= longest);
    CHECK(delays.min_ns <= delays.p50_ns && delays.p50_ns <= delays.p99_ns && delays.p99_ns <= delays.p999_ns);
    CHECK(delays.p999_ns <= delays.max_ns && delays.min_ns <= delays.mean_ns && delays.mean_ns <= delays.max_ns);

    tapline_capture_stats stats = {.size = sizeof stats};
    OK(tapline_capture_finish(capture, &stats, &error));
    CHECK(stats.duration_ns != TAPLINE_UNKNOWN);
    printf("%llu received, %llu delivered, %llu bytes, %llu filtered, %llu lost\n", (unsigned long long)stats.received,
           (unsigned long long)stats.delivered, (unsigned long long)stats.delivered_bytes,
           (unsigned long long)stats.filtered,
           (unsigned long long)(stats.lost_ring + stats.lost_program + stats.lost_reader));
    return 0;
}
