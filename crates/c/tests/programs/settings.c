/* settings JOB KEY=VALUE …: a job with any of its options. */
#define _GNU_SOURCE
#include <pthread.h>

#include "words.h"

/* Prints the position of the interface and the length of each packet, and then the accounts. */
static void capture(char **words) {
    const char *names[4] = {text(words, "interface"), text(words, "second")};
    const tapline_capture_options options = {
        .size = sizeof options,
        .interfaces = names,
        .interface_count = names[1] == NULL ? 1 : 2,
        .netns = text(words, "netns"),
        .filter = text(words, "filter"),
        .buffer_bytes = number(words, "buffer_bytes"),
        .snaplen = (uint32_t)number(words, "snaplen"),
        .mode = (uint32_t)number(words, "mode"),
        .delivery = (uint32_t)number(words, "delivery"),
        .direction = (uint32_t)number(words, "direction"),
        .delivery_ns = number(words, "delivery_ns"),
        .delivery_bytes = number(words, "delivery_bytes"),
        .max_packets = number(words, "max_packets"),
        .backend = (uint32_t)number(words, "backend"),
        .xdp_mode = (uint32_t)number(words, "xdp_mode"),
        .no_promiscuous = (uint32_t)number(words, "no_promiscuous"),
        .drop_others = (uint32_t)number(words, "drop_others"),
    };
    tapline_capture *capture = NULL;
    OK(tapline_capture_open(&options, &capture, &error));
    int fd = -1, stop_fd = -1;
    OK(tapline_capture_fd(capture, &fd, &error));
    OK(tapline_capture_stop_fd(capture, &stop_fd, &error));
    ready();
    tapline_capture_stats stats = {.size = sizeof stats};
    bool has_input = true;
    if (number(words, "late") != 0) {
        wait_for_input();
        for (stats.received = 0; stats.received < number(words, "late");) {
            const tapline_packet *packets = NULL;
            size_t count = 0;
            OK(tapline_capture_next_batch(capture, 100000000, &packets, &count, &error));
            OK(tapline_capture_stats_read(capture, &stats, &error));
        }
        CHECK(write(stop_fd, "", 1) == 1);
        has_input = false;
    }
    if (text(words, "refilter") != NULL) {
        wait_for_input();
        has_input = false;
        const tapline_status changed = tapline_capture_set_filter(capture, text(words, "refilter"), NULL);
        if (changed != TAPLINE_STATUS_OK) {
            printf("status %d\n", (int)changed);
            OK(tapline_capture_close(capture, &error));
            return;
        }
        ready();
    }
    /* For packets that are to wait for their batch. */
    const int64_t timeout_ns = number(words, "wait") != 0 ? -1 : 0;
    tapline_status status = TAPLINE_STATUS_OK;
    while (status != TAPLINE_STATUS_END) {
        if (timeout_ns == 0) {
            has_input = wait_for_work(fd, stop_fd, has_input);
        }
        size_t count = 1;
        while (status != TAPLINE_STATUS_END && count > 0) {
            const tapline_packet *packets = NULL;
            count = 0;
            OK(status = tapline_capture_next_batch(capture, timeout_ns, &packets, &count, &error));
            for (size_t at = 0; at < count && number(words, "late") == 0; at++) {
                printf("%u: %u of %u\n", packets[at].interface, packets[at].captured_len, packets[at].len);
            }
        }
    }
    for (size_t at = 0; at < options.interface_count; at++) {
        OK(tapline_capture_interface_stats(capture, at, &stats, &error));
        printf("%zu: %llu delivered\n", at, (unsigned long long)stats.delivered);
    }
    OK(tapline_capture_finish(capture, &stats, &error));
    CHECK(stats.received == stats.delivered + stats.filtered + stats.lost_ring);
    printf("%llu received, %s\n", (unsigned long long)stats.received, stats.lost_ring > 0 ? "some lost" : "none lost");
}

