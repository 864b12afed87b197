/* Packets that a handle refuses, with a library of libpcap's interface. Prints what happens, which is to be the same with every
 * library.
 *
 *     refused sent DEVICE INTERFACE     only received packets are wanted, while two threads send on the interface
 *     refused early DEVICE FILTER       the filter is set before packets come
 *     refused late DEVICE FILTER        the filter is set when packets are queued
 *     refused loopback lo -             ten datagrams to this host are counted
 *
 * "ready" is printed when packets are queued; a line on standard input then says how many the filter accepts. */
#include <arpa/inet.h>
#include <dirent.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <pcap/pcap.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SENDERS = 2, MOST_FRAMES = 4000000 };

static char errbuf[PCAP_ERRBUF_SIZE];
static pcap_t *handle;

static void check(int holds, const char *what)
{
    if (!holds) {
        printf("failed: %s: %s\n", what, handle ? pcap_geterr(handle) : errbuf);
        exit(1);
    }
}

static void say(const char *text)
{
    puts(text);
    fflush(stdout);
}

static void set_filter(const char *text)
{
    struct bpf_program program;
    check(pcap_compile(handle, &program, text, 1, PCAP_NETMASK_UNKNOWN) == 0, "compile");
    check(pcap_setfilter(handle, &program) == 0, "setfilter");
    pcap_freecode(&program);
}

static void print(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes)
{
    (void)user;
    printf("%u %u ", header->len, header->caplen);
    for (bpf_u_int32 at = 0; at < header->caplen; at++)
        printf("%02x", bytes[at]);
    putchar('\n');
}

static void print_length(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes)
{
    (void)user;
    (void)bytes;
    printf("%u\n", header->len);
}

struct sender {
    const char *interface;
    int sent;
    int is_over;
    int has_to_end;
};

/* Sends until it is told to end, or until so many frames that no call for received packets takes as long. */
static void *send_frames(void *place)
{
    struct sender *sender = place;
    static const unsigned char frame[60] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5};
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(sender->interface), .sll_halen = 6};
    int socket_of = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    check(socket_of >= 0, "a socket");
    for (int number = 0; number < MOST_FRAMES && !__atomic_load_n(&sender->has_to_end, __ATOMIC_RELAXED); number++) {
        if (sendto(socket_of, frame, sizeof frame, 0, (struct sockaddr *)&to, sizeof to) == sizeof frame)
            __atomic_add_fetch(&sender->sent, 1, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&sender->is_over, 1, __ATOMIC_RELAXED);
    close(socket_of);
    return NULL;
}

static void sent(const char *interface)
{
    struct sender senders[SENDERS];
    pthread_t threads[SENDERS];
    struct pcap_pkthdr *header;
    const u_char *bytes;
    check(pcap_setdirection(handle, PCAP_D_IN) == 0, "direction");
    for (int at = 0; at < SENDERS; at++) {
        senders[at] = (struct sender){.interface = interface};
        check(pthread_create(&threads[at], NULL, send_frames, &senders[at]) == 0, "a thread");
    }
    for (int at = 0; at < SENDERS; at++)
        while (__atomic_load_n(&senders[at].sent, __ATOMIC_RELAXED) < 1000)
            usleep(100);
    printf("dispatch %d\n", pcap_dispatch(handle, -1, print, NULL));
    printf("next_ex %d\n", pcap_next_ex(handle, &header, &bytes));
    check(pcap_setnonblock(handle, 1, errbuf) == 0, "nonblock");
    printf("nonblocking %d\n", pcap_dispatch(handle, -1, print, NULL));
    for (int at = 0; at < SENDERS; at++) {
        printf("sending %d\n", !__atomic_load_n(&senders[at].is_over, __ATOMIC_RELAXED));
        __atomic_store_n(&senders[at].has_to_end, 1, __ATOMIC_RELAXED);
        pthread_join(threads[at], NULL);
    }
}

static void filter(const char *text, int is_late)
{
    char line[16];
    struct pcap_pkthdr *header;
    const u_char *bytes;
    if (!is_late)
        set_filter(text);
    say("ready");
    check(fgets(line, sizeof line, stdin) != NULL, "a line");
    if (is_late)
        set_filter(text);
    printf("loop %d\n", pcap_loop(handle, atoi(line), print, NULL));
    check(pcap_setnonblock(handle, 1, errbuf) == 0, "nonblock");
    printf("next_ex %d\n", pcap_next_ex(handle, &header, &bytes));
}

static void loopback(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct pcap_stat stats;
    int threads = 0;
    set_filter("udp");
    int socket_of = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (int number = 0; number < 10; number++)
        check(sendto(socket_of, "a", 1, 0, (struct sockaddr *)&to, sizeof to) == 1, "a datagram");
    printf("loop %d\n", pcap_loop(handle, 10, print_length, NULL));
    check(pcap_stats(handle, &stats) == 0, "stats");
    printf("received %u\n", stats.ps_recv);
    DIR *folder = opendir("/proc/self/task");
    check(folder != NULL, "/proc/self/task");
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        threads += entry->d_name[0] != '.';
    closedir(folder);
    printf("threads %d\n", threads);
}

int main(int argc, char **argv)
{
    check(argc == 4, "three arguments");
    /* A packet that never comes ends the program. */
    alarm(60);
    handle = pcap_create(argv[2], errbuf);
    check(handle != NULL, "create");
    check(pcap_set_timeout(handle, 10) == 0, "timeout");
    check(pcap_activate(handle) == 0, "activate");
    if (strcmp(argv[1], "sent") == 0)
        sent(argv[3]);
    else if (strcmp(argv[1], "loopback") == 0)
        loopback();
    else
        filter(argv[3], strcmp(argv[1], "late") == 0);
    pcap_close(handle);
    return 0;
}
