/* Time stamps of the adapter, and frames of immediate mode, with a library of libpcap's interface. */
#include <linux/capability.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char errbuf[PCAP_ERRBUF_SIZE];
static pcap_t *handle;

static void check(int holds, const char *what)
{
    if (!holds) {
        printf("failed: %s: %s\n", what, handle ? pcap_geterr(handle) : errbuf);
        exit(1);
    }
}

static void ready(void)
{
    puts("ready");
    fflush(stdout);
}

static void wait_for_line(void)
{
    char line[16];
    check(fgets(line, sizeof line, stdin) != NULL, "a line");
}

static void create(const char *interface)
{
    handle = pcap_create(interface, errbuf);
    check(handle != NULL, "create");
    check(pcap_set_timeout(handle, 10) == 0, "timeout");
    check(pcap_set_immediate_mode(handle, 1) == 0, "immediate mode");
}

static void print_types(void)
{
    int *types, count = pcap_list_tstamp_types(handle, &types);
    for (int at = 0; at < count; at++)
        puts(pcap_tstamp_type_val_to_name(types[at]));
    pcap_free_tstamp_types(types);
}

/* types INTERFACE: what is offered, and what can be set. */
static void show_types(char **arguments)
{
    create(arguments[0]);
    print_types();
    for (int type = -1; type < 7; type++)
        printf("set %d: %d\n", type, pcap_set_tstamp_type(handle, type));
    check(pcap_set_tstamp_type(handle, PCAP_TSTAMP_HOST) == 0, "the host's");
    check(pcap_activate(handle) == 0, "activate");
    print_types();
    printf("activated: %d\n", pcap_set_tstamp_type(handle, PCAP_TSTAMP_HOST));
}

static unsigned long number_at(const u_char *bytes)
{
    unsigned long number = 0;
    for (int at = 0; at < 8; at++)
        number = number << 8 | bytes[at];
    return number;
}

/* stamps INTERFACE TYPE: after a line, sends packets that come back, in whose last bytes the device writes its times. Prints
 * whether each time stamp is the time of day or the device's. */
static void show_stamps(char **arguments)
{
    create(arguments[0]);
    int type = pcap_tstamp_type_name_to_val(arguments[1]);
    printf("set: %d\n", pcap_set_tstamp_type(handle, type));
    check(pcap_set_tstamp_precision(handle, PCAP_TSTAMP_PRECISION_NANO) == 0, "precision");
    ready();
    wait_for_line();
    int status = pcap_activate(handle);
    printf("activate: %d %s\n", status, pcap_geterr(handle));
    if (status < 0)
        return;
    check(pcap_setdirection(handle, PCAP_D_IN) == 0, "direction");
    ready();
    wait_for_line();
    u_char frame[100] = {255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
    for (int sent = 0; sent < 20; sent++) {
        check(pcap_inject(handle, frame, sizeof frame) == sizeof frame, "inject");
        struct pcap_pkthdr *header;
        const u_char *bytes;
        int got;
        do
            got = pcap_next_ex(handle, &header, &bytes);
        while (got == 0);
        check(got == 1 && header->caplen == sizeof frame, "a packet");
        unsigned long stamp = (unsigned long)header->ts.tv_sec * 1000000000 + (unsigned long)header->ts.tv_usec;
        if (stamp == number_at(bytes + sizeof frame - 16))
            puts("time of day");
        else if (stamp == number_at(bytes + sizeof frame - 8))
            puts("device");
        else
            puts("host");
    }
    fflush(stdout);
}

/* stamps_without INTERFACE TYPE: as stamps, without CAP_NET_ADMIN. */
static void show_stamps_without(char **arguments)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    check(syscall(SYS_capget, &header, data) == 0, "capget");
    data[0].effective &= ~(1u << CAP_NET_ADMIN);
    data[0].permitted &= ~(1u << CAP_NET_ADMIN);
    check(syscall(SYS_capset, &header, data) == 0, "capset");
    show_stamps(arguments);
}

static void count(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes)
{
    (void)bytes;
    (void)header;
    ++*(unsigned *)user;
}

/* held INTERFACE BYTES SNAPLEN: how many packets a ring of so many bytes holds. */
static void show_held(char **arguments)
{
    create(arguments[0]);
    check(pcap_set_buffer_size(handle, atoi(arguments[1])) == 0, "buffer");
    check(pcap_set_snaplen(handle, atoi(arguments[2])) == 0, "snaplen");
    check(pcap_activate(handle) == 0, "activate");
    check(pcap_setnonblock(handle, 1, errbuf) == 0, "nonblock");
    ready();
    wait_for_line();
    unsigned held = 0;
    while (pcap_dispatch(handle, -1, count, (u_char *)&held) > 0)
        ;
    printf("%u\n", held);
}

int main(int argc, char **argv)
{
    check(argc > 2, "a name and an interface");
    if (strcmp(argv[1], "types") == 0)
        show_types(argv + 2);
    else if (strcmp(argv[1], "stamps") == 0 && argc == 4)
        show_stamps(argv + 2);
    else if (strcmp(argv[1], "stamps_without") == 0 && argc == 4)
        show_stamps_without(argv + 2);
    else if (strcmp(argv[1], "held") == 0 && argc == 5)
        show_held(argv + 2);
    else
        return 1;
    if (handle != NULL)
        pcap_close(handle);
    return 0;
}