static void send_packets(char **words) {
    const tapline_sender_options options = {
        .size = sizeof options,
        .interface = text(words, "interface"),
        .netns = text(words, "netns"),
        .rate = number(words, "rate"),
        .rate_unit = (uint32_t)number(words, "rate_unit"),
        .path = (uint32_t)number(words, "path"),
        .long_frames = (uint32_t)number(words, "long_frames"),
        .allow_uplink = (uint32_t)number(words, "allow_uplink"),
        .max_packets = number(words, "max_packets"),
    };
    tapline_sender *sender = NULL;
    tapline_error *failure = NULL;
    const tapline_status opened = tapline_sender_open(&options, &sender, &failure);
    if (opened != TAPLINE_STATUS_OK) {
        printf("%s\n", tapline_error_hint(failure));
        tapline_error_free(failure);
        return;
    }
    uint8_t frame[4096] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
    const uint64_t start_ns = monotonic_ns() + number(words, "start_ns");
    tapline_queue *queue = NULL;
    OK(tapline_queue_create(0, 0, &queue, &error));
    OK(tapline_queue_push(queue, start_ns, frame, sizeof frame, &error));
    OK(tapline_queue_clear(queue, &error));
    for (uint64_t at = 0; at < number(words, "count"); at++) {
        OK(tapline_queue_push(queue, start_ns + at * number(words, "gap_ns"), frame, number(words, "bytes"), &error));
    }
    if (number(words, "inject") != 0) {
        OK(tapline_sender_inject(sender, frame, number(words, "bytes"), &error));
    }
    OK(tapline_sender_transmit(sender, queue, &error));
    OK(tapline_queue_free(queue, &error));
    const uint64_t end_ns = monotonic_ns();
    CHECK(options.rate_unit != TAPLINE_RATE_ABSOLUTE || end_ns >= start_ns);
    tapline_sender_stats stats = {.size = sizeof stats};
    OK(tapline_sender_finish(sender, &stats, &error));
    CHECK(stats.duration_ns >= number(words, "least_ns"));
    printf("%llu accepted, %llu truncated, %llu skipped\n", (unsigned long long)stats.accepted,
           (unsigned long long)stats.truncated, (unsigned long long)stats.skipped);
}

static void ping(char **words) {
    const char *const targets[] = {text(words, "target"), text(words, "also")};
    const tapline_ping_options options = {
        .size = sizeof options,
        .targets = targets,
        .target_count = targets[1] == NULL ? 1 : 2,
        .interval_ns = number(words, "interval_ns"),
        .timeout_ns = number(words, "timeout_ns"),
        .max_ns = number(words, "max_ns"),
        .count = (uint32_t)number(words, "count"),
        .payload_bytes = (uint32_t)number(words, "payload_bytes"),
        .rate_pps = (uint32_t)number(words, "rate_pps"),
        .ttl = (uint32_t)number(words, "ttl"),
        .interface = text(words, "interface"),
        .dont_fragment = (uint32_t)number(words, "dont_fragment"),
        .histograms = (uint32_t)number(words, "histograms"),
        .netns = text(words, "netns"),
        .source = text(words, "source"),
        .tos = (uint32_t)number(words, "tos"),
        .family = (uint32_t)number(words, "family"),
    };
    const uint64_t start_ns = monotonic_ns();
    tapline_ping *ping = NULL;
    const tapline_status opened = tapline_ping_open(&options, &ping, NULL);
    if (opened != TAPLINE_STATUS_OK) {
        printf("status %d\n", (int)opened);
        return;
    }
    tapline_status status = TAPLINE_STATUS_OK;
    while (status != TAPLINE_STATUS_END) {
        const tapline_ping_event *events = NULL;
        size_t count = 0;
        OK(status = tapline_ping_next_batch(ping, -1, &events, &count, &error));
    }
    CHECK(monotonic_ns() - start_ns >= number(words, "least_ns"));
    tapline_ping_stats target = {.size = sizeof target}, all = {.size = sizeof all};
    OK(tapline_ping_target_stats(ping, 0, &target, &error));
    const char *name = NULL;
    for (uint32_t at = 0; number(words, "names") != 0; at++) {
        OK(status = tapline_ping_target_stats(ping, at, &target, &error));
        CHECK(tapline_ping_target_name(ping, at, &name, NULL) == status);
        if (status == TAPLINE_STATUS_END) {
            break;
        }
        printf("%s %s\n", name == NULL ? "-" : name, target.address);
    }
    tapline_ping_stats before = {.size = sizeof before};
    OK(tapline_ping_stats_read(ping, &before, &error));
    OK(tapline_ping_finish(ping, &all, &error));
    CHECK(before.sent == all.sent && before.received == all.received && before.lost == all.lost);
    printf("%llu sent, %llu received, %s\n", (unsigned long long)all.sent, (unsigned long long)all.received,
           target.rtt_p50_ns == TAPLINE_UNKNOWN ? "no quantiles" : "quantiles");
}

/* Counts received packets until there are max_packets. */
static void count_packets(char **words) {
    const char *const names[] = {text(words, "interface")};
    const tapline_count_options options = {
        .size = sizeof options,
        .interfaces = names,
        .interface_count = 1,
        .interval_ns = 5000000,
        .max_ns = 20000000000,
        .direction = TAPLINE_COUNT_DIRECTION_IN,
        .netns = text(words, "netns"),
    };
    tapline_count *counter = NULL;
    OK(tapline_count_open(&options, &counter, &error));
    ready();
    const tapline_class_count *figures = NULL;
    uint64_t packets = 0, bytes = 0;
    size_t count = 0;
    while (packets < number(words, "max_packets") &&
           tapline_count_next(counter, -1, &figures, &count, NULL, NULL) == TAPLINE_STATUS_OK) {
        packets += figures[0].packets;
        bytes += figures[0].bytes;
    }
    OK(tapline_count_close(counter, &error));
    printf("%llu packets, %llu bytes\n", (unsigned long long)packets, (unsigned long long)bytes);
}

