/* cursor FILE: takes packets from blocks and frames that this program makes as the kernel does, and from such that no kernel
 * makes. Writes 202 of them to the file. */
#include <tapline/cursor.h>

#include <linux/if_packet.h>

#include "check.h"

#define STEP 160u
#define PACKETS 4u

/* What the inline functions believe of the kernel's headers. */
#define SAME(type, mine, kernels, field)                                                                   \
    _Static_assert(offsetof(struct type, mine) == offsetof(struct kernels, field) &&                       \
                       sizeof(((struct type *)0)->mine) == sizeof(((struct kernels *)0)->field),           \
                   #type "." #mine)
SAME(tapline_block_frame, next_offset, tpacket3_hdr, tp_next_offset);
SAME(tapline_block_frame, sec, tpacket3_hdr, tp_sec);
SAME(tapline_block_frame, nsec, tpacket3_hdr, tp_nsec);
SAME(tapline_block_frame, snaplen, tpacket3_hdr, tp_snaplen);
SAME(tapline_block_frame, len, tpacket3_hdr, tp_len);
SAME(tapline_block_frame, status, tpacket3_hdr, tp_status);
SAME(tapline_block_frame, mac, tpacket3_hdr, tp_mac);
SAME(tapline_block_frame, vlan_tpid, tpacket3_hdr, hv1.tp_vlan_tpid);
SAME(tapline_frame, status, tpacket2_hdr, tp_status);
SAME(tapline_frame, len, tpacket2_hdr, tp_len);
SAME(tapline_frame, snaplen, tpacket2_hdr, tp_snaplen);
SAME(tapline_frame, mac, tpacket2_hdr, tp_mac);
SAME(tapline_frame, sec, tpacket2_hdr, tp_sec);
SAME(tapline_frame, nsec, tpacket2_hdr, tp_nsec);
SAME(tapline_frame, vlan_tpid, tpacket2_hdr, tp_vlan_tpid);
SAME(tapline_frame_address, pkttype, sockaddr_ll, sll_pkttype);
_Static_assert(sizeof(struct tapline_frame_address) == sizeof(struct sockaddr_ll), "address");
/* The address follows the header, aligned. */
_Static_assert(offsetof(struct tapline_block_frame, address) == sizeof(struct tpacket3_hdr) &&
                   offsetof(struct tapline_frame, address) == sizeof(struct tpacket2_hdr) &&
                   sizeof(struct tpacket3_hdr) % TPACKET_ALIGNMENT == 0 &&
                   sizeof(struct tpacket2_hdr) % TPACKET_ALIGNMENT == 0,
               "place of the address");
_Static_assert(TAPLINE_FRAME_CSUM_NOT_READY == TP_STATUS_CSUMNOTREADY, "CSUMNOTREADY");
_Static_assert(TAPLINE_FRAME_CSUM_VALID == TP_STATUS_CSUM_VALID, "CSUM_VALID");
_Static_assert(TAPLINE_FRAME_NOT_PLAIN == (TP_STATUS_VLAN_VALID | TP_STATUS_TS_RAW_HARDWARE), "the others");

/* Memory of its own for the packets: AddressSanitizer sees a step beyond it. */
static uint8_t *memory(void) {
    uint8_t *bytes = aligned_alloc(16, STEP * PACKETS);
    CHECK(bytes != NULL);
    memset(bytes, 0xee, STEP * PACKETS);
    for (uint32_t number = 0; number < PACKETS; number++) {
        memset(bytes + number * STEP, 0, 82);
        bytes[number * STEP + 82] = (uint8_t)number;
    }
    return bytes;
}

static struct tapline_block_frame *in_block(uint8_t *bytes, uint32_t number) {
    return (struct tapline_block_frame *)(void *)(bytes + number * STEP);
}

static struct tapline_frame *in_frame(uint8_t *bytes, uint32_t number) {
    return (struct tapline_frame *)(void *)(bytes + number * STEP);
}

/* Gives a packet of 70 bytes on the wire, of which 60 are kept, the header `frame`. */
#define DESCRIBE(frame, number)                   \
    ((frame)->sec = 5, (frame)->nsec = (number), (frame)->snaplen = 60, (frame)->len = 70, (frame)->mac = 82, \
     (frame)->address.pkttype = (uint8_t)(number))

/* A block as of TPACKET_V3. */
static uint8_t *block(void) {
    uint8_t *bytes = memory();
    for (uint32_t number = 0; number < PACKETS; number++) {
        struct tapline_block_frame *frame = in_block(bytes, number);
        DESCRIBE(frame, number);
        frame->next_offset = number + 1 < PACKETS ? STEP : 0;
    }
    return bytes;
}

/* Frames as of TPACKET_V2. */
static uint8_t *frames(void) {
    uint8_t *bytes = memory();
    for (uint32_t number = 0; number < PACKETS; number++) {
        struct tapline_frame *frame = in_frame(bytes, number);
        DESCRIBE(frame, number);
        frame->status = TP_STATUS_USER;
    }
    return bytes;
}

static tapline_cursor at(const uint8_t *bytes, size_t room) {
    return (tapline_cursor){
        .progress = PACKETS * TAPLINE_CURSOR_PACKET, .frame = bytes, .end = bytes + room, .snaplen = 50, .interface = 3};
}

static tapline_cursor at_frames(const uint8_t *bytes, size_t frame_bytes) {
    tapline_cursor cursor = at(bytes, 0);
    cursor.end = NULL;
    cursor.frame_bytes = frame_bytes;
    return cursor;
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

/* How many packets are taken if the second has `value` in `field`. */
#define TAKEN_WITH(field, value)                                                                 \
    (bytes = block(), in_block(bytes, 1)->field = (value), found = taken(at(bytes, STEP * PACKETS)), free(bytes), found)
#define TAKEN_OF_FRAMES(field, value)                                                            \
    (bytes = frames(), in_frame(bytes, 1)->field = (value), found = taken(at_frames(bytes, STEP)), free(bytes), found)

/* The packets are those that were described. */
static void are_described(tapline_cursor cursor) {
    static const uint8_t receptions[] = {TAPLINE_RECEPTION_UNICAST, TAPLINE_RECEPTION_BROADCAST,
                                         TAPLINE_RECEPTION_MULTICAST, TAPLINE_RECEPTION_PROMISCUOUS};
    const uint8_t *bytes = cursor.frame;
    for (uint32_t number = 0; number < PACKETS; number++) {
        tapline_packet packet;
        memset(&packet, 0xff, sizeof packet);
        CHECK(tapline_cursor_next(&cursor, &packet));
        CHECK(packet.data == bytes + number * STEP + 82 && packet.captured_len == 50 && packet.len == 70);
        CHECK(packet.time_ns == 5000000000u + number && packet.interface == 3 && packet.queue == TAPLINE_NO_QUEUE);
        CHECK(packet.drops_before == 0 && packet.direction == TAPLINE_DIRECTION_IN);
        CHECK(packet.reception == receptions[number] && packet.checksum == TAPLINE_CHECKSUM_UNKNOWN);
        CHECK(packet.reserved[0] == 0 && packet.reserved[4] == 0);
        CHECK(cursor.progress == (PACKETS - 1 - number) * TAPLINE_CURSOR_PACKET + 70 * (number + 1));
    }
}

/* Writes what a cursor has up to a packet that the library has to prepare, and an array. */
static void writes(const char *path) {
    tapline_writer *writer = NULL;
    OK(tapline_writer_create(path, NULL, &writer, &error));
    uint8_t *bytes = block();
    in_block(bytes, 2)->status = TP_STATUS_VLAN_VALID;
    tapline_cursor cursor = at(bytes, STEP * PACKETS);
    FAILS(TAPLINE_STATUS_INVALID_ARGUMENT, "interface", tapline_writer_write_packets(writer, &cursor, &error));
    cursor = at(bytes, STEP * PACKETS);
    cursor.interface = 0;
    FAILS(TAPLINE_STATUS_INVALID_HANDLE, "null", tapline_writer_write_packets(NULL, &cursor, &error));
    cursor = at(bytes, STEP * PACKETS);
    cursor.interface = 0;
    OK(tapline_writer_write_packets(writer, &cursor, &error));
    CHECK(cursor.progress == 2 * TAPLINE_CURSOR_PACKET + 140);
    free(bytes);
    static const uint8_t data[60];
    static tapline_packet packets[200];
    const size_t count = sizeof packets / sizeof packets[0];
    for (size_t place = 0; place < count; place++) {
        packets[place] = (tapline_packet){.data = data, .captured_len = 60, .len = 60, .queue = TAPLINE_NO_QUEUE};
    }
    cursor = (tapline_cursor){.progress = count * TAPLINE_CURSOR_PACKET, .array = packets};
    OK(tapline_writer_write_packets(writer, &cursor, &error));
    CHECK(cursor.progress == 0);
    OK(tapline_writer_write_packets(writer, &cursor, &error));
    OK(tapline_writer_write_packets(writer, NULL, &error));
    uint64_t written = 0;
    OK(tapline_writer_close(writer, &written, &error));
    CHECK(written == 202);
}

int main(int arguments, char **words) {
    CHECK(arguments == 2);
    writes(words[1]);
    uint8_t *bytes = block();
    size_t found;
    are_described(at(bytes, STEP * PACKETS));
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

    bytes = frames();
    are_described(at_frames(bytes, STEP));
    CHECK(taken(at_frames(bytes, 82 + 59)) == 0);
    free(bytes);
    CHECK(TAKEN_OF_FRAMES(mac, 51) == 1 && TAKEN_OF_FRAMES(mac, UINT16_MAX) == 1);
    CHECK(TAKEN_OF_FRAMES(snaplen, STEP - 82) == PACKETS && TAKEN_OF_FRAMES(snaplen, STEP - 81) == 1);
    CHECK(TAKEN_OF_FRAMES(snaplen, UINT32_MAX) == 1);
    CHECK(TAKEN_OF_FRAMES(status, TP_STATUS_USER | TP_STATUS_VLAN_VALID) == 1);
    CHECK(TAKEN_OF_FRAMES(status, TP_STATUS_USER | TP_STATUS_TS_RAW_HARDWARE) == 1);
    CHECK(TAKEN_OF_FRAMES(status, TP_STATUS_USER | TP_STATUS_CSUM_VALID | TP_STATUS_LOSING) == PACKETS);
    printf("done\n");
    return 0;
}
