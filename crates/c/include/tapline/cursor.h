/* Takes packets from a cursor, one by one. The compiler keeps only what the caller reads of a packet.
 *
 *     tapline_cursor *cursor;
 *     tapline_packet packet;
 *     while (tapline_capture_next_packets(capture, -1, &cursor, &error) == TAPLINE_STATUS_OK) {
 *         while (tapline_cursor_next(cursor, &packet)) {
 *             use(packet.data, packet.captured_len);
 *         }
 *     }
 */
#ifndef TAPLINE_CURSOR_H
#define TAPLINE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../tapline.h"

/* Only inlined code is without the fields that nobody reads. */
#ifdef __GNUC__
#define TAPLINE_INLINE static inline __attribute__((always_inline))
#else
#define TAPLINE_INLINE static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The kernel's struct sockaddr_ll behind each header (linux/if_packet.h). */
struct tapline_frame_address {
    uint16_t family;
    uint16_t protocol;
    int32_t ifindex;
    uint16_t hatype;
    uint8_t pkttype;
    uint8_t halen;
    uint8_t addr[8];
};

/* The kernel's struct tpacket3_hdr before a packet in a block. */
struct tapline_block_frame {
    uint32_t next_offset;
    uint32_t sec;
    uint32_t nsec;
    uint32_t snaplen;
    uint32_t len;
    uint32_t status;
    uint16_t mac;
    uint16_t net;
    uint32_t rxhash;
    uint32_t vlan_tci;
    uint16_t vlan_tpid;
    uint16_t padding[5];
    struct tapline_frame_address address;
};

/* The kernel's struct tpacket2_hdr before a packet in a frame of its own. */
struct tapline_frame {
    uint32_t status;
    uint32_t len;
    uint32_t snaplen;
    uint16_t mac;
    uint16_t net;
    uint32_t sec;
    uint32_t nsec;
    uint16_t vlan_tci;
    uint16_t vlan_tpid;
    uint8_t padding[4];
    struct tapline_frame_address address;
};

/* Bits of their status: TP_STATUS_CSUMNOTREADY, TP_STATUS_CSUM_VALID, and those of packets that the library prepares:
 * TP_STATUS_VLAN_VALID, TP_STATUS_TS_RAW_HARDWARE. */
#define TAPLINE_FRAME_CSUM_NOT_READY (1u << 3)
#define TAPLINE_FRAME_CSUM_VALID (1u << 7)
#define TAPLINE_FRAME_NOT_PLAIN (1u << 4 | 1u << 31)

/* What a packet to come adds to `progress` of a cursor. */
#define TAPLINE_CURSOR_PACKET (UINT64_C(1) << 44)

/* Casts are those of C, also in C++. */
#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* The kernel fills the ring on another CPU: its lines are fetched about ten packets ahead. */
TAPLINE_INLINE void tapline_frame_prefetch(const uint8_t *frame, size_t bytes) {
#ifdef __GNUC__
    const uintptr_t ahead = (uintptr_t)frame + 2048;
    __builtin_prefetch((const void *)ahead);
    __builtin_prefetch((const void *)(ahead + 64));
    __builtin_prefetch((const void *)(ahead + 128));
    if (bytes > 192) {
        for (size_t at = 192; at < bytes && at < 512; at += 64) {
            __builtin_prefetch((const void *)(ahead + at));
        }
    }
#else
    (void)frame;
    (void)bytes;
#endif
}

/* Describes a packet by fields of the kernel's header, which is at `header`. */
TAPLINE_INLINE void tapline_frame_packet(const tapline_cursor *cursor, const uint8_t *header, uint32_t sec,
                                        uint32_t nsec, uint32_t snaplen, uint32_t len, uint32_t status, uint16_t mac,
                                        uint8_t pkttype, tapline_packet *packet) {
    /* By pkttype: host, broadcast, multicast, another host, and outgoing. Others are to this host. */
    static const uint8_t receptions[8] = {TAPLINE_RECEPTION_UNICAST,     TAPLINE_RECEPTION_BROADCAST,
                                          TAPLINE_RECEPTION_MULTICAST,   TAPLINE_RECEPTION_PROMISCUOUS,
                                          TAPLINE_RECEPTION_UNKNOWN,     TAPLINE_RECEPTION_UNICAST,
                                          TAPLINE_RECEPTION_UNICAST,     TAPLINE_RECEPTION_UNICAST};
    packet->data = header + mac;
    packet->time_ns = sec * (uint64_t)1000000000 + nsec;
    packet->captured_len = snaplen < cursor->snaplen ? snaplen : cursor->snaplen;
    packet->len = len;
    packet->interface = cursor->interface;
    packet->queue = TAPLINE_NO_QUEUE;
    packet->drops_before = 0;
    packet->direction = (uint8_t)(pkttype % 8 == 4 ? TAPLINE_DIRECTION_OUT : TAPLINE_DIRECTION_IN);
    packet->reception = receptions[pkttype % 8];
    packet->checksum = (uint8_t)((status & TAPLINE_FRAME_CSUM_NOT_READY) != 0 ? TAPLINE_CHECKSUM_NOT_READY
                                 : (status & TAPLINE_FRAME_CSUM_VALID) != 0   ? TAPLINE_CHECKSUM_VALID
                                                                                     : TAPLINE_CHECKSUM_UNKNOWN);
    for (size_t at = 0; at < sizeof packet->reserved; at++) {
        packet->reserved[at] = 0;
    }
}

