/* Calls every function that takes a handle, on every kind of handle, with good and bad arguments. Each call prints a line:
 *
 *     KIND: CALL = STATUS TEXT
 *
 * TEXT is what pcap_geterr says, which was empty before, and what is in the error buffer of the call. The lines are to be the
 * same with every library.
 *
 *     calls INTERFACE FOLDER
 *     calls INTERFACE nobody     what opening says without privileges
 *
 * "down0" is an interface that is down.
 */
#include <errno.h>
#include <limits.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Some of the functions are deprecated. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static char errbuf[PCAP_ERRBUF_SIZE];
static const char *kind, *interface;
/* The handle. */
static pcap_t *h;

static void before(void)
{
    errbuf[0] = 0;
    errno = 0;
    if (h != NULL)
        pcap_geterr(h)[0] = 0;
}

static void print(const char *call, long result)
{
    printf("%s: %s = %ld %s", kind, call, result, h != NULL ? pcap_geterr(h) : "");
    printf(errbuf[0] != 0 ? " [%s]\n" : "\n", errbuf);
}

/* Makes a call whose result is a number. */
#define CALL(call) (before(), print(#call, (long)(call)))

static void open_handle(const char *what, pcap_t *handle)
{
    kind = what;
    h = handle;
    if (h == NULL)
        printf("%s: not opened [%s]\n", what, errbuf);
}

static void close_handle(void)
{
    if (h != NULL)
        pcap_close(h);
    h = NULL;
}

static unsigned packets;

static void count(u_char *user, const struct pcap_pkthdr *header, const u_char *bytes)
{
    (void)user, (void)header, (void)bytes;
    packets++;
}

static void numbers(const char *call, int (*list)(pcap_t *, int **), void (*free_list)(int *))
{
    int *found = NULL;
    before();
    int result = list(h, &found);
    print(call, result);
    for (int at = 0; at < result; at++)
        printf("    %d\n", found[at]);
    free_list(found);
}

static void values(void)
{
    CALL(pcap_datalink(h));
    CALL(pcap_datalink_ext(h));
    CALL(pcap_snapshot(h));
    CALL(pcap_is_swapped(h));
    CALL(pcap_major_version(h));
    CALL(pcap_minor_version(h));
    CALL(pcap_bufsize(h));
    CALL(pcap_get_tstamp_precision(h));
    CALL(pcap_can_set_rfmon(h));
    CALL(pcap_file(h) != NULL);
    CALL(pcap_fileno(h) >= 0);
    CALL(pcap_get_selectable_fd(h) >= 0);
    CALL(pcap_get_required_select_timeout(h) != NULL);
    CALL(pcap_getnonblock(h, errbuf));
    numbers("pcap_list_datalinks", pcap_list_datalinks, pcap_free_datalinks);
    numbers("pcap_list_tstamp_types", pcap_list_tstamp_types, pcap_free_tstamp_types);
    struct pcap_stat stats;
    CALL(pcap_stats(h, &stats));
    snprintf(pcap_geterr(h), PCAP_ERRBUF_SIZE, "a text");
    fflush(stdout);
    pcap_perror(h, "pcap_perror");
}

static void settings(void)
{
    CALL(pcap_set_snaplen(h, -1));
    CALL(pcap_set_snaplen(h, 0));
    CALL(pcap_set_snaplen(h, INT_MAX));
    CALL(pcap_set_snaplen(h, 100));
    CALL(pcap_set_promisc(h, 1));
    CALL(pcap_set_promisc(h, 0));
    CALL(pcap_set_rfmon(h, 1));
    CALL(pcap_set_rfmon(h, 0));
    CALL(pcap_set_timeout(h, -1));
    CALL(pcap_set_timeout(h, 5));
    CALL(pcap_set_buffer_size(h, -1));
    CALL(pcap_set_buffer_size(h, 0));
    CALL(pcap_set_immediate_mode(h, 1));
    CALL(pcap_set_immediate_mode(h, 0));
    CALL(pcap_set_protocol_linux(h, 0));
    for (int type = -1; type <= 6; type++)
        CALL(pcap_set_tstamp_type(h, type));
    for (int precision = -1; precision <= 2; precision++)
        CALL(pcap_set_tstamp_precision(h, precision));
    CALL(pcap_set_tstamp_precision(h, PCAP_TSTAMP_PRECISION_MICRO));
}

