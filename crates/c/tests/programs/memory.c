/* memory: what needs more memory than there is fails, and does not end the process. */
#include <errno.h>
#include <sys/resource.h>

#include "check.h"

/* The call fails for want of memory, and its message contains `text`. */
#define NO_MEMORY(text, call)                                                              \
    do {                                                                                   \
        tapline_error *error = NULL;                                                       \
        if ((call) != TAPLINE_STATUS_SYSTEM || tapline_error_os_error(error) != ENOMEM ||  \
            strstr(tapline_error_message(error), text) == NULL) {                          \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                  \
                    tapline_error_message(error));                                         \
            exit(1);                                                                       \
        }                                                                                  \
        tapline_error_free(error);                                                         \
    } while (0)

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

int main(void) {
    const struct rlimit limit = {.rlim_cur = 1u << 30, .rlim_max = 1u << 30};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    queues();
    pings();
    printf("done\n");
    return 0;
}
