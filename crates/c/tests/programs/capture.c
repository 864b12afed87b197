/* capture INTERFACE FILTER PACKETS WAY...: captures once for each way, and prints the packets, then the account. It reads them
 * in arrays, or packet by packet from blocks or frames, with a cursor that it leaves after every third packet. */
#include <tapline/cursor.h>

#include "check.h"
#include <time.h>

static uint64_t realtime_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The delays as this program sees them, just after the library. */
static uint64_t shortest, longest;

static void receive(const tapline_packet *packet, uint64_t now_ns) {
    const uint64_t delay_ns = now_ns - packet->time_ns;
    shortest = delay_ns < shortest ? delay_ns : shortest;
    longest = delay_ns > longest ? delay_ns : longest;
    CHECK(packet->direction == TAPLINE_DIRECTION_IN && packet->interface == 0 && packet->drops_before == 0);
    CHECK(packet->time_ns != TAPLINE_UNKNOWN && packet->queue == TAPLINE_NO_QUEUE);
    CHECK(packet->reception != TAPLINE_RECEPTION_UNKNOWN);
    print_packet(packet);
}

static void read_arrays(tapline_capture *capture) {
    for (;;) {
        const tapline_packet *packets = NULL;
        size_t packet_count = 0;
        tapline_status status = TAPLINE_STATUS_OK;
        OK(status = tapline_capture_next_batch(capture, -1, &packets, &packet_count, &error));
        if (status == TAPLINE_STATUS_END) {
            return;
        }
        const uint64_t now_ns = realtime_ns();
        for (size_t at = 0; at < packet_count; at++) {
            receive(&packets[at], now_ns);
        }
    }
}

/* Turns to an array now and then, which has what the cursor has not passed. */
static void read_cursor(tapline_capture *capture) {
    for (unsigned turn = 1;; turn++) {
        tapline_cursor *cursor = NULL;
        tapline_status status = TAPLINE_STATUS_OK;
        OK(status = tapline_capture_next_packets(capture, -1, &cursor, &error));
        if (status == TAPLINE_STATUS_END) {
            return;
        }
        tapline_packet packet;
        for (int at = 0; at < 3 && tapline_cursor_next(cursor, &packet); at++) {
            receive(&packet, realtime_ns());
        }
        if (turn % 16 != 0) {
            continue;
        }
        const tapline_packet *packets = NULL;
        size_t packet_count = 0;
        OK(tapline_capture_next_batch(capture, 0, &packets, &packet_count, &error));
        CHECK(!tapline_cursor_next(cursor, &packet));
        for (size_t at = 0; at < packet_count; at++) {
            receive(&packets[at], realtime_ns());
        }
    }
}

static void run(char **words, const char *way) {
    const bool has_cursor = strcmp(way, "arrays") != 0, has_blocks = strcmp(way, "blocks") == 0;
    const char *interfaces[] = {words[1]};
    shortest = UINT64_MAX;
    longest = 0;
    tapline_capture_options options = {
        .size = sizeof options,
        .interfaces = interfaces,
        .interface_count = 1,
        .filter = words[2],
        .snaplen = 2000,
        .backend = has_blocks ? TAPLINE_BACKEND_PACKET_V3 : TAPLINE_BACKEND_AUTO,
        .delivery = has_blocks ? TAPLINE_DELIVERY_BATCH : TAPLINE_DELIVERY_IMMEDIATE,
        .max_ns = 20000000000,
        .max_packets = strtoull(words[3], NULL, 10),
        /* Packets whose delays are measured are in arrays. */
        .measure_delays = !has_cursor,
    };
    tapline_capture *capture = NULL;
    OK(tapline_capture_open(&options, &capture, &error));
    tapline_interface interface;
    OK(tapline_capture_interface(capture, 0, &interface, &error));
    CHECK(strcmp(interface.name, words[1]) == 0 && interface.link_type == 1);
    CHECK(tapline_capture_interface(capture, 1, &interface, NULL) == TAPLINE_STATUS_END);
    printf("ready\n");
    fflush(stdout);

    (has_cursor ? read_cursor : read_arrays)(capture);

    if (!has_cursor) {
        tapline_delays delays = {.size = sizeof delays};
        OK(tapline_capture_delays(capture, &delays, &error));
        CHECK(delays.packets == options.max_packets && delays.ahead == 0 && delays.unstamped == 0);
        CHECK(delays.min_ns <= shortest && delays.max_ns <= longest);
        CHECK(delays.min_ns <= delays.p50_ns && delays.p50_ns <= delays.p99_ns && delays.p99_ns <= delays.p999_ns);
        CHECK(delays.p999_ns <= delays.max_ns && delays.min_ns <= delays.mean_ns && delays.mean_ns <= delays.max_ns);
    }

    tapline_capture_stats stats = {.size = sizeof stats};
    OK(tapline_capture_finish(capture, &stats, &error));
    CHECK(stats.duration_ns != TAPLINE_UNKNOWN);
    printf("%llu received, %llu delivered, %llu bytes, %llu filtered, %llu lost\n", (unsigned long long)stats.received,
           (unsigned long long)stats.delivered, (unsigned long long)stats.delivered_bytes,
           (unsigned long long)stats.filtered,
           (unsigned long long)(stats.lost_ring + stats.lost_program + stats.lost_reader));
    fflush(stdout);
}

int main(int count, char **words) {
    CHECK(count >= 5);
    for (int at = 4; at < count; at++) {
        run(words, words[at]);
    }
    return 0;
}
