/* Sends UDP frames at 10 000 per second: send veth0 1000. Refuses an interface with a default route. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tapline.h>

/* The error is written by the call that made the status, so it is read here, through its address. */
static void check(tapline_status status, tapline_error *const *error) {
    if (status < 0) {
        const char *hint = tapline_error_hint(*error);
        fprintf(stderr, "%s%s%s\n", tapline_error_message(*error), hint ? "; " : "", hint ? hint : "");
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: send INTERFACE PACKETS\n");
        return 2;
    }
    /* Ethernet, and an IPv4 packet without options: from 198.18.0.1 to 198.18.0.2, UDP port 9. */
    unsigned char frame[60] = {2, 0, 0, 0, 0,    2, 2,  0,    0,    0,   0,  1, 8, 0, 0x45, 0, 0, 46, 0, 0, 0x40,
                               0, 64, 17, 0xae, 0x99, 198, 18, 0, 1, 198, 18, 0, 2, 0, 9, 0, 9, 0, 26};
    tapline_error *error = NULL;
    tapline_queue *queue;
    check(tapline_queue_create(0, 0, &queue, &error), &error);
    unsigned long packets = strtoul(argv[2], NULL, 10);
    for (unsigned long number = 0; number < packets; number++) {
        memcpy(frame + 42, &number, sizeof number);
        check(tapline_queue_push(queue, 0, frame, sizeof frame, &error), &error);
    }

    tapline_sender_options options = {
        .size = sizeof options,
        .interface = argv[1],
        .rate = 10000,
        .rate_unit = TAPLINE_RATE_PACKETS,
    };
    tapline_sender *sender;
    check(tapline_sender_open(&options, &sender, &error), &error);
    check(tapline_sender_transmit(sender, queue, &error), &error);

    tapline_sender_stats stats = {.size = sizeof stats};
    check(tapline_sender_finish(sender, &stats, &error), &error);
    tapline_queue_free(queue, NULL);
    printf("%llu submitted, %llu accepted, %llu failed\n", (unsigned long long)stats.submitted,
           (unsigned long long)stats.accepted, (unsigned long long)stats.failed);
    return 0;
}