static void filters(void)
{
    struct bpf_program program = {0};
    struct bpf_insn keep = {BPF_RET | BPF_K, 0, 0, 9}, far = {BPF_JMP | BPF_JA, 0, 0, 9};
    CALL(pcap_compile(h, &program, "", 1, 0));
    CALL(pcap_setfilter(h, &program));
    pcap_freecode(&program);
    CALL(pcap_compile(h, &program, NULL, 1, 0));
    pcap_freecode(&program);
    CALL(pcap_compile(h, &program, "ip6 or tcp port 80", 0, PCAP_NETMASK_UNKNOWN));
    CALL(pcap_setfilter(h, &program));
    pcap_freecode(&program);
    /* The library's own texts say more. */
    before();
    int status = pcap_compile(h, &program, "no such words (", 1, 0);
    int has_text = pcap_geterr(h)[0] != 0;
    before();
    print("pcap_compile of nonsense", status);
    print("its text", has_text);
    program = (struct bpf_program){1, &keep};
    CALL(pcap_setfilter(h, &program));
    program = (struct bpf_program){1, &far};
    CALL(pcap_setfilter(h, &program));
    program = (struct bpf_program){0, &keep};
    CALL(pcap_setfilter(h, &program));
    program = (struct bpf_program){0, NULL};
    CALL(pcap_setfilter(h, &program));
}

static void selections(void)
{
    CALL(pcap_setdirection(h, PCAP_D_OUT));
    CALL(pcap_setdirection(h, PCAP_D_INOUT));
    CALL(pcap_setdirection(h, (pcap_direction_t)9));
    CALL(pcap_setdirection(h, (pcap_direction_t)-1));
    CALL(pcap_set_datalink(h, -1));
    CALL(pcap_set_datalink(h, 0));
    CALL(pcap_set_datalink(h, DLT_EN10MB));
    CALL(pcap_set_datalink(h, DLT_DOCSIS));
    CALL(pcap_set_datalink(h, DLT_LINUX_SLL2));
    CALL(pcap_datalink(h));
    CALL(pcap_set_datalink(h, DLT_LINUX_SLL));
    CALL(pcap_set_datalink(h, 999));
    CALL(pcap_datalink(h));
    CALL(pcap_set_datalink(h, DLT_EN10MB));
}

static void sending(void)
{
    static u_char frame[70000] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5};
    CALL(pcap_inject(h, frame, 0));
    CALL(pcap_inject(h, frame, (size_t)INT_MAX + 1));
    CALL(pcap_inject(h, frame, 1));
    CALL(pcap_inject(h, frame, 60));
    CALL(pcap_inject(h, frame, sizeof frame));
    CALL(pcap_sendpacket(h, frame, -1));
    CALL(pcap_sendpacket(h, frame, 0));
    CALL(pcap_sendpacket(h, frame, 1));
    CALL(pcap_sendpacket(h, frame, 60));
}

