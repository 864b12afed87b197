/* Compiles filters with a library of libpcap's interface, and runs the programs with libpcap's own interpreter.
 *
 *     filters LIBPCAP CAPTURE...
 *
 * LIBPCAP is the path of libpcap. A line of standard input is "DLT SNAPLEN OPTIMIZE FILTER", numbers in decimal. For each, a
 * line says "refused TEXT", or "accepted KERNEL MATCHES HASH PADDED": whether the kernel attaches the program to a socket, how
 * many packets it accepts, a hash of which, and the same hash for packets with zeros behind their end, where no byte that the
 * program reads is missing. The packets are those with this link-layer header type; if there are none, some of all others. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pcap/pcap.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/filter.h>

static char errbuf[PCAP_ERRBUF_SIZE];

struct packet {
    int dlt;
    struct pcap_pkthdr header;
    u_char *bytes;
};

/* More than any program reads behind the end of a packet. */
enum { PADDING = 512 };

static struct packet *packets;
static size_t count, room;

static void check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "failed: %s: %s\n", what, errbuf);
        exit(1);
    }
}

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    check(found != NULL, name);
    return found;
}

/* Files are read with libpcap, too, so that the packets do not depend on what is tested. */
static void read_capture(void *libpcap, const char *path)
{
    pcap_t *(*open_offline)(const char *, char *) = symbol(libpcap, "pcap_open_offline");
    int (*next_ex)(pcap_t *, struct pcap_pkthdr **, const u_char **) = symbol(libpcap, "pcap_next_ex");
    int (*datalink)(pcap_t *) = symbol(libpcap, "pcap_datalink");
    void (*close_handle)(pcap_t *) = symbol(libpcap, "pcap_close");
    pcap_t *file = open_offline(path, errbuf);
    struct pcap_pkthdr *header;
    const u_char *bytes;
    /* Some are damaged. */
    while (file != NULL && next_ex(file, &header, &bytes) == 1) {
        if (count == room) {
            room = room ? 2 * room : 1024;
            packets = realloc(packets, room * sizeof *packets);
            check(packets != NULL, "memory");
        }
        struct packet *packet = &packets[count++];
        packet->dlt = datalink(file);
        packet->header = *header;
        packet->bytes = calloc(1, header->caplen + PADDING);
        check(packet->bytes != NULL, "memory");
        memcpy(packet->bytes, bytes, header->caplen);
    }
    if (file != NULL)
        close_handle(file);
}

/* Whether the kernel accepts a program. */
static int attaches(const struct bpf_program *program)
{
    struct sock_fprog attached = {.len = (unsigned short)program->bf_len, .filter = (struct sock_filter *)program->bf_insns};
    int socket_of = socket(AF_UNIX, SOCK_DGRAM, 0);
    check(socket_of >= 0, "a socket");
    int result = program->bf_len <= 4096 ? setsockopt(socket_of, SOL_SOCKET, SO_ATTACH_FILTER, &attached, sizeof attached) : -1;
    close(socket_of);
    return result == 0;
}

static int has_packets(int dlt)
{
    for (size_t at = 0; at < count; at++)
        if (packets[at].dlt == dlt)
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    check(argc > 2, "arguments");
    /* In a namespace of its own: a library that is loaded before libpcap would take over its inner calls. */
    void *libpcap = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
    check(libpcap != NULL, "libpcap");
    u_int (*run)(const struct bpf_insn *, const u_char *, u_int, u_int) = symbol(libpcap, "bpf_filter");
    int (*validate)(const struct bpf_insn *, int) = symbol(libpcap, "bpf_validate");
    for (int at = 2; at < argc; at++)
        read_capture(libpcap, argv[at]);
    char *line = NULL;
    size_t line_room = 0;
    ssize_t length;
    while ((length = getline(&line, &line_room, stdin)) > 0) {
        int dlt, snaplen, optimize, start;
        line[length - 1] = 0;
        check(sscanf(line, "%d %d %d %n", &dlt, &snaplen, &optimize, &start) == 3, line);
        pcap_t *handle = pcap_open_dead(dlt, snaplen);
        struct bpf_program program;
        if (pcap_compile(handle, &program, line + start, optimize, 0) != 0) {
            printf("refused %s\n", pcap_geterr(handle));
        } else if (!validate(program.bf_insns, (int)program.bf_len)) {
            printf("accepted by no interpreter\n");
        } else {
            unsigned matches = 0;
            uint64_t hash = 0xcbf29ce484222325, padded = hash;
            int is_known = has_packets(dlt);
            for (size_t at = 0; at < count; at++) {
                const struct packet *packet = &packets[at];
                if (is_known ? packet->dlt != dlt : at % 16 != 0)
                    continue;
                u_int kept = run(program.bf_insns, packet->bytes, packet->header.len, packet->header.caplen);
                matches += kept != 0;
                hash = (hash ^ kept) * 0x100000001b3;
                kept = run(program.bf_insns, packet->bytes, packet->header.len, packet->header.caplen + PADDING);
                padded = (padded ^ kept) * 0x100000001b3;
            }
            printf("accepted %d %u %016lx %016lx\n", attaches(&program), matches, (unsigned long)hash, (unsigned long)padded);
            pcap_freecode(&program);
        }
        pcap_close(handle);
    }
    return 0;
}
