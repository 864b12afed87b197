/* misuse INTERFACE: what C code may do wrong is an error, and never a crash. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tapline/cursor.h>

#include "check.h"

static const tapline_packet *packets;
static size_t packet_count;

static void arguments(const char *name) {
    const char *interfaces[] = {name};
    tapline_capture_options options = {.size = sizeof options, .interfaces = interfaces, .interface_count = 1};
    tapline_capture *capture = NULL;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_capture is null", tapline_capture_open(&options, NULL, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "no interface", tapline_capture_open(NULL, &capture, &error));
    options.size = 0;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "the size of tapline_capture_options is 0",
          tapline_capture_open(&options, &capture, &error));
    options.size = (size_t)-1;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "the size of", tapline_capture_open(&options, &capture, &error));
    /* No struct ends within a word. */
    options.size = 17;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "the size of tapline_capture_options is 17",
          tapline_capture_open(&options, &capture, &error));
    options.size = sizeof options;
    options.mode = 17;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "mode is 17, which is not one of its values", tapline_capture_open(&options, &capture, &error));
    options.mode = TAPLINE_CAPTURE_MODE_MIRROR;
    options.measure_delays = options.hardware_timestamps = 1;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "the kernel's time stamps", tapline_capture_open(&options, &capture, &error));
    options.measure_delays = options.hardware_timestamps = 0;
    options.interfaces = NULL;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "interfaces is null", tapline_capture_open(&options, &capture, &error));
    interfaces[0] = NULL;
    options.interfaces = interfaces;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "is null", tapline_capture_open(&options, &capture, &error));
    interfaces[0] = "\xff\xfe";
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "not UTF-8", tapline_capture_open(&options, &capture, &error));
    interfaces[0] = "nowhere0";
    FAILS(TAPLINE_STATUS_NOT_FOUND, "nowhere0", tapline_capture_open(&options, &capture, &error));
    interfaces[0] = name;
    options.filter = "udp prot 53";
    FAILS(TAPLINE_STATUS_SYNTAX, "prot", tapline_capture_open(&options, &capture, &error));
    tapline_error *error = NULL;
    CHECK(tapline_capture_open(&options, &capture, &error) == TAPLINE_STATUS_SYNTAX);
    CHECK(strcmp(tapline_error_hint(error), "did you mean \"port\"?") == 0);
    CHECK(tapline_error_kernel_text(error) == NULL && tapline_error_os_error(error) == 0);
    CHECK(tapline_error_attribute(error) == NULL);
    tapline_error_free(error);
    tapline_error_free(error);
    CHECK(tapline_error_status(error) == TAPLINE_STATUS_INVALID_HANDLE);
    CHECK(tapline_error_hint(error) == NULL && tapline_error_message(error) != NULL);
    tapline_error_free(NULL);
    CHECK(capture == NULL);
}

/* Structs of other versions of the header. */
static void versions(const char *name) {
    struct newer {
        tapline_filter_options known;
        uint64_t unknown;
    } newer = {.known = {.size = sizeof newer, .snaplen = 77}};
    tapline_filter *filter = NULL;
    OK(tapline_filter_compile("", &newer.known, &filter, &error));
    tapline_packet packet = {.data = (const uint8_t *)"0123456789abcdef", .captured_len = 16, .len = 16};
    uint32_t keep = 1;
    OK(tapline_filter_run(filter, &packet, 1, &keep, &error));
    CHECK(keep == 77);
    OK(tapline_filter_free(filter, &error));
    newer.unknown = 1;
    FAILS(TAPLINE_STATUS_UNSUPPORTED, "options that tapline", tapline_filter_compile("", &newer.known, &filter, &error));

    /* An older struct ends with its interfaces; what lies behind it is not looked at. */
    const char *interfaces[] = {name};
    tapline_capture_options older;
    memset(&older, 0xff, sizeof older);
    older.size = offsetof(tapline_capture_options, netns);
    older.interfaces = interfaces;
    older.interface_count = 1;
    tapline_capture *capture = NULL;
    OK(tapline_capture_open(&older, &capture, &error));

    /* Of results, too, no more is written than there is room for. */
    tapline_capture_stats stats;
    memset(&stats, 0xff, sizeof stats);
    stats.size = offsetof(tapline_capture_stats, lost_nic);
    OK(tapline_capture_stats_read(capture, &stats, &error));
    CHECK(stats.delivered == 0 && stats.lost_ring == UINT64_MAX);
    CHECK(stats.size == offsetof(tapline_capture_stats, lost_nic));
    tapline_capture_stats of_one = {.size = sizeof of_one};
    CHECK(tapline_capture_interface_stats(capture, 1, &of_one, NULL) == TAPLINE_STATUS_END);
    OK(tapline_capture_interface_stats(capture, 0, &of_one, &error));
    tapline_delays delays = {.size = sizeof delays};
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "no option measure_delays", tapline_capture_delays(capture, &delays, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_delays is null", tapline_capture_delays(capture, NULL, &error));
    stats.size = 3;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "the size of", tapline_capture_finish(capture, &stats, &error));
    OK(tapline_capture_close(capture, &error));
}

