/* Reads and writes capture files, good and damaged ones, and prints what happens. The lines are to be the same with every library.
 *
 *     savefiles FOLDER
 */
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char errbuf[PCAP_ERRBUF_SIZE];

/* The file that is being made. */
static unsigned char file[1 << 20];
static size_t length;

static void bytes(const void *from, size_t count)
{
    memcpy(file + length, from, count);
    length += count;
}

static void words(size_t count, const unsigned *from)
{
    bytes(from, 4 * count);
}

#define WORDS(...) words(sizeof((unsigned[]){__VA_ARGS__}) / sizeof(unsigned), (unsigned[]){__VA_ARGS__})

enum { MICRO = 0xa1b2c3d4, NANO = 0xa1b23c4d, PATCHED = 0xa1b2cd34, VERSION = 4 << 16 | 2 };

/* Begins a pcap file. */
static void header(unsigned magic, unsigned version, unsigned snaplen, unsigned type)
{
    length = 0;
    WORDS(magic, version, 0, 0, snaplen, type);
}

/* Appends a packet of `caplen` bytes, of which `there` are in the file. */
static void record(unsigned caplen, unsigned len, unsigned there)
{
    WORDS(1700000000, 123456, caplen, len);
    for (unsigned at = 0; at < there; at++)
        file[length++] = (unsigned char)at;
}

static void save(void)
{
    FILE *out = fopen("file", "wb");
    if (out == NULL || fwrite(file, 1, length, out) != length || fclose(out) != 0)
        exit(1);
}

static void packet(const struct pcap_pkthdr *header, const u_char *data)
{
    printf("  packet %ld.%ld %u %u", (long)header->ts.tv_sec, (long)header->ts.tv_usec, header->caplen, header->len);
    for (unsigned at = 0; at < header->caplen && at < 4; at++)
        printf("%s%02x", at == 0 ? " " : "", data[at]);
    putchar('\n');
}

static void print(u_char *user, const struct pcap_pkthdr *header, const u_char *data)
{
    ++*(unsigned *)user;
    packet(header, data);
}

static void read_all(pcap_t *handle)
{
    struct pcap_pkthdr *header;
    const u_char *data;
    int status;
    if (handle == NULL) {
        printf("  not opened: %s\n", errbuf);
        return;
    }
    printf("  type %d, extension %x, snaplen %d, buffer %d, swapped %d, version %d.%d, precision %d\n", pcap_datalink(handle),
           (unsigned)pcap_datalink_ext(handle), pcap_snapshot(handle), pcap_bufsize(handle), pcap_is_swapped(handle),
           pcap_major_version(handle), pcap_minor_version(handle), pcap_get_tstamp_precision(handle));
    while ((status = pcap_next_ex(handle, &header, &data)) == 1)
        packet(header, data);
    printf("  end %d %s\n", status, pcap_geterr(handle));
    unsigned packets = 0;
    printf("  dispatch %d\n", pcap_dispatch(handle, -1, print, (u_char *)&packets));
    pcap_close(handle);
}

/* Reads the file by its name, from a stream and from a pipe. */
static void try(const char *what)
{
    save();
    printf("%s\n", what);
    errbuf[0] = 0;
    read_all(pcap_open_offline("file", errbuf));
    printf("%s, as a stream\n", what);
    errbuf[0] = 0;
    read_all(pcap_fopen_offline(fopen("file", "rb"), errbuf));
    printf("%s, from a pipe\n", what);
    errbuf[0] = 0;
    read_all(pcap_fopen_offline(popen("cat file", "r"), errbuf));
}

static void damaged_headers(void)
{
    static const size_t lengths[] = {0, 1, 3, 4, 10, 23, 24};
    static const unsigned versions[] = {1, 2, 2 << 16 | 2, 3 << 16 | 2, 5 << 16 | 2, 3, 543, 1 << 16 | 543};
    static const unsigned snaplens[] = {0, 4, 0x7fffffff, 0x80000000, 0xffffffff};
    static const unsigned types[] = {0, 101, 147, 231, 249, 279, 0x14000001, 0xf4000001, 300};
    char what[64];
    for (size_t at = 0; at < sizeof lengths / sizeof *lengths; at++) {
        header(MICRO, VERSION, 100, DLT_EN10MB);
        length = lengths[at];
        snprintf(what, sizeof what, "%zu bytes of the header", lengths[at]);
        try(what);
    }
    length = 0;
    bytes("no capture file at all, but text", 32);
    try("text");
    length = 0;
    bytes("abc", 3);
    try("three letters");
    for (size_t at = 0; at < sizeof versions / sizeof *versions; at++) {
        header(MICRO, versions[at], 100, DLT_EN10MB);
        record(4, 60, 4);
        record(60, 4, 60);
        snprintf(what, sizeof what, "version %u.%u", versions[at] & 0xffff, versions[at] >> 16);
        try(what);
    }
    for (size_t at = 0; at < sizeof snaplens / sizeof *snaplens; at++) {
        header(MICRO, VERSION, snaplens[at], DLT_EN10MB);
        record(8, 60, 8);
        snprintf(what, sizeof what, "snaplen %x", snaplens[at]);
        try(what);
    }
    for (size_t at = 0; at < sizeof types / sizeof *types; at++) {
        header(MICRO, VERSION, 0, types[at]);
        record(8, 60, 8);
        snprintf(what, sizeof what, "type %x", types[at]);
        try(what);
    }
}

