/* capture INTERFACE FILTER PACKETS: prints the packets, then the account. */
#include "check.h"

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
    };
    tapline_capture *capture = NULL;
    OK(tapline_capture_open(&options, &capture, &error));
    tapline_interface interface;
    OK(tapline_capture_interface(capture, 0, &interface, &error));
    CHECK(strcmp(interface.name, words[1]) == 0 && interface.link_type == 1);
    CHECK(tapline_capture_interface(capture, 1, &interface, NULL) == TAPLINE_STATUS_END);
    printf("ready\n");
    fflush(stdout);

    for (;;) {
        const tapline_packet *packets = NULL;
        size_t packet_count = 0;
        tapline_status status = TAPLINE_STATUS_OK;
        OK(status = tapline_capture_next_batch(capture, -1, &packets, &packet_count, &error));
        if (status == TAPLINE_STATUS_END) {
            break;
        }
        for (size_t at = 0; at < packet_count; at++) {
            CHECK(packets[at].direction == TAPLINE_DIRECTION_IN && packets[at].interface == 0);
            CHECK(packets[at].time_ns != TAPLINE_UNKNOWN && packets[at].queue == TAPLINE_NO_QUEUE);
            print_packet(&packets[at]);
        }
    }

    tapline_capture_stats stats = {.size = sizeof stats};
    OK(tapline_capture_finish(capture, &stats, &error));
    CHECK(stats.duration_ns != TAPLINE_UNKNOWN);
    printf("%llu received, %llu delivered, %llu bytes, %llu filtered, %llu lost\n", (unsigned long long)stats.received,
           (unsigned long long)stats.delivered, (unsigned long long)stats.delivered_bytes,
           (unsigned long long)stats.filtered,
           (unsigned long long)(stats.lost_ring + stats.lost_program + stats.lost_reader));
    return 0;
}