/* A live handle has to be nonblocking. Nobody sends to it. */
static void reading(void)
{
    struct pcap_pkthdr header, *place;
    const u_char *bytes;
    packets = 0;
    CALL(pcap_dispatch(h, 1, count, NULL));
    CALL(pcap_next_ex(h, &place, &bytes));
    CALL(pcap_next(h, &header) != NULL);
    /* libpcap finds the request only behind a packet if a live handle is nonblocking. */
    if (pcap_getnonblock(h, errbuf) == 1)
        return;
    CALL((pcap_breakloop(h), 0));
    CALL(pcap_loop(h, 1, count, NULL));
    CALL((pcap_breakloop(h), 0));
    CALL(pcap_dispatch(h, -1, count, NULL));
    CALL((pcap_breakloop(h), 0));
    CALL(pcap_next_ex(h, &place, &bytes));
    CALL((pcap_breakloop(h), 0));
    CALL(pcap_next(h, &header) != NULL);
    CALL(pcap_dispatch(h, 0, count, NULL));
    CALL(pcap_dispatch(h, -1, count, NULL));
    CALL(pcap_next_ex(h, &place, &bytes));
    CALL(packets);
}

/* A file that a handle has begun. */
static void begun(const char *call, pcap_dumper_t *dumper)
{
    u_char header[24] = {0};
    print(call, dumper != NULL);
    if (dumper == NULL)
        return;
    printf("    at %ld and %ld\n", pcap_dump_ftell(dumper), (long)pcap_dump_ftell64(dumper));
    struct pcap_pkthdr packet = {.ts = {7, 8}, .caplen = 4, .len = 9};
    pcap_dump((u_char *)dumper, &packet, (const u_char *)"abcd");
    printf("    flush %d, at %ld\n", pcap_dump_flush(dumper), pcap_dump_ftell(dumper));
    FILE *file = pcap_dump_file(dumper);
    if (fseek(file, 0, SEEK_SET) == 0 && fread(header, 1, sizeof header, file) == sizeof header)
        for (size_t at = 0; at < sizeof header; at++)
            printf("%s%02x", at == 0 ? "    " : "", header[at]);
    putchar('\n');
    pcap_dump_close(dumper);
}

static void put(const char *path, const char *mode, const void *bytes, size_t length)
{
    FILE *file = fopen(path, mode);
    if (file == NULL || fwrite(bytes, 1, length, file) != length || fclose(file) != 0)
        exit(1);
}

static void writing(void)
{
    static const unsigned magics[] = {0xa1b2c3d4, 0xa1b23c4d, 0xd4c3b2a1, 0xa1b2cd34, 1};
    char call[80];
    CALL(pcap_dump_open(h, NULL) != NULL);
    CALL(pcap_dump_open_append(h, NULL) != NULL);
    CALL(pcap_dump_open(h, "/nonexistent/file") != NULL);
    CALL(pcap_dump_open_append(h, "/nonexistent/file") != NULL);
    CALL(pcap_dump_open(h, ".") != NULL);
    before();
    begun("pcap_dump_fopen", pcap_dump_fopen(h, tmpfile()));
    before();
    begun("pcap_dump_open", pcap_dump_open(h, "written.pcap"));
    before();
    begun("pcap_dump_open_append to this", pcap_dump_open_append(h, "written.pcap"));
    remove("new.pcap");
    before();
    begun("pcap_dump_open_append to nothing", pcap_dump_open_append(h, "new.pcap"));
    before();
    begun("pcap_dump_open_append again", pcap_dump_open_append(h, "new.pcap"));
    for (size_t at = 0; at < sizeof magics / sizeof *magics; at++) {
        for (unsigned short minor = 3; minor <= 4; minor++) {
            unsigned header[6] = {magics[at], minor << 16 | 2, 0, 0, 100, DLT_EN10MB};
            put("other.pcap", "wb", header, sizeof header);
            snprintf(call, sizeof call, "pcap_dump_open_append to magic %x, version 2.%d", magics[at], minor);
            before();
            begun(call, pcap_dump_open_append(h, "other.pcap"));
        }
    }
    put("other.pcap", "wb", "abcdef", 6);
    CALL(pcap_dump_open_append(h, "other.pcap") != NULL);
}

/* What can be done with any handle. */
static void calls(void)
{
    if (h == NULL)
        return;
    values();
    settings();
    selections();
    filters();
    writing();
    CALL(pcap_setnonblock(h, 1, errbuf));
    CALL(pcap_getnonblock(h, errbuf));
    CALL(pcap_setnonblock(h, 7, errbuf));
    CALL(pcap_getnonblock(h, errbuf));
    reading();
    sending();
    CALL(pcap_activate(h));
    values();
}