static void damaged_packets(void)
{
    header(MICRO, VERSION, 100, DLT_EN10MB);
    record(0, 0, 0);
    record(8, 4, 8);
    record(101, 200, 101);
    record(8, 8, 8);
    try("odd lengths");
    for (unsigned there = 1; there < 16; there += 7) {
        header(MICRO, VERSION, 100, DLT_EN10MB);
        record(8, 8, 8);
        record(8, 8, 0);
        length -= 16 - there;
        try("a header of a packet is cut");
    }
    static const unsigned captured[][3] = {{8, 0, 100}, {8, 7, 100}, {8, 3, 4}, {8, 6, 4}, {300000, 100, 100}, {300000, 100, 400000}};
    for (size_t at = 0; at < sizeof captured / sizeof *captured; at++) {
        char what[64];
        const unsigned *row = captured[at];
        header(MICRO, VERSION, row[2], DLT_EN10MB);
        record(4, 4, 4);
        record(row[0], 400000, row[1]);
        snprintf(what, sizeof what, "%u of %u bytes, snaplen %u", row[1], row[0], row[2]);
        try(what);
    }
}

static void formats(void)
{
    header(PATCHED, VERSION, 100, DLT_EN10MB);
    record(8, 60, 0);
    WORDS(1, 2, 3, 4);
    try("longer headers of packets");
    header(PATCHED, VERSION, 100, DLT_EN10MB);
    record(8, 60, 0);
    try("a longer header of a packet is cut");
    header(__builtin_bswap32(MICRO), 0x02000400, 0x64000000, 0x01000000);
    WORDS(0x01000000, 0x02000000, 0x04000000, 0x3c000000, 0x61626364);
    try("the other byte order");
    for (unsigned precision = 0; precision < 3; precision++) {
        header(NANO, VERSION, 100, DLT_EN10MB);
        record(8, 60, 8);
        save();
        printf("nanoseconds, precision %u\n", precision);
        read_all(pcap_open_offline_with_tstamp_precision("file", precision, errbuf));
        header(MICRO, VERSION, 100, DLT_EN10MB);
        record(8, 60, 8);
        save();
        printf("microseconds, precision %u\n", precision);
        read_all(pcap_open_offline_with_tstamp_precision("file", precision, errbuf));
    }
    puts("a folder, nothing, null");
    read_all(pcap_open_offline(".", errbuf));
    read_all(pcap_open_offline("nothing", errbuf));
    read_all(pcap_open_offline(NULL, errbuf));
    read_all(pcap_fopen_offline(NULL, errbuf));
}

/* Appends a pcapng block. */
static void block(unsigned type, const void *body, unsigned count)
{
    WORDS(type, count + 12);
    bytes(body, count);
    WORDS(count + 12);
}

static void section(void)
{
    length = 0;
    block(0x0a0d0d0a, (unsigned[]){0x1a2b3c4d, 1, 0xffffffff, 0xffffffff}, 16);
}

static void interface(unsigned type, unsigned snaplen)
{
    block(1, (unsigned[]){type, snaplen}, 8);
}

static void enhanced(unsigned number)
{
    block(6, (unsigned[]){number, 0x60000, 0x12345678, 4, 60, 0x64636261}, 24);
}

static void pcapng(void)
{
    section();
    interface(DLT_EN10MB, 100);
    enhanced(0);
    block(3, (unsigned[]){4, 0x64636261}, 8);
    interface(DLT_EN10MB, 100);
    enhanced(1);
    try("pcapng");
    section();
    try("pcapng without an interface");
    section();
    interface(DLT_EN10MB, 100);
    length -= 6;
    try("pcapng, an interface is cut");
    section();
    interface(DLT_EN10MB, 100);
    enhanced(7);
    try("pcapng, an unknown interface");
    section();
    interface(DLT_EN10MB, 100);
    enhanced(0);
    interface(DLT_RAW, 100);
    enhanced(0);
    try("pcapng, another type");
    section();
    interface(DLT_EN10MB, 100);
    enhanced(0);
    interface(DLT_EN10MB, 200);
    enhanced(0);
    try("pcapng, another snaplen");
    section();
    interface(DLT_EN10MB, 100);
    enhanced(0);
    length -= 4;
    WORDS(99);
    try("pcapng, lengths that differ");
    section();
    interface(DLT_EN10MB, 100);
    enhanced(0);
    length -= 9;
    try("pcapng, a packet is cut");
}