static void handles(const char *name) {
    const char *interfaces[] = {name};
    tapline_capture_options options = {.size = sizeof options, .interfaces = interfaces, .interface_count = 1};
    tapline_capture *capture = NULL;
    int fd = -1;
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "the capture handle is null",
          tapline_capture_next_batch(NULL, 0, &packets, &packet_count, &error));
    OK(tapline_capture_open(&options, &capture, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "this is a capture handle, and not a ping handle",
          tapline_ping_fd((tapline_ping *)capture, &fd, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_packets is null",
          tapline_capture_next_batch(capture, 0, NULL, &packet_count, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_cursor is null",
          tapline_capture_next_packets(capture, 0, NULL, &error));
    tapline_cursor *cursor = NULL;
    tapline_packet taken;
    OK(tapline_capture_next_packets(capture, 0, &cursor, &error));
    CHECK(cursor != NULL && !tapline_cursor_next(cursor, NULL) && !tapline_cursor_next(NULL, &taken));
    /* Whatever a program writes into the cursor stays within the ring. */
    static const uint64_t wrong[] = {UINT64_MAX, TAPLINE_CURSOR_PACKET - 1};
    for (size_t at = 0; at < sizeof wrong / sizeof wrong[0]; at++) {
        cursor->progress = wrong[at];
        cursor->frame = (const uint8_t *)&taken;
        OK(tapline_capture_next_packets(capture, 0, &cursor, &error));
    }
    FAILS(TAPLINE_STATUS_SYNTAX, "prot", tapline_capture_set_filter(capture, "udp prot 53", &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "not UTF-8", tapline_capture_set_filter(capture, "\xff", &error));
    OK(tapline_capture_set_filter(capture, NULL, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "out_stats is null", tapline_capture_stats_read(capture, NULL, &error));
    OK(tapline_capture_fd(capture, &fd, &error));
    CHECK(fd >= 0);
    OK(tapline_capture_close(capture, &error));
    OK(tapline_capture_close(NULL, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed", tapline_capture_close(capture, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed",
          tapline_capture_next_batch(capture, 0, &packets, &packet_count, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed",
          tapline_capture_next_packets(capture, 0, &cursor, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "has been closed", tapline_capture_stop(capture, &error));
    int here = 0;
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "handle", tapline_capture_stop((tapline_capture *)(void *)&here, &error));

    /* Without a place for the error, the status is enough. */
    CHECK(tapline_capture_stop(capture, NULL) == TAPLINE_STATUS_INVALID_HANDLE);

    tapline_queue *queue = NULL;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "too large", tapline_queue_create((size_t)-1, 0, &queue, &error));
    OK(tapline_queue_create(0, 0, &queue, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "data is null", tapline_queue_push(queue, 0, NULL, 60, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "no bytes", tapline_queue_push(queue, 0, NULL, 0, &error));
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "sender handle is null", tapline_sender_transmit(NULL, queue, &error));
    const uint8_t frame[60] = {0};
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "sender handle is null", tapline_sender_inject(NULL, frame, sizeof frame, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "no bytes", tapline_sender_inject(NULL, frame, 0, &error));
    OK(tapline_queue_free(queue, &error));

    tapline_writer *writer = NULL;
    FAILS(TAPLINE_STATUS_NOT_FOUND, "nowhere", tapline_writer_create("/nowhere/file", NULL, &writer, &error));
    OK(tapline_writer_create("/dev/null", NULL, &writer, &error));
    tapline_packet packet = {.interface = 7};
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "interface 7", tapline_writer_write(writer, &packet, 1, &error));
    packet = (tapline_packet){.captured_len = 60, .len = 60};
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "null", tapline_writer_write(writer, &packet, 1, &error));
    packet = (tapline_packet){.direction = 9};
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "direction", tapline_writer_write(writer, &packet, 1, &error));
    packet = (tapline_packet){.reserved = {[4] = 1}};
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "reserved", tapline_writer_write(writer, &packet, 1, &error));
    const tapline_interface later = {.link_type = 1, .reserved = 1};
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "reserved", tapline_writer_add_interface(writer, &later, NULL, &error));
    static const uint8_t large[1 << 24];
    packet = (tapline_packet){.data = large, .captured_len = sizeof large, .len = sizeof large};
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "longer than", tapline_writer_write(writer, &packet, 1, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "interface is null", tapline_writer_add_interface(writer, NULL, NULL, &error));
    OK(tapline_writer_close(writer, NULL, &error));
    /* A pcap file has one link type, and times of 32 bits. */
    const tapline_interface interfaces_of_two[] = {{.link_type = 1}, {.link_type = 101}};
    tapline_writer_options written = {
        .size = sizeof written, .interfaces = interfaces_of_two, .interface_count = 2, .format = TAPLINE_FORMAT_PCAP};
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "link type 101", tapline_writer_create("/dev/null", &written, &writer, &error));
    written.interface_count = 1;
    OK(tapline_writer_create("/dev/null", &written, &writer, &error));
    uint32_t position = 7;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "link type 101",
          tapline_writer_add_interface(writer, &interfaces_of_two[1], &position, &error));
    CHECK(position == 7);
    OK(tapline_writer_add_interface(writer, &interfaces_of_two[0], NULL, &error));
    packet = (tapline_packet){.interface = 1, .time_ns = (uint64_t)1 << 62};
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "time stamp", tapline_writer_write(writer, &packet, 1, &error));
    OK(tapline_writer_close(writer, NULL, &error));
    tapline_reader *reader = NULL;
    FAILS(TAPLINE_STATUS_NOT_FOUND, "nowhere", tapline_reader_open("/nowhere", NULL, &reader, &error));
    FAILS(TAPLINE_STATUS_DAMAGED, "", tapline_reader_open("/proc/self/status", NULL, &reader, &error));
}