/* Writes packets of 100 bytes, a second from one to the next, the first at a multiple of ten seconds. */
static void files(char **words) {
    const tapline_writer_options options = {
        .size = sizeof options,
        .format = (uint32_t)number(words, "format"),
        .zstd = (uint32_t)number(words, "zstd"),
        .rotate_bytes = number(words, "rotate_bytes"),
        .rotate_ns = number(words, "rotate_ns"),
        .rotate_packets = number(words, "rotate_packets"),
        .keep_files = number(words, "keep_files"),
    };
    tapline_writer *writer = NULL;
    OK(tapline_writer_create(text(words, "path"), &options, &writer, &error));
    const uint8_t data[100] = {0};
    const uint64_t start = (uint64_t)time(NULL) / 10 * 10;
    for (uint64_t at = 0; at < number(words, "count"); at++) {
        const tapline_packet packet = {
            .data = data, .captured_len = sizeof data, .len = sizeof data, .time_ns = (start + at) * 1000000000};
        OK(tapline_writer_write(writer, &packet, 1, &error));
    }
    uint64_t packets = 0;
    OK(tapline_writer_close(writer, &packets, &error));
    printf("%llu written\n", (unsigned long long)packets);
}

/* Copies a file. Its interfaces are known in the order in which they appear. */
static void copy(char **words) {
    tapline_reader *reader = NULL;
    OK(tapline_reader_open(text(words, "from"), NULL, &reader, &error));
    tapline_interface interface;
    CHECK(tapline_reader_interface(reader, 0, &interface, NULL) == TAPLINE_STATUS_OK);
    const tapline_writer_options options = {
        .size = sizeof options, .interfaces = &interface, .interface_count = 1, .format = (uint32_t)number(words, "format")};
    tapline_writer *writer = NULL;
    OK(tapline_writer_create(text(words, "path"), &options, &writer, &error));
    const tapline_packet *packets = NULL;
    size_t count = 0;
    tapline_status status = TAPLINE_STATUS_OK;
    for (uint32_t known = 1;;) {
        OK(status = tapline_reader_next_batch(reader, &packets, &count, &error));
        if (status == TAPLINE_STATUS_END) {
            break;
        }
        while (tapline_reader_interface(reader, known, &interface, NULL) == TAPLINE_STATUS_OK) {
            uint32_t position = 0;
            OK(tapline_writer_add_interface(writer, &interface, &position, &error));
            CHECK(position == known++);
        }
        OK(tapline_writer_write(writer, packets, count, &error));
    }
    uint64_t written = 0;
    OK(tapline_writer_close(writer, &written, &error));
    OK(tapline_reader_close(reader, &error));
    printf("%llu written\n", (unsigned long long)written);
}

static void *stop_reader(void *reader) {
    wait_for_input();
    OK(tapline_reader_stop(reader, &error));
    return NULL;
}

/* Prints the number of packets of each batch. The end of the input ends a call that waits. */
static void live(char **words) {
    const tapline_reader_options options = {.size = sizeof options, .filter = text(words, "filter")};
    tapline_reader *reader = NULL;
    OK(tapline_reader_open(text(words, "from"), &options, &reader, &error));
    pthread_t stopping;
    CHECK(pthread_create(&stopping, NULL, stop_reader, reader) == 0);
    tapline_status status = TAPLINE_STATUS_OK;
    while (status == TAPLINE_STATUS_OK) {
        const tapline_packet *packets = NULL;
        size_t count = 0;
        OK(status = tapline_reader_next_batch(reader, &packets, &count, &error));
        printf("%zu packets\n", count);
        fflush(stdout);
    }
    CHECK(pthread_join(stopping, NULL) == 0);
    OK(tapline_reader_close(reader, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed", tapline_reader_stop(reader, &error));
}

int main(int count, char **words) {
    CHECK(count >= 2);
    const char *const job = words[1];
    words += 2;
    if (strcmp(job, "capture") == 0) {
        capture(words);
    } else if (strcmp(job, "send") == 0) {
        send_packets(words);
    } else if (strcmp(job, "ping") == 0) {
        ping(words);
    } else if (strcmp(job, "count") == 0) {
        count_packets(words);
    } else if (strcmp(job, "copy") == 0) {
        copy(words);
    } else if (strcmp(job, "live") == 0) {
        live(words);
    } else {
        files(words);
    }
    return 0;
}
