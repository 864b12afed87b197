/* cursor: takes packets from blocks that this program makes as the kernel does, and from such that no kernel makes. */
#include <tapline/cursor.h>

#include <linux/if_packet.h>

#include "check.h"

#define STEP 160u
#define PACKETS 4u

/* What the inline functions believe of the kernel's header. */
#define SAME(mine, type, field)                                                                            \
    _Static_assert(offsetof(struct tapline_frame, mine) == offsetof(struct tpacket3_hdr, field) &&         \
                       sizeof(((struct tapline_frame *)0)->mine) == sizeof(((struct tpacket3_hdr *)0)->field), \
                   #mine)
SAME(next_offset, struct tpacket3_hdr, tp_next_offset);
SAME(sec, struct tpacket3_hdr, tp_sec);
SAME(nsec, struct tpacket3_hdr, tp_nsec);
SAME(snaplen, struct tpacket3_hdr, tp_snaplen);
SAME(len, struct tpacket3_hdr, tp_len);
SAME(status, struct tpacket3_hdr, tp_status);
SAME(mac, struct tpacket3_hdr, tp_mac);
SAME(vlan_tpid, struct tpacket3_hdr, hv1.tp_vlan_tpid);
_Static_assert(offsetof(struct tapline_frame, pkttype) ==
                       sizeof(struct tpacket3_hdr) + offsetof(struct sockaddr_ll, sll_pkttype) &&
                   sizeof(struct tpacket3_hdr) % TPACKET_ALIGNMENT == 0,
               "pkttype");
_Static_assert(TAPLINE_FRAME_CSUM_NOT_READY == TP_STATUS_CSUMNOTREADY, "CSUMNOTREADY");
_Static_assert(TAPLINE_FRAME_CSUM_VALID == TP_STATUS_CSUM_VALID, "CSUM_VALID");
_Static_assert(TAPLINE_FRAME_NOT_PLAIN == (TP_STATUS_VLAN_VALID | TP_STATUS_TS_RAW_HARDWARE), "the others");

/* Packets of 70 bytes on the wire, of which 60 are kept, in memory of its own: AddressSanitizer sees a step beyond it. */
static uint8_t *block(void) {
    uint8_t *bytes = aligned_alloc(16, STEP * PACKETS);
    CHECK(bytes != NULL);
    memset(bytes, 0xee, STEP * PACKETS);
    for (uint32_t number = 0; number < PACKETS; number++) {
        struct tapline_frame *frame = (struct tapline_frame *)(void *)(bytes + number * STEP);
        memset(frame, 0, sizeof *frame);
        frame->next_offset = number + 1 < PACKETS ? STEP : 0;
        frame->sec = 5;
        frame->nsec = number;
        frame->snaplen = 60;
        frame->len = 70;
        frame->mac = 82;
        frame->pkttype = (uint8_t)number;
        bytes[number * STEP + 82] = (uint8_t)number;
    }
    return bytes;
}

static tapline_cursor at(const uint8_t *bytes, size_t room) {
    return (tapline_cursor){.left = PACKETS, .frame = bytes, .room = room, .snaplen = 50, .interface = 3};
}

static size_t taken(tapline_cursor cursor) {
    tapline_packet packet;
    size_t packets = 0, bytes = 0;
    while (tapline_cursor_next(&cursor, &packet)) {
        CHECK(packets < PACKETS && packet.data[0] == packets && packet.captured_len <= 50);
        for (uint32_t place = 0; place < packet.captured_len; place++) {
            bytes += packet.data[place];
        }
        packets++;
    }
    CHECK(packets == 0 || bytes > 0);
    return packets;
}

/* How many packets are taken if the second has `value` in `field`, or if the room ends. */
#define TAKEN_WITH(field, value)                                                                   \
    (bytes = block(), ((struct tapline_frame *)(void *)(bytes + STEP))->field = (value),           \
     found = taken(at(bytes, STEP * PACKETS)), free(bytes), found)

int main(void) {
    uint8_t *bytes = block();
    size_t found;
    tapline_cursor cursor = at(bytes, STEP * PACKETS);
    static const uint8_t receptions[] = {TAPLINE_RECEPTION_UNICAST, TAPLINE_RECEPTION_BROADCAST,
                                         TAPLINE_RECEPTION_MULTICAST, TAPLINE_RECEPTION_PROMISCUOUS};
    for (uint32_t number = 0; number < PACKETS; number++) {
        tapline_packet packet;
        memset(&packet, 0xff, sizeof packet);
        CHECK(tapline_cursor_next(&cursor, &packet));
        CHECK(packet.data == bytes + number * STEP + 82 && packet.captured_len == 50 && packet.len == 70);
        CHECK(packet.time_ns == 5000000000u + number && packet.interface == 3 && packet.queue == TAPLINE_NO_QUEUE);
        CHECK(packet.drops_before == 0 && packet.direction == TAPLINE_DIRECTION_IN);
        CHECK(packet.reception == receptions[number] && packet.checksum == TAPLINE_CHECKSUM_UNKNOWN);
        CHECK(packet.reserved[0] == 0 && packet.reserved[4] == 0);
        CHECK(cursor.wire_bytes == 70 * (number + 1) && cursor.left == PACKETS - 1 - number);
    }
    for (size_t room = 0; room < STEP * PACKETS; room++) {
        const size_t whole = room / STEP + (room % STEP >= 82 + 60 ? 1 : 0);
        const size_t packets = taken(at(bytes, room));
        /* A packet whose successor lies beyond the room may be left to the library. */
        CHECK(packets <= whole && packets + 1 >= whole);
    }
    free(bytes);
    CHECK(TAKEN_WITH(next_offset, STEP) == PACKETS);
    CHECK(TAKEN_WITH(next_offset, 0) == 1 && TAKEN_WITH(next_offset, 82 + 59) == 1);
    CHECK(TAKEN_WITH(next_offset, STEP + 1) == 1 && TAKEN_WITH(next_offset, UINT32_MAX - 7) == 1);
    CHECK(TAKEN_WITH(mac, 0) == 1 && TAKEN_WITH(mac, UINT16_MAX) == 1);
    CHECK(TAKEN_WITH(snaplen, UINT32_MAX) == 1);
    CHECK(TAKEN_WITH(status, TP_STATUS_VLAN_VALID) == 1 && TAKEN_WITH(status, TP_STATUS_TS_RAW_HARDWARE) == 1);
    CHECK(TAKEN_WITH(status, TP_STATUS_CSUM_VALID | TP_STATUS_TS_SOFTWARE | TP_STATUS_USER) == PACKETS);
    printf("done\n");
    return 0;
}