static volatile sig_atomic_t signals;

static void note_signal(int number) {
    (void)number;
    signals = signals + 1;
}

/* A reader that goes away is an error, and no signal. */
static void closed_pipe(void) {
    char folder[] = "/tmp/tapline-misuse-XXXXXX", path[64];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/fifo", folder);
    CHECK(mkfifo(path, 0600) == 0);
    const int reader = open(path, O_RDONLY | O_NONBLOCK);
    CHECK(reader >= 0);
    tapline_writer *writer = NULL;
    OK(tapline_writer_create(path, NULL, &writer, &error));
    CHECK(close(reader) == 0);
    struct sigaction action = {.sa_handler = note_signal}, before;
    CHECK(sigaction(SIGPIPE, &action, &before) == 0);
    const tapline_packet packet = {.data = (const uint8_t *)"0123456789abcdef", .captured_len = 16, .len = 16};
    OK(tapline_writer_write(writer, &packet, 1, &error));
    tapline_error *failure = NULL;
    CHECK(tapline_writer_flush(writer, &failure) == TAPLINE_STATUS_SYSTEM);
    CHECK(tapline_error_os_error(failure) == EPIPE);
    tapline_error_free(failure);
    OK(tapline_writer_write(writer, &packet, 1, &error));
    FAILS(TAPLINE_STATUS_SYSTEM, "Broken pipe", tapline_writer_close(writer, NULL, &error));
    CHECK(signals == 0);
    /* The caller's own writes cause signals as before. */
    int ends[2];
    CHECK(pipe(ends) == 0 && close(ends[0]) == 0);
    CHECK(write(ends[1], "", 1) == -1 && errno == EPIPE && signals == 1);
    CHECK(close(ends[1]) == 0 && sigaction(SIGPIPE, &before, NULL) == 0);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
}

