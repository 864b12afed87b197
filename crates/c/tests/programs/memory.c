/* memory: what needs more memory than there is fails, and does not end the process. */
#define _GNU_SOURCE
#include "limit.h"

static void queues(void) {
    tapline_queue *queue = NULL;
    NO_MEMORY("a queue for 4294967296 packets of 0 bytes", tapline_queue_create((size_t)1 << 32, 0, &queue, &error));
    NO_MEMORY("a queue for 0 packets of 1099511627776 bytes", tapline_queue_create(0, (size_t)1 << 40, &queue, &error));
    CHECK(queue == NULL);
    OK(tapline_queue_create(0, 0, &queue, &error));
    /* Its memory is used up by copies of a packet of 16 MiB. */
    const size_t size = (size_t)16 << 20;
    uint8_t *const packet = calloc(1, size);
    CHECK(packet != NULL);
    tapline_error *failure = NULL;
    tapline_status status = TAPLINE_STATUS_OK;
    while (status == TAPLINE_STATUS_OK) {
        status = tapline_queue_push(queue, 0, packet, size, &failure);
    }
    CHECK(status == TAPLINE_STATUS_SYSTEM && tapline_error_os_error(failure) == ENOMEM);
    tapline_error_free(failure);
    free(packet);
    OK(tapline_queue_free(queue, &error));
}

static void pings(void) {
    const char *targets[] = {"10.0.0.0/8"};
    tapline_ping_options options = {.size = sizeof options, .targets = targets, .target_count = 1, .histograms = 1};
    tapline_ping *ping = NULL;
    NO_MEMORY("for the statistics of the targets", tapline_ping_open(&options, &ping, &error));
    CHECK(ping == NULL);
}

enum {
    ADD = TAPLINE_NETLINK_VERB_ADD,
    ROUTE = TAPLINE_NETLINK_OBJECT_ROUTE,
    JSON = TAPLINE_NETLINK_FORM_JSON,
    MIB = 1 << 20
};

/* Adds a route that `unit`, repeated, fills up to `size` bytes. */
static tapline_status add_route(tapline_netlink *netlink, const char *begin, const char *unit, const char *end,
                                size_t size, tapline_error **error) {
    uint8_t *const text = malloc(size + 64);
    CHECK(text != NULL);
    size_t length = strlen(begin);
    memcpy(text, begin, length);
    for (size_t number = 0; length + strlen(unit) + strlen(end) + 24 < size; number++) {
        length += (size_t)sprintf((char *)text + length, unit, number);
    }
    memcpy(text + length, end, strlen(end));
    const tapline_status status =
        tapline_netlink_change(netlink, ADD, ROUTE, JSON, text, length + strlen(end), error);
    free(text);
    return status;
}

/* A file has a packet of USB, which may be that large. It is read into memory, and then copied. */
static void readers(void) {
    enum { PACKET_BYTES = 64 * MIB };
    char path[] = "/tmp/tapline-memory-XXXXXX";
    const int file = mkstemp(path);
    const uint32_t fields[] = {0xa1b2c3d4, 0x00040002, 0, 0, 0, 189, 0, 0, PACKET_BYTES, PACKET_BYTES};
    CHECK(file >= 0 && write(file, fields, sizeof fields) == (ssize_t)sizeof fields);
    CHECK(ftruncate(file, (off_t)sizeof fields + PACKET_BYTES) == 0 && close(file) == 0);
    const uint64_t spares[] = {24, 88, 400};
    const char *const texts[] = {"the input cannot be read", "memory for a packet of 67108864 bytes"};
    for (size_t at = 0; at < 3; at++) {
        tapline_reader *reader = NULL;
        const tapline_packet *packets = NULL;
        size_t count = 0;
        OK(tapline_reader_open(path, NULL, &reader, &error));
        limit_memory(spares[at] * MIB);
        if (at < 2) {
            NO_MEMORY(texts[at], tapline_reader_next_batch(reader, &packets, &count, &error));
        } else {
            OK(tapline_reader_next_batch(reader, &packets, &count, &error));
            CHECK(count == 1 && packets[0].captured_len == PACKET_BYTES);
        }
        OK(tapline_reader_close(reader, &error));
    }
    CHECK(unlink(path) == 0);
}

