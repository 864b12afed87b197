/* One scenario with a library of libpcap's interface. Prints what happens, which is to be the same with every library.
 *
 *     scenario NAME INTERFACE
 *
 * "ready" is printed when packets are queued; a line on standard input says how many were sent. */
#include <dirent.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

static void open_with(const char *interface, int buffer_bytes)
{
    handle = pcap_create(interface, errbuf);
    check(handle != NULL, "create");
    check(pcap_set_timeout(handle, 10) == 0, "timeout");
    if (buffer_bytes > 0)
        check(pcap_set_buffer_size(handle, buffer_bytes) == 0, "buffer");
    check(pcap_activate(handle) == 0, "activate");
    check(pcap_set_timeout(handle, 10) == PCAP_ERROR_ACTIVATED, "a setting after activation");
}

static void set_filter(const char *text)
{
    struct bpf_program program;
    check(pcap_compile(handle, &program, text, 1, PCAP_NETMASK_UNKNOWN) == 0, "compile");
    check(pcap_setfilter(handle, &program) == 0, "setfilter");
    pcap_freecode(&program);
}

static void say(const char *text)
{
    puts(text);
    fflush(stdout);
}

/* Returns the number of packets that were sent. */
static unsigned wait_for_line(void)
{
    char line[16];
    check(fgets(line, sizeof line, stdin) != NULL, "a line");
    return (unsigned)atoi(line);
}

static void print(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes)
{
    (void)user;
    printf("%u %u ", header->len, header->caplen);
    for (bpf_u_int32 at = 0; at < header->caplen; at++)
        printf("%02x", bytes[at]);
    putchar('\n');
}

static void count(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes)
{
    (void)header;
    (void)bytes;
    ++*(unsigned *)user;
}

/* Packets that are in the ring when the filter is set have to pass it. */
static void late_filter(const char *interface)
{
    open_with(interface, 0);
    say("ready");
    wait_for_line();
    set_filter("udp");
    printf("loop %d\n", pcap_loop(handle, 20, print, NULL));
    struct pcap_pkthdr *header;
    const u_char *bytes;
    check(pcap_setnonblock(handle, 1, errbuf) == 0, "nonblock");
    printf("next_ex %d\n", pcap_next_ex(handle, &header, &bytes));
}

static void dispatch(const char *interface)
{
    open_with(interface, 0);
    check(pcap_getnonblock(handle, errbuf) == 0, "blocking");
    check(pcap_setnonblock(handle, 1, errbuf) == 0, "nonblock");
    check(pcap_getnonblock(handle, errbuf) == 1, "nonblocking");
    printf("idle %d\n", pcap_dispatch(handle, -1, print, NULL));
    check(pcap_setnonblock(handle, 0, errbuf) == 0, "block");
    say("ready");
    wait_for_line();
    int packets = 0;
    while (packets < 9) {
        int now = pcap_dispatch(handle, 3, print, NULL);
        check(now >= 0 && now <= 3, "at most three");
        packets += now;
    }
    const u_char *bytes;
    struct pcap_pkthdr header, *place;
    while ((bytes = pcap_next(handle, &header)) == NULL)
        ;
    print(NULL, &header, bytes);
    int got;
    while ((got = pcap_next_ex(handle, &place, &bytes)) == 0)
        ;
    printf("next_ex %d\n", got);
    print(NULL, place, bytes);
}

static void direction(const char *interface)
{
    open_with(interface, 0);
    check(pcap_setdirection(handle, PCAP_D_OUT) == 0, "direction");
    say("ready");
    wait_for_line();
    unsigned char frame[60] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5, 7};
    printf("inject %d\n", pcap_inject(handle, frame, sizeof frame));
    printf("sendpacket %d\n", pcap_sendpacket(handle, frame, sizeof frame));
    /* What the handle sends itself does not come back to it. */
    printf("loop %d\n", pcap_loop(handle, 5, print, NULL));
    check(pcap_setnonblock(handle, 1, errbuf) == 0, "nonblock");
    printf("more %d\n", pcap_dispatch(handle, -1, print, NULL));
}

static void break_now(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes)
{
    count(user, header, bytes);
    pcap_breakloop(handle);
}

static void on_signal(int number)
{
    (void)number;
    pcap_breakloop(handle);
}