static void break_in(u_char *user, const struct pcap_pkthdr *header, const u_char *data)
{
    print((u_char *)&(unsigned){0}, header, data);
    pcap_breakloop(*(pcap_t **)user);
}

static void loops(void)
{
    header(MICRO, VERSION, 100, DLT_EN10MB);
    for (unsigned at = 0; at < 5; at++)
        record(at, 60, at);
    save();
    unsigned packets = 0;
    pcap_t *handle = pcap_open_offline("file", errbuf);
    puts("loops");
    printf("  dispatch %d", pcap_dispatch(handle, 1, print, (u_char *)&packets));
    printf(" dispatch %d\n", pcap_dispatch(handle, -1, break_in, (u_char *)&handle));
    printf("  dispatch %d\n", pcap_dispatch(handle, -1, print, (u_char *)&packets));
    printf("  loop %d\n", pcap_loop(handle, 2, print, (u_char *)&packets));
    printf("  loop %d\n", pcap_loop(handle, -1, break_in, (u_char *)&handle));
    printf("  loop %d\n", pcap_loop(handle, 0, print, (u_char *)&packets));
    printf("  loop %d\n", pcap_loop(handle, 9, print, (u_char *)&packets));
    pcap_close(handle);
    /* An error behind packets. */
    record(200000, 200000, 3);
    save();
    handle = pcap_open_offline("file", errbuf);
    printf("  loop %d %s\n", pcap_loop(handle, -1, print, (u_char *)&packets), pcap_geterr(handle));
    pcap_close(handle);
}

static void next(pcap_t *handle)
{
    struct pcap_pkthdr *header;
    const u_char *data;
    int status = pcap_next_ex(handle, &header, &data);
    printf("  next_ex %d, at %ld\n", status, ftell(pcap_file(handle)));
    if (status == 1)
        packet(header, data);
}

/* A program that looks for a packet in the stream of a file, as tcpslice does. */
static void seeks(int precision)
{
    header(MICRO, VERSION, 100, DLT_EN10MB);
    for (unsigned at = 0; at < 200; at++)
        record(at, 200, at);
    save();
    printf("seeks, precision %d\n", precision);
    pcap_t *handle = pcap_open_offline_with_tstamp_precision("file", (unsigned)precision, errbuf);
    next(handle);
    next(handle);
    FILE *stream = pcap_file(handle);
    printf("  at %ld\n", ftell(stream));
    unsigned raw[4] = {0};
    printf("  read %zu", fread(raw, 4, 4, stream));
    printf(" caplen %u, at %ld\n", raw[2], ftell(stream));
    fseek(stream, -16, SEEK_CUR);
    next(handle);
    fseek(stream, 24, SEEK_SET);
    next(handle);
    next(handle);
    fseek(stream, -(16 + 199), SEEK_END);
    next(handle);
    next(handle);
    next(handle);
    /* The file grows. */
    length = 0;
    record(5, 5, 5);
    FILE *more = fopen("file", "ab");
    printf("  grown by %zu\n", fwrite(file, 1, length, more));
    fclose(more);
    clearerr(stream);
    next(handle);
    next(handle);
    fseek(stream, 40, SEEK_SET);
    struct bpf_program program;
    pcap_compile(handle, &program, "ether[0] = 0 and greater 100", 1, 0);
    pcap_setfilter(handle, &program);
    pcap_freecode(&program);
    next(handle);
    pcap_close(handle);
}

/* A device that is full. */
static void full(void)
{
    static const u_char data[1000];
    struct pcap_pkthdr header = {.caplen = sizeof data, .len = sizeof data};
    pcap_t *handle = pcap_open_dead(DLT_EN10MB, 2000);
    pcap_dumper_t *dumper = pcap_dump_open(handle, "/dev/full");
    printf("full %d", dumper != NULL);
    for (int at = 0; at < 200; at++)
        pcap_dump((u_char *)dumper, &header, data);
    printf(" flush %d error %d", pcap_dump_flush(dumper), ferror(pcap_dump_file(dumper)) != 0);
    clearerr(pcap_dump_file(dumper));
    printf(" %d\n", ferror(pcap_dump_file(dumper)) != 0);
    pcap_dump_close(dumper);
    FILE *unbuffered = fopen("/dev/full", "wb");
    setvbuf(unbuffered, NULL, _IONBF, 0);
    printf("unbuffered %d %s\n", pcap_dump_fopen(handle, unbuffered) != NULL, pcap_geterr(handle));
    pcap_close(handle);
}

int main(int argc, char **argv)
{
    if (argc != 2 || chdir(argv[1]) != 0)
        return 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    damaged_headers();
    damaged_packets();
    formats();
    pcapng();
    loops();
    seeks(PCAP_TSTAMP_PRECISION_MICRO);
    seeks(PCAP_TSTAMP_PRECISION_NANO);
    full();
    return 0;
}