static void objects(tapline_netlink *netlink) {
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "more than 1048576",
          add_route(netlink, "[", "0,", "0]", 40 * MIB, &error));
    /* What takes most memory for its length. */
    const char *const texts[][3] = {
        {"[", "0,", "0]"},
        {"{\"nexthops\":[", "{},", "{}]}"},
        {"{\"metrics\":[", "{},", "{}]}"},
        {"{\"nexthops\":[", "{\"w\":0},", "{}]}"},
        {"{", "\"%zu\":0,", "\"dst\":\"192.0.2.0/24\"}"},
        {"{\"dst\":\"", "\\n", "\"}"},
        {"{\"nexthops\":[", "{\"dev\":null},", "{}]}"},
    };
    for (size_t at = 0; at < sizeof texts / sizeof *texts; at++) {
        limit_memory(300 * MIB);
        tapline_error *error = NULL;
        /* The kernel takes none of them; that the process is not aborted is what counts. */
        CHECK(add_route(netlink, texts[at][0], texts[at][1], texts[at][2], MIB, &error) < 0);
        if (strlen(tapline_error_message(error)) >= 1000 || tapline_error_os_error(error) == ENOMEM) {
            fprintf(stderr, "%zu: %s\n", at, tapline_error_message(error));
            exit(1);
        }
        tapline_error_free(error);
    }
    limit_memory(100 * MIB);
    NO_MEMORY("a route of ", add_route(netlink, "[", "0,", "0]", MIB, &error));
}

enum { COUNT = 100000, ITEM_BYTES = 64 };

/* Items that add blackhole routes, or that are none. */
static uint8_t *items(bool can_be_read, size_t *length) {
    uint8_t *const all = malloc((size_t)COUNT * ITEM_BYTES);
    CHECK(all != NULL);
    *length = 0;
    for (unsigned number = 0; number < COUNT; number++) {
        char text[ITEM_BYTES - 12];
        const int size = can_be_read ? snprintf(text, sizeof text, "{\"dst\":\"10.%u.%u.%u\",\"type\":\"blackhole\"}",
                                                number >> 16, number >> 8 & 255, number & 255)
                                     : snprintf(text, sizeof text, "{\"dst\":%u}", number);
        CHECK(size > 0 && (size_t)size < sizeof text);
        const uint32_t header[] = {ADD + 256 * JSON, ROUTE, (uint32_t)size};
        memcpy(all + *length, header, sizeof header);
        memcpy(all + *length + sizeof header, text, (size_t)size);
        *length += sizeof header + (size_t)size;
    }
    return all;
}

static void batches(tapline_netlink *netlink) {
    size_t length = 0;
    uint8_t *const unreadable = items(false, &length);
    tapline_batch *batch = NULL;
    limit_memory(20 * MIB);
    NO_MEMORY("the results of 100000 items",
              tapline_netlink_run(netlink, unreadable, length, TAPLINE_ON_ERROR_CONTINUE, &batch, &error));
    limit_memory(400 * MIB);
    OK(tapline_netlink_run(netlink, unreadable, length, TAPLINE_ON_ERROR_CONTINUE, &batch, &error));
    CHECK(tapline_batch_count(batch) == COUNT && !tapline_batch_is_done(batch));
    OK(tapline_batch_free(batch, &error));
    free(unreadable);

    /* One item more than there may be, each without bytes. */
    const size_t count = MIB + 1;
    uint32_t *const many = calloc(count, 12);
    CHECK(many != NULL);
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "more than 1048576 items",
          tapline_netlink_run(netlink, (uint8_t *)many, count * 12, TAPLINE_ON_ERROR_STOP, &batch, &error));
    free(many);
}

/* The kernel has more routes than there is memory for. */
static void lists(tapline_netlink *netlink) {
    size_t length = 0;
    uint8_t *const routes = items(true, &length);
    tapline_batch *batch = NULL;
    limit_memory(400 * MIB);
    OK(tapline_netlink_run(netlink, routes, length, TAPLINE_ON_ERROR_CONTINUE, &batch, &error));
    CHECK(tapline_batch_is_done(batch));
    OK(tapline_batch_free(batch, &error));
    free(routes);
    tapline_list *list = NULL;
    tapline_watch *watch = NULL;
    for (uint64_t spare = 8; spare < 256; spare *= 4) {
        limit_memory(spare * MIB);
        tapline_error *error = NULL;
        const tapline_status listed = tapline_netlink_list(netlink, ROUTE, JSON, NULL, 0, &list, &error);
        CHECK(listed == TAPLINE_STATUS_OK || tapline_error_os_error(error) == ENOMEM);
        CHECK(spare > 8 || listed == TAPLINE_STATUS_SYSTEM);
        tapline_error_free(error);
        if (listed == TAPLINE_STATUS_OK) {
            tapline_list_free(list, NULL);
        }
    }
    limit_memory(8 * MIB);
    NO_MEMORY("", tapline_watch_open(netlink, ROUTE, JSON, NULL, 0, &watch, &error));
}

int main(void) {
    const struct rlimit limit = {.rlim_cur = 1u << 30, .rlim_max = RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    queues();
    pings();
    readers();
    tapline_netlink *netlink = NULL;
    OK(tapline_netlink_open(NULL, &netlink, &error));
    objects(netlink);
    batches(netlink);
    lists(netlink);
    OK(tapline_netlink_close(netlink, &error));
    printf("done\n");
    return 0;
}
