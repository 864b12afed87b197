/* versions INTERFACE FILE [without-bpf]: every option struct may have each size that an older header can have given it. FILE is
 * written and read. Without BPF: nothing is counted or sent, which valgrind 3.19 cannot follow. */
#include "check.h"

/* Does what is last with the struct `options` of each size from `least` on: multiples of its alignment. What it has is zero, except for what `set` sets; what
 * lies behind it is not looked at. */
#define OF_EACH_SIZE(type, least, set, ...)                              \
    do {                                                                 \
        size_t size = ((least) + 7) / 8 * 8;                             \
        for (; size <= sizeof(type); size += 8) {                        \
            type options;                                                \
            memset(&options, 0xff, sizeof options);                      \
            memset(&options, 0, size);                                   \
            options.size = size;                                         \
            set;                                                         \
            __VA_ARGS__;                                                 \
        }                                                                \
    } while (0)

/* The size of a struct that ends with `field`. */
#define UP_TO(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

/* What counts and sends. */
static void by_bpf(const char *name) {
    const char *const names[] = {name};
    tapline_count *counter = NULL;
    OF_EACH_SIZE(tapline_count_options, UP_TO(tapline_count_options, interface_count),
                 (options.interfaces = names, options.interface_count = 1), {
                     OK(tapline_count_open(&options, &counter, &error));
                     OK(tapline_count_close(counter, &error));
                 });
    tapline_sender *sender = NULL;
    OF_EACH_SIZE(tapline_sender_options, UP_TO(tapline_sender_options, interface), options.interface = name, {
        OK(tapline_sender_open(&options, &sender, &error));
        OK(tapline_sender_finish(sender, NULL, &error));
    });
    /* What ends the packets must be in the struct. */
    const uint8_t mac[6] = {2, 0, 0, 0, 0, 2};
    OF_EACH_SIZE(tapline_generator_options, UP_TO(tapline_generator_options, max_packets),
                 (options.destinations = "198.18.0.2", options.destination_mac = mac, options.max_packets = 1), {
                     tapline_sender_options to = {.size = sizeof to, .interface = name};
                     OK(tapline_sender_open(&to, &sender, &error));
                     OK(tapline_sender_generate(sender, &options, &error));
                     OK(tapline_sender_finish(sender, NULL, &error));
                 });
}

int main(int count, char **words) {
    CHECK(count == 3 || count == 4);
    const char *const names[] = {words[1]};
    const char *const targets[] = {"127.0.0.1"};

    tapline_capture *capture = NULL;
    OF_EACH_SIZE(tapline_capture_options, UP_TO(tapline_capture_options, interface_count),
                 (options.interfaces = names, options.interface_count = 1), {
                     OK(tapline_capture_open(&options, &capture, &error));
                     OK(tapline_capture_close(capture, &error));
                 });
    tapline_writer *writer = NULL;
    OF_EACH_SIZE(tapline_writer_options, UP_TO(tapline_writer_options, size), (void)0, {
        OK(tapline_writer_create(words[2], &options, &writer, &error));
        OK(tapline_writer_close(writer, NULL, &error));
    });
    tapline_reader *reader = NULL;
    OF_EACH_SIZE(tapline_reader_options, UP_TO(tapline_reader_options, size), (void)0, {
        OK(tapline_reader_open(words[2], &options, &reader, &error));
        OK(tapline_reader_close(reader, &error));
    });
    tapline_filter *filter = NULL;
    OF_EACH_SIZE(tapline_filter_options, UP_TO(tapline_filter_options, size), (void)0, {
        OK(tapline_filter_compile("udp", &options, &filter, &error));
        OK(tapline_filter_free(filter, &error));
    });
    tapline_ping *ping = NULL;
    OF_EACH_SIZE(tapline_ping_options, UP_TO(tapline_ping_options, target_count),
                 (options.targets = targets, options.target_count = 1), {
                     OK(tapline_ping_open(&options, &ping, &error));
                     OK(tapline_ping_finish(ping, NULL, &error));
                 });
    tapline_netlink *netlink = NULL;
    OF_EACH_SIZE(tapline_netlink_options, UP_TO(tapline_netlink_options, size), (void)0, {
        OK(tapline_netlink_open(&options, &netlink, &error));
        OK(tapline_netlink_close(netlink, &error));
    });
    if (count == 3) {
        by_bpf(words[1]);
    }
    printf("done\n");
    return 0;
}