static void all(const char *what, pcap_t *handle)
{
    open_handle(what, handle);
    calls();
    close_handle();
}

/* Opens a handle with one setting. The activation prints a line. */
static void live(const char *what, const char *device, int (*set)(pcap_t *, int), int value)
{
    open_handle(what, pcap_create(device, errbuf));
    if (h == NULL)
        return;
    if (set != NULL)
        CALL(set(h, value));
    CALL(pcap_activate(h));
    CALL(pcap_snapshot(h));
    CALL(pcap_bufsize(h));
    CALL(pcap_datalink(h));
    close_handle();
}

static void live_handles(void)
{
    static const char *const devices[] = {"nonexistent0", "a-name-that-is-too-long", "", "lo/x", "any ", "down0"};
    char what[64];
    all("created", pcap_create(interface, errbuf));
    all("created any", pcap_create(NULL, errbuf));
    for (size_t at = 0; at < sizeof devices / sizeof *devices; at++) {
        snprintf(what, sizeof what, "created \"%s\"", devices[at]);
        all(what, pcap_create(devices[at], errbuf));
        snprintf(what, sizeof what, "open_live \"%s\"", devices[at]);
        errbuf[0] = 0;
        open_handle(what, pcap_open_live(devices[at], 100, 0, 10, errbuf));
        close_handle();
    }
    live("promiscuous", interface, pcap_set_promisc, 1);
    live("promiscuous any", "any", pcap_set_promisc, 1);
    live("monitor", interface, pcap_set_rfmon, 1);
    live("monitor any", "any", pcap_set_rfmon, 1);
    live("monitor missing", "nonexistent0", pcap_set_rfmon, 1);
    live("snaplen 0", interface, pcap_set_snaplen, 0);
    live("snaplen -1", interface, pcap_set_snaplen, -1);
    live("snaplen 1", interface, pcap_set_snaplen, 1);
    live("snaplen 1 any", "any", pcap_set_snaplen, 1);
    live("snaplen 1000000", interface, pcap_set_snaplen, 1000000);
    live("timeout -5", interface, pcap_set_timeout, -5);
    live("buffer 1", interface, pcap_set_buffer_size, 1);
    live("buffer 1 any", "any", pcap_set_buffer_size, 1);
    live("immediate", interface, pcap_set_immediate_mode, 1);
    live("nanoseconds", interface, pcap_set_tstamp_precision, PCAP_TSTAMP_PRECISION_NANO);
    errbuf[0] = 0;
    open_handle("open_live any", pcap_open_live(NULL, 100, 1, 10, errbuf));
    close_handle();
    /* What was set before. */
    open_handle("nonblocking", pcap_create(interface, errbuf));
    CALL(pcap_setnonblock(h, 1, errbuf));
    CALL(pcap_activate(h));
    CALL(pcap_getnonblock(h, errbuf));
    close_handle();
}

/* What opening says without privileges. */
static void unprivileged(void)
{
    if (setgid(65534) != 0 || setuid(65534) != 0)
        exit(1);
    live("interface", interface, pcap_set_promisc, 1);
    live("loopback", "lo", NULL, 0);
    live("any", "any", NULL, 0);
    live("missing", "nonexistent0", NULL, 0);
    live("down", "down0", NULL, 0);
    static const char *const devices[] = {"lo", "any", "nonexistent0"};
    for (size_t at = 0; at < sizeof devices / sizeof *devices; at++) {
        errbuf[0] = 0;
        open_handle(devices[at], pcap_open_live(devices[at], 100, 0, 10, errbuf));
        close_handle();
    }
}

static void activated(const char *what, const char *device)
{
    open_handle(what, pcap_create(device, errbuf));
    CALL(pcap_set_snaplen(h, 100));
    CALL(pcap_activate(h));
    calls();
    close_handle();
}

