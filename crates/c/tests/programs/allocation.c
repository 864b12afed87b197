/* allocation INTERFACE PACKETS: captures, and prints how often the calls allocated behind the first batch. */
#include "check.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

/* Of this thread: the library reads counters on another one. */
static _Thread_local unsigned long allocations;

void *malloc(size_t size) {
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    allocations++;
    return __libc_realloc(old, size);
}

int main(int count, char **words) {
    CHECK(count == 3);
    const char *interfaces[] = {words[1]};
    unsigned long expected = strtoul(words[2], NULL, 10);
    tapline_capture_options options = {
        .size = sizeof options,
        .interfaces = interfaces,
        .interface_count = 1,
        .snaplen = 2000,
        .delivery = TAPLINE_DELIVERY_IMMEDIATE,
        .max_ns = 20000000000,
    };
    tapline_capture *capture = NULL;
    unsigned long before = allocations;
    OK(tapline_capture_open(&options, &capture, &error));
    CHECK(allocations > before);
    /* The first call prepares the reader. */
    const tapline_packet *packets;
    size_t packet_count;
    OK(tapline_capture_next_batch(capture, 0, &packets, &packet_count, &error));
    printf("ready\n");
    fflush(stdout);
    before = allocations;
    unsigned long received = 0;
    tapline_status status = TAPLINE_STATUS_OK;
    while (received < expected) {
        OK(status = tapline_capture_next_batch(capture, -1, &packets, &packet_count, &error));
        CHECK(status == TAPLINE_STATUS_OK);
        received += packet_count;
    }
    printf("%lu packets, %lu allocations\n", received, allocations - before);
    OK(tapline_capture_close(capture, &error));
    return 0;
}