/* Copies field by field: the compiler drops the fields that nobody reads, which it does not do with a whole struct. */
TAPLINE_INLINE void tapline_packet_copy(const tapline_packet *from, tapline_packet *packet) {
    packet->data = from->data;
    packet->time_ns = from->time_ns;
    packet->captured_len = from->captured_len;
    packet->len = from->len;
    packet->interface = from->interface;
    packet->queue = from->queue;
    packet->drops_before = from->drops_before;
    packet->direction = from->direction;
    packet->reception = from->reception;
    packet->checksum = from->checksum;
    for (size_t at = 0; at < sizeof packet->reserved; at++) {
        packet->reserved[at] = from->reserved[at];
    }
}

/* As tapline_cursor_next, with frames: as many whole ones follow as packets are left. */
TAPLINE_INLINE bool tapline_cursor_next_frame(tapline_cursor *cursor, uint64_t progress, tapline_packet *packet) {
    const uint8_t *const at = cursor->frame;
    const struct tapline_frame *frame = (const struct tapline_frame *)(const void *)at;
    const size_t frame_bytes = cursor->frame_bytes;
    const size_t start = frame->mac;
    if ((frame->status & TAPLINE_FRAME_NOT_PLAIN) != 0 || start < sizeof *frame ||
        start + frame->snaplen > frame_bytes) {
        return false;
    }
    cursor->frame = at + frame_bytes;
    cursor->progress = progress + frame->len - TAPLINE_CURSOR_PACKET;
    tapline_frame_packet(cursor, at, frame->sec, frame->nsec, frame->snaplen, frame->len, frame->status, frame->mac,
                         frame->address.pkttype, packet);
    return true;
}

/* As tapline_cursor_next, in a block that has `room` bytes from here on. */
TAPLINE_INLINE bool tapline_cursor_next_in_block(tapline_cursor *cursor, uint64_t progress, size_t room,
                                                 tapline_packet *packet) {
    const uint8_t *const at = cursor->frame;
    const struct tapline_block_frame *frame = (const struct tapline_block_frame *)(const void *)at;
    const size_t start = frame->mac;
    const size_t end = start + frame->snaplen;
    /* The last packet of a block has no successor, and 0 here. */
    const size_t step = frame->next_offset;
    if ((frame->status & TAPLINE_FRAME_NOT_PLAIN) != 0 || start < sizeof *frame || end > room || step > room ||
        step % 8 != 0 || (step < end && progress >= 2 * TAPLINE_CURSOR_PACKET)) {
        return false;
    }
    tapline_frame_prefetch(at, step);
    cursor->frame = at + step;
    cursor->progress = progress + frame->len - TAPLINE_CURSOR_PACKET;
    tapline_frame_packet(cursor, at, frame->sec, frame->nsec, frame->snaplen, frame->len, frame->status, frame->mac,
                         frame->address.pkttype, packet);
    return true;
}

/* Takes the next packet. False if there is none, or if the library has to prepare it: then
 * tapline_capture_next_packets lends the rest. The packet's bytes are valid until that call. */
TAPLINE_INLINE bool tapline_cursor_next(tapline_cursor *cursor, tapline_packet *packet) {
    if (cursor == NULL || packet == NULL) {
        return false;
    }
    const uint64_t progress = cursor->progress;
    if (progress < TAPLINE_CURSOR_PACKET) {
        return false;
    }
    /* Negative with frames. */
    const intptr_t room = (intptr_t)cursor->end - (intptr_t)cursor->frame;
    if (room >= (intptr_t)sizeof(struct tapline_block_frame)) {
        return tapline_cursor_next_in_block(cursor, progress, (size_t)room, packet);
    }
    if (cursor->frame_bytes != 0) {
        return tapline_cursor_next_frame(cursor, progress, packet);
    }
    if (cursor->array == NULL) {
        return false;
    }
    tapline_packet_copy(cursor->array, packet);
    cursor->array++;
    cursor->progress = progress - TAPLINE_CURSOR_PACKET;
    return true;
}

/* Writes the packets that the cursor would give to a capture file, and moves the cursor past them.
 *
 * Errors: as tapline_writer_write. The cursor may have passed up to 64 packets that were not written. */
static inline tapline_status tapline_writer_write_packets(tapline_writer *writer, tapline_cursor *cursor,
                                                          tapline_error **error) {
    tapline_packet packets[64];
    const size_t room = sizeof packets / sizeof packets[0];
    size_t count;
    do {
        count = 0;
        while (count < room && tapline_cursor_next(cursor, &packets[count])) {
            count++;
        }
        const tapline_status status = tapline_writer_write(writer, packets, count, error);
        if (status != TAPLINE_STATUS_OK) {
            return status;
        }
    } while (count == room);
    return TAPLINE_STATUS_OK;
}

#if defined(__cplusplus) && defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#ifdef __cplusplus
}
#endif

#endif