static void dead_handles(void)
{
    char what[64];
    all("dead", pcap_open_dead(DLT_EN10MB, 100));
    all("dead, nanoseconds", pcap_open_dead_with_tstamp_precision(DLT_RAW, 65535, PCAP_TSTAMP_PRECISION_NANO));
    all("dead, precision 7", pcap_open_dead_with_tstamp_precision(DLT_RAW, 65535, 7));
    static const int snaplens[] = {INT_MIN, -1, 0, 262145, INT_MAX};
    for (size_t at = 0; at < sizeof snaplens / sizeof *snaplens; at++) {
        snprintf(what, sizeof what, "dead, snaplen %d", snaplens[at]);
        all(what, pcap_open_dead(DLT_EN10MB, snaplens[at]));
    }
    /* The numbers of link-layer header types in files. */
    for (int type = -1; type < 420; type++) {
        snprintf(what, sizeof what, "dead, type %d", type);
        open_handle(what, pcap_open_dead(type, 100));
        before();
        begun("pcap_dump_fopen", pcap_dump_fopen(h, tmpfile()));
        close_handle();
    }
    kind = "compile_nopcap";
    struct bpf_program program;
    CALL(pcap_compile_nopcap(0, DLT_EN10MB, &program, "ip", 1, 0));
    CALL(pcap_compile_nopcap(100, DLT_EN10MB, &program, "ip", 1, 0));
    pcap_freecode(&program);
    CALL(pcap_compile_nopcap(100, DLT_EN10MB, &program, "no such words (", 1, 0));
}

static void file_handles(void)
{
    struct {
        unsigned header[6], record[4], bytes;
    } one = {{0xa1b2c3d4, 4 << 16 | 2, 0, 0, 100, DLT_EN10MB}, {1, 2, 4, 60}, 7};
    put("one.pcap", "wb", &one, sizeof one);
    all("file", pcap_open_offline("one.pcap", errbuf));
    all("file, nanoseconds", pcap_open_offline_with_tstamp_precision("one.pcap", PCAP_TSTAMP_PRECISION_NANO, errbuf));
    all("stream", pcap_fopen_offline(fopen("one.pcap", "rb"), errbuf));
}

/* What needs no handle. Changes the whole process, so it comes last. */
static void others(void)
{
    bpf_u_int32 net, mask;
    kind = "process";
    CALL(pcap_lookupnet("nonexistent0", &net, &mask, errbuf));
    CALL(pcap_lookupnet("a-name-that-is-too-long", &net, &mask, errbuf));
    CALL(pcap_lookupnet(interface, &net, &mask, errbuf));
    printf("    %08x %08x\n", net, mask);
    CALL(pcap_lookupnet("lo", &net, &mask, errbuf));
    printf("    %08x %08x\n", net, mask);
    CALL(pcap_lookupnet(NULL, &net, &mask, errbuf));
    printf("    %08x %08x\n", net, mask);
    CALL(pcap_lookupdev(errbuf) != NULL);
    CALL(pcap_init(2, errbuf));
    CALL(pcap_init(PCAP_CHAR_ENC_UTF_8, errbuf));
    CALL(pcap_init(PCAP_CHAR_ENC_UTF_8, errbuf));
    CALL(pcap_init(PCAP_CHAR_ENC_LOCAL, errbuf));
    CALL(pcap_lookupdev(errbuf) != NULL);
}

int main(int argc, char **argv)
{
    if (argc != 3 || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        return 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    interface = argv[1];
    if (strcmp(argv[2], "nobody") == 0) {
        unprivileged();
        return 0;
    }
    if (chdir(argv[2]) != 0)
        return 1;
    live_handles();
    activated("live", interface);
    activated("loopback", "lo");
    activated("any", "any");
    dead_handles();
    file_handles();
    others();
    return 0;
}
