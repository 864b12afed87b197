/* Calls the functions that need no handle: names and numbers, and programs of BPF. Prints what they return, which is to be the same
 * with every library. libpcap aborts the process at operations that it validates and does not know.
 *
 *     helpers
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>

/* It needs those above. */
#include <pcap/namedb.h>

/* Some of the functions are deprecated. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void ethernet(const char *text)
{
    u_char *address = pcap_ether_aton(text);
    printf("ether_aton %s:", text);
    for (int at = 0; address != NULL && at < 6; at++)
        printf(" %02x", address[at]);
    puts(address == NULL ? " null" : "");
    free(address);
}

static void names(void)
{
    static const char *const services[] = {"http", "domain", "HTTP", "nosuchservice", "80", "0", "65535", "65536", "-1", "", "80x", "tftp", "ntp"};
    static const char *const ranges[] = {"1-5", "http-https", "5-1", "80", "http", "1-", "-1", "a-b", "1-70000", "1-2-3", ""};
    static const char *const protocols[] = {"tcp", "udp", "icmp", "TCP", "nosuch", "", "6"};
    static const char *const types[] = {"ip", "arp", "ip6", "rarp", "IP", "nosuch", "aarp", "loopback", ""};
    static const char *const saps[] = {"iso", "stp", "ipx", "netbeui", "STP", "nosuch", ""};
    static const char *const hosts[] = {"localhost", "127.0.0.1", "nosuchhost.invalid", "10.1", ""};
    static const char *const nets[] = {"loopback", "nosuchnet", "127", ""};
    for (size_t at = 0; at < sizeof services / sizeof *services; at++) {
        int port = -7, protocol = -7;
        int found = pcap_nametoport(services[at], &port, &protocol);
        printf("nametoport %s: %d", services[at], found);
        printf(found ? " %d %d\n" : "\n", port, protocol);
    }
    for (size_t at = 0; at < sizeof ranges / sizeof *ranges; at++) {
        int first = -7, last = -7, protocol = -7;
        int found = pcap_nametoportrange(ranges[at], &first, &last, &protocol);
        printf("nametoportrange %s: %d", ranges[at], found);
        printf(found ? " %d %d %d\n" : "\n", first, last, protocol);
    }
    for (size_t at = 0; at < sizeof protocols / sizeof *protocols; at++)
        printf("nametoproto %s: %d\n", protocols[at], pcap_nametoproto(protocols[at]));
    for (size_t at = 0; at < sizeof types / sizeof *types; at++)
        printf("nametoeproto %s: %d\n", types[at], pcap_nametoeproto(types[at]));
    for (size_t at = 0; at < sizeof saps / sizeof *saps; at++)
        printf("nametollc %s: %d\n", saps[at], pcap_nametollc(saps[at]));
    for (size_t at = 0; at < sizeof hosts / sizeof *hosts; at++) {
        bpf_u_int32 **list = pcap_nametoaddr(hosts[at]);
        printf("nametoaddr %s:", hosts[at]);
        for (; list != NULL && *list != NULL; list++)
            printf(" %08x", **list);
        struct addrinfo *found = pcap_nametoaddrinfo(hosts[at]);
        printf(" %s\n", found != NULL ? "found" : "not found");
        if (found != NULL)
            freeaddrinfo(found);
    }
    for (size_t at = 0; at < sizeof nets / sizeof *nets; at++)
        printf("nametonetaddr %s: %08x\n", nets[at], pcap_nametonetaddr(nets[at]));
    ethernet("01:02:03:04:05:06");
    ethernet("1-2-3-a-B-ff");
    ethernet("0102.0304.0506");
    ethernet("010203040506");
    printf("ether_hostton %d\n", pcap_ether_hostton("nosuchhost") == NULL);
    static char ethers[] = "# a comment\n\n01:02:03:04:05:06 first # behind\n a:b:c:d:e:f\tsecond other\nnonsense line\n1:1:1:1:1:1 third\n";
    FILE *file = fmemopen(ethers, sizeof ethers - 1, "r");
    for (struct pcap_etherent *entry; (entry = pcap_next_etherent(file)) != NULL;)
        printf("etherent %02x %02x %s\n", entry->addr[0], entry->addr[5], entry->name);
    fclose(file);
    static const char *const words[] = {"EN10MB", "en10mb", "DLT_EN10MB", "LINUX_SLL2", "nosuch", ""};
    for (size_t at = 0; at < sizeof words / sizeof *words; at++)
        printf("datalink %s: %d, time stamp %d\n", words[at], pcap_datalink_name_to_val(words[at]), pcap_tstamp_type_name_to_val(words[at]));
    for (int number = -1; number < 8; number++)
        printf("time stamp %d %s\n", number, pcap_tstamp_type_val_to_name(number) ? pcap_tstamp_type_val_to_name(number) : "null");
}

/* Every operation of BPF, and some that are none. */
static void images(void)
{
    for (unsigned code = 0; code < 0x100; code++) {
        struct bpf_insn instruction = {(u_short)code, 1, 2, 0x12345};
        printf("%s\n", bpf_image(&instruction, 7));
    }
}

