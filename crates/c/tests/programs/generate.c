/* generate INTERFACE: 90 UDP packets to three ports, from a thread that has left the namespace of the job. */
#define _GNU_SOURCE
#include <sched.h>

#include "check.h"

int main(int count, char **words) {
    CHECK(count == 2);
    tapline_sender_options options = {.size = sizeof options, .interface = words[1], .rate_unit = TAPLINE_RATE_RECORDED};
    tapline_sender *sender = NULL;
    const uint8_t mac[6] = {2, 0, 0, 0, 0, 2};
    tapline_generator_options packets = {.size = sizeof packets, .max_packets = 90, .destination_mac = mac,
                                         .destinations = "198.18.0.2", .sources = "198.18.0.1",
                                         .destination_ports = "1000-1002", .sizes = "100"};
    OK(tapline_sender_open(&options, &sender, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "no times", tapline_sender_generate(sender, &packets, &error));
    OK(tapline_sender_finish(sender, NULL, &error));
    options.rate_unit = TAPLINE_RATE_MAX;
    OK(tapline_sender_open(&options, &sender, &error));
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "no destination", tapline_sender_generate(sender, NULL, &error));
    packets.vlan = 5000;
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "vlan is 5000, not between 1 and 4094", tapline_sender_generate(sender, &packets, &error));
    packets.vlan = 0;
    packets.sizes = "many";
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "sizes: 'many'", tapline_sender_generate(sender, &packets, &error));
    packets.sizes = "100";
    CHECK(unshare(CLONE_NEWNET) == 0);
    OK(tapline_sender_generate(sender, &packets, &error));
    tapline_sender_stats stats = {.size = sizeof stats};
    OK(tapline_sender_finish(sender, &stats, &error));
    printf("%llu accepted\n", (unsigned long long)stats.accepted);
    return 0;
}