static void *break_later(void *unused)
{
    (void)unused;
    pcap_breakloop(handle);
    return NULL;
}

static void breakloop(const char *interface)
{
    unsigned packets = 0;
    open_with(interface, 0);
    /* Before the loop. */
    pcap_breakloop(handle);
    printf("before %d\n", pcap_loop(handle, -1, count, (u_char *)&packets));
    /* In the callback, while more packets are ready. */
    say("ready");
    wait_for_line();
    printf("dispatch %d\n", pcap_dispatch(handle, -1, break_now, (u_char *)&packets));
    printf("callback %d\n", pcap_loop(handle, -1, break_now, (u_char *)&packets));
    printf("packets %u\n", packets);
    unsigned rest = 0;
    printf("rest %d", pcap_loop(handle, 4, count, (u_char *)&rest));
    printf(" %u\n", rest);
    /* Another thread, before or while this one sleeps. */
    pthread_t thread;
    check(pthread_create(&thread, NULL, break_later, NULL) == 0, "a thread");
    printf("thread %d\n", pcap_loop(handle, -1, count, (u_char *)&packets));
    pthread_join(thread, NULL);
    /* A signal handler, before or while this thread sleeps. Another process sends the signal. */
    struct sigaction action = {.sa_handler = on_signal};
    check(sigaction(SIGUSR1, &action, NULL) == 0, "a handler");
    pid_t child = fork();
    if (child == 0)
        _exit(kill(getppid(), SIGUSR1));
    printf("signal %d\n", pcap_loop(handle, -1, count, (u_char *)&packets));
    waitpid(child, NULL, 0);
}

/* Settings of blocking before and after the handle is activated. */
static void nonblock(const char *interface)
{
    handle = pcap_create(interface, errbuf);
    check(handle != NULL, "create");
    printf("before %d %d\n", pcap_setnonblock(handle, 1, errbuf), pcap_getnonblock(handle, errbuf));
    check(pcap_activate(handle) == 0, "activate");
    printf("after %d\n", pcap_getnonblock(handle, errbuf));
    printf("idle %d\n", pcap_dispatch(handle, -1, print, NULL));
    printf("back %d", pcap_setnonblock(handle, 0, errbuf));
    printf(" %d\n", pcap_getnonblock(handle, errbuf));
    pcap_close(handle);
}

/* Two handles, each with a thread that reads it, and a third thread that ends both loops. */
struct reader {
    pcap_t *handle;
    unsigned packets;
    int result;
};

static void *read_all(void *place)
{
    struct reader *reader = place;
    reader->result = pcap_loop(reader->handle, -1, count, (u_char *)&reader->packets);
    return NULL;
}

static void threads(const char *interface)
{
    struct reader readers[2] = {{0}};
    pthread_t running[2], third;
    for (int at = 0; at < 2; at++) {
        open_with(interface, 0);
        set_filter("udp");
        readers[at].handle = handle;
        check(pthread_create(&running[at], NULL, read_all, &readers[at]) == 0, "a thread");
    }
    say("ready");
    unsigned sent = wait_for_line();
    struct pcap_stat stats;
    for (int at = 0; at < 2; at++) {
        /* Handles may be asked for nothing but to end while another thread reads them, so wait for its count. */
        while (__atomic_load_n(&readers[at].packets, __ATOMIC_RELAXED) < sent)
            usleep(100);
        handle = readers[at].handle;
        check(pthread_create(&third, NULL, break_later, NULL) == 0, "a thread");
        pthread_join(third, NULL);
        pthread_join(running[at], NULL);
        check(pcap_stats(handle, &stats) == 0, "stats");
        printf("handle %d: %d, %u packets of %u\n", at, readers[at].result, readers[at].packets, stats.ps_recv);
        pcap_close(handle);
    }
}

