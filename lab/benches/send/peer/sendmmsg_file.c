/* Sends COUNT packets of a pcap file, again from its beginning when it ends, with sendmmsg(2), 64 per call. The file is
 * mapped and in memory before: sendmmsg_file IFINDEX PCAP COUNT. */
#define _GNU_SOURCE
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define BATCH 64
#define FILE_HEADER 24
#define RECORD_HEADER 16

int main(int count, char **words)
{
	static struct mmsghdr messages[BATCH];
	struct stat file;
	int at;

	if (count < 4)
		return 2;
	unsigned long left = strtoul(words[3], NULL, 10);
	int input = open(words[2], O_RDONLY);

	if (input < 0 || fstat(input, &file))
		fail(words[2]);
	char *bytes = mmap(NULL, file.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, input, 0);

	if (bytes == MAP_FAILED)
		fail("mmap");
	size_t packets = 0, next = 0;
	struct iovec *pieces = calloc(file.st_size / RECORD_HEADER, sizeof *pieces);

	if (!pieces)
		fail("calloc");
	for (off_t place = FILE_HEADER; place + RECORD_HEADER <= file.st_size;) {
		uint32_t length;

		memcpy(&length, bytes + place + 8, sizeof length);
		place += RECORD_HEADER;
		if (length > file.st_size - place)
			break;
		pieces[packets++] = (struct iovec){ .iov_base = bytes + place, .iov_len = length };
		place += length;
	}
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_ifindex = strtoul(words[1], NULL, 10) };
	/* Protocol 0: the socket receives nothing. */
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0)
		fail("socket");
	if (bind(fd, (struct sockaddr *)&address, sizeof address))
		fail("bind");
	while (left && packets) {
		unsigned batch = left < BATCH ? left : BATCH;

		for (at = 0; at < (int)batch; at++) {
			struct iovec *piece = &pieces[(next + at) % packets];

			messages[at].msg_hdr = (struct msghdr){ .msg_iov = piece, .msg_iovlen = 1 };
		}
		int sent = sendmmsg(fd, messages, batch, 0);

		if (sent < 0 && errno != ENOBUFS)
			fail("sendmmsg");
		/* ENOBUFS: the device dropped the packet; it is sent again. */
		if (sent > 0) {
			left -= sent;
			next = (next + sent) % packets;
		}
	}
	return 0;
}
