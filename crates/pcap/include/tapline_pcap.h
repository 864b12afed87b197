/* libtapline_pcap: what it offers beyond the interface of libpcap, which <pcap/pcap.h> describes.
 *
 * A program that is linked with libpcap finds the functions with dlsym(3):
 *
 *     int (*account)(pcap_t *, struct tapline_pcap_account *) = dlsym(RTLD_DEFAULT, "tapline_pcap_account_read");
 *
 * and falls back to pcap_stats where there is none. Linux, 64 bits.
 */
#ifndef TAPLINE_PCAP_H
#define TAPLINE_PCAP_H

#include <pcap/pcap.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The value of a counter that is not known. */
#define TAPLINE_PCAP_UNKNOWN UINT64_MAX

/* What became of every packet: received = delivered + filtered + waiting + all lost ones that are known. The counters
 * have 64 bits and are never reset. */
struct tapline_pcap_account {
    uint64_t size;        /* sizeof(struct tapline_pcap_account), set by the caller */
    uint64_t received;    /* packets that the interface offered; unknown where `filtered` is */
    uint64_t delivered;   /* packets that the program got */
    uint64_t filtered;    /* packets that the filter refused; unknown without CAP_BPF */
    uint64_t waiting;     /* packets in the ring */
    uint64_t lost_nic;    /* lost by the interface, for lack of buffers */
    uint64_t lost_driver; /* lost by the driver: 0 or unknown */
    uint64_t lost_ring;   /* lost because the ring was full: the program was too slow */
    uint64_t lost_reader; /* left in the ring when the interface disappeared */
};

/* Writes the account of a capture of one interface. Returns 0, or PCAP_ERROR with a text for pcap_geterr. Costs a request
 * to the kernel: once a second is fine, once a packet is not.
 *
 * Later versions may add fields at the end. A library that is newer than this header writes the fields that the header
 * has; one that is older writes 0 to those that it does not know. */
PCAP_API int tapline_pcap_account_read(pcap_t *handle, struct tapline_pcap_account *account);

#ifdef __cplusplus
}
#endif

#endif