/* A child closes its copy of the handle; the parent goes on. Then a child reads and the parent does not. */
static void forked(const char *interface)
{
    open_with(interface, 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        pcap_close(handle);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    say("ready");
    wait_for_line();
    printf("parent %d\n", pcap_loop(handle, 5, print, NULL));
    fflush(stdout);
    child = fork();
    if (child == 0) {
        printf("child %d\n", pcap_loop(handle, 5, print, NULL));
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* A child breaks the loop of its copy of the handle. The parent's timeout still ends its call. */
static void child_breaks(const char *interface)
{
    open_with(interface, 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        pcap_breakloop(handle);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    printf("dispatch %d\n", pcap_dispatch(handle, -1, print, NULL));
}

static int descriptors(void)
{
    int open = 0;
    DIR *folder = opendir("/proc/self/fd");
    check(folder != NULL, "/proc/self/fd");
    while (readdir(folder) != NULL)
        open++;
    closedir(folder);
    return open;
}

static long resident_kib(void)
{
    char line[128];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    check(status != NULL, "/proc/self/status");
    while (fgets(line, sizeof line, status) != NULL)
        sscanf(line, "VmRSS: %ld", &kib);
    fclose(status);
    return kib;
}

static void cycles(const char *interface)
{
    int open = 0;
    long resident = 0;
    for (int cycle = 0; cycle < 1100; cycle++) {
        if (cycle == 100) {
            open = descriptors();
            resident = resident_kib();
        }
        open_with(interface, 2 << 20);
        set_filter("tcp port 80 or udp");
        pcap_close(handle);
    }
    printf("descriptors %+d\n", descriptors() - open);
    long grown = resident_kib() - resident;
    if (grown < 2048)
        puts("memory as before");
    else
        printf("memory +%ld KiB\n", grown);
}

static void removed(const char *interface)
{
    unsigned packets = 0;
    open_with(interface, 0);
    say("ready");
    printf("loop %d %s\n", pcap_loop(handle, -1, count, (u_char *)&packets), pcap_geterr(handle));
    printf("again %d\n", pcap_dispatch(handle, -1, count, (u_char *)&packets) < 0);
}

/* What a program that sleeps itself sees of an interface that is removed: the descriptor stays, and is readable. */
static void removed_while_polling(const char *interface)
{
    unsigned packets = 0;
    open_with(interface, 0);
    check(pcap_setnonblock(handle, 1, errbuf) == 0, "nonblock");
    struct pollfd polled = {.fd = pcap_get_selectable_fd(handle), .events = POLLIN};
    say("ready");
    int status;
    do {
        const struct timeval *most = pcap_get_required_select_timeout(handle);
        int time = most == NULL ? -1 : (int)(most->tv_usec / 1000);
        check(poll(&polled, 1, time) >= 0 && !(polled.revents & POLLNVAL), "the descriptor is valid");
        status = pcap_dispatch(handle, -1, count, (u_char *)&packets);
    } while (status >= 0);
    printf("dispatch %d %s\n", status, pcap_geterr(handle));
    check(pcap_get_selectable_fd(handle) == polled.fd, "the same descriptor");
    printf("poll %d\n", poll(&polled, 1, 0) >= 0 && !(polled.revents & POLLNVAL));
    printf("readable %d\n", polled.revents == POLLIN);
    printf("again %d %s\n", pcap_dispatch(handle, -1, count, (u_char *)&packets), pcap_geterr(handle));
    struct pcap_stat stats;
    int counted = pcap_stats(handle, &stats);
    printf("stats %d %u\n", counted, stats.ps_recv);
    printf("inject %d\n", pcap_inject(handle, "0123456789abcdef", 16));
    pcap_close(handle);
    printf("closed %d\n", fcntl(polled.fd, F_GETFD) < 0);
}

/* The interface goes down, comes back, and goes down again before it is removed. */
static void down(const char *interface)
{
    open_with(interface, 0);
    check(pcap_setnonblock(handle, 1, errbuf) == 0, "nonblock");
    say("ready");
    wait_for_line();
    printf("down %d\n", pcap_dispatch(handle, -1, print, NULL));
    printf("down %d\n", pcap_dispatch(handle, -1, print, NULL));
    printf("has to look again %d\n", pcap_get_required_select_timeout(handle) != NULL);
    check(pcap_setnonblock(handle, 0, errbuf) == 0, "block");
    say("ready");
    printf("loop %d\n", pcap_loop(handle, 5, print, NULL));
    say("ready");
    printf("loop %d %s\n", pcap_loop(handle, -1, print, NULL), pcap_geterr(handle));
}

/* The ring is too small for what is sent, and nobody reads meanwhile. */
static void loss(const char *interface)
{
    unsigned packets = 0;
    struct pcap_stat stats;
    open_with(interface, strcmp(interface, "any") == 0 ? 64 << 10 : 2 << 20);
    set_filter("udp");
    say("ready");
    unsigned sent = wait_for_line();
    /* Some may still be on their way through the kernel. */
    do
        check(pcap_stats(handle, &stats) == 0, "stats");
    while (stats.ps_recv < sent);
    printf("received %s\n", stats.ps_recv == sent ? "all" : "more");
    check(stats.ps_drop > 0, "some are lost");
    while (packets < stats.ps_recv - stats.ps_drop)
        check(pcap_dispatch(handle, -1, count, (u_char *)&packets) >= 0, "dispatch");
    check(pcap_stats(handle, &stats) == 0, "stats");
    printf("sum %s, interface %u\n", packets + stats.ps_drop == sent ? "right" : "wrong", stats.ps_ifdrop);
}

/* No header declares it any more, but programs print it. */
extern char pcap_version[];

static void names(const char *unused)
{
    (void)unused;
    printf("%.4s\n", pcap_version);
    for (int number = -2; number < 400; number++) {
        const char *name = pcap_datalink_val_to_name(number);
        if (name != NULL)
            printf("%d %s %s %d\n", number, name, pcap_datalink_val_to_description(number),
                   pcap_datalink_name_to_val(name));
    }
    puts(pcap_datalink_val_to_description_or_dlt(399));
    for (int status = -13; status < 5; status++)
        puts(pcap_statustostr(status));
    for (int number = 0; number < 6; number++) {
        const char *name = pcap_tstamp_type_val_to_name(number);
        printf("%s %s %d\n", name, pcap_tstamp_type_val_to_description(number),
               pcap_tstamp_type_name_to_val(name));
    }
    puts(pcap_strerror(2));
}

/* Prints what a handle says to calls that not every kind of handle answers. */
static void answers(const char *kind)
{
    struct pcap_stat stats;
    struct bpf_program program = {0};
    int *types = NULL;
    printf("%s: extension %d\n", kind, pcap_datalink_ext(handle));
    /* libpcap gives that of standard input for a handle without packets. */
    if (strcmp(kind, "dead") != 0)
        printf("descriptor for select %d\n", pcap_get_selectable_fd(handle) >= 0);
    printf("stats %d ", pcap_stats(handle, &stats));
    puts(pcap_geterr(handle));
    printf("direction %d ", pcap_setdirection(handle, PCAP_D_IN));
    puts(pcap_geterr(handle));
    printf("inject %d ", pcap_inject(handle, "a", 1));
    puts(pcap_geterr(handle));
    printf("timeout %d ", pcap_set_timeout(handle, 5));
    puts(pcap_geterr(handle));
    printf("monitor %d\n", pcap_can_set_rfmon(handle));
    printf("compile %d ", pcap_compile(handle, &program, "tcp", 1, 0));
    pcap_freecode(&program);
    printf("filter %d ", pcap_setfilter(handle, &program));
    puts(pcap_geterr(handle));
    printf("nonblock %d\n", pcap_getnonblock(handle, errbuf));
    printf("types %d\n", pcap_list_datalinks(handle, &types));
    pcap_free_datalinks(types);
    pcap_close(handle);
}

/* What is called too early, or on what cannot do it. */
static void refusals(const char *interface)
{
    struct pcap_stat stats;
    handle = pcap_create(interface, errbuf);
    answers("created");
    handle = pcap_create("lo", errbuf);
    check(pcap_activate(handle) == 0, "activate");
    answers("loopback");
    handle = pcap_create("any", errbuf);
    check(pcap_activate(handle) == 0, "activate");
    answers("any");
    handle = pcap_open_dead(DLT_EN10MB, 100);
    pcap_dumper_t *dumper = pcap_dump_fopen(handle, tmpfile());
    rewind(pcap_dump_file(dumper));
    pcap_close(handle);
    handle = pcap_fopen_offline(pcap_dump_file(dumper), errbuf);
    check(handle != NULL, "a file");
    printf("file: descriptor %d, bufsize %d\n", pcap_fileno(handle), pcap_bufsize(handle));
    answers("file");
    handle = pcap_open_dead(DLT_EN10MB, 100);
    answers("dead");
    handle = pcap_create(interface, errbuf);
    check(handle != NULL, "create");
    printf("created: datalink %d, snapshot %d, bufsize %d, loop %d, setfilter %d\n", pcap_datalink(handle),
           pcap_snapshot(handle), pcap_bufsize(handle), pcap_dispatch(handle, 1, print, NULL) < 0,
           pcap_set_tstamp_precision(handle, 7));
    pcap_close(handle);
    open_with(interface, 8 << 20);
    printf("activated: bufsize %d\n", pcap_bufsize(handle));
    pcap_close(handle);
    handle = pcap_create("nonexistent0", errbuf);
    printf("no interface: %d\n", pcap_activate(handle));
    pcap_close(handle);
    handle = pcap_open_dead(DLT_EN10MB, 100);
    printf("dead: bufsize %d\n", pcap_bufsize(handle));
    printf("dead: datalink %d, snapshot %d, stats %d, loop %d, file %d\n", pcap_datalink(handle),
           pcap_snapshot(handle), pcap_stats(handle, &stats), pcap_dispatch(handle, 1, print, NULL) < 0,
           pcap_file(handle) == NULL);
    pcap_close(handle);
    handle = NULL;
    printf("no file: %d\n", pcap_open_offline("/nonexistent", errbuf) == NULL);
    puts(errbuf);
    printf("open_live: %d\n", pcap_open_live("nonexistent0", 100, 0, 10, errbuf) == NULL);
}

/* The account beyond libpcap's, where the library has it. */
#ifdef ACCOUNT
#include <stddef.h>
#include <tapline_pcap.h>
static void account(const char *interface)
{
    unsigned packets = 0;
    struct tapline_pcap_account now = {.size = sizeof now};
    open_with(interface, 0);
    set_filter("udp");
    say("ready");
    unsigned sent = wait_for_line();
    /* Some may still be on their way through the kernel. */
    do
        check(tapline_pcap_account_read(handle, &now) == 0, "account");
    while (now.received < sent);
    printf("waiting %lu of %lu\n", (unsigned long)now.waiting, (unsigned long)now.received);
    check(pcap_loop(handle, (int)now.waiting, count, (u_char *)&packets) == 0, "loop");
    check(tapline_pcap_account_read(handle, &now) == 0, "account");
    printf("received %lu delivered %lu filtered %lu waiting %lu lost %lu\n", (unsigned long)now.received,
           (unsigned long)now.delivered, (unsigned long)now.filtered, (unsigned long)now.waiting,
           (unsigned long)(now.lost_nic + now.lost_driver + now.lost_ring + now.lost_reader));
    /* Accounts of a newer and of an older header. */
    struct {
        struct tapline_pcap_account known;
        uint64_t more;
    } newer = {.known = {.size = sizeof newer}, .more = 7};
    check(tapline_pcap_account_read(handle, (struct tapline_pcap_account *)(void *)&newer) == 0, "newer");
    check(newer.known.size == sizeof newer && newer.known.delivered == now.delivered && newer.more == 0, "newer");
    struct tapline_pcap_account older = {.size = offsetof(struct tapline_pcap_account, filtered), .filtered = 7};
    check(tapline_pcap_account_read(handle, &older) == 0, "older");
    check(older.delivered == now.delivered && older.filtered == 7, "older");
    for (older.size = 0; older.size < 24; older.size += 12) {
        check(tapline_pcap_account_read(handle, &older) == PCAP_ERROR, "a size that no account has");
        check(strstr(pcap_geterr(handle), "no version") != NULL, "its text");
    }
}
#endif

static const struct {
    const char *name;
    void (*run)(const char *interface);
} scenarios[] = {
    {"late_filter", late_filter}, {"dispatch", dispatch}, {"direction", direction},
    {"breakloop", breakloop},     {"forked", forked},     {"cycles", cycles},
    {"removed", removed},         {"loss", loss},         {"names", names},
    {"refusals", refusals},       {"threads", threads},   {"nonblock", nonblock},
    {"child_breaks", child_breaks}, {"down", down},
    {"removed_while_polling", removed_while_polling},
#ifdef ACCOUNT
    {"account", account},
#endif
};

int main(int argc, char **argv)
{
    check(argc == 3, "two arguments");
    for (size_t at = 0; at < sizeof scenarios / sizeof *scenarios; at++) {
        if (strcmp(argv[1], scenarios[at].name) == 0) {
            scenarios[at].run(argv[2]);
            return 0;
        }
    }
    return 1;
}