static void *run_filter(void *filter) {
    static const uint8_t bytes[60];
    const tapline_packet packet = {.data = bytes, .len = 60, .captured_len = 60};
    for (int run = 0; run < 2000; ++run) {
        uint32_t keep = 1;
        CHECK(tapline_filter_run(filter, &packet, 1, &keep, NULL) == TAPLINE_STATUS_OK && keep == 0);
    }
    return NULL;
}

/* Several threads run one filter. */
static void shared_filter(void) {
    tapline_filter *filter = NULL;
    pthread_t others[3];
    OK(tapline_filter_compile("udp", NULL, &filter, &error));
    for (size_t at = 0; at < 3; ++at) {
        CHECK(pthread_create(&others[at], NULL, run_filter, filter) == 0);
    }
    run_filter(filter);
    for (size_t at = 0; at < 3; ++at) {
        CHECK(pthread_join(others[at], NULL) == 0);
    }
    OK(tapline_filter_free(filter, &error));
}

static void *wait_for_packets(void *capture) {
    tapline_status status = TAPLINE_STATUS_OK;
    /* The main thread tries to be in a call, too. */
    while (status == TAPLINE_STATUS_OK || status == TAPLINE_STATUS_IN_USE) {
        status = tapline_capture_next_batch(capture, -1, &packets, &packet_count, NULL);
    }
    CHECK(status == TAPLINE_STATUS_END);
    pthread_testcancel();
    return NULL;
}

/* Another thread in a call is an error, too; `stop` and `stats_read` are for every thread. A cancellation takes effect after the
 * call. */
static void threads(const char *name) {
    const char *interfaces[] = {name};
    tapline_capture_options options = {.size = sizeof options, .interfaces = interfaces, .interface_count = 1};
    tapline_capture *capture = NULL;
    OK(tapline_capture_open(&options, &capture, &error));
    pthread_t waiting;
    CHECK(pthread_create(&waiting, NULL, wait_for_packets, capture) == 0);
    tapline_error *failed = NULL;
    const tapline_packet *others;
    size_t count;
    /* Until the other thread is in its call. It gets its turn between two calls of this one: Valgrind runs one thread at a
     * time, and changes it in system calls. */
    while (tapline_capture_next_batch(capture, 0, &others, &count, &failed) != TAPLINE_STATUS_IN_USE) {
        CHECK(sched_yield() == 0);
    }
    CHECK(strcmp(tapline_error_message(failed), "another thread is in a call with this capture handle") == 0);
    tapline_error_free(failed);
    FAILS(TAPLINE_STATUS_IN_USE, "another thread", tapline_capture_close(capture, &error));
    tapline_capture_stats stats = {.size = sizeof stats};
    OK(tapline_capture_stats_read(capture, &stats, &error));
    CHECK(stats.duration_ns == TAPLINE_UNKNOWN);
    CHECK(pthread_cancel(waiting) == 0);
    OK(tapline_capture_stop(capture, &error));
    void *result = NULL;
    CHECK(pthread_join(waiting, &result) == 0 && result == PTHREAD_CANCELED);
    OK(tapline_capture_finish(capture, &stats, &error));
    CHECK(stats.duration_ns != TAPLINE_UNKNOWN && stats.lost_ring == 0);
}

int main(int count, char **words) {
    CHECK(count == 2);
    arguments(words[1]);
    versions(words[1]);
    closed_pipe();
    handles(words[1]);
    shared_filter();
    threads(words[1]);
    printf("done\n");
    return 0;
}