static void program(const char *what, struct bpf_insn *code, unsigned count)
{
    struct bpf_program program = {count, code};
    static const u_char packet[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct pcap_pkthdr header = {.caplen = 4, .len = 8};
    int valid = bpf_validate(code, (int)count);
    printf("%s: valid %d", what, valid);
    if (valid)
        printf(", %u %u %d", bpf_filter(code, packet, 8, 8), bpf_filter(code, packet, 8, 4), pcap_offline_filter(&program, &header, packet));
    putchar('\n');
    for (int form = 1; valid && form < 4; form++)
        bpf_dump(&program, form);
}

#define PROGRAM(what, ...) program(what, (struct bpf_insn[]){__VA_ARGS__}, sizeof((struct bpf_insn[]){__VA_ARGS__}) / sizeof(struct bpf_insn))

static void programs(void)
{
    PROGRAM("keep", {BPF_RET | BPF_K, 0, 0, 5});
    PROGRAM("a byte", {BPF_LD | BPF_B | BPF_ABS, 0, 0, 5}, {BPF_RET | BPF_A, 0, 0, 0});
    PROGRAM("a word", {BPF_LD | BPF_W | BPF_ABS, 0, 0, 4}, {BPF_RET | BPF_A, 0, 0, 0});
    PROGRAM("the length", {BPF_LD | BPF_W | BPF_LEN, 0, 0, 0}, {BPF_RET | BPF_A, 0, 0, 0});
    PROGRAM("header length", {BPF_LDX | BPF_B | BPF_MSH, 0, 0, 2}, {BPF_MISC | BPF_TXA, 0, 0, 0}, {BPF_RET | BPF_A, 0, 0, 0});
    PROGRAM("jump", {BPF_JMP | BPF_JA, 0, 0, 1}, {BPF_RET | BPF_K, 0, 0, 1}, {BPF_RET | BPF_K, 0, 0, 2});
    PROGRAM("jump too far", {BPF_JMP | BPF_JA, 0, 0, 2}, {BPF_RET | BPF_K, 0, 0, 1});
    struct bpf_insn back[] = {{BPF_RET | BPF_K, 0, 0, 1}, {BPF_JMP | BPF_JA, 0, 0, 0xfffffffe}, {BPF_RET | BPF_K, 0, 0, 2}};
    printf("jump back: valid %d\n", bpf_validate(back, 3));
    PROGRAM("branch", {BPF_LD | BPF_B | BPF_ABS, 0, 0, 0}, {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 1}, {BPF_RET | BPF_K, 0, 0, 1}, {BPF_RET | BPF_K, 0, 0, 2});
    PROGRAM("branch too far", {BPF_JMP | BPF_JEQ | BPF_K, 9, 0, 1}, {BPF_RET | BPF_K, 0, 0, 1});
    PROGRAM("memory", {BPF_LD | BPF_IMM, 0, 0, 9}, {BPF_ST, 0, 0, 15}, {BPF_LD | BPF_MEM, 0, 0, 15}, {BPF_RET | BPF_A, 0, 0, 0});
    PROGRAM("memory too far", {BPF_LD | BPF_MEM, 0, 0, 16}, {BPF_RET | BPF_A, 0, 0, 0});
    PROGRAM("divide", {BPF_LD | BPF_IMM, 0, 0, 9}, {BPF_ALU | BPF_DIV | BPF_K, 0, 0, 2}, {BPF_RET | BPF_A, 0, 0, 0});
    PROGRAM("divide by zero", {BPF_ALU | BPF_DIV | BPF_K, 0, 0, 0}, {BPF_RET | BPF_A, 0, 0, 0});
    PROGRAM("remainder of zero", {BPF_ALU | BPF_MOD | BPF_K, 0, 0, 0}, {BPF_RET | BPF_A, 0, 0, 0});
    PROGRAM("divide by X", {BPF_LD | BPF_IMM, 0, 0, 9}, {BPF_ALU | BPF_DIV | BPF_X, 0, 0, 0}, {BPF_RET | BPF_A, 0, 0, 0});
    PROGRAM("remainder, exclusive or", {BPF_LD | BPF_IMM, 0, 0, 9}, {BPF_ALU | BPF_MOD | BPF_K, 0, 0, 5}, {BPF_ALU | BPF_XOR | BPF_K, 0, 0, 3}, {BPF_RET | BPF_A, 0, 0, 0});
    PROGRAM("negate", {BPF_LD | BPF_IMM, 0, 0, 9}, {BPF_ALU | BPF_NEG, 0, 0, 0}, {BPF_RET | BPF_A, 0, 0, 0});
    PROGRAM("no return", {BPF_LD | BPF_IMM, 0, 0, 9});
    printf("no instructions: %d\n", bpf_validate(&(struct bpf_insn){BPF_RET | BPF_K, 0, 0, 5}, 0));
    printf("negative: %d\n", bpf_validate(&(struct bpf_insn){BPF_RET | BPF_K, 0, 0, 5}, -1));
    printf("null: %u\n", bpf_filter(NULL, (const u_char *)"abc", 3, 3));
    struct bpf_program none = {0, NULL};
    struct pcap_pkthdr header = {.caplen = 3, .len = 3};
    printf("offline null: %d\n", pcap_offline_filter(&none, &header, (const u_char *)"abc"));
    pcap_freecode(&none);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    names();
    images();
    programs();
    return 0;
}
